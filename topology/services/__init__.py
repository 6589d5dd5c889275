"""Writes the spec of topologies and node pools: rights, rules, one transaction, one audit row. No network."""

from topology.services.node_pools import (
    AUDIT_NAMES,
    NodePoolChanges,
    attach_topology,
    create_node_pool,
    delete_node_pool,
    detach_topology,
    ensure_default_pool,
    update_node_pool,
)
from topology.services.topologies import create_topology, delete_topology, replace_topology, update_links

__all__ = [
    "AUDIT_NAMES",
    "NodePoolChanges",
    "attach_topology",
    "create_node_pool",
    "create_topology",
    "delete_node_pool",
    "delete_topology",
    "detach_topology",
    "ensure_default_pool",
    "replace_topology",
    "update_links",
    "update_node_pool",
]
