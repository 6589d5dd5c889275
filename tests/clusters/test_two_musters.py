"""Two installations of Muster on one cluster: both say so, and the second writes nothing until the first is gone."""

from typing import Any

import pytest

from clusters import connections
from clusters.claim import ANNOTATION, KEPT_OUT, installation
from clusters.kinds import KAI_QUEUE, NAMESPACE
from clusters.kube.errors import Forbidden, Unavailable
from clusters.kube.fake import FakeGateway
from clusters.models import Cluster
from clusters.reconcile import reconcile_cluster, sync_cluster
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


def notes(gateway: FakeGateway) -> dict[str, str]:
    """What installations have written of themselves."""
    found: dict[str, str] = gateway.object(NAMESPACE, "muster-system")["metadata"].get("annotations") or {}
    return found


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


def test_the_first_installation_says_who_else_is_connected(
    cluster: Cluster, shared: FakeGateway, settings: Any
) -> None:
    names = {}
    for key in ("first", "second", "third", "second", "third"):
        settings.SECRET_KEY = key
        names[key] = installation()
        looks(cluster, shared)
    assert notes(shared) == {
        ANNOTATION: names["first"],
        KEPT_OUT + names["second"]: "true",
        KEPT_OUT + names["third"]: "true",
    }
    writes = len(shared.writes)

    settings.SECRET_KEY = "first"
    found = looks(cluster, shared)

    assert (found["status"], found["reason"]) == ("False", "OthersKeptOut")
    assert found["arguments"]["others"] == ", ".join(sorted((names["second"], names["third"])))
    assert f"Another one ({found['arguments']['others']}) is connected to it too" in condition_text(found)
    assert len(shared.writes) == writes


def test_the_first_installation_goes_on_writing(department: Department, shared: FakeGateway, settings: Any) -> None:
    reconciler = by_label("organizations.Department")
    assert reconciler is not None
    for key in ("first", "second", "first"):
        settings.SECRET_KEY = key
        looks(department.cluster, shared)

    reconcile(department, reconciler)

    assert shared.names(KAI_QUEUE) == ["research"]


def test_who_takes_the_cluster_over_takes_its_own_note_away(
    cluster: Cluster, shared: FakeGateway, settings: Any
) -> None:
    for key in ("first", "second"):
        settings.SECRET_KEY = key
        looks(cluster, shared)
    shared.edit(NAMESPACE, "muster-system", metadata={"annotations": {ANNOTATION: None}})

    assert looks(cluster, shared)["reason"] == "Claimed"
    assert notes(shared) == {ANNOTATION: installation()}


def test_who_may_not_write_its_note_is_kept_out_all_the_same(
    cluster: Cluster, shared: FakeGateway, settings: Any
) -> None:
    settings.SECRET_KEY = "first"
    looks(cluster, shared)
    settings.SECRET_KEY = "second"
    calls = len(shared.calls)
    looks(cluster, shared)
    shared.edit(NAMESPACE, "muster-system", metadata={"annotations": {KEPT_OUT + installation(): None}})

    shared.fail_at(len(shared.calls) - calls, Forbidden("no"))

    assert looks(cluster, shared)["reason"] == "OtherMuster"
    assert list(notes(shared)) == [ANNOTATION]


def test_whose_a_cluster_is_stays_known_while_it_cannot_be_asked(
    cluster: Cluster, shared: FakeGateway, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("first", "second"):
        settings.SECRET_KEY = key
        looks(cluster, shared)
    monkeypatch.setattr(connections, "open_gateway", lambda _cluster: shared)
    shared.fail_at(1, Unavailable("connection refused"))

    reconcile(cluster, Reconciler(Cluster, reconcile_cluster, cluster_lookup="pk"))

    found = {each["type"]: (each["status"], each["reason"]) for each in cluster.conditions}
    assert found["SoleMuster"] == ("False", "OtherMuster")
    assert found["Permitted"] == ("Unknown", "Unreachable")


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
