"""Reads for pages and the API: topologies, pools, trees, findings. The database only, never the cluster."""

from topology.selectors.nodes import PoolFigures, node_facts, pool_figures
from topology.selectors.topologies import (
    TopologyRow,
    foreign_topologies,
    topology_of,
    topology_rows,
    tree_of,
    visible_topologies,
)

__all__ = [
    "PoolFigures",
    "TopologyRow",
    "foreign_topologies",
    "node_facts",
    "pool_figures",
    "topology_of",
    "topology_rows",
    "tree_of",
    "visible_topologies",
]
