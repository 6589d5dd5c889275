"""What a pool would still have room for once the pods of a preview stand. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduling.structs import FINISHED, Snapshot


@dataclass(frozen=True, slots=True)
class RoomLeft:
    """The domain of a level with the most free GPUs afterwards; `level` "" is the whole pool."""

    level: str
    domain: str
    gpus: float


def room_left(
    snapshot: Snapshot, levels: Sequence[str], placed: Mapping[str, float], gone: frozenset[str]
) -> list[RoomLeft]:
    """Per level, broadest first after the whole pool. `placed`: GPUs that the preview puts on each node; `gone`: keys
    of pods that would have to go. Cordoned and unready nodes have no room."""
    free = {
        node.name: node.allocatable.gpu - placed.get(node.name, 0.0)
        for node in snapshot.nodes
        if node.ready and not node.unschedulable
    }
    for pod in snapshot.pods:
        if pod.node in free and pod.phase not in FINISHED and pod.key not in gone:
            free[pod.node] -= pod.requests.gpu or pod.gpu_fraction * pod.fraction_devices
    found = [RoomLeft("", "", max(sum(max(amount, 0.0) for amount in free.values()), 0.0))]
    for depth in range(1, len(levels) + 1):
        sums: dict[tuple[str, ...], float] = {}
        for node in snapshot.nodes:
            path = tuple(node.labels.get(level, "") for level in levels[:depth])
            if node.name in free and all(path):
                sums[path] = sums.get(path, 0.0) + max(free[node.name], 0.0)
        if sums:
            best = max(sorted(sums), key=lambda path: sums[path])
            found.append(RoomLeft(levels[depth - 1], best[-1], sums[best]))
    return found
