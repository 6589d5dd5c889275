"""What was looked at and is no cause, as codes with numbers: for one pod group on the engine's ground. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from scheduling.diagnosis_rooms import constrained
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code
from scheduling.resources import GPU
from scheduling.selectors import untolerated
from scheduling.structs import UNLIMITED

Ruled = tuple[str, Mapping[str, str], Mapping[str, float]]
QUEUE_CODES = frozenset(
    {Code.QUEUE_UNSET, Code.QUEUE_MISSING, Code.QUEUE_OTHER_POOL, Code.QUEUE_PARENT_MISSING, Code.QUEUE_NOT_LEAF}
)
GANG_CODES = frozenset({Code.SUBGROUP_UNKNOWN, Code.SCALED_BELOW, Code.PODS_MISSING, Code.PODS_GATED})


def ruled_out(scene: Scene, causes: Sequence[Cause]) -> list[Ruled]:
    """Checks that found nothing: a sentence's code (`diagnosis_sentences.RULED_OUT`), its names and numbers."""
    codes = {cause.code for cause in causes}
    return [*_gang(scene, codes), *_queue(scene, codes), *_topology(scene, codes), *_nodes(scene, codes)]


def _gang(scene: Scene, codes: set[Code]) -> Iterator[Ruled]:
    if not codes & GANG_CODES and scene.job.root.ready:
        yield "pods", {}, {"pods": sum(podset.alive for podset in scene.job.podsets.values())}


def _queue(scene: Scene, codes: set[Code]) -> Iterator[Ruled]:
    queue = scene.session.queues.by_name.get(scene.group.queue)
    if codes & QUEUE_CODES or queue is None:
        return
    yield "queue", {"queue": queue.name}, {}
    chain = list(queue.chain())
    names = {"queues": ", ".join(each.name for each in chain)}
    asked = sum(float(task.request[GPU]) for task in scene.tasks)
    if Code.OVER_LIMIT not in codes:
        bounded = [each for each in chain if each.limit[GPU] != UNLIMITED]
        if not bounded:
            yield "limitNone", names, {}
        for each in bounded:
            numbers = {"held": each.allocated[GPU], "asked": asked, "bound": each.limit[GPU]}
            yield "limit", {"queue": each.name}, numbers
    if scene.group.preemptible:
        yield "quota", {}, {}
    elif Code.OVER_QUOTA not in codes:
        yield "quotaFits", names, {"asked": asked}


def _topology(scene: Scene, codes: set[Code]) -> Iterator[Ruled]:
    found = constrained(scene)
    if not found:
        if not scene.group.topology.topology and not any(each.topology.topology for each in scene.group.subgroups):
            yield "noTopology", {}, {}
        return
    if not codes & {Code.TOPOLOGY_MISSING, Code.LEVEL_UNKNOWN, Code.LEVEL_UNSET, Code.LEVELS_REVERSED}:
        yield "topology", {"topology": found[0].tree.name}, {}
    if bool(found[0].tree.valid.all()):
        yield "labels", {}, {}


def _nodes(scene: Scene, codes: set[Code]) -> Iterator[Ruled]:
    nodes = scene.shard.nodes
    if not nodes or not scene.tasks:
        return
    if all(node.ready and not node.unschedulable for node in nodes):
        yield "nodes", {}, {"nodes": len(nodes)}
    tolerations = {task.pod.tolerations for task in scene.tasks}
    if all(untolerated(node.taints, each) is None for node in nodes for each in tolerations):
        yield "taints", {}, {"nodes": len(nodes)}
    if Code.POD_TOO_LARGE not in codes:
        yield "size", {}, {"largest": max(float(task.request[GPU]) for task in scene.tasks)}
