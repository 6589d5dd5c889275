from typing import Any

import pytest
from django.utils import translation

from clusters import kinds
from clusters.kube.errors import Unavailable
from clusters.kube.fake import FakeGateway
from clusters.names import MANAGED_BY_LABEL, NODE_POOL_LABEL
from core.desired import request_deletion
from core.reconciling import Outcome
from tests.topology.conftest import labels, put_node
from topology.models import NetworkTopology, NodePool
from topology.reconcile import reconcile_node_pool, sync_node_pool
from topology.wording import condition_item

DOWN = Unavailable("no answer")


def condition(outcome: Outcome, type_: str) -> Any:
    return next((c for c in outcome.conditions if c.type == type_), None)


def told_in_chinese(found: Any) -> str:
    with translation.override("zh-hans"):
        return str(condition_item(found.as_dict())["text"])


@pytest.fixture
def nodes(gateway: FakeGateway) -> None:
    put_node(gateway, "gpu-1", node_pool="h200", zone="z1", rack="r1")
    put_node(gateway, "gpu-2", node_pool="h200", zone="z1")
    put_node(gateway, "gpu-3", zone="z1", rack="r1")


@pytest.mark.usefixtures("nodes")
def test_creates_the_shard_and_labels_the_matching_nodes_only(pool: NodePool, gateway: FakeGateway) -> None:
    outcome = reconcile_node_pool(pool)

    assert labels(gateway, "gpu-1")[NODE_POOL_LABEL] == "h200"
    assert labels(gateway, "gpu-2")[NODE_POOL_LABEL] == "h200"
    assert NODE_POOL_LABEL not in labels(gateway, "gpu-3")
    assert gateway.object(kinds.KAI_SCHEDULING_SHARD, "h200")["spec"] == {
        "partitionLabelValue": "h200",
        "placementStrategy": {"gpu": "binpack", "cpu": "binpack"},
    }
    assert (outcome.phase, condition(outcome, "Synced").status) == ("Ready", "True")


@pytest.mark.usefixtures("nodes")
def test_nothing_but_the_label_of_a_node_is_touched(pool: NodePool, gateway: FakeGateway) -> None:
    before = gateway.object(kinds.NODE, "gpu-1")

    sync_node_pool(pool, gateway)

    after = gateway.object(kinds.NODE, "gpu-1")
    assert after["status"] == before["status"]
    assert after["metadata"]["labels"] == {**before["metadata"]["labels"], NODE_POOL_LABEL: "h200"}


@pytest.mark.usefixtures("nodes")
def test_repairs_drift_of_the_shard_and_a_removed_label(pool: NodePool, gateway: FakeGateway) -> None:
    sync_node_pool(pool, gateway)
    gateway.edit(kinds.KAI_SCHEDULING_SHARD, "h200", spec={"placementStrategy": {"gpu": "spread"}})
    gateway.edit(kinds.NODE, "gpu-1", metadata={"labels": {NODE_POOL_LABEL: None}})

    outcome = sync_node_pool(pool, gateway)

    assert gateway.object(kinds.KAI_SCHEDULING_SHARD, "h200")["spec"]["placementStrategy"]["gpu"] == "binpack"
    assert labels(gateway, "gpu-1")[NODE_POOL_LABEL] == "h200"
    drift = condition(outcome, "InSync")
    assert (drift.status, dict(drift.arguments)["fields"]) == ("False", "spec.placementStrategy.gpu")


@pytest.mark.usefixtures("nodes")
def test_second_run_writes_nothing(pool: NodePool, gateway: FakeGateway) -> None:
    sync_node_pool(pool, gateway)
    before = len(gateway.writes)

    sync_node_pool(pool, gateway)

    assert len(gateway.writes) == before == 3


@pytest.mark.usefixtures("nodes")
def test_transient_error_is_raised_and_leaves_the_spec(pool: NodePool, gateway: FakeGateway) -> None:
    gateway.fail_at(2, DOWN)

    with pytest.raises(Unavailable):
        sync_node_pool(pool, gateway)

    pool.refresh_from_db()
    assert (pool.generation, pool.label_value) == (1, "h200")


