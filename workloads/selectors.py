"""Reads for pages and the API: workloads that a person may see, in the order in which they need one."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Case, IntegerField, Value, When

from accounts.models import User
from accounts.permissions import reach
from organizations.models import Project
from topology.models import NodePool
from workloads.models import Workload, WorkloadQuerySet

# What needs a person first.
PHASE_ORDER = (
    "Failed", "Degraded", "Pending", "Creating", "Initializing", "Updating", "Resuming", "Deleting", "Stopping",
    "Unknown", "Running", "Stopped", "Completed",
)  # fmt: skip

Person = User | AnonymousUser


def workloads_of(user: Person) -> WorkloadQuerySet:
    """The workloads that `user` may see, with `phase_rank` to sort by and everything a row shows joined."""
    rank = Case(
        *(When(phase=phase, then=Value(index)) for index, phase in enumerate(PHASE_ORDER)),
        default=Value(len(PHASE_ORDER)),
        output_field=IntegerField(),
    )
    rows: WorkloadQuerySet = Workload.objects.visible_to(user)
    return rows.annotate(phase_rank=rank).select_related("project__department", "node_pool", "cluster")


def workload_of(user: Person, pk: Any) -> Workload:
    """One of them. Raises `NotFound` alike for absent, invisible and malformed."""
    rows = Workload.objects.select_related("project__department", "node_pool__network_topology", "cluster")
    found: Workload = rows.get_visible(user, pk=pk)
    return found


def projects_to_submit_to(user: Person) -> list[Project]:
    """Projects into which `user` may submit, by name."""
    where = reach(user, "workloads:create")
    projects = Project.objects.filter(deletion_requested_at=None).select_related("department", "cluster")
    return [project for project in projects.order_by("name", "pk") if where.covers(project.scope)]


def pools_of(project: Project) -> list[NodePool]:
    """Node pools of the project's cluster, those on which it has quota first."""
    pools = NodePool.objects.filter(cluster=project.cluster_id).select_related("network_topology").order_by("name")
    funded = set(project.quotas.values_list("node_pool_id", flat=True))
    return sorted(pools, key=lambda pool: pool.pk not in funded)
