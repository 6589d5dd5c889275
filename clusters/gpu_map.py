"""The GPU map: one cell a GPU, grouped by the levels of a topology or by node pool. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clusters.gpus import NodeGpus
from clusters.names import DEFAULT_NODE_POOL, NODE_POOL_LABEL

MAX_HTML_CELLS = 2000
# Codes of the canvas, see static/js/gpu-canvas.js.
CODES = {"free": 101, "unhealthy": 102, "unknown": 103, "cordoned": 104}

State = Literal["held", "free", "unhealthy", "cordoned"]


@dataclass(frozen=True, slots=True)
class MapNode:
    """A node as the map needs it."""

    pk: int
    name: str
    labels: Mapping[str, str]
    gpus: NodeGpus
    state: str
    url: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU. `value` is the share of it that is held, in percent; None where the state says it all."""

    state: str
    value: int | None


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


def cells_of(gpus: NodeGpus) -> list[Cell]:
    """One cell a GPU: held ones first (the last perhaps in part), then free or cordoned, then unhealthy.

    Which device a pod holds is not known to Kubernetes, so the order says nothing of device numbers. MIG devices are
    no cells.
    """
    cells: list[Cell] = []
    whole, part = divmod(gpus.allocated, 1)
    cells += [Cell("held", 100)] * int(whole)
    if part:
        cells.append(Cell("held", int(part * 100)))
    rest = gpus.total - len(cells)
    broken = min(int(gpus.unhealthy), rest)
    state = "cordoned" if gpus.cordoned else "free"
    return [*cells, *[Cell(state, None)] * (rest - broken), *[Cell("unhealthy", None)] * broken]


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


def canvas_values(gpus: NodeGpus) -> list[int]:
    """The numbers that the canvas draws, one a GPU."""
    return [CODES[cell.state] if cell.value is None else cell.value for cell in cells_of(gpus)]


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
                            {"name": node.name, "url": node.url, "values": canvas_values(node.gpus)}
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
