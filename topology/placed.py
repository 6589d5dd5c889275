"""A chosen workload's pods on a tree: how many GPUs of which part on which node, and how far the parts are apart. Pure.

The distance of two pods is the cost of the narrowest level whose domain holds both; on one node it is none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations_with_replacement, product

from topology.tree import Tree


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod that has a node."""

    name: str
    part: str
    node: str
    gpus: Decimal


@dataclass(frozen=True, slots=True)
class Distance:
    """Two parts, and the narrowest and the broadest level at which a pair of their pods meets.

    A level is an index of the tree's levels; `len(levels)` is the same node; −1 only the tree holds both.
    """

    one: str
    other: str
    nearest: int
    farthest: int


@dataclass(frozen=True, slots=True)
class PlacedWorkload:
    """Parts in order of name, pods by node, nodes that are outside the tree, and distances."""

    parts: tuple[str, ...]
    by_node: Mapping[str, Mapping[str, Decimal]]
    counts: Mapping[str, int]
    outside: tuple[str, ...]
    distances: tuple[Distance, ...]


def place(tree: Tree, pods: Iterable[PlacedPod]) -> PlacedWorkload:
    """Where the pods stand in the tree."""
    paths = {node.name: tuple(node.labels[key] for key in tree.levels) for node in tree.root.nodes}
    by_node: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    standing: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        by_node[pod.node][pod.part] += pod.gpus
        standing[pod.part][pod.node] += 1
    parts = tuple(sorted(standing))
    return PlacedWorkload(
        parts=parts,
        by_node=by_node,
        counts={part: standing[part].total() for part in parts},
        outside=tuple(sorted(set(by_node) - paths.keys())),
        distances=tuple(_distances(parts, standing, paths)),
    )


Paths = Mapping[str, tuple[str, ...]]


def _distances(parts: Sequence[str], standing: Mapping[str, Counter[str]], paths: Paths) -> Iterator[Distance]:
    for one, other in combinations_with_replacement(parts, 2):
        met = list(_meetings(standing[one], standing[other], paths, same=one == other))
        if met:
            yield Distance(one, other, max(met), min(met))


def _meetings(one: Counter[str], other: Counter[str], paths: Paths, *, same: bool) -> Iterator[int]:
    """The level at which the nodes of every two domains meet; two nodes of one domain meet at the last level."""
    left, right = _by_path(one, paths), _by_path(other, paths)
    for path, theirs in product(left, right):
        if path != theirs:
            yield _shared(path, theirs) - 1
            continue
        if any(other[node] > same for node in left[path] & right[path]):
            yield len(path)
        if len(left[path] | right[path]) > 1:
            yield len(path) - 1


def _by_path(nodes: Iterable[str], paths: Paths) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for node in nodes:
        if node in paths:
            found[paths[node]].add(node)
    return found


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    pairs = enumerate(zip(left, right, strict=True))
    return next((index for index, (mine, theirs) in pairs if mine != theirs), len(left))
