"""The domain tree that a list of levels makes of nodes, with GPUs per domain. Pure.

KAI (plugins/topology): a node that lacks any one level label is outside; a domain is the path of values from the
top, so equal rack names in two zones are two domains.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from topology.suggestions import NodeFacts, natural


@dataclass(slots=True)
class Gpus:
    """GPUs in devices. `total` = `allocated` + `free` + `cordoned` + `unhealthy` − `excess`.

    `cordoned`: free ones of nodes that take no work now; `excess`: allocated beyond what a node has (a node shrank).
    """

    total: int = 0
    allocated: Decimal = Decimal(0)
    free: Decimal = Decimal(0)
    cordoned: Decimal = Decimal(0)
    unhealthy: int = 0
    excess: Decimal = Decimal(0)

    def add(self, node: NodeFacts) -> None:
        """Count one node."""
        left = node.gpus - node.unhealthy - node.allocated
        self.total += node.gpus
        self.allocated += node.allocated
        self.unhealthy += node.unhealthy
        if left < 0:
            self.excess -= left
        elif node.usable:
            self.free += left
        else:
            self.cordoned += left


@dataclass(slots=True)
class Domain:
    """One value of a level. `path` holds the values from the top; `level` is its index, −1 for the root."""

    path: tuple[str, ...]
    level: int
    gpus: Gpus = field(default_factory=Gpus)
    children: dict[str, "Domain"] = field(default_factory=dict)
    nodes: list[NodeFacts] = field(default_factory=list)

    @property
    def value(self) -> str:
        """The label's value; empty for the root."""
        return self.path[-1] if self.path else ""

    @property
    def id(self) -> str:
        """KAI's id of the domain: the values joined by dots."""
        return ".".join(self.path)

    def ordered(self) -> list["Domain"]:
        """Its sub-domains in natural order."""
        return [self.children[value] for value in sorted(self.children, key=natural)]

    def walk(self) -> Iterator["Domain"]:
        """Itself and all below, parents first."""
        yield self
        for child in self.ordered():
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Outside:
    """A node that is not in the tree, and the level labels that it lacks (absent or empty)."""

    node: NodeFacts
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """`counts[i]` is the number of domains of level i; `covered[i]` the nodes that carry its label with a value."""

    levels: tuple[str, ...]
    root: Domain
    outside: tuple[Outside, ...]
    counts: tuple[int, ...]
    covered: tuple[int, ...]
    total_nodes: int

    @property
    def nodes_inside(self) -> int:
        """Nodes in the tree."""
        return self.total_nodes - len(self.outside)


def domain_tree(levels: Sequence[str], nodes: Sequence[NodeFacts]) -> Tree:
    """The tree of `levels` (broadest first) over `nodes`."""
    root = Domain((), -1)
    outside: list[Outside] = []
    covered = [0] * len(levels)
    for node in sorted(nodes, key=lambda node: natural(node.name)):
        values = [node.labels.get(key, "") for key in levels]
        covered = [count + bool(value) for count, value in zip(covered, values, strict=True)]
        missing = tuple(key for key, value in zip(levels, values, strict=True) if not value)
        if missing:
            outside.append(Outside(node, missing))
        else:
            _insert(root, values, node)
    counts = [0] * len(levels)
    for domain in root.walk():
        if domain.level >= 0:
            counts[domain.level] += 1
    return Tree(tuple(levels), root, tuple(outside), tuple(counts), tuple(covered), len(nodes))


def _insert(root: Domain, values: Sequence[str], node: NodeFacts) -> None:
    domain = root
    domain.gpus.add(node)
    domain.nodes.append(node)
    for level, value in enumerate(values):
        if value not in domain.children:
            domain.children[value] = Domain((*domain.path, value), level)
        domain = domain.children[value]
        domain.gpus.add(node)
        domain.nodes.append(node)
