"""Pages of departments and projects."""
