"""Which topology level is short by how much for a waiting gang, counted the way the scheduler counts."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from scheduling.domains import ROOT, Capacity, DomainTree, pods_per_node
from scheduling.gangs import tasks_to_place
from scheduling.nodes import Mask, NodeTable
from scheduling.placement import Placer
from scheduling.resources import GPU, Vector
from scheduling.session import Session
from scheduling.state import Job, PodSet, SubGroupSet, Task
from scheduling.structs import SchedulerConfig, Snapshot

Group = SubGroupSet | PodSet


class Room(msgspec.Struct, frozen=True):
    """The domain of a level with the most room for one size of pod, and the room there.

    ``gpus`` and ``pods`` are the scheduler's count, which includes cordoned and tainted nodes;
    ``usable_pods`` counts only nodes that would really take the pod.
    """

    domain: str
    gpus: float
    pods: int
    usable_pods: int


class Shortage(msgspec.Struct, frozen=True):
    """What a (sub)group needs together and what the best domain of one level has."""

    subgroup: str
    topology: str
    level: str
    """Node label of the level; ``root`` is the whole topology, "" the pool when there is no topology."""
    required: bool
    preferred: bool
    pods_needed: int
    gpus_needed: float
    best: Room
    pods_missing: int
    gpus_missing: float
    """GPUs still to be freed in the best domain, by the largest pod of the group."""
    lowest: bool = False


def largest_free(tree: DomainTree, nodes: NodeTable, level: str, request: Vector, allowed: Mask) -> Room:
    """The best domain of a level for pods of this size (cpu, memory, gpu, pods).

    Raises ValueError when the tree has no such level.
    """
    depth = tree.depth(tree.level(level))
    if depth is None:
        raise ValueError(f"topology {tree.name} has no level {level}, only {', '.join(tree.labels[1:])}")
    capacity = Capacity(tree, nodes, (0, 0))
    capacity.count_pods(request, 0)
    assert capacity.pods is not None  # noqa: S101
    ids = tree.ids[depth]
    if not ids or not len(tree.rows):
        return Room("", 0.0, 0, 0)
    codes = tree.codes[depth][tree.rows]
    free = (nodes.idle + nodes.releasing)[tree.rows]
    fitting = pods_per_node(free, request, 0) * allowed[tree.rows]
    usable = np.bincount(codes, weights=fitting, minlength=len(ids))
    pods = np.maximum(capacity.pods[depth], 0)
    best = int(np.lexsort((-capacity.free[depth][:, GPU], -pods, -usable))[0])
    return Room(ids[best], float(capacity.free[depth][best, GPU]), int(pods[best]), int(usable[best]))


def shortage(snapshot: Snapshot, podgroup: str) -> tuple[Shortage, ...]:
    """Per (sub)group with a topology constraint and per level: needed, best domain, missing.

    Levels come broadest first, the whole topology before them. A gang without a constraint gets one entry
    for the whole pool. Empty when the pod group is unknown or nothing of it waits.
    """
    groups = tuple(msgspec.structs.replace(group, backed_off=False) for group in snapshot.podgroups)
    session = Session(msgspec.structs.replace(snapshot, podgroups=groups), SchedulerConfig())
    job = session.jobs.get(podgroup)
    tasks = tasks_to_place(job, real=True) if job is not None else []
    if job is None or not tasks:
        return ()
    placer = Placer(session)
    found = [
        each for group in _groups(job.root) if group.constraint.topology for each in _levels(placer, job, group, tasks)
    ]
    return tuple(found) if found else (_whole_pool(session, tasks),)


def _groups(root: SubGroupSet) -> Iterator[Group]:
    yield root
    for group in root.groups:
        yield from _groups(group)
    yield from root.podsets


def _names(group: Group) -> set[str]:
    return {group.name} if isinstance(group, PodSet) else {podset.name for podset in group.all_podsets()}


def _levels(placer: Placer, job: Job, group: Group, tasks: Sequence[Task]) -> Iterator[Shortage]:
    tree = placer.tree(group.constraint.topology)
    names = _names(group)
    own = [task for task in tasks if task.podset.name in names]
    if tree is None or not own:
        return
    del job
    nodes = placer.session.nodes
    required, preferred = (tree.level(each) for each in (group.constraint.required, group.constraint.preferred))
    request = _largest(own)
    allowed = nodes.allowed(own[0].pod, own[0].signature)
    for label in tree.labels:
        room = largest_free(tree, nodes, label, request, allowed)
        missing = max(len(own) - min(room.pods, room.usable_pods), 0)
        yield Shortage(
            subgroup=group.name,
            topology=tree.name,
            level=label,
            required=label == required,
            preferred=label == preferred,
            pods_needed=len(own),
            gpus_needed=_gpus(own),
            best=room,
            pods_missing=missing,
            gpus_missing=missing * float(request[GPU]),
            lowest=label == tree.labels[-1] and label != ROOT,
        )


def _whole_pool(session: Session, tasks: Sequence[Task]) -> Shortage:
    nodes = session.nodes
    request = _largest(tasks)
    free = nodes.idle + nodes.releasing
    allowed = nodes.allowed(tasks[0].pod, tasks[0].signature)
    fitting = pods_per_node(free, request, len(tasks))
    room = Room("", float(free[:, GPU].sum()), int(fitting.sum()), int((fitting * allowed).sum()))
    missing = max(len(tasks) - room.usable_pods, 0)
    return Shortage(
        subgroup="",
        topology="",
        level="",
        required=False,
        preferred=False,
        pods_needed=len(tasks),
        gpus_needed=_gpus(tasks),
        best=room,
        pods_missing=missing,
        gpus_missing=missing * float(request[GPU]),
    )


def _largest(tasks: Sequence[Task]) -> Vector:
    largest: Vector = np.stack([task.request for task in tasks]).max(axis=0)
    return largest


def _gpus(tasks: Sequence[Task]) -> float:
    return float(sum(task.request[GPU] for task in tasks))
