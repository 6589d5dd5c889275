"""How the GPUs of nodes are counted: once each, in parts that add up. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class GpuStrip:
    """GPUs of nodes, each counted once: `total` = `allocated` + `free` + `cordoned` + `unhealthy`.

    `over` is what pods hold beyond what their nodes can give (GPUs that failed under them, nodes that are gone); it is
    not in the sum. MIG slices are counted apart, by resource name.
    """

    total: int
    allocated: Decimal
    free: Decimal
    cordoned: Decimal
    unhealthy: Decimal
    over: Decimal
    nodes: int
    mig: Mapping[str, int]

    def __add__(self, other: "GpuStrip") -> "GpuStrip":
        """Both together."""
        slices = Counter(self.mig) + Counter(other.mig)
        return GpuStrip(
            self.total + other.total,
            self.allocated + other.allocated,
            self.free + other.free,
            self.cordoned + other.cordoned,
            self.unhealthy + other.unhealthy,
            self.over + other.over,
            self.nodes + other.nodes,
            slices,
        )


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """The GPUs of one node, by what becomes of them; see `GpuStrip`."""

    total: int
    allocated: Decimal
    free: Decimal
    cordoned: Decimal
    unhealthy: Decimal
    over: Decimal


def node_gpus(*, capacity: int, allocatable: int | None, held: Decimal, cordoned: bool, ready: str) -> NodeGpus:
    """Divide the GPUs of one node. What is held stays held on a cordoned node; GPUs that the device plugin took out,
    and the free ones of a node that is not ready, are unhealthy. Pure."""
    usable = Decimal(min(capacity, allocatable or 0))
    allocated = min(held, usable)
    rest = usable - allocated
    broken = Decimal(capacity) - usable
    nothing = Decimal(0)
    fate = "unhealthy" if ready != "True" else "cordoned" if cordoned else "free"
    return NodeGpus(
        total=capacity,
        allocated=allocated,
        free=rest if fate == "free" else nothing,
        cordoned=rest if fate == "cordoned" else nothing,
        unhealthy=broken + (rest if fate == "unhealthy" else nothing),
        over=held - allocated,
    )
