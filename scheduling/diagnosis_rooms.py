"""How much room the domains of a level, or the whole pool, have for a waiting gang, and who holds the rest."""

from collections.abc import Iterator

import msgspec
import numpy as np

from scheduling.diagnosis_holders import MAX_HOLDERS, endings, holders_on, holds
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code, DomainRow, Obstacle
from scheduling.domains import ROOT, DomainTree, pods_per_node
from scheduling.nodes import Mask, Rows
from scheduling.resources import GPU
from scheduling.state import ACTIVE, PodSet, SubGroupSet, Task
from scheduling.structs import Node, Resources, TopologyConstraint

MAX_ROWS = 24


class Constrained(msgspec.Struct, frozen=True):
    """A gang or subgroup under a constraint whose topology and levels exist, with the pods of its next attempt."""

    subgroup: str
    said: TopologyConstraint
    tree: DomainTree
    required: str
    preferred: str
    tasks: list[Task]
    stands: frozenset[str]
    """Domains of the required level (by path) that hold its pods already."""

    @property
    def gpus(self) -> float:
        """GPUs that must be found at once."""
        return float(sum(task.request[GPU] for task in self.tasks))

    @property
    def largest(self) -> float:
        """GPUs of its largest pod."""
        return max((float(task.request[GPU]) for task in self.tasks), default=0.0)


def constrained(scene: Scene) -> list[Constrained]:
    """The constraints of the group that take part in its next attempt, the gang's first."""
    return [each for group in _groups(scene.job.root) if (each := _constrained(scene, group)) is not None]


def _groups(root: SubGroupSet) -> Iterator[SubGroupSet | PodSet]:
    yield root
    for group in root.groups:
        yield from _groups(group)
    yield from root.podsets


def _constrained(scene: Scene, group: SubGroupSet | PodSet) -> Constrained | None:
    constraint = group.constraint
    tree = scene.placer.tree(constraint.topology) if constraint.topology else None
    if tree is None:
        return None
    podsets = [group] if isinstance(group, PodSet) else list(group.all_podsets())
    names = {podset.name for podset in podsets}
    tasks = [task for task in scene.tasks if task.podset.name in names]
    required, preferred = tree.level(constraint.required), tree.level(constraint.preferred)
    if not tasks or any(level and tree.depth(level) is None for level in (required, preferred)):
        return None
    stands: set[str] = set()
    if required:
        depth = tree.labels.index(required)
        placed = [task.node for podset in podsets for task in podset.tasks if task.status in ACTIVE and task.node >= 0]
        codes = {int(tree.codes[depth][row]) for row in placed} - {-1}
        stands = {tree.ids[depth][code] for code in codes}
    return Constrained(group.name, constraint, tree, required, preferred, tasks, frozenset(stands))


def usable_rows(scene: Scene, tasks: list[Task]) -> Mask:
    """Nodes where any of the pods is allowed, whatever is free there."""
    nodes = scene.session.nodes
    allowed = np.zeros(len(nodes.names), dtype=bool)
    for task in {task.signature: task for task in tasks}.values():
        allowed |= nodes.allowed(task.pod, task.signature)
    return allowed


def _pool_rows(scene: Scene) -> Rows:
    """Nodes where any of its pods is allowed; under a constraint of the whole gang only those with all labels."""
    allowed = usable_rows(scene, scene.tasks)
    for each in constrained(scene):
        if not each.subgroup:
            allowed &= each.tree.codes[-1] >= 0
    return np.flatnonzero(allowed)


def level_rows(scene: Scene, each: Constrained, level: str) -> tuple[DomainRow, ...]:
    """The domains of a level, those with most usable GPUs first, then with most free ones."""
    tree = each.tree
    depth = tree.labels.index(level)
    allowed = usable_rows(scene, each.tasks)
    rows = [_row(scene, each, tree.members(depth, code), allowed, path) for code, path in enumerate(tree.ids[depth])]
    return tuple(sorted(rows, key=lambda row: (-row.usable, -row.free, row.path)))[:MAX_ROWS]


def _row(scene: Scene, each: Constrained, rows: Rows, allowed: Mask, path: str) -> DomainRow:
    nodes = scene.session.nodes
    usable = rows[allowed[rows]]
    request = np.stack([task.request for task in each.tasks]).max(axis=0)
    free = nodes.idle[usable] + nodes.releasing[usable]
    members = [nodes.nodes[row] for row in rows.tolist()]
    refused = [nodes.refusal(row, each.tasks[0].pod) for row in rows.tolist() if not allowed[row]]
    broken = sum(scene.unhealthy.get(node.name, 0.0) for node in members)
    depth = next(depth for depth, ids in enumerate(each.tree.ids) if path in ids)
    label = each.tree.labels[depth]
    return DomainRow(
        name=members[0].labels.get(label, path) if members else path,
        path=path,
        usable=float(nodes.allocatable[usable, GPU].sum()),
        free=float(np.maximum(free[:, GPU], 0.0).sum()),
        pods=int(pods_per_node(free, request, len(each.tasks)).sum()),
        capacity=int(pods_per_node(nodes.allocatable[usable], request, len(each.tasks)).sum()),
        unhealthy=broken,
        cordoned=sum(node.unschedulable for node in members),
        not_ready=sum(not node.ready for node in members),
        tainted=sum("taint" in text for text in refused),
        unmatched=sum("affinity" in text for text in refused),
    )


