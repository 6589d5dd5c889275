"""Network topologies: ours as rows, others' as the watcher saw them, trees over the nodes of their cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import User
from accounts.permissions import reach
from clusters.kinds import KAI_TOPOLOGY
from clusters.models import Cluster, ClusterObject
from core.errors import NotFound
from topology.models import NetworkTopology
from topology.selectors.nodes import node_facts
from topology.tree import Tree, domain_tree

PLATFORM_SOURCE = "Run.ai"
CLUSTER_SOURCE = "Cluster"


@dataclass(frozen=True, slots=True)
class TopologyRow:
    """A topology of either source. `row` is None where somebody else made it (`made_by`): read-only.

    `id` is the row's id, or the uid of the object.
    """

    id: str
    name: str
    cluster: Cluster
    levels: tuple[str, ...]
    phase: str
    source: str
    made_by: str
    created_at: datetime
    pools: tuple[str, ...] = ()
    row: NetworkTopology | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether somebody else made it in the cluster."""
        return self.row is None


def visible_topologies(user: User | AnonymousUser) -> QuerySet[NetworkTopology]:
    """Rows that `user` may read, with what lists need."""
    rows = NetworkTopology.objects.visible_to(user).select_related("cluster")
    return rows.prefetch_related("node_pools").order_by("name", "pk")


def topology_of(row: NetworkTopology) -> TopologyRow:
    """One of ours."""
    return TopologyRow(
        id=str(row.pk),
        name=row.name,
        cluster=row.cluster,
        levels=tuple(row.levels),
        phase=row.phase,
        source=PLATFORM_SOURCE,
        made_by=row.created_by,
        created_at=row.created_at,
        pools=tuple(sorted(pool.name for pool in row.node_pools.all())),
        row=row,
    )


def foreign_topologies(user: User | AnonymousUser) -> list[TopologyRow]:
    """KAI Topologies that somebody else made (kubectl, helm, Grove), in the clusters that `user` may read of."""
    found = ClusterObject.objects.filter(group=KAI_TOPOLOGY.group, plural=KAI_TOPOLOGY.plural, owner="")
    where = reach(user, "network-topologies:read")
    if not where.everywhere:
        found = found.filter(cluster_id__in=where.clusters | where.touched_clusters)
    return [_foreign(row) for row in found.select_related("cluster").order_by("name", "pk")]


def _foreign(found: ClusterObject) -> TopologyRow:
    levels = (found.manifest.get("spec") or {}).get("levels") or ()
    return TopologyRow(
        id=found.uid,
        name=found.name,
        cluster=found.cluster,
        levels=tuple(str(level.get("nodeLabel", "")) for level in levels if isinstance(level, dict)),
        phase="Ready",
        source=CLUSTER_SOURCE,
        made_by=found.made_by,
        created_at=found.created_at,
    )


def topology_rows(user: User | AnonymousUser) -> list[TopologyRow]:
    """All of both sources, by name."""
    ours = [topology_of(row) for row in visible_topologies(user)]
    return sorted([*ours, *foreign_topologies(user)], key=lambda row: (row.name, row.id))


def find_topology(user: User | AnonymousUser, id_: str) -> TopologyRow:
    """One of either source. Raises `NotFound` alike for absent, invisible and malformed ids."""
    rows = NetworkTopology.objects.select_related("cluster").prefetch_related("node_pools")
    try:
        return topology_of(rows.get_visible(user, pk=id_))
    except NotFound:
        for row in foreign_topologies(user):
            if row.id == id_:
                return row
        raise


def tree_of(row: TopologyRow, facts: Sequence[Any] | None = None) -> Tree:
    """The tree over the nodes of the topology's cluster."""
    return domain_tree(row.levels, node_facts(row.cluster.pk) if facts is None else facts)


def trees_of(rows: Iterable[TopologyRow]) -> dict[str, Tree]:
    """Trees by id; the nodes of each cluster are read once."""
    facts: dict[Any, Any] = {}
    trees = {}
    for row in rows:
        if row.cluster.pk not in facts:
            facts[row.cluster.pk] = node_facts(row.cluster.pk)
        trees[row.id] = tree_of(row, facts[row.cluster.pk])
    return trees
