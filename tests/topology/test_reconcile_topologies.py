from pathlib import Path

import pytest
import yaml

from clusters import kinds
from clusters.kube.errors import Unavailable
from clusters.kube.fake import FakeGateway
from clusters.names import MANAGED_BY_LABEL, OWNER_LABEL
from core.desired import request_deletion
from core.reconciling import Outcome
from topology.models import NetworkTopology
from topology.reconcile import reconcile_topology, sync_topology

GOLDEN = Path(__file__).parent / "manifests"
DOWN = Unavailable("no answer")


def condition(outcome: Outcome, type_: str) -> tuple[str, str]:
    found = next(c for c in outcome.conditions if c.type == type_)
    return found.status, found.reason


def shape(manifest: dict) -> dict:
    kept = {k: v for k, v in manifest["metadata"].items() if k in ("name", "labels")}
    return {**manifest, "metadata": kept}


def test_creates_kais_topology_and_groves_binding(topology: NetworkTopology, gateway: FakeGateway) -> None:
    outcome = reconcile_topology(topology)

    live = gateway.object(kinds.KAI_TOPOLOGY, "dc-topology")
    binding = gateway.object(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING, "dc-topology")
    assert shape(live) == yaml.safe_load((GOLDEN / "topology.yaml").read_text())
    assert shape(binding) == yaml.safe_load((GOLDEN / "binding.yaml").read_text())
    assert outcome.phase == "Ready"
    assert [(c.type, c.status) for c in outcome.conditions] == [
        ("Accepted", "True"), ("Synced", "True"), ("InSync", "True"), ("Bound", "True"),
    ]  # fmt: skip


def test_repairs_drift_and_names_the_field(topology: NetworkTopology, gateway: FakeGateway) -> None:
    sync_topology(topology, gateway)
    gateway.edit(kinds.KAI_TOPOLOGY, "dc-topology", metadata={"labels": {MANAGED_BY_LABEL: "helm"}})

    outcome = sync_topology(topology, gateway)

    assert gateway.object(kinds.KAI_TOPOLOGY, "dc-topology")["metadata"]["labels"][MANAGED_BY_LABEL] == "muster"
    assert condition(outcome, "InSync") == ("False", "DriftRepaired")
    assert "managed-by" in next(c for c in outcome.conditions if c.type == "InSync").message
    assert condition(sync_topology(topology, gateway), "InSync") == ("True", "InSync")


def test_a_topology_deleted_by_hand_is_made_again(topology: NetworkTopology, gateway: FakeGateway) -> None:
    sync_topology(topology, gateway)
    gateway.delete(kinds.KAI_TOPOLOGY, "dc-topology")

    sync_topology(topology, gateway)

    assert gateway.names(kinds.KAI_TOPOLOGY) == ["dc-topology"]


def test_levels_that_somebody_replaced_are_made_anew_since_they_are_immutable(
    topology: NetworkTopology, gateway: FakeGateway
) -> None:
    sync_topology(topology, gateway)
    gateway.edit(kinds.KAI_TOPOLOGY, "dc-topology", spec={"levels": [{"nodeLabel": "x/rack"}]})

    first = sync_topology(topology, gateway)
    second = sync_topology(topology, gateway)

    assert condition(first, "InSync") == ("False", "LevelsReplaced")
    assert first.check_again_after.total_seconds() == 2
    assert second.phase == "Ready"
    levels = gateway.object(kinds.KAI_TOPOLOGY, "dc-topology")["spec"]["levels"]
    assert [level["nodeLabel"] for level in levels] == topology.levels


def test_second_run_writes_nothing(topology: NetworkTopology, gateway: FakeGateway) -> None:
    sync_topology(topology, gateway)
    before = len(gateway.writes)

    sync_topology(topology, gateway)

    assert len(gateway.writes) == before == 2


