from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters import kinds
from clusters.models import Cluster, Node
from clusters.names import NODE_POOL_LABEL
from clusters.watcher.changes import Change
from tests.topology.conftest import RACK, ZONE
from topology.interests import wake_for
from topology.models import NetworkTopology, NodePool

LATER = timezone.now() + timedelta(days=1)


def put_to_sleep() -> None:
    NodePool.objects.update(next_check_at=LATER)
    NetworkTopology.objects.update(next_check_at=LATER)


def awake() -> set[str]:
    rows = [*NodePool.objects.all(), *NetworkTopology.objects.all()]
    return {row.name for row in rows if row.next_check_at < LATER}


def node(type_: Any = "modified", **labels: str) -> Change:
    return Change(
        kinds.NODE, type_, "gpu-1", labels={k.replace("__", "/").replace("_", "-"): v for k, v in labels.items()}
    )


@pytest.fixture
def _asleep(pool: NodePool, default_pool: NodePool, topology: NetworkTopology) -> None:
    put_to_sleep()


@pytest.mark.usefixtures("_asleep")
def test_a_heartbeat_of_a_node_in_its_pool_wakes_nobody(cluster: Cluster) -> None:
    held = Change(kinds.NODE, "modified", "gpu-1", labels={"node-pool": "h200", NODE_POOL_LABEL: "h200"})

    wake_for(cluster, [held, Change(kinds.NODE, "modified", "gpu-2")])

    assert awake() == set()


@pytest.mark.usefixtures("_asleep")
def test_a_node_that_matches_or_no_longer_matches_wakes_the_pools_it_moves_between(cluster: Cluster) -> None:
    wake_for(cluster, [node(node_pool="h200")])
    assert awake() == {"h200", "default"}

    put_to_sleep()
    wake_for(cluster, [Change(kinds.NODE, "modified", "gpu-1", labels={NODE_POOL_LABEL: "h200"})])
    assert awake() == {"h200", "default"}


@pytest.mark.usefixtures("_asleep")
def test_new_and_lost_nodes_wake_their_pool(cluster: Cluster) -> None:
    wake_for(cluster, [Change(kinds.NODE, "deleted", "gpu-1", labels={NODE_POOL_LABEL: "h200", "node-pool": "h200"})])

    assert awake() == {"h200"}


@pytest.mark.usefixtures("_asleep")
def test_a_lost_level_label_wakes_the_pool_until_it_is_said(
    cluster: Cluster, default_pool: NodePool, topology: NetworkTopology
) -> None:
    NodePool.objects.filter(pk=default_pool.pk).update(network_topology=topology)
    Node.objects.create(
        cluster=cluster, uid="1", name="gpu-1", resource_version="1", created_at=timezone.now(), gpu_capacity=8
    )

    wake_for(cluster, [Change(kinds.NODE, "modified", "gpu-1", labels={ZONE: "z"})])
    assert awake() == {"default"}

    said = [{"type": "TopologyMismatch", "status": "True", "arguments": {"nodes": "gpu-1"}}]
    NodePool.objects.filter(pk=default_pool.pk).update(conditions=said)
    put_to_sleep()
    wake_for(cluster, [Change(kinds.NODE, "modified", "gpu-1", labels={ZONE: "z"})])
    assert awake() == set()
    wake_for(cluster, [Change(kinds.NODE, "modified", "cpu-1", labels={RACK: "r"})])
    assert awake() == set()


@pytest.mark.usefixtures("_asleep")
@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        (kinds.KAI_TOPOLOGY, "dc-topology", {"dc-topology"}),
        (kinds.GROVE_CLUSTER_TOPOLOGY_BINDING, "dc-topology", {"dc-topology"}),
        (kinds.KAI_SCHEDULING_SHARD, "h200", {"h200"}),
        (kinds.KAI_TOPOLOGY, "other", set()),
        (kinds.KAI_QUEUE, "h200", set()),
    ],
)
def test_changed_objects_wake_the_row_of_their_name(
    cluster: Cluster, kind: kinds.Kind, name: str, expected: set[str]
) -> None:
    wake_for(cluster, [Change(kind, "modified", name)])

    assert awake() == expected


def test_the_default_pool_is_made_when_the_first_node_is_seen(cluster: Cluster) -> None:
    wake_for(cluster, [node("added")])

    assert list(NodePool.objects.values_list("name", "label_key")) == [("default", "")]