def occupied(scene: Scene) -> Iterator[Obstacle]:
    """Others hold what it needs: a domain of its level, or the pool, is full or free only in pieces."""
    if any(holds(pod) and pod.podgroup != scene.key for pod in scene.shard.pods):
        yield Obstacle(Cause(Code.POOL_FULL), vacated)


def vacated(scene: Scene) -> Scene:
    """The scene as if what others hold took no room; queues still count it.

    Nobody is evicted there: a victim would free its room a second time.
    """
    held: dict[str, list[float]] = {}
    for pod in scene.snapshot.pods:
        if holds(pod) and pod.podgroup != scene.key:
            gpus = float(pod.fraction_devices) if pod.gpu_fraction or pod.gpu_memory_mib else pod.requests.gpu
            amounts = held.setdefault(pod.node, [0.0, 0.0, 0.0, 0.0])
            for index, amount in enumerate((gpus, pod.requests.cpu, pod.requests.memory, 1.0)):
                amounts[index] += amount

    def change(node: Node) -> Node:
        gpu, cpu, memory, pods = held[node.name]
        own = node.allocatable
        more = Resources(gpu=own.gpu + gpu, cpu=own.cpu + cpu, memory=own.memory + memory)
        return msgspec.structs.replace(node, allocatable=more, pods=node.pods + int(pods))

    return scene.with_nodes(held, change).with_config(msgspec.structs.replace(scene.config, search_budget=0))


def occupied_cause(scene: Scene) -> Cause:
    """The same with numbers: the level (or pool) where it lacks room, the best domain, who holds, whose end helps.

    ``scene`` has every other obstacle taken away.
    """
    short = [each for each in constrained(scene) if each.required and each.required != ROOT]
    short = [each for each in short if not _has_room(scene, each)] or short
    if not short:
        return _pool_full(scene)
    each = short[-1]
    rows = level_rows(scene, each, each.required)
    rows = tuple(row for row in rows if row.path in each.stands) or rows if each.stands else rows
    best = max(rows, key=lambda row: (row.pods, row.free), default=DomainRow("", 0.0, 0.0, 0))
    code = Code.LEVEL_FULL if best.free < each.gpus else Code.LEVEL_FRAGMENTED
    names = {"topology": each.tree.name, "subgroup": each.subgroup, "level": each.required, "domain": best.name}
    depth = each.tree.labels.index(each.required)
    inside = each.tree.members(depth, each.tree.ids[depth].index(best.path)) if best.path else np.array([], dtype=int)
    hosts = frozenset(scene.session.nodes.names[row] for row in inside.tolist())
    near, every = holders_on(scene, hosts), holders_on(scene)
    numbers = _numbers(scene, each.tasks, best.free, best.usable, best.pods)
    when = endings(scene, near or every, every)
    return Cause(code, False, names, numbers, domains=rows, holders=near[:MAX_HOLDERS], starts_when=when)


def _has_room(scene: Scene, each: Constrained) -> bool:
    return any(row.pods >= len(each.tasks) for row in level_rows(scene, each, each.required))


def _pool_full(scene: Scene) -> Cause:
    nodes = scene.session.nodes
    rows = _pool_rows(scene)
    room = nodes.idle[rows] + nodes.releasing[rows]
    request = np.stack([task.request for task in scene.tasks]).max(axis=0)
    free = float(np.maximum(room[:, GPU], 0.0).sum())
    pods = int(pods_per_node(room, request, len(scene.tasks)).sum())
    numbers = _numbers(scene, scene.tasks, free, float(nodes.allocatable[rows, GPU].sum()), pods)
    code = Code.POOL_FULL if free < numbers["asked"] else Code.POOL_FRAGMENTED
    every = holders_on(scene, frozenset(nodes.names[row] for row in rows.tolist()))
    return Cause(
        code, False, {"pool": scene.group.pool}, numbers, holders=every[:MAX_HOLDERS], starts_when=endings(scene, every)
    )


def _numbers(scene: Scene, tasks: list[Task], free: float, usable: float, pods: int) -> dict[str, float]:
    asked = float(sum(task.request[GPU] for task in tasks))
    queue = scene.session.queues.by_name.get(scene.group.queue)
    numbers = {
        "asked": asked,
        "free": free,
        "usable": usable,
        "short": max(asked - free, 0.0),
        "pods": len(tasks),
        "fit": min(pods, len(tasks)),
        "largestPod": max((float(task.request[GPU]) for task in tasks), default=0.0),
    }
    if queue is not None:
        numbers |= {"queueHeld": queue.allocated[GPU], "queueShare": queue.fair[GPU], "queueQuota": queue.deserved[GPU]}
    return numbers


def pool_totals(scene: Scene) -> dict[str, float]:
    """GPUs that the pool has for these pods and that are asked for at once."""
    nodes = scene.session.nodes
    rows = _pool_rows(scene)
    request = np.stack([task.request for task in scene.tasks])
    fit = pods_per_node(nodes.allocatable[rows], request.max(axis=0), len(scene.tasks)).sum()
    return {
        "asked": float(request[:, GPU].sum()) + own_gpus(scene),
        "fit": min(float(fit), float(len(scene.tasks))),
        "largest": float(nodes.allocatable[rows, GPU].sum()),
        "pods": len(scene.tasks),
        "largestPod": float(request[:, GPU].max()),
        "nodes": len(rows),
        "own": own_gpus(scene),
    }


def own_gpus(scene: Scene) -> float:
    """GPUs that the group holds already."""
    return float(sum(task.request[GPU] for task in scene.job.tasks() if task.status in ACTIVE))
