"""Situations whose truth is known because they were made: a gang that runs, and what was broken about it."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code
from scheduling.state import DEFAULT_PODSET
from scheduling.structs import (
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Queue,
    QueueResource,
    Requirement,
    Resources,
    Taint,
    TopologyConstraint,
)
from tests.scheduling.build import queue, within
from tests.scheduling.healthy import KEY, asked, base, own

ROOMY = QueueResource(-1, -1, 1)


@dataclass(frozen=True)
class Break:
    """What was broken: the code that has to be named, what of its evidence is known, what it makes unknowable."""

    code: Code
    change: Callable[[Scene, random.Random], Scene]
    evidence: Callable[[Scene], Mapping[str, object]] = field(default=lambda scene: {})
    hides: frozenset[str] = frozenset()
    subject: str = ""


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


def _scale_down(scene: Scene, rng: random.Random) -> Scene:
    """A pod is missing that is not meant to be there either."""
    lost = rng.choice(own(scene))
    pods = tuple(pod for pod in scene.snapshot.pods if pod is not lost)
    return replace(scene.with_snapshot(pods=pods), scaled_below={lost.subgroup or DEFAULT_PODSET: lost})


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
    """One pod asks for more than any node has, of memory or (where it takes a whole node) of GPUs."""
    lost = rng.choice(own(scene))
    more = {"gpu": 9.0} if lost.requests.gpu == 8 and rng.random() < 0.5 else {"memory": 2.0**40}
    larger = msgspec.structs.replace(lost.requests, **more)
    return scene.with_own_pods(
        lambda pod: msgspec.structs.replace(pod, requests=larger) if pod.key == lost.key else pod
    )


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
        Pod(f"guard-{each.name}", node=each.name, phase="Running", labels={"a": "b"}) for each in scene.snapshot.nodes
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


def _fill_for(scene: Scene, **group: object) -> Scene:
    """Preemptible work of the gang's own queue and of lower priority holds everything; the gang is as given."""
    filled = _fill(scene, random.Random(0))
    own_queue = tuple(
        msgspec.structs.replace(each, queue="q", preemptible=True, priority=10, last_start=990.0)
        if each.name.startswith("full-")
        else each
        for each in filled.snapshot.podgroups
    )
    return filled.with_snapshot(podgroups=own_queue).with_group(priority=75, **group)


def _delay(scene: Scene, _rng: random.Random) -> Scene:
    return _fill_for(scene, created=900.0, preemption_delay=300.0)


def _protect(scene: Scene, _rng: random.Random) -> Scene:
    return _fill_for(scene).with_queue("q", preempt_min_runtime=600.0)


def _overtake(scene: Scene, _rng: random.Random) -> Scene:
    """A gang of higher priority asks for all that is free."""
    held: dict[str, float] = {}
    for pod in scene.snapshot.pods:
        held[pod.node] = held.get(pod.node, 0.0) + pod.requests.gpu
    free = [each.allocatable.gpu - held.get(each.name, 0.0) for each in scene.snapshot.nodes]
    rival = PodGroup("rival", "q", min_member=sum(gpus > 0 for gpus in free), priority=90)
    pods = tuple(
        Pod(f"rival-{index}", podgroup="default/rival", requests=Resources(gpus, 1.0, 1.0), uid=f"rival-{index}")
        for index, gpus in enumerate(sorted(free, reverse=True))
        if gpus > 0
    )
    return scene.with_snapshot(podgroups=(*scene.snapshot.podgroups, rival), pods=(*scene.snapshot.pods, *pods))


TAINT = Taint("dedicated", "NoSchedule", "others")
QUEUE_GONE = frozenset({"bound", "leaf", "queue", "parent"})
UNEQUAL = frozenset({"size", "member", "bound", "devices", "levels", "labels"})
NO_LEVELS = frozenset({"levels", "labels", "size"})


ROOM = frozenset(
    {"size", "devices", "member", "bound", "room", "large", "cordon", "taint", "ready", "labels", "levels", "selector"}
    | {"queue", "parent", "leaf"}
)


def _full(scene: Scene) -> str:
    """The first five of those that hold everything, which all started at one moment."""
    return ", ".join(sorted(group.key for group in scene.snapshot.podgroups if group.name.startswith("full-"))[:5])


def _everywhere(scene: Scene) -> Mapping[str, object]:
    return {"nodes": sorted(_all(scene))}


BREAKS: tuple[Break, ...] = (
    Break(Code.POOL_WRONG, lambda s, _: replace(s.with_group(pool="b"), wanted_pool=""), subject="pool"),
    Break(
        Code.QUEUE_WRONG,
        lambda s, _: replace(s.with_group(queue="nowhere"), wanted_queue="q"),
        lambda _: {"found": "nowhere", "wanted": "q"},
        QUEUE_GONE,
        "queue",
    ),
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
    Break(Code.SCALED_BELOW, _scale_down, hides=frozenset({"member", "size"}), subject="member"),
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
    Break(Code.POD_TOO_LARGE, _enlarge, hides=UNEQUAL, subject="large"),
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
    Break(Code.SINGLE_DOMAIN, _constrain("zone", ""), lambda _: {"level": "zone"}, NO_LEVELS, "levels"),
    Break(Code.PREEMPTION_DELAY, _delay, hides=ROOM, subject="room"),
    Break(Code.MIN_RUNTIME, _protect, lambda s: {"groups": _full(s)}, hides=ROOM, subject="room"),
    Break(Code.AHEAD, _overtake, lambda _: {"groups": "default/rival"}, hides=ROOM, subject="room"),
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
    if each.code in (Code.PODS_MISSING, Code.SCALED_BELOW) and len(own(healthy)) < 2:
        return False
    broken = each.change(healthy, random.Random(seed))
    if each.code is Code.LEVEL_TOO_SMALL and not broken.with_group(topology=TopologyConstraint()).runs:
        return False
    if each.code is Code.POD_TOO_LARGE and not broken.with_own_pods(_at_most_a_node).runs:
        return False
    return not broken.runs


def _at_most_a_node(pod: Pod) -> Pod:
    fits = Resources(min(pod.requests.gpu, 8.0), pod.requests.cpu, min(pod.requests.memory, 2.0**38))
    return msgspec.structs.replace(pod, requests=fits)


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
