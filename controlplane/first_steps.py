"""The way to the first workload, which the overview shows while there is none."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, Subquery
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import User
from accounts.permissions import has_right
from clusters.models import Cluster
from organizations.models import Department, Project
from organizations.services.departments import DEFAULT_DEPARTMENT
from topology.models import NetworkTopology, NodePool


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, the right that it takes, the page where it is done, and whether it was."""

    title: str
    text: str
    right: str
    url: str
    done: bool


def first_steps(user: User, cluster: Cluster | None) -> list[Step]:
    """The steps that this person has the rights to, in their order; none where only the workload is missing."""
    found = _found(user, cluster)
    submit = Step(
        gettext("Submit a workload"),
        gettext("A workload is a Dynamo graph that runs in a project: its roles start together or wait together."),
        "workloads:create",
        reverse("workloads:new"),
        done=False,
    )
    before = [step for step in (*_of_the_cluster(found), *_of_the_organisation(found)) if has_right(user, step.right)]
    if all(step.done for step in before):
        return []
    return [*before, submit] if has_right(user, submit.right) else before


def _of_the_cluster(found: dict[str, Any]) -> tuple[Step, ...]:
    pools = reverse("topology:node-pool-list")
    pool = found["pool"] and reverse("topology:node-pool-detail", args=[found["pool"]])
    return (
        Step(
            gettext("Connect a cluster"),
            gettext("Muster reads its nodes and writes into it over the Kubernetes API."),
            "cluster:create",
            reverse("clusters:cluster-add"),
            found["connected"],
        ),
        Step(
            gettext("Define a network topology"),
            gettext("Its levels, such as zone and rack, are proposed from the labels of the nodes."),
            "network-topologies:create",
            reverse("topology:topology-new"),
            found["defined"],
        ),
        Step(
            gettext("Attach it to a node pool"),
            gettext("Workloads on the pool are then placed close together."),
            "nodepools:update",
            pool or pools,
            found["attached"],
        ),
    )


def _of_the_organisation(found: dict[str, Any]) -> tuple[Step, ...]:
    return (
        Step(
            gettext("Make a department with quota"),
            gettext("It deserves GPUs per node pool, which its projects share."),
            "department:create",
            reverse("organizations:department-new"),
            found["department"],
        ),
        Step(
            gettext("Make a project with quota"),
            gettext("Workloads run in a project: it has a namespace and a quota of its own."),
            "project:create",
            reverse("organizations:project-new"),
            found["project"],
        ),
    )


def _found(user: User, cluster: Cluster | None) -> dict[str, Any]:
    """What there is already, and the first node pool, as far as this person sees. One query."""

    def seen(model: Any) -> Any:
        rows = model.objects.visible_to(user)
        return rows if cluster is None else rows.filter(cluster=cluster)

    pools = seen(NodePool).order_by("name", "pk")
    rows = User.objects.values(
        connected=Exists(Cluster.objects.visible_to(user)),
        defined=Exists(seen(NetworkTopology)),
        attached=Exists(pools.filter(network_topology__isnull=False)),
        department=Exists(seen(Department).exclude(name=DEFAULT_DEPARTMENT)),
        project=Exists(seen(Project)),
        pool=Subquery(pools.values("pk")[:1]),
    )
    return dict(rows.get(pk=user.pk))
