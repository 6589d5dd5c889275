"""A child process: previews of a gang of 512 pods on N nodes with four levels, half of the GPUs held, beside one pass
over the node array. `python -m tests.bench.placing NODES`

`prepare` is paid once while a cluster's rows stand, `preview` for each change of a form; `first` is the first preview
of a shard, which also builds the domain tree. Memory is what the process has grown by, in MB.
"""

import json
import resource
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import msgspec

from scheduling.preview import PreparedShard
from scheduling.preview_structs import Gang
from scheduling.structs import (
    UNLIMITED_RESOURCE,
    Level,
    Node,
    Pod,
    PodGroup,
    Queue,
    Resources,
    Snapshot,
    Topology,
    TopologyConstraint,
)

GANG = 512
ROUNDS = 5
LEVELS = ("region", "zone", "rack", "kubernetes.io/hostname")


def snapshot(count: int) -> Snapshot:
    """Racks of 25 nodes, zones of 25 racks, regions of 4 zones, as the large fleet; 4 of 8 GPUs held on each."""
    nodes = tuple(_node(index) for index in range(count))
    groups = [PodGroup(f"r{index}", "q", min_member=1, created=float(index)) for index in range(count)]
    pods = [
        Pod(
            f"r{index}-0",
            podgroup=f"default/r{index}",
            requests=Resources(4.0),
            node=nodes[index].name,
            phase="Running",
            uid=f"r{index:05d}",
        )
        for index in range(count)
    ]
    constraint = TopologyConstraint("topo", "region", "rack")
    groups.append(PodGroup("gang", "q", min_member=GANG, created=float(count), topology=constraint))
    pods += [
        Pod(f"gang-{index}", podgroup="default/gang", requests=Resources(1.0), phase="Pending", uid=f"z{index:04d}")
        for index in range(GANG)
    ]
    queue = Queue("q", "", gpu=UNLIMITED_RESOURCE, cpu=UNLIMITED_RESOURCE, memory=UNLIMITED_RESOURCE)
    topology = Topology("topo", tuple(Level(name) for name in LEVELS))
    return Snapshot(nodes, (queue,), tuple(groups), tuple(pods), (topology,))


def _node(index: int) -> Node:
    name = f"n{index:05d}"
    labels = {
        "region": f"r{index // 2500}",
        "zone": f"z{index // 625}",
        "rack": f"k{index // 25}",
        "kubernetes.io/hostname": name,
    }
    return Node(name, Resources(8.0, 64_000, 256 * 2**30), labels=labels)


def one_pass(given: Snapshot) -> int:
    """How many pods of the gang fit, node by node, counted at each level of the tree."""
    held: dict[str, float] = {}
    for pod in given.pods:
        if pod.node:
            held[pod.node] = held.get(pod.node, 0.0) + pod.requests.gpu
    free: dict[tuple[str, ...], int] = {}
    for node in given.nodes:
        fits = int(node.allocatable.gpu - held.get(node.name, 0.0))
        place: tuple[str, ...] = ()
        for level in LEVELS:
            place = (*place, node.labels[level])
            free[place] = free.get(place, 0) + fits
    return max(free.values())


def split(given: Snapshot) -> tuple[Snapshot, Gang]:
    """The cluster without the gang, and the gang."""
    group = given.podgroups[-1]
    pods = tuple(pod for pod in given.pods if pod.podgroup == group.key)
    base = msgspec.structs.replace(given, podgroups=given.podgroups[:-1], pods=given.pods[: -len(pods)])
    return base, Gang(group, pods)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a piece of work, and what it gave."""
    before = process_time()
    found = work()
    return process_time() - before, found


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(count: int) -> None:
    given = snapshot(count)
    base, gang = split(given)
    grown = memory_mb()
    said: dict[str, list[float]] = {"pass": [], "prepare": [], "first": [], "preview": []}
    bound = 0
    for _ in range(ROUNDS):
        said["pass"].append(timed(lambda: [one_pass(given) for _repeat in range(10)])[0] / 10)
        took, shard = timed(lambda: PreparedShard(base))
        said["prepare"].append(took)
        said["first"].append(timed(lambda shard=shard: shard.preview([gang]))[0])
        took, found = timed(lambda shard=shard: shard.preview([gang]))
        said["preview"].append(took)
        bound = len(found.gangs[0].placed)
    print(json.dumps({**said, "bound": bound, "memory": memory_mb() - grown}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
