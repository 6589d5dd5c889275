"""A repair of drift stays told for a while, on the row and among its events, though the next look finds all well."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from clusters import kinds
from clusters.kube.fake import FakeGateway
from clusters.models import Cluster
from core import leases
from core.conditions import TOLD_FOR, find
from core.models import DesiredState
from core.reconciling import Outcome, Reconciler, reconcile_claimed
from organizations.models import Department, Project
from organizations.reconcile import reconcile_department, reconcile_project
from topology.models import NetworkTopology, NodePool
from topology.reconcile import reconcile_node_pool, reconcile_topology

Kept = tuple[DesiredState, Callable[[Any], Outcome], str]


@pytest.fixture
def kept(cluster: Cluster, department: Department, project: Project) -> dict[str, Kept]:
    """Rows by kind: how each is reconciled, and the page of its events."""
    topology = NetworkTopology.objects.create(cluster=cluster, name="racks", levels=["kubernetes.io/hostname"])
    pool = NodePool.objects.create(cluster=cluster, name="training", label_key="pool", label_value="training")
    return {
        "node pool": (pool, reconcile_node_pool, f"/node-pools/{pool.pk}/events/"),
        "department": (department, reconcile_department, f"/departments/{department.pk}/events/"),
        "project": (project, reconcile_project, f"/projects/{project.pk}/events/"),
        "topology": (topology, reconcile_topology, f"/network-topologies/{topology.pk}/events/"),
    }


def look(row: DesiredState, reconcile: Callable[[Any], Outcome]) -> dict[str, Any]:
    """Reconcile it as a worker does; its condition `InSync` afterwards."""
    leases.poke(type(row), [row.pk])
    taken = leases.claim(type(row), row.pk)
    assert taken is not None
    assert reconcile_claimed(Reconciler(type(row), reconcile), row.pk, taken)
    found = find(type(row)._default_manager.get(pk=row.pk).conditions, "InSync")
    assert found is not None
    return found


def drift(gateway: FakeGateway, kind: str) -> None:
    if kind == "topology":
        gateway.edit(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING, "racks", spec={"schedulerTopologyBindings": []})
    else:
        name = "research" if kind == "department" else "assistant"
        gateway.edit(kinds.KAI_QUEUE, name, spec={"resources": {"gpu": {"limit": 2}}})


@pytest.mark.parametrize("kind", ["department", "project", "topology"])
def test_a_repair_is_listed_among_the_events_and_told_for_a_while(
    kept: dict[str, Kept], gateway: FakeGateway, admin: User, client_of: Any, kind: str
) -> None:
    row, reconcile, page = kept[kind]
    for parent in ("department", kind):
        look(*kept[parent][:2])
    drift(gateway, kind)

    told = [look(row, reconcile), look(row, reconcile)]

    assert [each["reason"] for each in told] == ["DriftRepaired", "DriftRepaired"]
    shown = [event["text"] for event in client_of(admin).get(page).context["events"]]
    assert any("it was put back" in text for text in shown), shown
    with time_machine.travel(timezone.now() + TOLD_FOR + timedelta(seconds=2), tick=False):
        assert look(row, reconcile)["status"] == "True"
        shown = [event["text"] for event in client_of(admin).get(page).context["events"]]
    assert not any("it was put back" in text for text in shown), shown


@pytest.mark.parametrize(
    ("kind", "deleted", "told"),
    [
        ("department", [(kinds.KAI_QUEUE, "research")], "Queue research"),
        ("project", [(kinds.KAI_QUEUE, "assistant")], "Queue assistant"),
        (
            "project",
            [(kinds.NAMESPACE, "runai-assistant"), (kinds.KAI_QUEUE, "assistant")],
            "Namespace runai-assistant, Queue assistant",
        ),
        ("topology", [(kinds.KAI_TOPOLOGY, "racks")], "Topology racks"),
        ("node pool", [(kinds.KAI_SCHEDULING_SHARD, "training")], "SchedulingShard training"),
    ],
)
def test_what_somebody_deleted_is_made_again_and_told(
    kept: dict[str, Kept], gateway: FakeGateway, kind: str, deleted: list[tuple[kinds.Kind, str]], told: str
) -> None:
    for parent in ("department", "project", kind):
        assert look(*kept[parent][:2])["status"] == "True"
    for each, name in deleted:
        gateway.delete(each, name)

    found = look(*kept[kind][:2])

    assert (found["status"], found["reason"]) == ("False", "DeletionRepaired")
    assert found["message"] == f"Somebody had deleted {told}; it was made again."
    assert all(name in gateway.names(each) for each, name in deleted)


def test_a_pool_that_is_new_makes_a_queue_that_nobody_had_deleted(
    kept: dict[str, Kept], gateway: FakeGateway, cluster: Cluster
) -> None:
    look(*kept["department"][:2])
    NodePool.objects.create(cluster=cluster, name="spare", label_key="pool", label_value="spare")

    found = look(*kept["department"][:2])

    assert "research-spare" in gateway.names(kinds.KAI_QUEUE)
    assert found["status"] == "True"