def test_transient_error_is_raised_and_leaves_the_spec(topology: NetworkTopology, gateway: FakeGateway) -> None:
    gateway.fail_at(1, DOWN)

    with pytest.raises(Unavailable) as caught:
        sync_topology(topology, gateway)

    assert caught.value.retryable
    topology.refresh_from_db()
    assert topology.generation == 1


def test_deletion_waits_for_the_objects_to_go(topology: NetworkTopology, gateway: FakeGateway) -> None:
    sync_topology(topology, gateway)
    gateway.edit(kinds.KAI_TOPOLOGY, "dc-topology", metadata={"finalizers": ["example.com/hold"]})
    topology = request_deletion(topology)

    waiting = sync_topology(topology, gateway)
    gateway.release(kinds.KAI_TOPOLOGY, "dc-topology")
    done = sync_topology(topology, gateway)

    assert (waiting.gone, waiting.phase) == (False, "Deleting")
    assert "Topology/dc-topology" in waiting.conditions[0].message
    assert done.gone
    assert gateway.names(kinds.KAI_TOPOLOGY) == gateway.names(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING) == []


def test_a_foreign_object_of_the_name_is_left_alone_and_named(topology: NetworkTopology, gateway: FakeGateway) -> None:
    foreign = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "dc-topology"},
        "spec": {"levels": [{"nodeLabel": "x"}]},
    }
    gateway.put(kinds.KAI_TOPOLOGY, foreign, manager="kubectl-create")

    outcome = sync_topology(topology, gateway)

    assert condition(outcome, "Accepted") == ("False", "NameTaken")
    assert "kubectl-create" in outcome.conditions[0].message
    assert gateway.writes == []
    assert sync_topology(request_deletion(topology), gateway).gone
    assert gateway.names(kinds.KAI_TOPOLOGY) == ["dc-topology"]


def test_without_kai_the_condition_says_what_is_missing(topology: NetworkTopology, gateway: FakeGateway) -> None:
    gateway.serve(kinds.KAI_TOPOLOGY, [])

    outcome = sync_topology(topology, gateway)

    assert condition(outcome, "Synced") == ("False", "NotServed")
    assert sync_topology(request_deletion(topology), gateway).gone


def test_without_grove_the_topology_is_ready_all_the_same(topology: NetworkTopology, gateway: FakeGateway) -> None:
    gateway.serve(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING, [])

    outcome = sync_topology(topology, gateway)

    assert outcome.phase == "Ready"
    assert condition(outcome, "Bound") == ("False", "NotServed")


def test_trap_t12_a_key_too_long_for_grove_makes_no_binding(topology: NetworkTopology, gateway: FakeGateway) -> None:
    topology.levels = ["a" * 63 + "/" + "b" * 10]

    outcome = sync_topology(topology, gateway)

    assert condition(outcome, "Bound") == ("False", "KeyTooLong")
    assert gateway.names(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING) == []


@pytest.mark.parametrize("fault", ["fail_at", "lose_answer_at"])
@pytest.mark.parametrize("deleting", [False, True])
def test_converges_after_any_call_fails(
    topology: NetworkTopology, gateway: FakeGateway, fault: str, deleting: bool
) -> None:
    for k in range(1, 12):
        fake = FakeGateway()
        if deleting:
            sync_topology(topology, fake)
        row = NetworkTopology.objects.get(pk=topology.pk)
        if deleting:
            row.deletion_requested_at = row.created_at
        getattr(fake, fault)(k, DOWN)
        for _ in range(4):
            try:
                outcome = sync_topology(row, fake)
            except Unavailable:
                continue
            if outcome.gone or outcome.phase == "Ready":
                break
        expected = [] if deleting else ["dc-topology"]
        assert fake.names(kinds.KAI_TOPOLOGY) == expected, k
        assert fake.names(kinds.GROVE_CLUSTER_TOPOLOGY_BINDING) == expected, k
        if not deleting:
            owner = fake.object(kinds.KAI_TOPOLOGY, "dc-topology")["metadata"]["labels"][OWNER_LABEL]
            assert owner == f"topology.NetworkTopology.{topology.pk}"
