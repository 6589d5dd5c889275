"""The lists of topologies and node pools: columns, filters, sort."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from core.filters import Filter
from core.tables import Column, TableSpec
from core.templatetags.ui import PHASES

_PHASES = tuple((phase, PHASES[phase][2]) for phase in ("Ready", "Creating", "Updating", "Failed", "Deleting"))
_POOL_PHASES = tuple(
    (phase, PHASES.get(phase, ("", "", phase))[2])
    for phase in ("Ready", "Creating", "Updating", "Empty", "Unschedulable", "Deleting")
)


def _if_known(row: Any, figure: object) -> object:
    """An empty cell where no node was ever read: that is no 0."""
    return figure if row.known else None


TOPOLOGIES = TableSpec(
    name="network-topologies",
    row_template="topology/topology_list.html#row",
    topics=("topology.NetworkTopology", "clusters.ClusterObject"),
    empty_template="topology/topology_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",)),
        Column(key="phase", label=_("Phase"), sort=("phase", "name")),
        Column(key="cluster", label=_("Cluster"), sort=("cluster__name", "name"), spare=True),
        Column(
            key="levels",
            label=_("Levels, broadest first"),
            grow=True,
            csv=lambda row: " > ".join(row.levels),
        ),
        Column(key="pools", label=_("Node pools"), csv=lambda row: " ".join(row.pools)),
        Column(
            key="domains",
            label=_("Domains per level"),
            csv=lambda row: " ".join(map(str, row.counts)) if row.known else None,
        ),
        Column(
            key="inside",
            label=_("Nodes in the tree"),
            numeric=True,
            csv=lambda row: _if_known(row, row.tree.nodes_inside),
        ),
        Column(key="outside", label=_("Outside"), numeric=True, csv=lambda row: _if_known(row, len(row.tree.outside))),
    ),
    default_sort="name",
    search=("name", "levels"),
    search_label=_("Name, label key"),
    filters=(
        Filter(key="name", label=_("Name")),
        Filter(key="phase", label=_("Phase"), kind="choice", choices=_PHASES),
        Filter(key="cluster", label=_("Cluster"), lookup="cluster__name"),
    ),
)

NODE_POOLS = TableSpec(
    name="node-pools",
    row_template="topology/node_pool_list.html#row",
    topics=("topology.NodePool", "clusters.Node"),
    empty_template="topology/node_pool_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",), csv=lambda row: row.pool.name),
        Column(key="phase", label=_("Phase"), sort=("phase", "name"), csv=lambda row: row.pool.phase),
        Column(
            key="cluster",
            label=_("Cluster"),
            sort=("cluster__name", "name"),
            spare=True,
            csv=lambda row: row.pool.cluster,
        ),
        Column(
            key="label",
            label=_("Node label"),
            sort=("label_key", "label_value"),
            csv=lambda row: f"{row.pool.label_key}={row.pool.label_value}" if row.pool.label_key else "",
        ),
        Column(key="nodes", label=_("Nodes"), numeric=True, csv=lambda row: _if_known(row.figures, row.figures.nodes)),
        Column(
            key="gpus", label=_("GPUs"), numeric=True, csv=lambda row: _if_known(row.figures, row.figures.gpus.total)
        ),
        Column(
            key="allocated",
            label=_("Allocated"),
            numeric=True,
            csv=lambda row: _if_known(row.figures, row.figures.gpus.allocated),
        ),
        Column(
            key="free",
            label=_("Whole nodes free"),
            numeric=True,
            csv=lambda row: _if_known(row.figures, row.figures.whole_free),
        ),
        Column(
            key="topology",
            label=_("Network topology"),
            sort=("network_topology__name", "name"),
            csv=lambda row: row.pool.network_topology or "",
        ),
        Column(key="why", label=_("Needs attention"), grow=True, csv=lambda row: row.why),
    ),
    default_sort="name",
    search=("name", "label_key", "label_value", "network_topology__name"),
    search_label=_("Name, label, topology"),
    filters=(
        Filter(key="name", label=_("Name")),
        Filter(key="phase", label=_("Phase"), kind="choice", choices=_POOL_PHASES),
        Filter(key="cluster", label=_("Cluster"), lookup="cluster__name"),
        Filter(key="topology", label=_("Network topology"), lookup="network_topology__name"),
    ),
)
