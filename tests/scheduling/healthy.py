"""A gang that waits for nothing, beside others that hold some of the room: what situations are made from."""

import random

import msgspec

from scheduling.diagnosis_scene import Scene
from scheduling.structs import Pod, Resources, SubGroup, TopologyConstraint
from tests.scheduling.build import RACKS, TOPOLOGY, Cluster, node, queue, within

KEY = "default/g"
CPU_EACH, MEMORY_EACH = 1000.0, 2.0**30


def base(rng: random.Random) -> Scene:
    """A gang that waits for nothing, beside others that hold some of the room."""
    racks = rng.choice([1, 1, 2, 3, 4])
    per_rack = rng.randint(2, 3)
    nodes = [
        node(f"n{rack}{index}", 8, f"z{rack // 2}.r{rack}", labels={"gpu": "h100"})
        for rack in range(racks)
        for index in range(per_rack)
    ]
    queues = (
        queue("d", quota=-1),
        queue("q", "d", quota=64, created=1.0),
        queue("e", quota=-1),
        queue("p", "e", quota=64, created=2.0),
    )
    cluster = Cluster(*nodes, queues=queues, topologies=(rng.choice([TOPOLOGY, RACKS]),))
    held = rng.randint(0, min(3, len(nodes) - 1))
    for index in range(held):
        host = nodes[-1 - index].name
        cluster.gang(f"h{index}", rng.choice([1, 2, 4]), on=(host,), queue=rng.choice(["p", "q"]), preemptible=False)
    size, count = rng.choice([(8, 2), (4, 2), (4, 3), (2, 4), (1, 3), (8, 1)])
    required, preferred = rng.choice([("", ""), ("rack", "rack"), ("zone", "rack"), ("", "rack"), ("zone", "zone")])
    constraint = within(required, preferred) if required or preferred else TopologyConstraint()
    subgroups: tuple[tuple[SubGroup, int], ...] = ()
    if count >= 2 and rng.random() < 0.3:
        subgroups = ((SubGroup("prefill", 1), 1), (SubGroup("decode", count - 1), count - 1))
    cluster.gang("g", *[size] * count, topology=constraint, subgroups=subgroups)
    snapshot = cluster.snapshot(now=1000.0)
    pods = tuple(
        msgspec.structs.replace(pod, requests=Resources(pod.requests.gpu, CPU_EACH, MEMORY_EACH))
        for pod in snapshot.pods
    )
    return Scene(msgspec.structs.replace(snapshot, pods=pods), KEY)


def own(scene: Scene) -> list[Pod]:
    return [pod for pod in scene.snapshot.pods if pod.podgroup == KEY]


def asked(scene: Scene, resource: str = "gpu") -> float:
    return float(sum(getattr(pod.requests, resource) for pod in own(scene)))
