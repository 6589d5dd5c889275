"""Two installations of Muster on one cluster: the second says so and writes nothing, until the first is gone."""

from typing import Any

import pytest

from clusters.claim import ANNOTATION, installation
from clusters.kinds import KAI_QUEUE, NAMESPACE
from clusters.kube.fake import FakeGateway
from clusters.models import Cluster
from clusters.reconcile import sync_cluster
from clusters.wording import condition_text
from controlplane.reconcilers import by_label
from core import leases
from core.conditions import find
from core.reconciling import Reconciler, reconcile_claimed
from organizations.models import Department


@pytest.fixture
def shared(gateway: FakeGateway) -> FakeGateway:
    """A cluster with the namespace of Muster's account."""
    gateway.put(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "muster-system"}})
    return gateway


def reconcile(row: Any, reconciler: Reconciler) -> None:
    type(row).objects.filter(pk=row.pk).update(next_check_at=row.created_at)
    taken = leases.claim(type(row), row.pk)
    assert taken is not None
    reconcile_claimed(reconciler, row.pk, taken)
    row.refresh_from_db()


def looks(cluster: Cluster, gateway: FakeGateway) -> dict[str, Any]:
    reconcile(cluster, Reconciler(Cluster, lambda row: sync_cluster(row, gateway), cluster_lookup="pk"))
    return find(cluster.conditions, "SoleMuster") or {}


def test_the_second_installation_says_so_and_writes_nothing(
    department: Department, shared: FakeGateway, settings: Any
) -> None:
    reconciler = by_label("organizations.Department")
    assert reconciler is not None
    first, second = "the key of the first", "the key of the second"
    settings.SECRET_KEY = first
    assert looks(department.cluster, shared)["status"] == "True"
    reconcile(department, reconciler)
    assert shared.names(KAI_QUEUE) == ["research"]
    shared.edit(KAI_QUEUE, "research", spec={"priority": 7})

    settings.SECRET_KEY = second
    found = looks(department.cluster, shared)
    writes = len(shared.writes)
    reconcile(department, reconciler)

    assert found["reason"] == "OtherMuster"
    assert "Another installation of Muster" in condition_text(found)
    assert len(shared.writes) == writes
    synced = find(department.conditions, "Synced")
    assert synced is not None
    assert (synced["status"], synced["reason"]) == ("False", "OtherMuster")

    shared.edit(NAMESPACE, "muster-system", metadata={"annotations": {ANNOTATION: None}})
    assert looks(department.cluster, shared)["status"] == "True"
    reconcile(department, reconciler)
    assert shared.object(KAI_QUEUE, "research")["spec"]["priority"] == 100


def test_a_new_key_with_the_old_one_as_a_fallback_is_the_same_installation(
    cluster: Cluster, shared: FakeGateway, settings: Any
) -> None:
    settings.SECRET_KEY = "old"
    looks(cluster, shared)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new", ["old"]
    assert looks(cluster, shared)["status"] == "True"
    writes = len(shared.writes)
    looks(cluster, shared)
    assert len(shared.writes) == writes
    assert installation() != shared.object(NAMESPACE, "muster-system")["metadata"]["annotations"][ANNOTATION]


def test_without_the_namespace_nothing_is_claimed(cluster: Cluster, gateway: FakeGateway) -> None:
    assert looks(cluster, gateway) == {}
    assert gateway.writes == []
