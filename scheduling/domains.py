"""Topology trees over the rows of a node table, and their free capacity.

A domain is the label values joined by "." from the broadest level; only nodes that carry every level's
label belong to the tree, whatever their state (KAI's ``plugins/topology``). The level above all is ROOT.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from scheduling.nodes import Fleet, Mask, NodeTable, Rows
from scheduling.resources import GPU, PODS, TOLERANCE, Vector
from scheduling.structs import Topology

ROOT = "root"
MISSING_RATIO = 1000.0
"""Ratio of a requested resource of which a domain has nothing."""

Codes = NDArray[np.intp]


class DomainTree:
    """Domains by level, level 0 being ROOT. A domain's code is its position by id in byte order."""

    def __init__(self, topology: Topology, nodes: NodeTable) -> None:
        self.name = topology.name
        self.labels = [ROOT, *(level.label for level in topology.levels)]
        self._aliases = {level.alias: level.label for level in topology.levels if level.alias}
        columns = [nodes.label(level.label) for level in topology.levels]
        self.valid: Mask = np.ones(len(nodes.names), dtype=bool)
        for column in columns:
            self.valid &= np.array([value is not None for value in column], dtype=bool)
        self.rows: Rows = np.flatnonzero(self.valid)
        self.ids: list[list[str]] = [[ROOT]]
        self.codes: list[Codes] = [np.where(self.valid, 0, -1).astype(np.intp)]
        self.parents: list[Codes] = [np.zeros(1, dtype=np.intp)]
        names: list[str] = []
        for column in columns:
            values = [column[row] or "" for row in self.rows.tolist()]
            names = [f"{above}.{value}" for above, value in zip(names, values, strict=True)] if names else values
            self._add_level(names)

    def _add_level(self, names: Sequence[str]) -> None:
        """A level by the name of each labelled row's domain."""
        ids = sorted(set(names))
        position = {domain: code for code, domain in enumerate(ids)}
        codes = np.full(len(self.valid), -1, dtype=np.intp)
        codes[self.rows] = np.fromiter((position[name] for name in names), np.intp, len(names))
        parents = np.zeros(len(ids), dtype=np.intp)
        parents[codes[self.rows]] = self.codes[-1][self.rows]
        self.ids.append(ids)
        self.codes.append(codes)
        self.parents.append(parents)

    def level(self, name: str) -> str:
        """The label of a level that may be named by its alias."""
        return self._aliases.get(name, name)

    def depth(self, label: str) -> int | None:
        """Depth of a level by label, 0 for ROOT, None when the tree has no such level."""
        return self.labels.index(label) if label in self.labels else None

    def members(self, depth: int, code: int) -> Rows:
        """Rows of a domain, by name."""
        return np.flatnonzero(self.codes[depth] == code)

    def common(self, rows: Rows, stop: str) -> tuple[int, int]:
        """Deepest domain (depth, code) that holds all these rows; the descent ends at the level ``stop``.

        It ends only there: a narrower shared domain than the required level hides that level's capacity,
        KAI's single-domain defect.
        """
        depth, code = 0, 0
        if not len(rows):
            return depth, code
        for below in range(1, len(self.labels)):
            codes = self.codes[below][rows]
            first = int(codes[0])
            if (codes != first).any() or not self.ids[below][first].split(".")[-1]:
                break
            depth, code = below, first
            if self.labels[below] == stop:
                break
        return depth, code


_trees: WeakKeyDictionary[Fleet, dict[Topology, DomainTree]] = WeakKeyDictionary()


def tree_of(topology: Topology, nodes: NodeTable) -> DomainTree:
    """The domain tree, built once for a fleet."""
    known = _trees.setdefault(nodes.fleet, {})
    if topology not in known:
        known[topology] = DomainTree(topology, nodes)
    return known[topology]


