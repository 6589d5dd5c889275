"""Obstacles at the nodes: too small a node, devices, conditions, taints, selectors, who stands in front."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from scheduling.diagnosis_scene import Scene, waiting
from scheduling.diagnosis_structs import Cause, Code, NodeNote, Obstacle, all_noted
from scheduling.evicting import Evicting, delay_error
from scheduling.resources import CPU, GPU, MEMORY, TOLERANCE, Vector
from scheduling.selectors import HARD_EFFECTS, all_untolerated, matches_affinity
from scheduling.structs import Node, Pod, Resources, Taint

HOSTNAME = "kubernetes.io/hostname"
FIELDS = {GPU: "gpu", CPU: "cpu", MEMORY: "memory"}
STATE_TAINTS = frozenset(
    f"node.kubernetes.io/{state}"
    for state in (
        "not-ready", "unreachable", "network-unavailable", "memory-pressure", "disk-pressure", "pid-pressure"
    )
)  # fmt: skip
CORDON_TAINTS = frozenset({"node.kubernetes.io/unschedulable"})
MOST_NAMED = 5
"""So many pod groups stand in the names of a cause; its number of them says how many there are."""


def preemption_delay(scene: Scene) -> Iterator[Obstacle]:
    """It may not evict anybody yet."""
    group = scene.group
    if delay_error(scene.job, scene.shard.now) is None:
        return
    until = max(group.created, group.last_eviction or 0.0) + group.preemption_delay
    numbers = {"until": until, "delay": group.preemption_delay}
    yield Obstacle(Cause(Code.PREEMPTION_DELAY, False, {}, numbers), lambda each: each.with_group(preemption_delay=0.0))


def min_runtime(scene: Scene) -> Iterator[Obstacle]:
    """Those that it could evict have not run for their minimum yet."""
    ends = _minimum_ends(scene)
    if ends:
        yield Obstacle(Cause(Code.MIN_RUNTIME), partial(_past_minimum, groups=frozenset(ends)))


def enough_past_minimum(scene: Scene) -> Obstacle:
    """The same with the first moment at which enough of them are past their minimum, and those who are then.

    ``scene`` has every other obstacle taken away.
    """
    ends = _minimum_ends(scene)
    order = sorted(ends, key=lambda key: (ends[key], key))
    moments = sorted(set(ends.values()))

    def past(moment: float) -> list[str]:
        return [key for key in order if ends[key] <= moment]

    def runs(moment: float) -> bool:
        return _past_minimum(scene, frozenset(past(moment))).runs

    until = moments[bisect_left(moments, True, hi=len(moments) - 1, key=runs)]
    groups = past(until)
    names, numbers = {"groups": ", ".join(groups[:MOST_NAMED])}, {"until": until, "groups": len(groups)}
    return Obstacle(Cause(Code.MIN_RUNTIME, False, names, numbers), partial(_past_minimum, groups=frozenset(groups)))


def _minimum_ends(scene: Scene) -> dict[str, float]:
    """When the minimum of each is over that the group may not evict before."""
    evicting = Evicting(scene.session, scene.placer)
    others = [job for job in scene.session.jobs.values() if job is not scene.job and job.active]
    ends = {job.key: evicting.spared_until(scene.job, job) for job in others if job.group.preemptible}
    return {key: end for key, end in ends.items() if end > scene.shard.now}


def _past_minimum(scene: Scene, groups: frozenset[str]) -> Scene:
    return scene.with_snapshot(
        podgroups=tuple(
            msgspec.structs.replace(group, last_start=None) if group.key in groups else group
            for group in scene.snapshot.podgroups
        )
    )


def ahead(scene: Scene) -> Iterator[Obstacle]:
    """Others wait too and come first."""
    queues = scene.session.queues.by_name
    jobs = scene.session.restless.values()
    rivals = sorted(job.key for job in jobs if job.pending and job.key != scene.key and job.queue in queues)
    if rivals:
        names = {"groups": ", ".join(rivals[:MOST_NAMED])}
        cure = partial(_alone, rivals=frozenset(rivals))
        yield Obstacle(Cause(Code.AHEAD, False, names, {"groups": len(rivals)}), cure)


def _alone(scene: Scene, rivals: frozenset[str]) -> Scene:
    """Without the pods of the rivals that wait; those that hang the scheduler are another obstacle."""
    hung = {job.key for job in scene.session.jobs.values() if job.queue in scene.session.queues.cyclic}
    pods = scene.snapshot.pods
    return scene.with_snapshot(pods=tuple(pod for pod in pods if not (waiting(pod) and pod.podgroup in rivals - hung)))


def pool_empty(scene: Scene) -> Iterator[Obstacle]:
    """The pool has no node."""
    if not scene.shard.nodes:
        largest = max((float(task.request[GPU]) for task in scene.tasks), default=0.0)
        numbers = {"pods": len(scene.tasks), "largestPod": largest}
        yield Obstacle(Cause(Code.POOL_EMPTY, True, {"pool": scene.group.pool}, numbers), with_more_nodes)


def with_more_nodes(scene: Scene, most: int | None = None) -> Scene:
    """The scene with fresh nodes (``most`` at most), one per waiting pod, in a domain of their own.

    Each is like the largest node that would hold its pod; in an empty pool it is as large as the pod.
    """
    labels = dict(scene.pool_labels())
    for topology in scene.shard.topologies:
        labels |= {level.label: "new" for level in topology.levels}
    for task in scene.tasks:
        labels |= dict(task.pod.node_selector)
    sizes = [_size_for(scene, task.need) for task in scene.tasks][:most]
    fresh = tuple(
        Node(f"new-{index}", size, labels={**labels, HOSTNAME: f"new-{index}"})
        for index, size in enumerate(sizes)
        if size is not None
    )
    return scene.with_snapshot(nodes=(*scene.snapshot.nodes, *fresh))


def _size_for(scene: Scene, request: Vector) -> Resources | None:
    allocatable = scene.session.nodes.allocatable
    sizes = allocatable[(request <= allocatable + TOLERANCE).all(axis=1)] if len(allocatable) else request[None]
    if not len(sizes):
        return None
    cpu, memory, gpu = (float(sizes[int(np.argmax(sizes[:, GPU])), index]) for index in (CPU, MEMORY, GPU))
    return Resources(gpu=gpu, cpu=cpu, memory=memory)


def unhealthy(scene: Scene) -> Iterator[Obstacle]:
    """GPU devices exist that cannot be allocated."""
    broken = [node for node in scene.shard.nodes if scene.unhealthy.get(node.name, 0.0) > 0]
    if broken and any(task.request[GPU] > 0 for task in scene.tasks):
        notes = tuple(NodeNote(node.name, gpus=scene.unhealthy[node.name]) for node in broken)
        numbers = {"gpus": sum(note.gpus for note in notes), "nodes": len(notes)}
        yield Obstacle(Cause(Code.DEVICES_UNHEALTHY, False, {}, numbers, nodes=notes), _healed)


def _healed(scene: Scene) -> Scene:
    def change(node: Node) -> Node:
        gpus = node.allocatable.gpu + scene.unhealthy[node.name]
        return msgspec.structs.replace(node, allocatable=msgspec.structs.replace(node.allocatable, gpu=gpus))

    healed = scene.with_nodes(scene.unhealthy, change)
    return healed.with_unhealthy({})


def too_large(scene: Scene) -> Iterator[Obstacle]:
    """A pod asks for more than any node of the pool has, in one resource or in several together."""
    allocatable = scene.session.nodes.allocatable
    if not len(allocatable):
        return
    seen: set[tuple[float, ...]] = set()
    for task in scene.tasks:
        request = task.need
        if tuple(request) in seen or (request <= allocatable + TOLERANCE).all(axis=1).any():
            continue
        seen.add(tuple(request))
        order = np.lexsort((allocatable[:, MEMORY], allocatable[:, CPU], allocatable[:, GPU]))
        lacking = (request > allocatable + TOLERANCE).sum(axis=1)
        best = min(reversed(order.tolist()), key=lambda row: int(lacking[row]))
        yield from _too_large(scene, task.key, request, allocatable, best)


def _too_large(
    scene: Scene, pod: str, request: Vector, allocatable: NDArray[np.float64], best: int
) -> Iterator[Obstacle]:
    for index, field in FIELDS.items():
        alone = request[index] > allocatable[:, index].max() + TOLERANCE
        if not alone and request[index] <= allocatable[best, index] + TOLERANCE:
            continue
        top = float(allocatable[:, index].max() if alone else allocatable[best, index])
        names = {
            "pod": pod,
            "resource": field,
            "node": scene.session.nodes.names[best],
            "alone": "yes" if alone else "",
        }
        numbers = {"asked": float(request[index]), "largest": top}
        yield Obstacle(Cause(Code.POD_TOO_LARGE, True, names, numbers), partial(shrunk, field=field, top=top))


def shrunk(scene: Scene, field: str, top: float) -> Scene:
    """The scene with no waiting pod of its larger than this in one resource."""

    def change(pod: Pod) -> Pod:
        if getattr(pod.requests, field) <= top:
            return pod
        return msgspec.structs.replace(pod, requests=msgspec.structs.replace(pod.requests, **{field: top}))

    return scene.with_own_pods(change)


def not_ready(scene: Scene) -> Iterator[Obstacle]:
    """Nodes whose kubelet is not well."""
    yield from _nodes(
        scene, Code.NODES_NOT_READY, {node.name: "" for node in scene.shard.nodes if not node.ready}, made_ready
    )


def made_ready(node: Node) -> Node:
    """The node well again: the taints that Kubernetes gives it for its state go with that."""
    return msgspec.structs.replace(node, ready=True, taints=_without_taints(node, STATE_TAINTS))


def cordoned(scene: Scene) -> Iterator[Obstacle]:
    """Nodes that take no pods; the scheduler's count of a domain includes them all the same."""
    yield from _nodes(
        scene, Code.NODES_CORDONED, {node.name: "" for node in scene.shard.nodes if node.unschedulable}, uncordoned
    )


