"""A child process: a gang of 512 pods placed on N nodes with four levels, half of the GPUs held, beside one pass over
the node array. `python -m tests.bench.placing NODES`"""

import json
import resource
import sys

from scheduling.cycle import run_cycle
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


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


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


def main(count: int) -> None:
    given = snapshot(count)
    passes, cycles = [], []
    for _ in range(ROUNDS):
        before = cpu()
        for _repeat in range(10):
            one_pass(given)
        passes.append((cpu() - before) / 10)
        before = cpu()
        bound = run_cycle(given).bound
        cycles.append(cpu() - before)
    print(json.dumps({"pass": passes, "cycle": cycles, "bound": len(bound)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
