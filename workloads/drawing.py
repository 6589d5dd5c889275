"""Draws a workload on the tree of its pool: its own pods by role, all else by what holds it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from django.utils.translation import gettext as _

from clusters.names import HOSTNAME_LABEL
from core.figures import Domain as Drawn
from core.figures import Icicle, icicle
from topology.suggestions import NodeFacts
from topology.tree import Domain, Tree
from workloads.progress import PodFacts
from workloads.words import place_word

MAX_NODES = 400


@dataclass(frozen=True, slots=True)
class Drawing:
    """The picture and its legend: (state, label, GPUs). `left_out`: nodes that are not drawn."""

    tree: Icicle
    legend: tuple[tuple[str, str, int], ...]
    left_out: int


def draw(tree: Tree, pods: Sequence[PodFacts], roles: Sequence[str], chosen: Sequence[str] = ()) -> Drawing:
    """The tree with the pods on it. `roles` give the colours 1…8 in their order; `chosen` are domains to frame.

    A pool of more than 400 nodes is drawn as far as the broadest domains with pods (or the freest one) go.
    """
    own = _own(pods, roles)
    tops = tree.root.ordered()
    kept = _kept(tops, own, tree)
    drawn = tuple(_domain(domain, own, frozenset(chosen)) for domain in kept)
    counts: dict[str, int] = {}
    for domain in drawn:
        for state, amount in domain.states.items():
            counts[state] = counts.get(state, 0) + amount
    legend = tuple((str(i + 1), role, counts.get(str(i + 1), 0)) for i, role in enumerate(roles))
    others = tuple(
        (state, state, counts[state]) for state in ("track", "free", "cordoned", "unhealthy") if state in counts
    )
    shown = sum(_count(domain) for domain in kept)
    levels = [_("node") if level == HOSTNAME_LABEL else place_word(level) for level in tree.levels]
    return Drawing(icicle(drawn, levels=levels), legend + others, tree.nodes_inside - shown)


def colours_of(roles: Sequence[str]) -> dict[str, str]:
    """The colour of each role, by its name in lower case: 1, 2, …"""
    return {role.lower(): str(index) for index, role in enumerate(roles, 1)}


def _own(pods: Sequence[PodFacts], roles: Sequence[str]) -> dict[str, dict[str, Decimal]]:
    """GPUs of the workload by node and colour."""
    colours = colours_of(roles)
    own: dict[str, dict[str, Decimal]] = {}
    for pod in pods:
        if pod.holds and pod.gpus:
            on_node = own.setdefault(pod.node, {})
            colour = colours.get(pod.component.lower(), "8")
            on_node[colour] = on_node.get(colour, Decimal(0)) + pod.gpus
    return own


def _kept(tops: Sequence[Domain], own: Mapping[str, object], tree: Tree) -> list[Domain]:
    if tree.nodes_inside <= MAX_NODES or not tops:
        return list(tops)
    used = [top for top in tops if any(node.name in own for domain in top.walk() for node in domain.nodes)]
    return used or [max(tops, key=lambda top: top.gpus.free)]


def _count(domain: Domain) -> int:
    return sum(len(inner.nodes) for inner in domain.walk() if not inner.children)


def _domain(domain: Domain, own: Mapping[str, Mapping[str, Decimal]], chosen: frozenset[str]) -> Drawn:
    if not domain.children:
        nodes = tuple(_node(node, own.get(node.name, {})) for node in domain.nodes)
        if len(nodes) == 1:
            return nodes[0]
        return Drawn(domain.value, children=nodes, chosen=domain.value in chosen)
    children = tuple(_domain(child, own, chosen) for child in domain.ordered())
    return Drawn(domain.value, url=f"#{domain.id}", children=children, chosen=domain.value in chosen)


def _node(node: NodeFacts, own: Mapping[str, Decimal]) -> Drawn:
    states: list[str] = []
    for colour in sorted(own):
        states += [colour] * _whole(own[colour])
    others = node.allocated - sum(own.values(), Decimal(0))
    states += ["track"] * max(0, _whole(others))
    states += ["unhealthy"] * node.unhealthy
    rest = max(0, node.gpus - len(states))
    return Drawn(node.name, gpus=(*states, *["free" if node.usable else "cordoned"] * rest))


def _whole(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))