def uncordoned(node: Node) -> Node:
    """The node open to pods, without the taint of cordoned ones."""
    return msgspec.structs.replace(node, unschedulable=False, taints=_without_taints(node, CORDON_TAINTS))


def _without_taints(node: Node, keys: frozenset[str]) -> tuple[Taint, ...]:
    return tuple(taint for taint in node.taints if taint.key not in keys)


def tainted(scene: Scene) -> Iterator[Obstacle]:
    """Nodes with taints that some pod does not tolerate."""
    found: dict[str, set[str]] = {}
    for tolerations in {task.pod.tolerations for task in scene.tasks}:
        for node in scene.shard.nodes:
            taints = set(map(shown_taint, all_untolerated(node.taints, tolerations)))
            if taints:
                found.setdefault(node.name, set()).update(taints)
    notes = {name: ", ".join(sorted(taints)) for name, taints in found.items()}
    yield from _nodes(scene, Code.NODES_TAINTED, notes, untainted)


def shown_taint(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}{'=' if taint.value else ''}{taint.value}:{taint.effect}"


def untainted(node: Node) -> Node:
    """The node without taints that keep pods away."""
    return msgspec.structs.replace(node, taints=tuple(t for t in node.taints if t.effect not in HARD_EFFECTS))


def _nodes(scene: Scene, code: Code, notes: Mapping[str, str], change: Callable[[Node], Node]) -> Iterator[Obstacle]:
    """One obstacle for the nodes among these that are large enough for some pod."""
    fitting = {name: notes[name] for name in large_enough(scene, notes)}
    if not fitting:
        return
    gpus = {node.name: node.allocatable.gpu for node in scene.shard.nodes}
    found = tuple(NodeNote(name, note, gpus[name]) for name, note in sorted(fitting.items()))
    names = {"notes": ", ".join(all_noted(found))}
    constraints = [scene.group.topology, *(each.topology for each in scene.group.subgroups)]
    if code is Code.NODES_CORDONED and any(each.topology for each in constraints):
        names["counted"] = "yes"
    numbers = {"nodes": len(found), "gpus": sum(note.gpus for note in found), "of": len(scene.shard.nodes)}
    yield Obstacle(Cause(code, False, names, numbers, nodes=found), lambda each: each.with_nodes(fitting, change))


