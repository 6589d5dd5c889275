"""Geometry of the console's figures in percent, so that SVG stretches with the page and text does not. Pure.

Figures know states, not domain words: a state names a fill (`f-idle`) and perhaps a pattern over it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

# State → pattern drawn over its fill, so that it reads without colour.
_ORDER = ("allocated", "idle", "unknown", "cordoned", "unhealthy")
PATTERNS = {"idle": "idle", "unknown": "stripe", "cordoned": "hatch"}

ROW = 48
BOX = 42
NODE_LABEL = 22
CELLS = 34
BRACKET = 22
_GAPS = (0.8, 0.4, 0.25)
# Widths of a figure, in pixels, from which words may be shown; and what a letter of the smallest type takes.
_FITS = (320, 360, 400, 440, 480, 560, 680, 800, 920, 1040, 1160)
_LETTER = 6.4
_MAX_NODES = 120
_MAX_CELLS = 1000

Amount = Decimal | int | float


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: `x` and `width` are percentages as SVG writes them."""

    state: str
    x: str
    width: str

    @property
    def pattern(self) -> str:
        return PATTERNS.get(self.state, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What a queue has and asks for. -1 and None are unlimited."""

    held: Amount
    deserved: Amount | None = None
    limit: Amount | None = None
    fair_share: Amount | None = None
    non_preemptible: Amount = 0
    asked: Amount = 0


@dataclass(frozen=True, slots=True)
class QuotaBar:
    """A queue's bar. Marks are percentages, "" where there is none (unlimited, or not set)."""

    segments: tuple[Segment, ...]
    deserved: str
    limit: str
    fair_share: str


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of a topology, or a node (no `children`): `gpus` holds one state a GPU.

    `url` opens it (zooms in, or the node's page). `group` names what the bracket under a node says (its pool).
    """

    name: str
    url: str = ""
    children: tuple["Domain", ...] = ()
    gpus: tuple[str, ...] = ()
    group: str = ""
    chosen: bool = False

    @property
    def short(self) -> str:
        """The end of the name that tells neighbours apart, for cells that are narrow: `gpu-07` → `07`."""
        return self.name.rpartition("-")[2][-3:]

    @property
    def states(self) -> Counter[str]:
        return sum((child.states for child in self.children), Counter(self.gpus))

    @property
    def size(self) -> int:
        return sum(self.states.values())

    @property
    def nodes(self) -> tuple["Domain", ...]:
        return tuple(n for c in self.children for n in c.nodes) if self.children else (self,)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A drawn domain or node: where it stands in percent, its GPUs and how many of them are free."""

    domain: Domain
    x: str
    width: str
    total: int
    free: int

    @property
    def name_fits(self) -> str:
        return fits(self.width, len(self.domain.name))

    @property
    def short_fits(self) -> str:
        return fits(self.width, len(self.domain.short))


@dataclass(frozen=True, slots=True)
class Box(_Drawn):
    """A drawn domain: its frame, its words and the occupancy line at its foot."""

    y: int
    segments: tuple[Segment, ...]
    depth: int = 0

    @property
    def foot(self) -> int:
        return self.y + BOX - 4

    @property
    def both_fit(self) -> str:
        """Its GPUs and how many are free: two numbers, a dot, a short word."""
        return fits(self.width, len(f"{self.total}{self.free}") + 7)

    @property
    def free_fits(self) -> str:
        return fits(self.width, len(f"{self.free}") + 5)


@dataclass(frozen=True, slots=True)
class NodeBox(_Drawn):
    """A drawn node: its label and its GPUs, one cell each or one stacked cell when they would be too small."""

    cells: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Bracket:
    """A line under neighbouring nodes of one group, with its name."""

    name: str
    x: str
    width: str

    @property
    def name_fits(self) -> str:
        return fits(self.width, len(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Icicle:
    """A laid-out tree. Heights are pixels; `levels` pairs a level's name with its row."""

    boxes: tuple[Box, ...]
    nodes: tuple[NodeBox, ...]
    brackets: tuple[Bracket, ...]
    outside_x: str
    outside_width: str
    levels: tuple[str, ...]
    depth: int
    height: int = field(default=0)

    @property
    def node_y(self) -> int:
        return self.depth * ROW

    @property
    def cells_y(self) -> float:
        return self.node_y + NODE_LABEL + 0.5

    @property
    def bracket_y(self) -> int:
        return self.node_y + NODE_LABEL + CELLS + 4

    @property
    def outside_height(self) -> int:
        return max(BOX, self.node_y - 6)

    @property
    def outside_fits(self) -> str:
        return fits(self.outside_width, len("Outside"))


def segments(parts: Sequence[tuple[str, Amount]], total: Amount) -> tuple[Segment, ...]:
    """Parts of a bar beside each other, each as wide as its share of `total`. Parts of 0 are left out."""
    if not total or total <= 0:
        return ()
    drawn, at = [], 0.0
    for state, amount in parts:
        width = min(float(amount) / float(total) * 100, 100 - at)
        if width > 0:
            drawn.append(Segment(state, pct(at), pct(width)))
            at += width
    return tuple(drawn)


def quota_bar(quota: Quota, scale: Amount | None = None) -> QuotaBar:
    """What a queue holds within its deserved quota and above it, and what it asks for, on one scale.

    `scale` is the value at the right end; queues that are compared share one. By default the largest value
    stands at 80 %.
    """
    held, asked = float(quota.held), float(quota.asked)
    marks = (quota.deserved, quota.limit, quota.fair_share)
    known = [float(v) for v in marks if v is not None and v >= 0]
    top = float(scale) if scale else max([*known, held + asked]) / 0.8
    deserved = held if quota.deserved is None or quota.deserved < 0 else float(quota.deserved)
    within = min(held, deserved)
    firm = min(float(quota.non_preemptible), within)
    parts = [("nonpre", firm), ("allocated", within - firm), ("over", held - within), ("asked", asked)]
    return QuotaBar(segments(parts, top), *(_mark(value, top) for value in marks))


def icicle(domains: Sequence[Domain], outside: Sequence[Domain] = (), levels: Sequence[str] = ()) -> Icicle:
    """Lay out a tree: width = GPUs, broadest level on top, nodes at the bottom, nodes outside apart at the right.

    Above 120 nodes the nodes are left out and the last level of domains is the lowest row; zooming shows them.
    """
    depth = max((_depth(domain) for domain in domains), default=0)
    lost = sum(domain.size for domain in outside)
    total = sum(domain.size for domain in domains) + lost
    share = 100 * lost / total if total else 0.0
    outside_width = max(share, 4.0) if outside else 0.0
    tree_width = 100 - outside_width - (1.4 if outside else 0)

    boxes: list[Box] = []
    leaves: list[tuple[Domain, float, float]] = []
    _place(domains, (0.0, tree_width), 0, boxes, leaves)
    inside = len(leaves)
    if outside:
        _place(outside, (100 - outside_width, outside_width), depth, [], leaves)

    shown = leaves if len(leaves) <= _MAX_NODES else []
    cells = sum(len(domain.gpus) for domain, _x, _w in shown) <= _MAX_CELLS
    brackets = (*_brackets(shown[:inside]), *_brackets(shown[inside:]))
    return Icicle(
        boxes=tuple(boxes),
        nodes=tuple(_node_box(*leaf, one_cell_each=cells) for leaf in shown),
        brackets=brackets,
        outside_x=pct(100 - outside_width),
        outside_width=pct(outside_width),
        levels=tuple(levels),
        depth=depth,
        height=depth * ROW + (NODE_LABEL + CELLS + 2 if shown else 0) + (BRACKET if brackets else 0),
    )


def pct(value: float) -> str:
    """A percentage as SVG writes it: "12.5%"."""
    return f"{round(value, 3):g}%"


def fits(width: str, letters: int) -> str:
    """The narrowest figure, in pixels, in which so many letters fit a box of `width` percent: "480", or "never".

    A part of two classes of figures.css: `fits-480` shows from there on, `under-480` below it.
    """
    share = float(width.removesuffix("%")) / 100
    needed = letters * _LETTER + 8
    return next((str(figure) for figure in _FITS if figure * share >= needed), "never")


def sequence_step(value: Amount) -> int:
    """The viridis step, 0 to 10, of a value in percent."""
    return max(0, min(10, int(float(value) / 10 + 0.5)))


def _rank(state: str) -> int:
    return _ORDER.index(state) if state in _ORDER else len(_ORDER)


def _mark(value: Amount | None, top: float) -> str:
    return "" if value is None or value < 0 or top <= 0 else pct(min(100.0, float(value) / top * 100))


def _depth(domain: Domain) -> int:
    return 1 + max((_depth(child) for child in domain.children), default=0) if domain.children else 0


def _place(
    domains: Sequence[Domain],
    span: tuple[float, float],
    depth: int,
    boxes: list[Box],
    leaves: list[tuple[Domain, float, float]],
) -> None:
    start, width = span
    total = sum(domain.size for domain in domains)
    gap = _GAPS[min(depth, len(_GAPS) - 1)] if any(domain.children for domain in domains) else 0.12
    gap = min(gap, width / (4 * max(1, len(domains))))
    room = width - gap * (len(domains) - 1)
    at = start
    for domain in domains:
        wide = room * domain.size / total if total else room / len(domains)
        if domain.children:
            boxes.append(_box(domain, at, wide, depth))
            _place(domain.children, (at, wide), depth + 1, boxes, leaves)
        else:
            leaves.append((domain, at, wide))
        at += wide + gap


def _box(domain: Domain, x: float, width: float, depth: int) -> Box:
    states, size = domain.states, domain.size
    parts, at = [], x
    for state in sorted(states, key=_rank):
        amount = states[state]
        if state == "free" or not size:
            continue
        wide = width * amount / size
        parts.append(Segment(state, pct(at), pct(wide)))
        at += wide
    return Box(domain, pct(x), pct(width), size, states["free"], depth * ROW, tuple(parts), depth)


def _node_box(domain: Domain, x: float, width: float, *, one_cell_each: bool) -> NodeBox:
    states = domain.states
    runs = (
        [(state, 1) for state in domain.gpus]
        if one_cell_each
        else sorted(states.items(), key=lambda item: _rank(item[0]))
    )
    unit = width / max(1, len(domain.gpus))
    cells, at = [], x
    for state, amount in runs:
        wide = unit * amount
        inset = min(0.04, wide / 10)
        cells.append(Segment(state, pct(at + inset), pct(wide - 2 * inset)))
        at += wide
    return NodeBox(domain, pct(x), pct(width), len(domain.gpus), states["free"], tuple(cells))


def _brackets(leaves: Sequence[tuple[Domain, float, float]]) -> tuple[Bracket, ...]:
    runs: list[tuple[str, float, float]] = []
    for domain, x, width in leaves:
        if runs and runs[-1][0] == domain.group:
            runs[-1] = (domain.group, runs[-1][1], x + width - runs[-1][1])
        else:
            runs.append((domain.group, x, width))
    return tuple(Bracket(name, pct(x), pct(width)) for name, x, width in runs if name)
