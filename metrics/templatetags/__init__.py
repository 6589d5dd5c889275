"""Template tags of metrics."""
