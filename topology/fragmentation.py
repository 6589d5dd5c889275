"""Fragmentation of a tree: the largest gang that one domain of each level can still take, by GPUs per pod. Pure.

A pod goes whole on one node; a gang stays in one node pool. Counted are free GPUs of nodes that take work.
"""

from collections import defaultdict
from dataclasses import dataclass
from math import floor

from topology.suggestions import NodeFacts
from topology.tree import Tree

SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Fit:
    """Pods of `size` GPUs that fit together, and where: the domain's path, and the node pool."""

    size: int
    pods: int
    path: tuple[str, ...]
    pool: str

    @property
    def gpus(self) -> int:
        """GPUs of that gang."""
        return self.pods * self.size


@dataclass(frozen=True, slots=True)
class LevelFits:
    """One level, −1 for the whole tree, with a fit for every size."""

    level: int
    fits: tuple[Fit, ...]


def largest_gangs(tree: Tree) -> list[LevelFits]:
    """Per level, broadest first, the most pods that any one domain takes; the first in natural order where several
    take as many."""
    counts: list[dict[tuple[str, tuple[str, ...]], list[int]]] = [
        defaultdict(lambda: [0] * len(SIZES)) for _ in range(len(tree.levels) + 1)
    ]
    for node in tree.root.nodes:
        free = free_gpus(node)
        if free < min(SIZES):
            continue
        taken = [free // size for size in SIZES]
        path = tuple(node.labels[key] for key in tree.levels)
        for depth, sums in enumerate(counts):
            row = sums[node.pool, path[:depth]]
            for index, amount in enumerate(taken):
                row[index] += amount
    return [
        LevelFits(depth - 1, tuple(_best(sums, index, size) for index, size in enumerate(SIZES)))
        for depth, sums in enumerate(counts)
    ]


def _best(sums: dict[tuple[str, tuple[str, ...]], list[int]], index: int, size: int) -> Fit:
    best = Fit(size, 0, (), "")
    for (pool, path), row in sums.items():
        if row[index] > best.pods:
            best = Fit(size, row[index], path, pool)
    return best


def free_gpus(node: NodeFacts) -> int:
    """Whole GPUs that a new pod could get on the node now."""
    return max(0, floor(node.gpus - node.unhealthy - node.allocated)) if node.usable else 0
