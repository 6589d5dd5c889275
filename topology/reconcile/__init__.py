"""Makes topologies and node pools true in their cluster and says what is in the way. Writes status only."""

from topology.reconcile.node_pools import reconcile_node_pool, sync_node_pool
from topology.reconcile.topologies import reconcile_topology, sync_topology

__all__ = ["reconcile_node_pool", "reconcile_topology", "sync_node_pool", "sync_topology"]
