"""Draws a workload on its pool: its own GPUs by role, all else by what holds it. Pure.

A small pool is drawn node by node; of a large one a box for each domain of the narrowest level that has few enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal

from django.utils.translation import gettext as _

from clusters.names import HOSTNAME_LABEL
from core.figures import Domain as Drawn
from core.figures import Icicle, icicle
from topology.suggestions import NodeFacts
from topology.tree import Domain, domain_tree
from workloads.progress import PodFacts
from workloads.words import place_word

MOST_NODES = 64
"""Of a larger pool no nodes are drawn: each is about twelve elements of the page."""
MOST_DOMAINS = 64
CELLS = 8
"""A box has so many cells, each for an eighth of its GPUs; whatever there is of a state gets one at least."""

Path = tuple[str, ...]
Amounts = dict[str, Decimal]
Own = Mapping[str, Mapping[str, Decimal]]
"""GPUs by node and role."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture and its legend: (state, label, GPUs)."""

    tree: Icicle
    legend: tuple[tuple[str, str, int], ...]


def draw(
    levels: Sequence[str], facts: Sequence[NodeFacts], own: Own, roles: Sequence[str], chosen: Iterable[str] = ()
) -> Drawing | None:
    """The picture of a pool of which `facts` say what others hold. `roles` give the colours 1…8 in their order;
    `chosen` are domains to frame. None where a large pool has too many domains even at its broadest level."""
    framed = frozenset(chosen)
    if len(facts) > MOST_NODES:
        return _summary(levels, facts, own, roles, framed)
    drawn = tuple(_domain(top, own, roles, framed) for top in domain_tree(levels, facts).root.ordered())
    counts: Amounts = {}
    for domain in drawn:
        _sum(counts, {state: Decimal(amount) for state, amount in domain.states.items()})
    names = [_("node") if level == HOSTNAME_LABEL else place_word(level) for level in levels]
    return Drawing(icicle(drawn, levels=names), _legend(counts, roles))


def own_gpus(pods: Iterable[PodFacts]) -> Own:
    """What the pods hold."""
    own: dict[str, Amounts] = {}
    for pod in pods:
        if pod.holds and pod.gpus:
            _sum(own.setdefault(pod.node, {}), {pod.component: pod.gpus})
    return own


def without(facts: Iterable[NodeFacts], own: Own) -> list[NodeFacts]:
    """The nodes with what others hold of what is held there."""
    return [replace(node, allocated=max(node.allocated - _total(own.get(node.name, {})), Decimal(0))) for node in facts]


def _domain(domain: Domain, own: Own, roles: Sequence[str], framed: frozenset[str]) -> Drawn:
    if not domain.children:
        nodes = tuple(_node(node, own.get(node.name, {}), roles) for node in domain.nodes)
        if len(nodes) == 1:
            return nodes[0]
        return Drawn(domain.value, children=nodes, chosen=domain.value in framed)
    children = tuple(_domain(child, own, roles, framed) for child in domain.ordered())
    return Drawn(domain.value, url=f"#{domain.id}", children=children, chosen=domain.value in framed)


def _node(node: NodeFacts, own: Mapping[str, Decimal], roles: Sequence[str]) -> Drawn:
    by_colour = _coloured(own, roles)
    states = [colour for colour in sorted(by_colour) for _ in range(_whole(by_colour[colour]))]
    states += ["track"] * _whole(_others(node, own))
    states += ["unhealthy"] * node.unhealthy
    rest = max(0, node.gpus - len(states))
    return Drawn(node.name, gpus=(*states, *["free" if node.usable else "cordoned"] * rest))


def _summary(
    levels: Sequence[str], facts: Sequence[NodeFacts], own: Own, roles: Sequence[str], framed: frozenset[str]
) -> Drawing | None:
    depth = _depth(levels, facts)
    if depth == 0:
        return None
    boxes: dict[Path, Amounts] = {}
    for node in facts:
        path = _path(levels[:depth], node)
        if all(path):
            _sum(boxes.setdefault(path, {}), _parts(node, own.get(node.name, {}), roles))
    total: Amounts = {}
    for amounts in boxes.values():
        _sum(total, amounts)
    names = [place_word(level) for level in levels[:depth]]
    return Drawing(icicle(_nested((), boxes, depth, framed), levels=names), _legend(total, roles))


def _path(levels: Sequence[str], node: NodeFacts) -> Path:
    return tuple(node.labels.get(level, "") for level in levels)


def _depth(levels: Sequence[str], facts: Sequence[NodeFacts]) -> int:
    """How many levels, from the broadest, are drawn."""
    for depth in range(len(levels), 0, -1):
        if len({_path(levels[:depth], node) for node in facts}) <= MOST_DOMAINS:
            return depth
    return 0


def _parts(node: NodeFacts, own: Mapping[str, Decimal], roles: Sequence[str]) -> Amounts:
    others = _others(node, own)
    rest = max(Decimal(node.gpus - node.unhealthy) - _total(own) - others, Decimal(0))
    parts = {"track": others, "unhealthy": Decimal(node.unhealthy), "free" if node.usable else "cordoned": rest}
    return {state: amount for state, amount in (parts | _coloured(own, roles)).items() if amount > 0}


def _nested(prefix: Path, boxes: Mapping[Path, Amounts], depth: int, framed: frozenset[str]) -> tuple[Drawn, ...]:
    place = len(prefix)
    values = sorted({path[place] for path in boxes if path[:place] == prefix})
    if place + 1 == depth:
        return tuple(Drawn(value, gpus=_cells(boxes[*prefix, value])) for value in values)
    return tuple(
        Drawn(value, children=_nested((*prefix, value), boxes, depth, framed), chosen=value in framed)
        for value in values
    )


def _cells(amounts: Amounts) -> tuple[str, ...]:
    """Roles first, then what others hold, then the rest, in proportion."""
    total = _total(amounts)
    order = sorted(amounts, key=lambda state: (not state.isdigit(), state != "track", state))
    counts = {state: max(1, round(CELLS * amounts[state] / total)) for state in order}
    while sum(counts.values()) > CELLS and max(counts.values()) > 1:
        largest = max(counts, key=lambda state: counts[state])
        counts[largest] -= 1
    return tuple(state for state in order for _ in range(counts[state]))


def _legend(counts: Mapping[str, Decimal], roles: Sequence[str]) -> tuple[tuple[str, str, int], ...]:
    own = tuple((str(index), role, int(counts.get(str(index), 0))) for index, role in enumerate(roles, 1))
    others = ("track", "free", "cordoned", "unhealthy")
    return own + tuple((state, state, int(counts[state])) for state in others if counts.get(state))


def _others(node: NodeFacts, own: Mapping[str, Decimal]) -> Decimal:
    """What others keep beside the own pods: who has to go for these holds nothing any more."""
    return max(min(node.allocated, node.gpus - node.unhealthy - _total(own)), Decimal(0))


def _coloured(own: Mapping[str, Decimal], roles: Sequence[str]) -> Amounts:
    """GPUs by the colour of their role."""
    colours = {role.lower(): str(index) for index, role in enumerate(roles, 1)}
    found: Amounts = {}
    for role, amount in own.items():
        _sum(found, {colours.get(role.lower(), "8"): amount})
    return found


def _sum(into: Amounts, amounts: Mapping[str, Decimal]) -> None:
    for state, amount in amounts.items():
        into[state] = into.get(state, Decimal(0)) + amount


def _total(amounts: Mapping[str, Decimal]) -> Decimal:
    return sum(amounts.values(), Decimal(0))


def _whole(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))
