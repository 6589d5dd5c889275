"""Nodes as trees need them, and GPUs per pool. Each physical GPU counts for the one pool whose label its node has."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from clusters.kept import kept
from clusters.models import Node
from clusters.names import DEFAULT_NODE_POOL
from clusters.selectors import held_gpus, never_read, observed_versions
from topology.models import NodePool
from topology.suggestions import NodeFacts
from topology.tree import Gpus

# What `facts_of` reads: a node's other columns are most of its size.
_COLUMNS = ("cluster_id", "name", "labels", "gpu_capacity", "gpu_allocatable", "node_pool", "cordoned", "ready")


def node_facts(cluster_id: Any, *, pool: str | None = None) -> list[NodeFacts]:
    """The nodes of a cluster, or of one pool of it by name (`default`: those without a pool label). Two queries."""
    nodes = Node.objects.filter(cluster_id=cluster_id).only(*_COLUMNS)
    if pool is not None:
        nodes = nodes.filter(node_pool="" if pool == DEFAULT_NODE_POOL else pool)
    held = held_gpus([cluster_id])
    return [facts_of(node, held.get((cluster_id, node.name), Decimal(0))) for node in nodes.order_by("name")]


def facts_of(node: Node, held: Decimal) -> NodeFacts:
    """One node; a capacity without an allocatable key is not allocatable (row 46)."""
    usable = node.gpu_allocatable or 0
    return NodeFacts(
        name=node.name,
        labels=node.labels,
        gpus=node.gpu_capacity,
        allocated=held,
        unhealthy=max(0, node.gpu_capacity - usable),
        usable=takes_work(node),
        pool=node.node_pool or DEFAULT_NODE_POOL,
        id=str(node.pk),
    )


def takes_work(node: Node) -> bool:
    """Whether the scheduler may place pods on it now. Unknown readiness is not ready."""
    return not node.cordoned and node.ready == "True"


@dataclass(slots=True)
class PoolFigures:
    """What a pool has. `whole_free`: nodes on which every GPU is free; `outside`: GPU nodes that lack a level label.
    Unless `known`, no node of its cluster was ever read, so that the zeros are none."""

    nodes: int = 0
    gpu_nodes: int = 0
    whole_free: int = 0
    gpus: Gpus = field(default_factory=Gpus)
    outside: int = 0
    known: bool = True


def pool_figures(pools: Sequence[NodePool]) -> dict[int, PoolFigures]:
    """Figures by pool id. One query, and two for all pools together; of a large cluster only when its nodes or pods
    changed; one more where no pool of a cluster has a node."""
    by_cluster: dict[Any, list[NodePool]] = {}
    for pool in pools:
        by_cluster.setdefault(pool.cluster_id, []).append(pool)
    versions = observed_versions(by_cluster)
    figures = _figures_of([pool for pool in pools if pool.cluster_id not in versions])
    for cluster_id, version in versions.items():
        same = by_cluster[cluster_id]
        key = tuple((pool.pk, pool.name, _levels(pool)) for pool in same)
        figures |= kept(("pools", cluster_id, key), version, partial(_figures_of, same))
    read = {pool.cluster_id for pool in pools if figures[pool.pk].nodes}
    unread = never_read({pool.cluster_id for pool in pools} - read)
    for pool in pools:
        figures[pool.pk].known = pool.cluster_id not in unread
    return figures


def _figures_of(pools: Sequence[NodePool]) -> dict[int, PoolFigures]:
    clusters = {pool.cluster_id for pool in pools}
    by_name = {(pool.cluster_id, pool.name): pool for pool in pools}
    figures = {pool.pk: PoolFigures() for pool in pools}
    held = held_gpus(clusters)
    for node in Node.objects.filter(cluster_id__in=clusters).only(*_COLUMNS):
        pool = by_name.get((node.cluster_id, node.node_pool or DEFAULT_NODE_POOL))
        if pool is not None:
            _count(figures[pool.pk], pool, facts_of(node, held.get((node.cluster_id, node.name), Decimal(0))))
    return figures


def _count(figures: PoolFigures, pool: NodePool, node: NodeFacts) -> None:
    figures.nodes += 1
    figures.gpus.add(node)
    if not node.gpus:
        return
    figures.gpu_nodes += 1
    figures.whole_free += bool(node.usable and not node.allocated and not node.unhealthy)
    figures.outside += any(not node.labels.get(key) for key in _levels(pool))


def _levels(pool: NodePool) -> tuple[str, ...]:
    return tuple(pool.network_topology.levels) if pool.network_topology else ()
