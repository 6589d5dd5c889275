"""Draws a large pool in summary: a box for each domain of the narrowest level that has few enough of them. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from core.figures import Domain as Drawn
from core.figures import icicle
from topology.suggestions import NodeFacts
from workloads.drawing import Drawing, colours_of
from workloads.words import place_word

MAX_DOMAINS = 64
CELLS = 8
"""A box has so many cells, each for an eighth of its GPUs; whatever there is of a state gets one at least."""

Path = tuple[str, ...]
Amounts = dict[str, Decimal]


def draw_summary(
    levels: Sequence[str], facts: Sequence[NodeFacts], taken: Mapping[str, Mapping[str, Decimal]], roles: Sequence[str]
) -> Drawing | None:
    """The picture of a pool. `taken`: GPUs that each role would take, by node and role; `facts` say what is held
    without them. The legend counts GPUs. None where even the broadest level has more than 64 domains."""
    depth = _depth(levels, facts)
    if depth == 0:
        return None
    boxes: dict[Path, Amounts] = {}
    for node in facts:
        path = _path(levels[:depth], node)
        if all(path):
            _add(boxes.setdefault(path, {}), node, taken.get(node.name, {}), roles)
    total: Amounts = {}
    for amounts in boxes.values():
        for state, amount in amounts.items():
            total[state] = total.get(state, Decimal(0)) + amount
    own = tuple((str(index), role, int(total.get(str(index), 0))) for index, role in enumerate(roles, 1))
    others = tuple((s, s, int(total[s])) for s in ("track", "free", "cordoned", "unhealthy") if total.get(s))
    drawn = _nested((), boxes, depth)
    return Drawing(icicle(drawn, levels=[place_word(level) for level in levels[:depth]]), own + others, 0)


def _path(levels: Sequence[str], node: NodeFacts) -> Path:
    return tuple(node.labels.get(level, "") for level in levels)


def _depth(levels: Sequence[str], facts: Sequence[NodeFacts]) -> int:
    """How many levels, from the broadest, are drawn."""
    for depth in range(len(levels), 0, -1):
        if len({_path(levels[:depth], node) for node in facts}) <= MAX_DOMAINS:
            return depth
    return 0


def _add(amounts: Amounts, node: NodeFacts, taken: Mapping[str, Decimal], roles: Sequence[str]) -> None:
    colours = colours_of(roles)
    own = sum(taken.values(), Decimal(0))
    rest = max(Decimal(node.gpus - node.unhealthy) - own - node.allocated, Decimal(0))
    parts = {"track": node.allocated, "unhealthy": Decimal(node.unhealthy)}
    parts["free" if node.usable else "cordoned"] = rest
    for role, amount in taken.items():
        colour = colours.get(role.lower(), "8")
        parts[colour] = parts.get(colour, Decimal(0)) + amount
    for state, amount in parts.items():
        if amount > 0:
            amounts[state] = amounts.get(state, Decimal(0)) + amount


def _nested(prefix: Path, boxes: Mapping[Path, Amounts], depth: int) -> tuple[Drawn, ...]:
    place = len(prefix)
    values = sorted({path[place] for path in boxes if path[:place] == prefix})
    if place + 1 == depth:
        return tuple(Drawn(value, gpus=_cells(boxes[*prefix, value])) for value in values)
    return tuple(Drawn(value, children=_nested((*prefix, value), boxes, depth)) for value in values)


def _cells(amounts: Amounts) -> tuple[str, ...]:
    """Roles first, then what others hold, then the rest, in proportion."""
    total = sum(amounts.values(), Decimal(0))
    order = sorted(amounts, key=lambda state: (not state.isdigit(), state != "track", state))
    counts = {state: max(1, round(CELLS * amounts[state] / total)) for state in order}
    while sum(counts.values()) > CELLS and max(counts.values()) > 1:
        largest = max(counts, key=lambda state: counts[state])
        counts[largest] -= 1
    return tuple(state for state in order for _ in range(counts[state]))
