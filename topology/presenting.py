"""Rows and heads of the pages of topologies and node pools, ready to be drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.permissions import has_right
from clusters.drift import differences
from clusters.kinds import Kind
from clusters.models import ClusterObject
from clusters.selectors import never_read
from core.templatetags.quantities import number
from core.templatetags.ui import and_more
from topology.models import NetworkTopology, NodePool
from topology.selectors import PoolFigures, TopologyRow, pool_figures, topology_of
from topology.selectors.topologies import trees_of
from topology.tree import Tree
from topology.wording import short_key, worst_sentence


@dataclass(frozen=True, slots=True)
class TopologyListRow:
    """A line of the list of topologies."""

    pk: str
    name: str
    phase: str
    cluster: str
    levels: tuple[str, ...]
    path: str
    pools: tuple[str, ...]
    counts: tuple[int, ...]
    tree: Tree
    made_by: str = ""
    url: str = ""
    known: bool = True


def topology_list_rows(rows: Sequence[TopologyRow]) -> list[TopologyListRow]:
    """Lines with the figures of their trees, which are not `known` where no node was ever read; two queries a cluster
    and one."""
    trees = trees_of(rows)
    unread = never_read(row.cluster.pk for row in rows if not trees[row.id].total_nodes)
    return [
        TopologyListRow(
            pk=row.id,
            name=row.name,
            phase=row.phase,
            cluster=row.cluster.name,
            levels=row.levels,
            path=" › ".join(short_key(level) for level in row.levels),
            pools=row.pools,
            counts=trees[row.id].counts,
            tree=trees[row.id],
            made_by=row.made_by if row.is_foreign else "",
            url=reverse("topology:topology-detail", args=[row.id]),
            known=row.cluster.pk not in unread,
        )
        for row in rows
    ]


def own_topology_rows(rows: Sequence[NetworkTopology]) -> list[TopologyListRow]:
    """`present` of the list."""
    return topology_list_rows([topology_of(row) for row in rows])


@dataclass(frozen=True, slots=True)
class NodePoolListRow:
    """A line of the list of node pools."""

    pk: int
    pool: NodePool
    figures: PoolFigures
    why: str


def node_pool_rows(pools: Sequence[NodePool]) -> list[NodePoolListRow]:
    """`present` of the list; two queries."""
    figures = pool_figures(pools)
    return [NodePoolListRow(pool.pk, pool, figures[pool.pk], worst_sentence(pool.conditions)) for pool in pools]


def topology_head(user: Any, row: TopologyRow, tree: Tree, tab: str) -> dict[str, Any]:
    """Context of the head of a topology's pages."""
    url = reverse("topology:topology-detail", args=[row.id])
    tabs = [("overview", _("Overview"), None), ("nodes", _("Nodes"), tree.total_nodes), ("events", _("Events"), None)]
    tabs.append(("yaml", _("YAML"), None))
    return {
        "row": row,
        "tree": tree,
        "crumbs": [{"label": _("Network topologies"), "url": reverse("topology:topology-list")}],
        "heading": row.name,
        "why": worst_sentence(row.row.conditions) if row.row else "",
        "facts": [
            {"label": _("Levels, broadest first"), "value": " › ".join(map(short_key, row.levels))},
            *_tree_facts(row, tree),
            {"label": _("Node pools"), "value": and_more(row.pools) or "–"},
            {
                "label": _("Cluster"),
                "value": row.cluster.name,
                "url": reverse("clusters:cluster-detail", args=[row.cluster.pk]),
            },
        ],
        "tabs": [
            {"label": label, "url": url if key == "overview" else f"{url}{key}/", "count": count, "current": key == tab}
            for key, label, count in tabs
        ],
        "topics": topology_topics(row),
        "may_update": row.row is not None and has_right(user, "network-topologies:update", row.row.scope),
        "may_attach": row.row is not None and has_right(user, "nodepools:update", row.row.scope),
        "menu": _topology_menu(user, row),
    }


def _tree_facts(row: TopologyRow, tree: Tree) -> list[dict[str, Any]]:
    if not tree.total_nodes and never_read([row.cluster.pk]):
        return [{"label": _("Nodes in the tree"), "value": _("not known"), "note": _("none was read yet")}]
    inside, total = number(tree.nodes_inside), _("of %(n)s") % {"n": number(tree.total_nodes)}
    return [
        {"label": _("Domains"), "value": " › ".join(number(count) for count in tree.counts)},
        {"label": _("Nodes in the tree"), "value": inside, "of": total},
    ]


def topology_topics(row: TopologyRow) -> str:
    """What changes a topology's page: itself, its pools, nodes and pods of its cluster."""
    cluster = row.cluster.pk
    own = f"topology.NetworkTopology.{row.id} topology.NodePool"
    return f"{own} clusters.Node@{cluster} clusters.Pod@{cluster}"


