"""What an edit would do to work and shares, before it is saved: edits of observed shards, compared by the engine.

The result is plain JSON (`Shown`): pages draw it, `dryRun` answers it, the audit entry keeps it. It names only what
its viewer may see; what is hidden is counted.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from clusters.models import Cluster, Node
from clusters.names import DEFAULT_NODE_POOL
from clusters.snapshot import Shard, shard_snapshot
from core.moments import rfc3339
from scheduling.impact import Impact, Move, compare
from scheduling.impact_edits import (
    cordoned,
    leaving_nodes,
    pool_topology,
    without_nodes,
    without_queues,
    without_topology,
)
from scheduling.shards import POOL_LABEL
from scheduling.structs import Level, Snapshot, Topology
from scheduling.structs import Node as EngineNode
from scheduling.structs import Pod as EnginePod
from topology.impact_names import Names, Shown, plain, workload_entries
from topology.models import NetworkTopology, NodePool

Edit = Callable[[Snapshot], Snapshot]

MOST_SHOWN = 100


def impact_of(user: Any, cluster: Cluster, edits: Mapping[str, Edit], *, now: datetime) -> Shown:
    """The effects of `edits`, by pool label, on the shards of a cluster. Empty (`is_empty`) where there are none."""
    parts: list[Shown] = []
    for label, edit in edits.items():
        shard = shard_snapshot(cluster, label, now=now)
        if not (shard.snapshot.podgroups or shard.snapshot.queues):
            continue
        found = compare(shard.snapshot, edit(shard.snapshot), shard.config)
        parts.append(shown(label, shard, found, Names.of(user, cluster, found.hits)))
    return merged(parts)


def shown(label: str, shard: Shard, found: Impact, names: Names) -> Shown:
    """One shard's effects as JSON."""
    pool = label or DEFAULT_NODE_POOL
    workloads = workload_entries(found.hits, pool, names)
    return {
        "pool": pool,
        "workloads": workloads[:MOST_SHOWN],
        "moreWorkloads": max(len(workloads) - MOST_SHOWN, 0),
        "queues": [_queue(move, label, names) for move in found.moves[:MOST_SHOWN]],
        "gpus": {"before": plain(found.total_before), "after": plain(found.total_after)},
        "unchecked": found.unchecked,
        "observedAt": rfc3339(shard.observed_at, "microseconds"),
        "unknown": list(shard.unknown),
    }


def _queue(move: Move, label: str, names: Names) -> Shown:
    return {
        "name": names.queue(move.queue) or None,
        "pool": label or DEFAULT_NODE_POOL,
        "held": plain(move.held),
        "fairShareBefore": None if move.fair_before is None else plain(move.fair_before),
        "fairShareAfter": None if move.fair_after is None else plain(move.fair_after),
        "before": move.before.value if move.before else None,
        "after": move.after.value if move.after else None,
    }


def merged(parts: Sequence[Shown]) -> Shown:
    """Several pools' effects as one; `isEmpty` where nothing changes for anybody."""
    return {
        "isEmpty": not any(part["workloads"] or part["queues"] or part["unchecked"] for part in parts),
        "workloads": [entry for part in parts for entry in part["workloads"]],
        "moreWorkloads": sum(part["moreWorkloads"] for part in parts),
        "queues": [entry for part in parts for entry in part["queues"]],
        "pools": [{"pool": part["pool"], "gpus": part["gpus"]} for part in parts],
        "unchecked": sum(part["unchecked"] for part in parts),
        "observedAt": min((part["observedAt"] for part in parts if part["observedAt"]), default=None),
        "unknown": sorted({code for part in parts for code in part["unknown"]}),
    }


def pool_change(user: Any, pool: NodePool, changes: Mapping[str, Any], *, now: datetime) -> Shown:
    """Another label, another topology or none of a pool that exists. Settings of its scheduler move no work at once."""
    edits: dict[str, Edit] = {}
    label, outside = pool.shard, list[str]()
    if "network_topology" in changes and changes["network_topology"] != pool.network_topology:
        edits[label] = _topology_edit(pool.cluster, changes["network_topology"])
        outside = _outside(pool, changes["network_topology"])
    key, value = changes.get("label_key", pool.label_key), changes.get("label_value", pool.label_value)
    if (key, value) != (pool.label_key, pool.label_value) and not pool.is_default:
        edits = _member_edits(pool, (key, value), edits)
    found = impact_of(user, pool.cluster, edits, now=now)
    return {**found, "nodesOutside": outside, "isEmpty": found["isEmpty"] and not outside}


def _member_edits(pool: NodePool, wanted: tuple[str, str], edits: Mapping[str, Edit]) -> dict[str, Edit]:
    """Edits of every pool that a changed label takes nodes from, or gives nodes to; those that leave go to default."""
    leaving, joining = _membership(pool, *wanted)
    label, gone = pool.shard, {node.name for node in leaving}
    names, labels = {node.name for node in joining}, {node.node_pool for node in joining}
    found = dict(edits)
    found[label] = _both(found.get(label), _leaving_edit(gone))
    if names:
        found[label] = _both(found[label], _joining_edit(pool.cluster, labels, names, label))
    for other in labels:
        found[other] = _leaving_edit({node.name for node in joining if node.node_pool == other})
    if gone:
        found[""] = _both(found.get(""), _joining_edit(pool.cluster, [label], gone, ""))
    return found


