"""A domain tree as `core.figures` lays it out: width is GPUs, one state a GPU, nodes outside apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from clusters.names import HOSTNAME_LABEL
from core import figures
from topology.suggestions import NodeFacts
from topology.tree import Domain, Gpus, Tree
from topology.wording import short_key

MAX_DOMAINS = 400

NodeUrl = Callable[[NodeFacts], str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The figure, its legend, and where it is zoomed to. `rows` is the same as a table, for the drawn level."""

    tree: figures.Icicle
    legend: tuple[dict[str, object], ...]
    at: tuple[str, ...]
    up_url: str
    trail: tuple[dict[str, str], ...]
    rows: tuple[Domain, ...]
    outside: int
    gpus: Gpus
    nodes: int


def draw(tree: Tree, at: Sequence[str] = (), *, node_url: NodeUrl = lambda node: "", most: int = MAX_DOMAINS) -> Drawn:
    """The tree below the domain `at` (values from the top; an unknown path shows the whole), down to the last level
    that has no more than `most` domains there."""
    root = _find(tree.root, at)
    whole = root is tree.root
    levels = _drawn_levels(tree, root, most)
    domains = [_figure(child, levels, node_url) for child in root.ordered()] if levels else []
    if not levels:
        domains = [_node(node, node_url) for node in root.nodes]
    outside = [_node(found.node, node_url) for found in tree.outside] if whole else []
    outside = [node for node in outside if node.gpus]
    names = [short_key(tree.levels[level]) for level in levels] + [_("node")]
    drawn = figures.icicle(domains, outside, names)
    total = _total(root, tree if whole else None)
    return Drawn(
        tree=drawn,
        legend=_legend(total),
        at=root.path,
        up_url="" if whole else f"?{urlencode([('at', value) for value in root.path[:-1]])}",
        trail=_trail(root.path),
        rows=tuple(root.ordered()) if levels else (),
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
    """Levels below `root` that become boxes: not the host name, and no more domains than can be told apart."""
    levels: list[int] = []
    row = [root]
    for level in range(root.level + 1, len(tree.levels)):
        row = [child for domain in row for child in domain.children.values()]
        if tree.levels[level] == HOSTNAME_LABEL or len(row) > most:
            break
        levels.append(level)
    return tuple(levels)


def _figure(domain: Domain, levels: Sequence[int], node_url: NodeUrl) -> figures.Domain:
    if domain.level < levels[-1]:
        children = tuple(_figure(child, levels, node_url) for child in domain.ordered())
    else:
        children = tuple(_node(node, node_url) for node in domain.nodes)
    url = f"?{urlencode([('at', value) for value in domain.path])}"
    return figures.Domain(domain.value, url=url, children=children)


def _node(node: NodeFacts, node_url: NodeUrl) -> figures.Domain:
    return figures.Domain(node.name, url=node_url(node), gpus=gpu_states(node), group=node.pool)


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


def _trail(path: Sequence[str]) -> tuple[dict[str, str], ...]:
    return tuple(
        {"label": value, "url": f"?{urlencode([('at', each) for each in path[: index + 1]])}"}
        for index, value in enumerate(path)
    )