def _topology_menu(user: Any, row: TopologyRow) -> list[dict[str, Any]]:
    if row.row is None or not has_right(user, "network-topologies:delete", row.row.scope):
        return []
    return [
        {
            "label": _("Delete topology…"),
            "icon": "trash-2",
            "url": reverse("topology:topology-delete", args=[row.id]),
            "danger": True,
            "dialog": True,
        }
    ]


def pool_head(user: Any, pool: NodePool, figures: PoolFigures, tab: str) -> dict[str, Any]:
    """Context of the head of a node pool's pages."""
    url = reverse("topology:node-pool-detail", args=[pool.pk])
    topology = pool.network_topology
    tabs = [("overview", _("Overview"), None), ("nodes", _("Nodes"), figures.nodes), ("events", _("Events"), None)]
    tabs.append(("yaml", _("YAML"), None))
    return {
        "pool": pool,
        "figures": figures,
        "crumbs": [{"label": _("Node pools"), "url": reverse("topology:node-pool-list")}],
        "heading": pool.name,
        "why": worst_sentence(pool.conditions),
        "facts": [
            {"label": _("Node label"), "value": _label(pool)},
            *_pool_facts(figures),
            {
                "label": _("Network topology"),
                "value": topology.name if topology else "–",
                "url": reverse("topology:topology-detail", args=[topology.pk]) if topology else "",
            },
            {
                "label": _("Cluster"),
                "value": pool.cluster.name,
                "url": reverse("clusters:cluster-detail", args=[pool.cluster_id]),
            },
        ],
        "tabs": [
            {"label": label, "url": url if key == "overview" else f"{url}{key}/", "count": count, "current": key == tab}
            for key, label, count in tabs
        ],
        "topics": f"topology.NodePool.{pool.pk} clusters.Node@{pool.cluster_id} clusters.Pod@{pool.cluster_id}",
        "may_update": has_right(user, "nodepools:update", pool.scope),
        "menu": _pool_menu(user, pool),
    }


def pool_crumbs(pool: NodePool) -> list[dict[str, str]]:
    """The way to the page of a node pool, itself last."""
    return [
        {"label": _("Node pools"), "url": reverse("topology:node-pool-list")},
        {"label": pool.name, "url": reverse("topology:node-pool-detail", args=[pool.pk])},
    ]


def _pool_facts(figures: PoolFigures) -> list[dict[str, Any]]:
    if not figures.known:
        return [{"label": _("Nodes"), "value": _("not known"), "note": _("none was read yet")}]
    held = _("%(n)s allocated") % {"n": number(figures.gpus.allocated)}
    return [
        {"label": _("GPUs"), "value": number(figures.gpus.total), "note": held},
        {"label": _("Nodes"), "value": number(figures.nodes)},
    ]


def _label(pool: NodePool) -> str:
    return _("none: all other nodes") if pool.is_default else f"{pool.label_key}={pool.label_value}"


def _pool_menu(user: Any, pool: NodePool) -> list[dict[str, Any]]:
    if not has_right(user, "nodepools:delete", pool.scope):
        return []
    reason = _("The default pool cannot be deleted.") if pool.is_default else ""
    url = reverse("topology:node-pool-delete", args=[pool.pk])
    item = {"label": _("Delete node pool…"), "icon": "trash-2", "url": url, "danger": True, "dialog": True}
    return [{**item, "disabled": reason}]


def as_yaml(*manifests: Any) -> str:
    """Manifests as people read them."""
    return yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, width=100)


def comparison(cluster_id: Any, wanted: Sequence[tuple[Kind, dict[str, Any]]]) -> dict[str, Any]:
    """Context of components/yaml_view.html: what we apply, what the watcher saw last, the fields that differ."""
    actual: list[Any] = []
    found: list[dict[str, Any]] = []
    read_at = None
    for kind, manifest in wanted:
        seen = ClusterObject.objects.filter(
            cluster_id=cluster_id, group=kind.group, plural=kind.plural, name=manifest["metadata"]["name"]
        ).first()
        if seen is None:
            continue
        actual.append(_in_order(seen.manifest))
        prefix = f"{kind.kind} " if len(wanted) > 1 else ""
        for path in differences(manifest, seen.manifest):
            at = ".".join(path)
            found.append({"path": prefix + at, "applied": _at(manifest, path), "actual": _at(seen.manifest, path)})
    return {
        "applied": as_yaml(*(manifest for _kind, manifest in wanted)),
        "actual": as_yaml(*actual) if actual else None,
        "differences": found,
        "manager": "muster",
        "read_at": read_at,
    }


def _in_order(manifest: dict[str, Any]) -> dict[str, Any]:
    """The keys as people write them: what it is, then metadata, spec, status."""
    first = ("apiVersion", "kind", "metadata", "spec", "status")
    return {key: manifest[key] for key in (*first, *(k for k in manifest if k not in first)) if key in manifest}


def _at(manifest: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(manifest, dict) or key not in manifest:
            return None
        manifest = manifest[key]
    return manifest