def _outside(pool: NodePool, topology: NetworkTopology | None) -> list[str]:
    """Nodes with GPUs of the pool that lack a label of the topology: nothing that it places lands there."""
    if topology is None:
        return []
    nodes = Node.objects.filter(cluster=pool.cluster, node_pool=pool.shard, gpu_capacity__gt=0)
    labels = nodes.order_by("name").values_list("name", "labels")
    return [name for name, found in labels if not all(found.get(key) for key in topology.levels)]


def _topology_edit(cluster: Cluster, new: NetworkTopology | None) -> Edit:
    old = _ever_attached(cluster)
    struct = topology_struct(new.name, new.levels) if new else None
    return lambda snapshot: pool_topology(snapshot, old, struct)


def _ever_attached(cluster: Cluster) -> set[str]:
    """Topologies that a pool's work may name: work keeps the one that its pool had when it was started."""
    return set(cluster.network_topologies.values_list("name", flat=True))


def topology_struct(name: str, levels: Iterable[str]) -> Topology:
    """The engine's topology of a name and label keys, broadest first."""
    return Topology(name, tuple(Level(key) for key in levels))


def _both(first: Edit | None, second: Edit) -> Edit:
    return second if first is None else lambda snapshot: second(first(snapshot))


def _membership(pool: NodePool, key: str, value: str) -> tuple[list[Node], list[Node]]:
    """Nodes that would leave the pool, and nodes that would join it."""
    nodes = Node.objects.filter(cluster=pool.cluster).only("name", "labels", "node_pool", "cluster_id")
    leaving, joining = [], []
    for node in nodes:
        inside, matches = node.node_pool == pool.name, node.labels.get(key) == value
        if inside and not matches:
            leaving.append(node)
        elif matches and not inside:
            joining.append(node)
    return leaving, joining


def _joining_edit(cluster: Cluster, labels: Iterable[str], names: Collection[str], label: str) -> Edit:
    """Nodes of these names, now in the pools of `labels`, come to the pool of `label`; what runs on them stays."""

    def edit(snapshot: Snapshot) -> Snapshot:
        now = datetime.fromtimestamp(snapshot.now).astimezone()
        others = [shard_snapshot(cluster, other, now=now).snapshot for other in labels]
        nodes = [node for other in others for node in other.nodes if node.name in names]
        pods = [pod for other in others for pod in other.pods if pod.node in names]
        return with_nodes(snapshot, nodes, pods, label)

    return edit


def with_nodes(snapshot: Snapshot, nodes: Iterable[EngineNode], pods: Iterable[EnginePod], label: str) -> Snapshot:
    """Nodes that come to a pool, with pods of other shards' gangs on them, which only take room."""

    def relabelled(node: EngineNode) -> EngineNode:
        labels = {key: value for key, value in node.labels.items() if key != POOL_LABEL}
        return msgspec.structs.replace(node, labels={**labels, POOL_LABEL: label} if label else labels)

    joined = tuple(map(relabelled, nodes))
    foreign = tuple(msgspec.structs.replace(pod, podgroup="") for pod in pods)
    return msgspec.structs.replace(snapshot, nodes=(*snapshot.nodes, *joined), pods=(*snapshot.pods, *foreign))


def _leaving_edit(names: set[str]) -> Edit:
    return lambda snapshot: leaving_nodes(snapshot, names)


def pool_deletion(user: Any, pool: NodePool, *, now: datetime) -> Shown:
    """The pool's queues go, its nodes fall to others."""

    def edit(snapshot: Snapshot) -> Snapshot:
        without = without_queues(snapshot, {queue.name for queue in snapshot.queues})
        return leaving_nodes(without, {node.name for node in snapshot.nodes})

    names = set(Node.objects.filter(cluster=pool.cluster, node_pool=pool.name).values_list("name", flat=True))
    edits = {pool.shard: edit, "": _joining_edit(pool.cluster, [pool.shard], names, "")}
    return impact_of(user, pool.cluster, edits, now=now)


def topology_deletion(user: Any, topology: NetworkTopology, *, now: datetime) -> Shown:
    """The object goes from the cluster; gangs of any pool that name it cannot start again."""
    edits: dict[str, Edit] = {
        pool.shard: lambda snapshot: without_topology(snapshot, topology.name)
        for pool in topology.cluster.node_pools.all()
    }
    return impact_of(user, topology.cluster, edits, now=now)


def topology_replacement(user: Any, topology: NetworkTopology, levels: Sequence[str], *, now: datetime) -> Shown:
    """A new topology with these levels on every pool of the old one, which is deleted."""
    new = topology_struct(f"{topology.name}\u2032", levels)
    attached = set(topology.node_pools.values_list("pk", flat=True))
    old = _ever_attached(topology.cluster)

    def edit_of(pool: NodePool) -> Edit:
        if pool.pk not in attached:
            return lambda snapshot: without_topology(snapshot, topology.name)
        return lambda snapshot: without_topology(pool_topology(snapshot, old, new), topology.name)

    edits = {pool.shard: edit_of(pool) for pool in topology.cluster.node_pools.all()}
    return impact_of(user, topology.cluster, edits, now=now)


def node_changes(
    user: Any, pool: NodePool, *, cordon: Sequence[str] = (), remove: Sequence[str] = (), now: datetime
) -> Shown:
    """Nodes of the pool cordoned or removed."""

    def edit(snapshot: Snapshot) -> Snapshot:
        return cordoned(without_nodes(snapshot, set(remove)), set(cordon))

    return impact_of(user, pool.cluster, {pool.shard: edit}, now=now)


def kept(after: Mapping[str, Any], impact: Mapping[str, Any] | None) -> dict[str, Any]:
    """The `after` of an audit entry with the impact that was shown, if one was."""
    return {**after, "impact": impact} if impact and not impact.get("isEmpty") else dict(after)
