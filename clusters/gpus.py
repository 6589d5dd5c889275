"""How the GPUs of nodes are counted: once each, in parts that add up. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class GpuStrip:
    """GPUs of nodes, each counted once: `total` = `allocated` + `free` + `cordoned` + `unhealthy`.

    `over` is what pods hold beyond what their nodes can give (GPUs that failed under them, nodes that are gone); it is
    not in the sum. MIG slices are counted apart, by resource name. `uncounted` pods hold a part that is not known, so
    it is in none of these: they ask for GPU memory on nodes that do not tell theirs. Unless `known`, no node was ever
    read, so that the zeros are none.
    """

    total: int
    allocated: Decimal
    free: Decimal
    cordoned: Decimal
    unhealthy: Decimal
    over: Decimal
    nodes: int
    mig: Mapping[str, int]
    uncounted: int = 0
    known: bool = True

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
            self.uncounted + other.uncounted,
            self.known or other.known,
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


def memory_share(asked_mib: str, devices: str, device_mib: int | None) -> Decimal | None:
    """The GPUs that a pod holds which asks for `asked_mib` of each of `devices` devices of `device_mib` (KAI's
    annotations `gpu-memory` and `gpu-fraction-num-devices`, as text). None: not known, since the node does not tell its
    memory or the annotation cannot be read. Pure."""
    numbers = [
        int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0 for text in (asked_mib, devices)
    ]
    if not device_mib or not all(numbers):
        return None
    share = Decimal(numbers[0]) / Decimal(device_mib)
    return (share * numbers[1]).quantize(Decimal("0.0001"))