@pytest.mark.usefixtures("nodes")
def test_deletion_waits_for_the_shard_and_for_the_queues(pool: NodePool, gateway: FakeGateway) -> None:
    sync_node_pool(pool, gateway)
    gateway.edit(kinds.KAI_SCHEDULING_SHARD, "h200", metadata={"finalizers": ["kai/hold"]})
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "a-h200", "labels": {NODE_POOL_LABEL: "h200", MANAGED_BY_LABEL: "muster"}},
    }
    gateway.put(kinds.KAI_QUEUE, queue, manager="muster")
    pool = request_deletion(pool)

    waiting = sync_node_pool(pool, gateway)
    gateway.release(kinds.KAI_SCHEDULING_SHARD, "h200")
    for_queue = sync_node_pool(pool, gateway)
    gateway.delete(kinds.KAI_QUEUE, "a-h200")
    done = sync_node_pool(pool, gateway)

    assert (waiting.phase, waiting.gone) == ("Deleting", False)
    assert "SchedulingShard/h200" in waiting.conditions[0].message
    assert for_queue.conditions[0].message == "Waiting for Queue (1) to leave the cluster."
    assert done.gone
    assert NODE_POOL_LABEL not in labels(gateway, "gpu-1")


@pytest.mark.usefixtures("nodes")
def test_a_node_that_no_longer_matches_loses_the_label(pool: NodePool, gateway: FakeGateway) -> None:
    sync_node_pool(pool, gateway)
    gateway.edit(kinds.NODE, "gpu-1", metadata={"labels": {"node-pool": "other"}})

    sync_node_pool(pool, gateway)

    assert NODE_POOL_LABEL not in labels(gateway, "gpu-1")
    assert labels(gateway, "gpu-2")[NODE_POOL_LABEL] == "h200"


@pytest.mark.usefixtures("nodes")
def test_labels_that_somebody_else_holds_are_left_alone_and_named(pool: NodePool, gateway: FakeGateway) -> None:
    gateway.edit(kinds.NODE, "gpu-1", metadata={"labels": {NODE_POOL_LABEL: "mine"}}, manager="kubectl-label")
    gateway.edit(kinds.NODE, "gpu-3", metadata={"labels": {NODE_POOL_LABEL: "h200"}}, manager="kubectl-label")

    outcome = sync_node_pool(pool, gateway)

    assert labels(gateway, "gpu-1")[NODE_POOL_LABEL] == "mine"
    assert labels(gateway, "gpu-3")[NODE_POOL_LABEL] == "h200"
    held = condition(outcome, "LabelsOwned")
    assert dict(held.arguments)["nodes"] == "gpu-1,gpu-3"
    assert "gpu-1 (kubectl-label)" in held.message
    assert "gpu-1 (kubectl-label)" in told_in_chinese(held)


@pytest.mark.usefixtures("nodes")
def test_rows_25_and_39_the_mismatch_names_the_node_and_its_missing_label(
    pool: NodePool, topology: NetworkTopology, gateway: FakeGateway
) -> None:
    pool.network_topology = topology

    outcome = sync_node_pool(pool, gateway)

    mismatch = condition(outcome, "TopologyMismatch")
    assert (mismatch.status, dict(mismatch.arguments)["nodes"]) == ("True", "gpu-2")
    assert "gpu-2 lacks topology.kubernetes.io/rack" in mismatch.message
    assert "gpu-2 (topology.kubernetes.io/rack)" in told_in_chinese(mismatch)
    assert outcome.phase == "Ready"


@pytest.mark.usefixtures("nodes")
def test_the_default_pool_is_the_absence_of_the_label_and_writes_nothing(
    pool: NodePool, default_pool: NodePool, topology: NetworkTopology, gateway: FakeGateway
) -> None:
    put_node(gateway, "control-plane", gpus=0)
    sync_node_pool(pool, gateway)
    written = len(gateway.writes)
    default_pool.network_topology = topology

    outcome = sync_node_pool(default_pool, gateway)

    assert len(gateway.writes) == written
    assert (outcome.phase, condition(outcome, "TopologyMismatch").status) == ("Ready", "False")
    assert gateway.names(kinds.KAI_SCHEDULING_SHARD) == ["h200"]


