"""Nothing is defined in a cluster that is being removed, in whatever way: it would be forgotten with the rest."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.models import AuditEntry
from clusters.models import Cluster, Removal
from clusters.services import remove_cluster
from core.errors import Conflict
from organizations.models import Department, Project
from organizations.services import ProjectInput, create_department, create_project
from tests.workloads.samples import MULTINODE
from topology.models import NetworkTopology, NodePool
from topology.services import create_node_pool, create_topology
from workloads import services
from workloads.models import DesiredPhase, Workload

Acts = dict[str, Callable[[], object]]


@pytest.fixture
def acts(admin: Any, actor: Any, submit: Any, project: Project, cluster: Cluster) -> Acts:
    """What somebody may try, whose page is from before the removal."""
    who: Actor = actor(admin)
    runs, stopped = submit(), submit(MULTINODE, stopped=True)
    return {
        "submit": lambda: submit(MULTINODE.replace("name: qwen", "name: late")),
        "edit": lambda: services.update_workload(who, workload=_again(runs), source=f"{runs.source}\n# edited\n"),
        "suspend": lambda: services.suspend_workload(who, workload=_again(runs)),
        "resume": lambda: services.resume_workload(who, workload=_again(stopped)),
        "project": lambda: create_project(who, department=project.department, given=ProjectInput("late")),
        "department": lambda: create_department(who, cluster=cluster, name="late"),
        "pool": lambda: create_node_pool(
            who, cluster=cluster, name="late", settings={"label_key": "gpu", "label_value": "late"}
        ),
        "topology": lambda: create_topology(who, cluster=cluster, name="late", levels=["kubernetes.io/hostname"]),
    }


def _again(workload: Workload) -> Workload:
    return Workload.objects.get(pk=workload.pk)


def _rows() -> Any:
    found = [model.objects.order_by("pk").values_list("pk", "generation") for model in (Department, Project, NodePool)]
    work = Workload.objects.order_by("pk").values_list("pk", "generation", "desired_phase")
    return [*map(list, found), list(work), NetworkTopology.objects.count(), AuditEntry.objects.count()]


@pytest.mark.parametrize("how", Removal.values)
def test_nothing_is_defined_in_a_cluster_that_is_being_removed(
    acts: Acts, admin: Any, actor: Any, cluster: Cluster, how: str
) -> None:
    remove_cluster(actor(admin), Cluster.objects.get(pk=cluster.pk), how=how)
    before = _rows()

    for name, act in acts.items():
        with pytest.raises(Conflict) as refused:
            act()
        assert "is being" in refused.value.message, name
    assert _rows() == before


def test_the_same_is_done_where_the_cluster_stays(acts: Acts) -> None:
    for act in acts.values():
        act()

    assert Workload.objects.filter(desired_phase=DesiredPhase.RUNNING).count() == 2