def large_enough(scene: Scene, names: Iterable[str]) -> list[str]:
    """Those of the nodes that would hold at least one of the waiting pods when empty."""
    if not scene.tasks:
        return []
    rows = scene.session.nodes.row
    kinds = np.unique(np.stack([task.need for task in scene.tasks]), axis=0)
    allocatable = scene.session.nodes.allocatable
    return [name for name in names if name in rows and (kinds <= allocatable[rows[name]] + TOLERANCE).all(axis=1).any()]


def selector(scene: Scene) -> Iterator[Obstacle]:
    """The node selector or affinity of the pods leaves too few nodes."""
    pods = [task.pod for task in scene.tasks if task.pod.node_selector or task.pod.affinity]
    if not pods:
        return
    for key, value in sorted({pair for pod in pods for pair in pod.node_selector.items()}):
        having = [node for node in scene.shard.nodes if node.labels.get(key) == value]
        if len(having) == len(scene.shard.nodes):
            continue
        values = sorted({node.labels.get(key, "") for node in scene.shard.nodes} - {""})
        names = {"key": key, "value": value, "values": ", ".join(values[:8])}
        numbers = {"nodes": len(having), "of": len(scene.shard.nodes)}
        yield Obstacle(Cause(Code.SELECTOR, True, names, numbers), partial(_unselected, key=key))
    terms = {pod.affinity for pod in pods if pod.affinity}
    if terms:
        matching = sum(all(matches_affinity(node, term) for term in terms) for node in scene.shard.nodes)
        keys = sorted({each.key for term in terms for part in term for each in part})
        names = {"key": ", ".join(keys), "value": "", "values": ""}
        numbers = {"nodes": matching, "of": len(scene.shard.nodes)}
        yield Obstacle(Cause(Code.SELECTOR, True, names, numbers), _unbound)


def _unselected(scene: Scene, key: str) -> Scene:
    return scene.with_own_pods(
        lambda pod: msgspec.structs.replace(
            pod, node_selector={name: value for name, value in pod.node_selector.items() if name != key}
        )
    )


def _unbound(scene: Scene) -> Scene:
    return scene.with_own_pods(lambda pod: msgspec.structs.replace(pod, affinity=()))


def other_pods(scene: Scene) -> Iterator[Obstacle]:
    """Terms on other pods (affinity, anti-affinity) keep it away."""
    terms = [term for task in scene.tasks for term in (*task.pod.anti_affinity, *task.pod.pod_affinity)]
    if terms:
        names = {"keys": ", ".join(sorted({term.topology_key for term in terms}))}
        yield Obstacle(
            Cause(Code.OTHER_PODS, False, names),
            lambda each: each.with_own_pods(
                lambda pod: msgspec.structs.replace(pod, anti_affinity=(), pod_affinity=())
            ),
        )
