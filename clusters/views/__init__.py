"""Pages about clusters and nodes."""
