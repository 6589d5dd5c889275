"""Situations whose truth is known because they were made: a gang that runs, and what was broken about it."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code
from scheduling.structs import (
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Queue,
    QueueResource,
    Requirement,
    Resources,
    SubGroup,
    Taint,
    TopologyConstraint,
)
from tests.scheduling.build import RACKS, TOPOLOGY, Cluster, node, queue, within

KEY = "default/g"
CPU_EACH, MEMORY_EACH = 1000.0, 2.0**30
ROOMY = QueueResource(-1, -1, 1)


@dataclass(frozen=True)
class Break:
    """What was broken: the code that has to be named, what of its evidence is known, what it makes unknowable."""

    code: Code
    change: Callable[[Scene, random.Random], Scene]
    evidence: Callable[[Scene], Mapping[str, object]] = field(default=lambda scene: {})
    hides: frozenset[str] = frozenset()
    subject: str = ""


def base(rng: random.Random) -> Scene:
    """A gang that waits for nothing, beside others that hold some of the room."""
    racks = rng.randint(2, 4)
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
    held = rng.randint(0, 3)
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


def _all(scene: Scene) -> list[str]:
    return [each.name for each in scene.snapshot.nodes]


def _drop_queue(name: str) -> Callable[[Scene, random.Random], Scene]:
    return lambda scene, _: scene.with_snapshot(
        queues=tuple(each for each in scene.snapshot.queues if each.name != name)
    )


def _limit(scene: Scene, rng: random.Random) -> Scene:
    return _bound(scene, rng, "limit")


def _quota(scene: Scene, rng: random.Random) -> Scene:
    return _bound(scene.with_group(preemptible=False), rng, "quota")


def _bound(scene: Scene, rng: random.Random, kind: str) -> Scene:
    name, resource = rng.choice(["q", "d"]), rng.choice(["gpu", "cpu", "memory"])
    amount = asked(scene, resource) * rng.choice([0.0, 0.5])
    return scene.with_queue(name, **{resource: msgspec.structs.replace(ROOMY, **{kind: amount})})


def _bounded(kind: str) -> Callable[[Scene], Mapping[str, object]]:
    def evidence(scene: Scene) -> Mapping[str, object]:
        for each in scene.snapshot.queues:
            for resource in ("gpu", "cpu", "memory"):
                amount = getattr(getattr(each, resource), kind)
                if each.name in ("q", "d") and amount != -1 and amount < asked(scene, resource):
                    return {"queue": each.name, "resource": resource}
        raise AssertionError

    return evidence


def _gate(scene: Scene, rng: random.Random) -> Scene:
    name = rng.choice(own(scene)).key
    return scene.with_own_pods(lambda pod: msgspec.structs.replace(pod, gated=True) if pod.key == name else pod)


def _lose_pod(scene: Scene, rng: random.Random) -> Scene:
    lost = rng.choice(own(scene)).key
    return scene.with_snapshot(pods=tuple(pod for pod in scene.snapshot.pods if pod.key != lost))


def _misname(scene: Scene, rng: random.Random) -> Scene:
    lost = rng.choice(own(scene)).key
    return scene.with_own_pods(lambda pod: msgspec.structs.replace(pod, subgroup="decoder") if pod.key == lost else pod)


def _constrain(required: str, preferred: str) -> Callable[[Scene, random.Random], Scene]:
    return lambda scene, _: scene.with_group(topology=TopologyConstraint("topo", required, preferred))


def _nodes(change: Callable[[Node], Node]) -> Callable[[Scene, random.Random], Scene]:
    return lambda scene, _: scene.with_nodes(_all(scene), change)


def _unlabel(scene: Scene, rng: random.Random) -> Scene:
    label = rng.choice(["zone", "rack"])
    scene = scene.with_group(topology=within("rack", "rack")) if not scene.group.topology.topology else scene
    return scene.with_nodes(
        _all(scene),
        lambda each: msgspec.structs.replace(each, labels={k: v for k, v in each.labels.items() if k != label}),
    )


def _enlarge(scene: Scene, rng: random.Random) -> Scene:
    lost = rng.choice(own(scene)).key
    more = rng.choice([Resources(9, CPU_EACH, MEMORY_EACH), Resources(1, CPU_EACH, 2.0**40)])
    return scene.with_own_pods(lambda pod: msgspec.structs.replace(pod, requests=more) if pod.key == lost else pod)


def _fill(scene: Scene, _rng: random.Random) -> Scene:
    """Others that nobody may evict hold everything."""
    used: dict[str, float] = {}
    for pod in scene.snapshot.pods:
        used[pod.node] = used.get(pod.node, 0.0) + pod.requests.gpu
    groups, pods = list(scene.snapshot.podgroups), list(scene.snapshot.pods)
    for each in scene.snapshot.nodes:
        free = each.allocatable.gpu - used.get(each.name, 0.0)
        if free > 0:
            groups.append(PodGroup(f"full-{each.name}", "p", preemptible=False))
            pods.append(
                Pod(f"full-{each.name}-0", podgroup=f"default/full-{each.name}", requests=Resources(free, 1.0, 1.0),
                    node=each.name, phase="Running")
            )  # fmt: skip
    return scene.with_snapshot(podgroups=tuple(groups), pods=tuple(pods))


def _break_devices(scene: Scene, _rng: random.Random) -> Scene:
    nodes = scene.with_nodes(
        _all(scene),
        lambda each: msgspec.structs.replace(each, allocatable=msgspec.structs.replace(each.allocatable, gpu=0.0)),
    )
    return replace(nodes, unhealthy={each.name: each.allocatable.gpu for each in scene.snapshot.nodes})


def _grow(scene: Scene, gpus: float, constraint: TopologyConstraint) -> Scene:
    """More pods of the same size, until they ask for this many GPUs."""
    model = own(scene)[0]
    count = int(gpus // model.requests.gpu) + 1
    pods = tuple(
        msgspec.structs.replace(model, name=f"g-more-{index}", uid=f"more-{index:03d}", subgroup="")
        for index in range(count)
    )
    others = tuple(pod for pod in scene.snapshot.pods if pod.podgroup != KEY)
    grown = scene.with_group(min_member=count, subgroups=(), topology=constraint)
    return grown.with_snapshot(pods=(*others, *pods))


def _outgrow_pool(scene: Scene, _rng: random.Random) -> Scene:
    return _grow(scene, sum(each.allocatable.gpu for each in scene.snapshot.nodes), TopologyConstraint())


def _outgrow_rack(scene: Scene, _rng: random.Random) -> Scene:
    first = [each for each in scene.snapshot.nodes if each.labels["rack"] == "r0"]
    return _grow(scene, sum(each.allocatable.gpu for each in first), within("rack", "rack"))


def _shun(scene: Scene, _rng: random.Random) -> Scene:
    """Where every node has a pod that it may not stand beside."""
    guards = tuple(
        Pod(f"guard-{each.name}", requests=Resources(0, 1.0, 1.0), node=each.name, phase="Running", labels={"a": "b"})
        for each in scene.snapshot.nodes
    )
    term = PodTerm("kubernetes.io/hostname", (Requirement("a", "In", ("b",)),))
    shunning = scene.with_own_pods(lambda pod: msgspec.structs.replace(pod, anti_affinity=(term,)))
    return shunning.with_snapshot(pods=(*shunning.snapshot.pods, *guards))


def _hang(scene: Scene, _rng: random.Random) -> Scene:
    circle = (Queue("x", "y", gpu=ROOMY, cpu=ROOMY, memory=ROOMY), Queue("y", "x", gpu=ROOMY, cpu=ROOMY, memory=ROOMY))
    group = PodGroup("stuck", "x")
    pod = Pod("stuck-0", podgroup="default/stuck", requests=Resources(0, 1.0, 1.0))
    return scene.with_snapshot(
        queues=(*scene.snapshot.queues, *circle),
        podgroups=(*scene.snapshot.podgroups, group),
        pods=(*scene.snapshot.pods, pod),
    )


def _add_child(scene: Scene, _rng: random.Random) -> Scene:
    return scene.with_new_queue(queue("child", "q", quota=0))


TAINT = Taint("dedicated", "NoSchedule", "others")
QUEUE_GONE = frozenset({"bound", "leaf", "queue", "parent"})
NO_LEVELS = frozenset({"levels", "labels", "size"})


def _everywhere(scene: Scene) -> Mapping[str, object]:
    return {"nodes": sorted(_all(scene))}


BREAKS: tuple[Break, ...] = (
    Break(Code.POOL_WRONG, lambda s, _: replace(s.with_group(pool="b"), wanted_pool=""), subject="pool"),
    Break(Code.SHARD_MISSING, lambda s, _: replace(s, shards=frozenset({"other"})), subject="shard"),
    Break(Code.SCHEDULER_HANGS, _hang, lambda _: {"queues": "x, y"}),
    Break(Code.QUEUE_UNSET, lambda s, _: s.with_group(queue=""), hides=QUEUE_GONE, subject="queue"),
    Break(Code.QUEUE_MISSING, _drop_queue("q"), lambda _: {"queue": "q"}, QUEUE_GONE, "queue"),
    Break(Code.QUEUE_PARENT_MISSING, _drop_queue("d"), lambda _: {"queue": "d", "child": "q"}, QUEUE_GONE, "parent"),
    Break(
        Code.QUEUE_OTHER_POOL,
        lambda s, _: s.with_queue("q", pool="b"),
        lambda _: {"queue": "q", "queuePool": "b"},
        frozenset({"leaf"}),
        "queue",
    ),
    Break(Code.QUEUE_NOT_LEAF, _add_child, lambda _: {"queue": "q", "children": "child"}, subject="leaf"),
    Break(Code.BACKED_OFF, lambda s, _: s.with_group(scheduling_backoff=1, backed_off=True), lambda _: {"pool": ""}),
    Break(Code.SUBGROUP_UNKNOWN, _misname, lambda _: {"subgroup": "decoder"}, frozenset({"member"}), "member"),
    Break(Code.PODS_MISSING, _lose_pod, hides=frozenset({"member", "size"}), subject="member"),
    Break(Code.PODS_GATED, _gate, hides=frozenset({"member", "size"}), subject="member"),
    Break(Code.OVER_LIMIT, _limit, _bounded("limit"), frozenset({"size"}), subject="bound"),
    Break(Code.OVER_QUOTA, _quota, _bounded("quota"), frozenset({"size"}), subject="bound"),
    Break(
        Code.TOPOLOGY_MISSING,
        lambda s, _: s.with_group(topology=TopologyConstraint("none", "rack", "rack")),
        lambda _: {"topology": "none", "known": "topo"},
        NO_LEVELS,
        "levels",
    ),
    Break(Code.LEVEL_UNSET, _constrain("", ""), lambda _: {"topology": "topo"}, NO_LEVELS, "levels"),
    Break(
        Code.LEVEL_UNKNOWN,
        _constrain("Rack", ""),
        lambda _: {"level": "Rack", "kind": "required", "meant": "rack"},
        NO_LEVELS,
        "levels",
    ),
    Break(
        Code.LEVELS_REVERSED,
        _constrain("rack", "zone"),
        lambda _: {"required": "rack", "preferred": "zone"},
        NO_LEVELS,
        "levels",
    ),
    Break(Code.DEVICES_UNHEALTHY, _break_devices, _everywhere, frozenset({"size", "large"}), "devices"),
    Break(Code.POD_TOO_LARGE, _enlarge, hides=frozenset({"size", "member", "bound", "devices"}), subject="large"),
    Break(
        Code.NODES_NOT_READY, _nodes(lambda n: msgspec.structs.replace(n, ready=False)), _everywhere, subject="ready"
    ),
    Break(
        Code.NODES_CORDONED,
        _nodes(lambda n: msgspec.structs.replace(n, unschedulable=True)),
        _everywhere,
        subject="cordon",
    ),
    Break(
        Code.NODES_TAINTED,
        _nodes(lambda n: msgspec.structs.replace(n, taints=(TAINT,))),
        lambda s: {**_everywhere(s), "notes": "dedicated=others:NoSchedule"},
        subject="taint",
    ),
    Break(Code.NODES_UNLABELLED, _unlabel, _everywhere, frozenset({"levels", "size"}), "labels"),
    Break(
        Code.SELECTOR,
        lambda s, _: s.with_own_pods(lambda pod: msgspec.structs.replace(pod, node_selector={"gpu": "h200"})),
        lambda _: {"key": "gpu", "value": "h200", "values": "h100"},
        subject="selector",
    ),
    Break(Code.OTHER_PODS, _shun, lambda _: {"keys": "kubernetes.io/hostname"}, frozenset({"member"})),
    Break(Code.LEVEL_TOO_SMALL, _outgrow_rack, lambda _: {"level": "rack"}, frozenset({"member", "bound"}), "size"),
    Break(Code.POOL_TOO_SMALL, _outgrow_pool, lambda _: {"pool": ""}, frozenset({"member", "bound"}), "size"),
    Break(Code.POOL_FULL, _fill, hides=frozenset({"size", "devices"}), subject="room"),
)
FULL = frozenset({Code.POOL_FULL, Code.LEVEL_FULL, Code.POOL_FRAGMENTED, Code.LEVEL_FRAGMENTED})


def compatible(chosen: list[Break]) -> bool:
    """Whether none of them makes another one unknowable."""
    for each in chosen:
        for other in chosen:
            if each is not other and (other.subject in each.hides or (each.subject and each.subject == other.subject)):
                return False
    return True


def _breaks_alone(healthy: Scene, each: Break, seed: int) -> bool:
    """Whether it alone keeps the gang from running, and does so in one way only."""
    if each.code is Code.PODS_MISSING and len(own(healthy)) < 2:
        return False
    broken = each.change(healthy, random.Random(seed))
    if each.code is Code.LEVEL_TOO_SMALL and not broken.with_group(topology=TopologyConstraint()).runs:
        return False
    return not broken.runs


def situation(seed: int) -> tuple[Scene, Scene, list[Break]]:
    """The situation before, the broken one, and what was broken: each of it alone keeps the gang from running."""
    rng = random.Random(seed)
    while True:
        healthy = base(rng)
        if not healthy.runs:
            continue
        count = rng.choice([1, 1, 2, 2, 3])
        chosen = sorted(rng.sample(BREAKS, count), key=BREAKS.index)
        if not compatible(chosen) or not all(_breaks_alone(healthy, each, seed) for each in chosen):
            continue
        broken = healthy
        for each in chosen:
            broken = each.change(broken, random.Random(seed))
        return healthy, broken, chosen
