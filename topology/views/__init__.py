"""Pages of network topologies and node pools."""
