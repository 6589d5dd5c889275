"""Which topologies and node pools an observed change concerns: they become due at once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clusters import kinds
from clusters.models import Cluster, Node
from clusters.names import NODE_POOL_LABEL
from clusters.removal import is_leaving
from clusters.watcher.changes import Change
from core import leases
from core.conditions import find
from core.hints import hint_reconcile
from core.models import DesiredState
from topology.models import NetworkTopology, NodePool
from topology.services import ensure_default_pool

_OBJECTS = {
    (kinds.KAI_TOPOLOGY.plural, kinds.KAI_TOPOLOGY.group): NetworkTopology,
    (kinds.GROVE_CLUSTER_TOPOLOGY_BINDING.plural, kinds.GROVE_CLUSTER_TOPOLOGY_BINDING.group): NetworkTopology,
    (kinds.KAI_SCHEDULING_SHARD.plural, kinds.KAI_SCHEDULING_SHARD.group): NodePool,
}


def wake_for(cluster: Cluster, changes: Sequence[Change]) -> None:
    """Poke the rows whose objects or nodes changed in a way that matters to them.

    A node's heartbeat wakes nobody; a label, a new or a lost node does. Sees to the default pool in passing.
    """
    for model in (NetworkTopology, NodePool):
        names = {change.name for change in changes if _OBJECTS.get(_key(change)) is model}
        if names:
            _wake(model, model._default_manager.filter(cluster=cluster, name__in=names))
    nodes = [change for change in changes if change.kind.plural == kinds.NODE.plural and not change.kind.group]
    if nodes:
        _wake_pools(cluster, nodes)


def _key(change: Change) -> tuple[str, str]:
    return change.kind.plural, change.kind.group


def _wake_pools(cluster: Cluster, nodes: Sequence[Change]) -> None:
    pools = list(NodePool.objects.filter(cluster=cluster).select_related("network_topology").order_by("pk"))
    if not any(pool.is_default for pool in pools) and not is_leaving(cluster):
        pools.append(ensure_default_pool(cluster))
    concerned: set[int] = set()
    for node in nodes:
        concerned |= _concerned(node, pools)
    _wake(NodePool, [pool for pool in pools if pool.pk in concerned])


def _concerned(node: Change, pools: Sequence[NodePool]) -> set[int]:
    """Pools that have something to do or to say because of the node."""
    carried = node.labels.get(NODE_POOL_LABEL, "")
    holder = next((p for p in pools if p.name == carried and not p.is_default), None) if carried else None
    default = next((p for p in pools if p.is_default), None)
    wanted = next((p for p in pools if not p.is_default and _matches(p, node.labels)), None)
    found: set[int] = set()
    if wanted is not holder:
        found |= {p.pk for p in (wanted, holder, default) if p is not None}
    home = holder or (default if not carried else None)
    if home is not None and (node.type != "modified" or _is_outside(home, node) != _said_outside(home, node)):
        found.add(home.pk)
    return found


def _matches(pool: NodePool, labels: Mapping[str, str]) -> bool:
    return labels.get(pool.label_key) == pool.label_value and not pool.is_being_deleted


def _is_outside(pool: NodePool, node: Change) -> bool:
    """Whether the pool's condition should name the node: it lacks a level's label and has GPUs."""
    topology = pool.network_topology
    if topology is None or all(node.labels.get(key) for key in topology.levels):
        return False
    rows = Node.objects.filter(cluster=pool.cluster_id, name=node.name)
    return any(gpus or mig for gpus, mig in rows.values_list("gpu_capacity", "mig"))


def _said_outside(pool: NodePool, node: Change) -> bool:
    mismatch: dict[str, Any] | None = find(pool.conditions, "TopologyMismatch")
    return mismatch is not None and node.name in str(mismatch.get("arguments", {}).get("nodes", "")).split(",")


def _wake(model: type[DesiredState], rows: Iterable[DesiredState]) -> None:
    found = list(rows)
    leases.poke(model, [row.pk for row in found])
    for row in found:
        hint_reconcile(row)
