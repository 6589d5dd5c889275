"""The GPU map: one cell a GPU, grouped by the levels of a topology or by node pool."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.colours import Devices
from clusters.gpus import NodeGpus
from clusters.names import DEFAULT_NODE_POOL, NODE_POOL_LABEL

MAX_HTML_CELLS = 2000
# Codes of the canvas, see static/js/gpu-canvas.js.
CODES = {"free": 101, "unhealthy": 102, "unknown": 103, "cordoned": 104, "held": 110}


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU. `value`: of a `held` one the share that is held, of a `measured` one the figure, both 0 to 100; None
    where the state (free, cordoned, unhealthy, unknown) says it all."""

    state: str
    value: int | None


@dataclass(frozen=True, slots=True)
class MapNode:
    """A node as the map needs it."""

    pk: int
    name: str
    labels: Mapping[str, str]
    gpus: NodeGpus
    state: str
    url: str
    cells: Sequence[Cell] = ()


@dataclass(slots=True)
class Rack:
    """Nodes that are drawn together; `outside`: they lack a label of the chosen levels."""

    name: str
    nodes: list[MapNode] = field(default_factory=list)
    outside: bool = False


@dataclass(slots=True)
class Group:
    """Racks under one heading."""

    name: str
    racks: list[Rack] = field(default_factory=list)

    @property
    def gpus(self) -> int:
        """How many GPUs it has."""
        return sum(node.gpus.total for rack in self.racks for node in rack.nodes)


def cells_of(gpus: NodeGpus, measured: Devices | None = None) -> list[Cell]:
    """One cell a GPU. MIG devices are no cells.

    Without measurements: held ones first (the last perhaps in part), then free or cordoned, then unhealthy; which
    device a pod holds is not known to Kubernetes. With them cells stand in the order of the devices.
    """
    return _measured_cells(gpus, measured) if measured else _allocation_cells(gpus)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a page says of all cells together. `unmeasured`: held ones without a figure."""

    histogram: Sequence[tuple[str, int]]
    unmeasured: int


def drawn(groups: Sequence[Group]) -> Drawn:
    """The figures of all cells."""
    cells = [cell for group in groups for rack in group.racks for node in rack.nodes for cell in node.cells]
    return Drawn(histogram(cells), sum(cell.state == "unknown" for cell in cells))


def not_measured(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of a node of which nothing was measured: what is held has no figure."""
    return [Cell("unknown", None) if cell.state == "held" else cell for cell in cells]


def histogram(cells: Iterable[Cell]) -> list[tuple[str, int]]:
    """How many measured GPUs lie in 0, 0–10, 10–20, … 90–100."""
    counts = [0] * 11
    for cell in cells:
        if cell.state == "measured" and cell.value is not None:
            counts[0 if cell.value <= 0 else min((cell.value - 1) // 10 + 1, 10)] += 1
    labels = ["0", *(f"{low}–{low + 10}" for low in range(0, 100, 10))]
    return list(zip(labels, counts, strict=True))


def _allocation_cells(gpus: NodeGpus) -> list[Cell]:
    cells: list[Cell] = []
    whole, part = divmod(gpus.allocated, 1)
    cells += [Cell("held", 100)] * int(whole)
    if part:
        cells.append(Cell("held", int(part * 100)))
    rest = gpus.total - len(cells)
    broken = min(int(gpus.unhealthy), rest)
    return [*cells, *[Cell(_rest_state(gpus), None)] * (rest - broken), *[Cell("unhealthy", None)] * broken]


def _measured_cells(gpus: NodeGpus, measured: Devices) -> list[Cell]:
    """Which device is broken is not known either: one that the exporter does not list, else a free one at the end."""
    numbers = range(gpus.total)
    suspects = sorted(numbers, key=lambda number: (number in measured.held, number in measured.values, -number))
    broken = set(suspects[: int(gpus.unhealthy)])
    return [_measured_cell(number, gpus, measured, broken) for number in numbers]


def _measured_cell(number: int, gpus: NodeGpus, measured: Devices, broken: set[int]) -> Cell:
    if number in broken:
        return Cell("unhealthy", None)
    if number not in measured.held:
        return Cell(_rest_state(gpus), None)
    value = measured.values.get(number)
    return Cell("unknown", None) if value is None else Cell("measured", value)


def _rest_state(gpus: NodeGpus) -> str:
    return "cordoned" if gpus.cordoned else "free"


def grouped(nodes: Sequence[MapNode], levels: Sequence[str]) -> list[Group]:
    """Nodes by the first two `levels` (label keys, broadest first; the hostname is not one of them). Without levels:
    by node pool. A node that lacks a label stands under the narrowest level that it has, marked as outside."""
    keys = list(levels[:2]) or [NODE_POOL_LABEL]
    groups: dict[str, dict[str, Rack]] = {}
    for node in nodes:
        group, rack, outside = _place(node.labels, keys)
        racks = groups.setdefault(group, {})
        racks.setdefault(rack, Rack(rack, outside=outside)).nodes.append(node)
    ordered = sorted(groups.items(), key=lambda item: (item[0] == "", item[0]))
    return [Group(name, sorted(racks.values(), key=lambda r: (r.outside, r.name))) for name, racks in ordered]


def canvas_values(cells: Sequence[Cell]) -> list[int]:
    """The numbers that the canvas draws, one a GPU."""
    return [_canvas_value(cell) for cell in cells]


def _canvas_value(cell: Cell) -> int:
    if cell.value is None or (cell.state == "held" and cell.value == 100):
        return CODES[cell.state]
    return cell.value


def as_canvas(groups: Sequence[Group], words: Mapping[int, str]) -> dict[str, Any]:
    """The JSON of the canvas."""
    return {
        "words": {str(code): word for code, word in words.items()},
        "groups": [
            {
                "name": group.name,
                "note": str(group.gpus),
                "racks": [
                    {
                        "name": rack.name,
                        "nodes": [
                            {"name": node.name, "url": node.url, "values": canvas_values(node.cells)}
                            for node in rack.nodes
                        ],
                    }
                    for rack in group.racks
                ],
            }
            for group in groups
        ],
    }


def _place(labels: Mapping[str, str], keys: Sequence[str]) -> tuple[str, str, bool]:
    values = [labels.get(key, "") for key in keys]
    if keys == [NODE_POOL_LABEL]:
        return values[0] or DEFAULT_NODE_POOL, "", False
    if len(keys) == 1:
        return values[0], "", not values[0]
    return values[0], values[1], not all(values)