class Capacity:
    """Free resources of each domain at and below one domain, for one set of pods.

    ``free[depth]`` is an array by domain code of cpu, memory, gpu, pods: idle + releasing, zero outside
    the domain. ``pods[depth]`` counts the pods that fit, -1 where they are not counted; None when the
    ratio of sums decides instead. What is left of shared GPUs counts only where pods of less than a device are counted.
    """

    def __init__(self, tree: DomainTree, nodes: NodeTable, top: tuple[int, int]) -> None:
        self.tree = tree
        self.top = top
        self._nodes = nodes
        self._rows = tree.members(*top)
        self._free = nodes.idle[self._rows] + nodes.releasing[self._rows]
        self.free = [self._sums(depth) for depth in range(len(tree.labels))]
        self.pods: list[NDArray[np.int64]] | None = None
        self._ratios: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def _sums(self, depth: int) -> NDArray[np.float64]:
        size = len(self.tree.ids[depth])
        sums = np.zeros((size, 4))
        if depth < self.top[0]:
            return sums
        codes = self.tree.codes[depth][self._rows]
        for column in range(4):
            sums[:, column] = np.bincount(codes, weights=self._free[:, column], minlength=size)
        return sums

    def count_pods(self, request: Vector, tasks: int) -> None:
        """Count how many pods of this size fit in each domain; pods that ask for nothing always fit."""
        free = self._nodes.soon_free(self._rows) if 0 < request[GPU] < 1 else self._free
        fitting = pods_per_node(free, request, tasks)
        self.pods = []
        for depth in range(len(self.tree.labels)):
            size = len(self.tree.ids[depth])
            if depth < self.top[0]:
                self.pods.append(np.full(size, -1, dtype=np.int64))
                continue
            codes = self.tree.codes[depth][self._rows]
            counts = np.bincount(codes, weights=fitting, minlength=size).astype(np.int64)
            inside = np.bincount(codes, minlength=size) > 0
            self.pods.append(np.where(inside, counts, -1))

    def ratio(self, depth: int, code: int, request: Vector) -> float:
        """Largest part of a free resource that the sum of requests takes; over 1 does not fit."""
        return float(self.ratios(depth, request)[code])

    def ratios(self, depth: int, request: Vector) -> NDArray[np.float64]:
        """The ratio of every domain of a level. Pod slots are not looked at."""
        key = (depth, request.tobytes())
        if key not in self._ratios:
            self._ratios[key] = self._ratios_of(depth, request)
        return self._ratios[key]

    def _ratios_of(self, depth: int, request: Vector) -> NDArray[np.float64]:
        result = np.zeros(len(self.tree.ids[depth]))
        for column in range(PODS):
            if request[column] <= 0:
                continue
            free = self.free[depth][:, column]
            with np.errstate(divide="ignore", invalid="ignore"):
                result = np.maximum(result, np.where(free > 0, request[column] / free, MISSING_RATIO))
        return result


def pods_per_node(free: NDArray[np.float64], request: Vector, tasks: int) -> NDArray[np.float64]:
    """How many pods of this size each node (a row of free amounts) takes."""
    if (request[:PODS] <= 0).all() and request[PODS] <= 1:
        return np.full(len(free), float(tasks))
    asked = request > 0
    with np.errstate(invalid="ignore"):
        counts = np.min(np.floor((free[:, asked] + TOLERANCE) / request[asked]), axis=1)
    result: NDArray[np.float64] = np.maximum(counts, 0.0)
    return result


def same_kind(requests: NDArray[np.float64]) -> bool:
    """Whether pods are counted by the largest of them: all ask for GPUs, or none does."""
    with_gpu = int((requests[:, GPU] > 0).sum())
    return with_gpu in (0, len(requests))


class SortedTree:
    """The order of domains, which KAI keeps from one subgroup to the next.

    ``rank[depth]`` gives each domain's place from left to right; sorting changes the children of the
    domains from the top down to one level.
    """

    def __init__(self, tree: DomainTree) -> None:
        self.tree = tree
        self.keys: list[list[tuple[float, int]]] = [[(0.0, code) for code in range(len(ids))] for ids in tree.ids]

    def sort(self, capacity: Capacity, request: Vector, lowest: str) -> None:
        """Fullest first, then by id, below the capacity's top; children of the lowest level still sort."""
        tree = self.tree
        depth, code = capacity.top
        inside = np.zeros(len(tree.ids[depth]), dtype=bool)
        inside[code] = True
        for below in range(depth + 1, len(tree.labels)):
            inside = inside[tree.parents[below]]
            ratios = capacity.ratios(below, request)
            for child in np.flatnonzero(inside).tolist():
                self.keys[below][child] = (-float(ratios[child]), child)
            if tree.labels[below - 1] == lowest:
                break

    def order(self, depth: int) -> list[int]:
        """Domain codes of a level from left to right."""
        order = [0]
        for below in range(1, depth + 1):
            children: dict[int, list[int]] = {}
            for child, parent in enumerate(self.tree.parents[below].tolist()):
                children.setdefault(parent, []).append(child)
            keys = self.keys[below]
            order = [child for parent in order for child in sorted(children.get(parent, ()), key=keys.__getitem__)]
        return order
