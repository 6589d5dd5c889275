"""Columns of the core kinds as `kubectl get` shows them."""

from simulator.api.resources import Column

COLUMNS: dict[str, tuple[Column, ...]] = {"events": ()}
