"""A domain tree as `core.figures` lays it out: width is GPUs, one state a GPU, nodes outside apart."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from clusters.names import HOSTNAME_LABEL
from core import figures
from topology.placed import PlacedWorkload
from topology.suggestions import NodeFacts
from topology.tree import Domain, Gpus, Tree
from topology.wording import short_key

# Boxes beside each other that can still be told apart, and as many rows of the table; zooming shows the rest.
MAX_DOMAINS = 120
# Of all levels together: each box and its row of the table are about twenty elements of the page.
MAX_BOXES = 76

NodeUrl = Callable[[NodeFacts], str]
CATEGORIES = 8


@dataclass(frozen=True, slots=True)
class Chosen:
    """A workload to be drawn on the tree: its key in the address, and where its pods stand."""

    key: str
    placed: PlacedWorkload

    def state(self, part: str) -> str:
        """The colour of a part."""
        return str(self.placed.parts.index(part) % CATEGORIES + 1)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The figure, its legend, and where it is zoomed to. `rows` is the same as a table: all boxes, parents first."""

    tree: figures.Icicle
    legend: tuple[dict[str, object], ...]
    at: tuple[str, ...]
    up_url: str
    trail: tuple[dict[str, str], ...]
    rows: tuple[Domain, ...]
    outside: int
    gpus: Gpus
    nodes: int


def draw(
    tree: Tree,
    at: Sequence[str] = (),
    *,
    node_url: NodeUrl = lambda node: "",
    most: int = MAX_DOMAINS,
    chosen: Chosen | None = None,
) -> Drawn:
    """The tree below the domain `at` (values from the top; an unknown path shows the whole), down to the last level
    that has no more than `most` domains there. With a `chosen` workload all else is grey."""
    root = _find(tree.root, at)
    whole = root is tree.root
    levels = _drawn_levels(tree, root, most)
    pen = _Pen(node_url, chosen)
    domains = [pen.figure(child, levels) for child in root.ordered()] if levels else []
    if not levels:
        domains = [pen.node(node) for node in root.nodes]
    outside = [pen.node(found.node) for found in tree.outside] if whole else []
    outside = [node for node in outside if node.gpus]
    names = [short_key(tree.levels[level]) for level in levels] + [_("node")]
    drawn = figures.icicle(domains, outside, names)
    total = _total(root, tree if whole else None)
    return Drawn(
        tree=drawn,
        legend=_chosen_legend(chosen, total) if chosen else _legend(total),
        at=root.path,
        up_url="" if whole else pen.url(root.path[:-1]),
        trail=tuple({"label": value, "url": pen.url(root.path[: n + 1])} for n, value in enumerate(root.path)),
        rows=tuple(_rows(root, levels)),
        outside=len(outside),
        gpus=total,
        nodes=len(root.nodes) + (len(tree.outside) if whole else 0),
    )


def _find(root: Domain, at: Sequence[str]) -> Domain:
    domain = root
    for value in at:
        if value not in domain.children:
            return root
        domain = domain.children[value]
    return domain


def _drawn_levels(tree: Tree, root: Domain, most: int) -> tuple[int, ...]:
    """Levels below `root` that become boxes: not the host name, no more domains than can be told apart, and below the
    first of them no more boxes than a page bears."""
    levels: list[int] = []
    row, boxes = [root], 0
    for level in range(root.level + 1, len(tree.levels)):
        row = [child for domain in row for child in domain.children.values()]
        boxes += len(row)
        if tree.levels[level] == HOSTNAME_LABEL or len(row) > most or (levels and boxes > MAX_BOXES):
            break
        levels.append(level)
    return tuple(levels)


def _rows(root: Domain, levels: Sequence[int]) -> Iterator[Domain]:
    """The drawn domains, parents first, each level in natural order."""
    for child in root.ordered() if levels else ():
        yield child
        if child.level < levels[-1]:
            yield from _rows(child, levels)


class _Pen:
    """Turns domains and nodes into what is laid out."""

    def __init__(self, node_url: NodeUrl, chosen: Chosen | None) -> None:
        self.node_url = node_url
        self.chosen = chosen

    def url(self, path: Sequence[str]) -> str:
        """Where a domain is zoomed to; the chosen workload stays."""
        kept = [("pods", self.chosen.key)] if self.chosen else []
        return f"?{urlencode([*[('at', value) for value in path], *kept])}"

    def figure(self, domain: Domain, levels: Sequence[int]) -> figures.Domain:
        """A domain with what is drawn below it."""
        if domain.level < levels[-1]:
            children = tuple(self.figure(child, levels) for child in domain.ordered())
        else:
            children = tuple(self.node(node) for node in domain.nodes)
        return figures.Domain(domain.value, url=self.url(domain.path), children=children)

    def node(self, node: NodeFacts) -> figures.Domain:
        """A node with a state for each GPU."""
        states = gpu_states(node)
        if self.chosen is not None:
            states = _with_pods(states, self.chosen, node.name)
        return figures.Domain(node.name, url=self.node_url(node), gpus=states, group=node.pool)


def _with_pods(states: tuple[str, ...], chosen: Chosen, node: str) -> tuple[str, ...]:
    """The chosen pods' GPUs in the colour of their part, what others hold in grey."""
    mine: list[str] = []
    for part, gpus in sorted(chosen.placed.by_node.get(node, {}).items()):
        mine += [chosen.state(part)] * int(gpus.to_integral_value(ROUND_CEILING))
    rest = ["track" if state == "allocated" else state for state in states[len(mine) :]]
    return (*mine[: len(states)], *rest)


def gpu_states(node: NodeFacts) -> tuple[str, ...]:
    """One state for each GPU of a node; a GPU that is held in part counts as held."""
    usable = max(0, node.gpus - node.unhealthy)
    held = min(usable, int(node.allocated.to_integral_value(ROUND_CEILING)))
    rest = "free" if node.usable else "cordoned"
    return ("allocated",) * held + (rest,) * (usable - held) + ("unhealthy",) * (node.gpus - usable)


def _total(root: Domain, whole: Tree | None) -> Gpus:
    total = Gpus()
    for node in [*root.nodes, *(found.node for found in (whole.outside if whole else ()))]:
        total.add(node)
    return total


def _legend(gpus: Gpus) -> tuple[dict[str, object], ...]:
    return (
        {"state": "allocated", "label": _("Allocated"), "count": gpus.allocated},
        {"state": "free", "label": _("Free"), "count": gpus.free},
        {"state": "cordoned", "label": _("Cordoned"), "count": gpus.cordoned},
        {"state": "unhealthy", "label": _("Unhealthy"), "count": gpus.unhealthy},
    )


def _chosen_legend(chosen: Chosen, gpus: Gpus) -> tuple[dict[str, object], ...]:
    mine: dict[str, Decimal] = dict.fromkeys(chosen.placed.parts, Decimal(0))
    for parts in chosen.placed.by_node.values():
        for part, amount in parts.items():
            mine[part] += amount
    others = gpus.allocated - sum(mine.values(), Decimal(0))
    return (
        *({"state": chosen.state(part), "label": part, "count": amount} for part, amount in mine.items()),
        {"state": "track", "label": _("Other work"), "count": max(others, Decimal(0))},
        {"state": "free", "label": _("Free"), "count": gpus.free},
    )