@pytest.mark.parametrize("value", ["default", "gone"])
def test_nodes_with_the_label_of_no_pool_are_named_on_the_default_pool(
    value: str, pool: NodePool, default_pool: NodePool, gateway: FakeGateway
) -> None:
    put_node(gateway, "gpu-1")
    put_node(gateway, "gpu-2")
    for name, label in (("gpu-1", value), ("gpu-2", "h200")):
        gateway.edit(kinds.NODE, name, metadata={"labels": {NODE_POOL_LABEL: label}}, manager="kubectl-label")

    found = condition(sync_node_pool(default_pool, gateway), "UnknownPools")

    assert (found.status, dict(found.arguments)["nodes"]) == ("True", "gpu-1")
    assert f"gpu-1 ({value})" in found.message
    assert f"gpu-1 ({value})" in told_in_chinese(found)


def test_row_13_a_pool_that_matches_nothing_is_empty(pool: NodePool, gateway: FakeGateway) -> None:
    assert sync_node_pool(pool, gateway).phase == "Empty"


@pytest.mark.usefixtures("nodes")
def test_a_pool_of_cordoned_nodes_is_unschedulable(pool: NodePool, gateway: FakeGateway) -> None:
    for name in ("gpu-1", "gpu-2"):
        gateway.edit(kinds.NODE, name, spec={"unschedulable": True})

    assert sync_node_pool(pool, gateway).phase == "Unschedulable"


@pytest.mark.usefixtures("nodes")
def test_row_12_two_pools_on_one_node_are_named_and_the_older_takes_it(pool: NodePool, gateway: FakeGateway) -> None:
    put_node(gateway, "gpu-1", node_pool="h200", tier="gold")
    gold = NodePool.objects.create(cluster=pool.cluster, name="gold", label_key="tier", label_value="gold")

    for _ in range(2):
        younger = sync_node_pool(gold, gateway)
        older = sync_node_pool(pool, gateway)

    assert labels(gateway, "gpu-1")[NODE_POOL_LABEL] == "h200"
    assert (younger.phase, older.phase) == ("Empty", "Ready")
    for outcome in (younger, older):
        overlap = condition(outcome, "Overlap")
        assert {"gold", "h200"} <= set(overlap.message.replace(",", " ").split())
        assert dict(overlap.arguments)["nodes"] == "gpu-1"
        assert dict(overlap.arguments)["holders"] == "h200"
        assert "h200" in told_in_chinese(overlap)
    assert len(gateway.writes) == 4  # 2 labels, 2 shards: the pools do not fight


def test_a_foreign_shard_of_the_name_is_left_alone(pool: NodePool, gateway: FakeGateway) -> None:
    shard = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "h200"}, "spec": {}}
    gateway.put(kinds.KAI_SCHEDULING_SHARD, shard, manager="helm")

    outcome = sync_node_pool(pool, gateway)

    assert (condition(outcome, "Accepted").reason, outcome.phase) == ("NameTaken", "Unschedulable")
    assert "helm" in condition(outcome, "Accepted").message


def test_without_shards_served_the_condition_says_so(pool: NodePool, gateway: FakeGateway) -> None:
    gateway.serve(kinds.KAI_SCHEDULING_SHARD, [])
    gateway.serve(kinds.KAI_QUEUE, [])

    assert condition(sync_node_pool(pool, gateway), "Synced").reason == "NotServed"
    assert sync_node_pool(request_deletion(pool), gateway).gone


@pytest.mark.parametrize("fault", ["fail_at", "lose_answer_at"])
@pytest.mark.parametrize("deleting", [False, True])
def test_row_25_converges_after_any_call_fails(pool: NodePool, fault: str, deleting: bool) -> None:
    for k in range(1, 14):
        fake = FakeGateway()
        for name in ("gpu-1", "gpu-2"):
            put_node(fake, name, node_pool="h200")
        row = NodePool.objects.get(pk=pool.pk)
        if deleting:
            sync_node_pool(row, fake)
            row.deletion_requested_at = row.created_at
        getattr(fake, fault)(k, DOWN)
        for _ in range(4):
            try:
                outcome = sync_node_pool(row, fake)
            except Unavailable:
                continue
            if outcome.gone or outcome.phase == "Ready":
                break
        assert fake.names(kinds.KAI_SCHEDULING_SHARD) == ([] if deleting else ["h200"]), k
        for name in ("gpu-1", "gpu-2"):
            assert (NODE_POOL_LABEL in labels(fake, name)) is not deleting, (k, name)
