"""Believable clusters to start with: `small`, `empty` (the same hardware, nothing on it) and `large`."""
