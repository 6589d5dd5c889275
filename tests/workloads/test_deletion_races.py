"""Something is made while what it needs is being deleted: whoever comes second is refused, and nothing is left over.

Each instance is read before the deletion is asked for, as a request does that arrives at the same moment.
"""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.models import AuditEntry, User
from clusters.models import Cluster
from clusters.services import remove_cluster
from core.desired import hold, request_deletion
from core.errors import Conflict, InvalidInput
from organizations.models import Department, Project
from organizations.services import ProjectInput, create_department, create_project
from topology.models import NetworkTopology, NodePool
from topology.services import attach_topology, create_node_pool, create_topology
from workloads.models import Workload


@pytest.fixture
def me(admin: User, actor: Callable[[User], Actor]) -> Actor:
    return actor(admin)


def leaves(row: Any) -> None:
    """Its deletion is asked for, and no instance that was read before knows."""
    request_deletion(type(row).objects.get(pk=row.pk))


def test_a_row_is_held_while_it_stays(project: Project) -> None:
    assert hold(project)
    leaves(project)
    assert not hold(project)
    Project.objects.filter(pk=project.pk).delete()
    assert not hold(project)


def test_no_workload_is_submitted_into_a_project_that_goes_at_the_same_moment(submit: Any, project: Project) -> None:
    leaves(project)

    with pytest.raises(Conflict, match=r"Project .* is being deleted"):
        submit()

    assert (Workload.objects.count(), AuditEntry.objects.filter(action="create").count()) == (0, 0)


def test_no_workload_is_submitted_to_a_pool_that_goes_at_the_same_moment(submit: Any, h200: NodePool) -> None:
    leaves(h200)

    with pytest.raises((Conflict, InvalidInput)):
        submit(node_pool=h200)

    assert Workload.objects.count() == 0


def test_no_project_is_made_in_a_department_that_goes_at_the_same_moment(me: Actor, department: Department) -> None:
    leaves(department)

    with pytest.raises(Conflict, match=r"Department .* is being deleted"):
        create_project(me, department=department, given=ProjectInput("late"))

    assert not Project.objects.filter(name="late").exists()


def test_no_topology_is_attached_that_goes_at_the_same_moment(
    me: Actor, topology: NetworkTopology, h200: NodePool
) -> None:
    leaves(topology)

    with pytest.raises(InvalidInput, match="is being deleted"):
        attach_topology(me, pool=h200, topology=topology)


def test_nothing_is_made_on_a_cluster_that_is_being_removed(me: Actor, cluster: Cluster) -> None:
    remove_cluster(me, Cluster.objects.get(pk=cluster.pk), how="leave")

    makes: tuple[Callable[[], Any], ...] = (
        lambda: create_department(me, cluster=cluster, name="late"),
        lambda: create_topology(
            me, cluster=cluster, name="late", levels=["example.org/rack", "kubernetes.io/hostname"]
        ),
        lambda: create_node_pool(me, cluster=cluster, name="late", settings={"label_key": "a", "label_value": "b"}),
    )
    for make in makes:
        with pytest.raises(Conflict, match="is being removed"):
            make()
