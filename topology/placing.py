"""Fragmentation and distances of a tree as their tables draw them."""

from typing import Any

from django.utils.translation import gettext as _

from topology.fragmentation import largest_gangs
from topology.placed import PlacedWorkload
from topology.selectors import TopologyRow
from topology.tree import Tree
from topology.wording import short_key


def fragment_rows(tree: Tree) -> list[dict[str, Any]]:
    """A line per level, the whole tree first: for every size the largest gang of one domain, and which that is."""
    pools = {node.pool for node in tree.root.nodes}
    rows = []
    for found in largest_gangs(tree):
        cells = []
        for fit in found.fits:
            place = " › ".join(fit.path)
            if fit.pods and len(pools) > 1:
                place = f"{place} · {fit.pool}" if place else fit.pool
            cells.append({"pods": fit.pods, "gpus": fit.gpus, "place": place})
        name = _("whole tree") if found.level < 0 else short_key(tree.levels[found.level])
        rows.append({"name": name, "cells": cells})
    return rows


def distance_rows(placed: PlacedWorkload, row: TopologyRow) -> list[dict[str, Any]]:
    """A line for every two parts: where the nearest and the farthest pods meet, and what that costs."""
    links = row.row.links if row.row else []

    def end(level: int) -> dict[str, Any]:
        if level >= len(row.levels):
            return {"name": _("same node"), "link": {}}
        if level < 0:
            return {"name": _("nothing but the tree"), "link": {}}
        return {"name": short_key(row.levels[level]), "link": links[level] if level < len(links) else {}}

    return [
        {"one": found.one, "other": found.other, "nearest": end(found.nearest), "farthest": end(found.farthest)}
        for found in placed.distances
    ]
