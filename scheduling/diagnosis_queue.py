"""Obstacles before any node is looked at: pool, shard, queue, the gang itself, limits and quotas."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import msgspec

from scheduling.diagnosis_holders import holders_in
from scheduling.diagnosis_scene import Scene, hanging
from scheduling.diagnosis_structs import Cause, Code, Obstacle
from scheduling.queues import QueueState, QueueTree
from scheduling.resources import DIVIDED, at_most
from scheduling.state import DEFAULT_PODSET, PodSet, total
from scheduling.structs import UNLIMITED, UNLIMITED_RESOURCE, Pod, Queue

RESOURCES = ("cpu", "memory", "gpu")
FREE_QUEUE = "diagnosis-unlimited"
MOST_NAMED = 12
"""So many of the queues below another one are named."""


def pool_wrong(scene: Scene) -> Iterator[Obstacle]:
    """The pod group carries another pool label than it was meant to."""
    wanted, found = scene.wanted_pool, scene.group.pool
    if wanted is not None and wanted != found:
        cause = Cause(Code.POOL_WRONG, True, {"pool": found, "wanted": wanted})
        yield Obstacle(cause, lambda each: each.with_group(pool=wanted))


def queue_wrong(scene: Scene) -> Iterator[Obstacle]:
    """The pod group names another queue than it was meant to."""
    wanted, found = scene.wanted_queue, scene.group.queue
    if wanted and found and wanted != found:
        cause = Cause(Code.QUEUE_WRONG, True, {"found": found, "wanted": wanted})
        yield Obstacle(cause, lambda each: each.with_group(queue=wanted))


def shard_missing(scene: Scene) -> Iterator[Obstacle]:
    """No scheduler runs for the pool."""
    pool = scene.group.pool
    if scene.shards is not None and pool not in scene.shards:
        cause = Cause(Code.SHARD_MISSING, True, {"pool": pool})
        yield Obstacle(cause, _with_shard)


def _with_shard(scene: Scene) -> Scene:
    return replace(scene, shards=(scene.shards or frozenset()) | {scene.group.pool})


def scheduler_hangs(scene: Scene) -> Iterator[Obstacle]:
    """A pod waits in a circle of queues: the scheduler places nothing any more, in no queue."""
    names = hanging(scene)
    if names:
        cause = Cause(Code.SCHEDULER_HANGS, True, {"queues": ", ".join(names)})
        yield Obstacle(cause, partial(_uncircled, names=names))


def _uncircled(scene: Scene, names: tuple[str, ...]) -> Scene:
    queues = {queue.name: queue for queue in scene.snapshot.queues}
    on_circle = [name for name in names if name in queues and _reaches(queues, name, name)]
    first = min(on_circle, default="")
    return scene.with_queue(first, parent="") if first else scene


def _reaches(queues: dict[str, Queue], start: str, goal: str) -> bool:
    seen: set[str] = set()
    parent = queues[start].parent
    while parent in queues and parent not in seen:
        if parent == goal:
            return True
        seen.add(parent)
        parent = queues[parent].parent
    return False


def queue_unusable(scene: Scene) -> Iterator[Obstacle]:
    """The scheduler of the pool does not know the queue, or jobs of a queue with children are skipped."""
    name = scene.group.queue
    if name in scene.session.queues.by_name:
        children = [child.name for child in scene.session.queues.by_name[name].children]
        if children:
            more = ["…"] if len(children) > MOST_NAMED else []
            names = {"queue": name, "children": ", ".join([*sorted(children)[:MOST_NAMED], *more])}
            yield Obstacle(Cause(Code.QUEUE_NOT_LEAF, True, names, {"children": len(children)}), _childless)
        return
    if not name:
        yield Obstacle(Cause(Code.QUEUE_UNSET, True), _in_a_queue)
        return
    yield from _unknown(scene, name)


def _unknown(scene: Scene, name: str) -> Iterator[Obstacle]:
    pool = scene.group.pool
    known = {queue.name: queue for queue in scene.snapshot.queues}
    here = {queue.name for queue in scene.shard.queues}
    child = ""
    for _ in range(len(known) + 1):
        if name in here:
            child, name = name, known[name].parent
            if not name:
                return
        elif name in known:
            names = {"queue": name, "child": child, "pool": pool, "queuePool": known[name].pool}
            yield Obstacle(Cause(Code.QUEUE_OTHER_POOL, True, names), partial(_moved_queue, name=name))
            child, name = name, known[name].parent
            if not name:
                return
        else:
            code = Code.QUEUE_PARENT_MISSING if child else Code.QUEUE_MISSING
            yield Obstacle(Cause(code, True, {"queue": name, "child": child}), partial(_made_queue, name=name))
            return


def _moved_queue(scene: Scene, name: str) -> Scene:
    return scene.with_queue(name, pool=scene.group.pool)


def _made_queue(scene: Scene, name: str) -> Scene:
    return scene.with_new_queue(_unlimited(name, "", scene.group.pool))


def _unlimited(name: str, parent: str, pool: str) -> Queue:
    return Queue(name, parent, gpu=UNLIMITED_RESOURCE, cpu=UNLIMITED_RESOURCE, memory=UNLIMITED_RESOURCE, pool=pool)


def _in_a_queue(scene: Scene) -> Scene:
    """In the one that it was meant for, or in one without bounds where that is not known."""
    if scene.wanted_queue:
        return scene.with_group(queue=scene.wanted_queue)
    return scene.with_new_queue(_unlimited(FREE_QUEUE, "", scene.group.pool)).with_group(queue=FREE_QUEUE)


def _childless(scene: Scene) -> Scene:
    """Without the queues below its own; what holds room in them goes on holding it."""
    below = subtree(scene.session.queues, scene.group.queue) - {scene.group.queue}
    return scene.with_snapshot(queues=tuple(queue for queue in scene.snapshot.queues if queue.name not in below))


def backed_off(scene: Scene) -> Iterator[Obstacle]:
    """It failed once in this pool and asked for no second try."""
    group = scene.group
    if group.backed_off and group.scheduling_backoff == 1:
        yield Obstacle(
            Cause(Code.BACKED_OFF, True, {"pool": group.pool}), lambda each: each.with_group(backed_off=False)
        )


def subgroup_unknown(scene: Scene) -> Iterator[Obstacle]:
    """Pods name a subgroup that the pod group does not have."""
    lost = [task.pod for task in scene.job.invalid]
    if lost:
        names = {
            "pod": lost[0].key,
            "subgroup": lost[0].subgroup or DEFAULT_PODSET,
            "known": ", ".join(sorted(scene.job.podsets)),
        }
        cause = Cause(Code.SUBGROUP_UNKNOWN, True, names, {"pods": len(lost)})
        yield Obstacle(cause, _relabelled)


def _relabelled(scene: Scene) -> Scene:
    """The pods without a subgroup fill those that lack members."""
    places = [name for name, podset in scene.job.podsets.items() for _ in range(_missing(podset))]
    fallback = next(iter(scene.job.podsets))
    lost = [task.key for task in scene.job.invalid]
    homes = dict(zip(lost, [*places, *[fallback] * len(lost)], strict=False))

    def change(pod: Pod) -> Pod:
        if pod.key not in homes:
            return pod
        home = homes[pod.key]
        return msgspec.structs.replace(pod, subgroup="" if home == DEFAULT_PODSET else home)

    return scene.with_own_pods(change)


def _missing(podset: PodSet) -> int:
    return max(podset.min_available - podset.alive, 0)


def pods_missing(scene: Scene) -> Iterator[Obstacle]:
    """Fewer pods exist than the gang must start with; where no more are meant to, waiting does not help."""
    if scene.job.root.ready:
        return
    for podset in scene.job.podsets.values():
        if _missing(podset):
            names = {"subgroup": "" if podset.name == DEFAULT_PODSET else podset.name}
            low = podset.name in scene.scaled_below
            numbers = {"found": podset.alive, "needed": podset.min_available}
            cause = Cause(Code.SCALED_BELOW if low else Code.PODS_MISSING, low, names, numbers)
            yield Obstacle(cause, partial(_completed, name=podset.name))


def _completed(scene: Scene, name: str) -> Scene:
    podset = scene.job.podsets[name]
    meant = [scene.scaled_below[name]] if name in scene.scaled_below else []
    own = [*(task.pod for task in podset.tasks), *meant] or [task.pod for task in scene.job.tasks()]
    subgroup = "" if name == DEFAULT_PODSET else name
    model = own[0] if own else Pod("pod", scene.group.namespace)
    more = tuple(
        msgspec.structs.replace(
            model,
            name=f"{model.name}-missing-{index}",
            uid=f"{model.uid}-missing-{index}",
            podgroup=scene.key,
            subgroup=subgroup,
            node="",
            phase="Pending",
            releasing=False,
            gated=False,
        )
        for index in range(_missing(podset))
    )
    return scene.with_snapshot(pods=(*scene.snapshot.pods, *more))


def pods_gated(scene: Scene) -> Iterator[Obstacle]:
    """Pods are held back by a scheduling gate: Grove's, until their gang (or the one they follow) is there."""
    job = scene.job
    if job.root.ready and (job.pending or not job.gated):
        return
    for podset in job.podsets.values():
        if podset.gated and (not podset.ready or job.root.ready):
            names = {"subgroup": "" if podset.name == DEFAULT_PODSET else podset.name}
            numbers = {"gated": podset.gated, "found": podset.alive, "needed": podset.min_available}
            yield Obstacle(Cause(Code.PODS_GATED, False, names, numbers), partial(_opened, name=podset.name))


def _opened(scene: Scene, name: str) -> Scene:
    return scene.with_own_pods(
        lambda pod: msgspec.structs.replace(pod, gated=False) if (pod.subgroup or DEFAULT_PODSET) == name else pod
    )


def gates(scene: Scene) -> Iterator[Obstacle]:
    """Every limit and every quota, from the leaf upwards, that the next attempt would pass."""
    request = total(scene.tasks)
    queue = scene.session.queues.by_name.get(scene.group.queue)
    for each in queue.chain() if queue else ():
        for index in DIVIDED:
            if _passes(each.limit[index], each.allocated[index], request[index]):
                yield _gate(scene, Code.OVER_LIMIT, each, index)
    for each in queue.chain() if queue and not scene.group.preemptible else ():
        for index in DIVIDED:
            if _passes(each.deserved[index], each.non_preemptible[index], request[index]):
                yield _gate(scene, Code.OVER_QUOTA, each, index)


def _passes(bound: float, held: float, asked: float) -> bool:
    return bound != UNLIMITED and asked != 0 and not at_most(held + asked, bound)


def _gate(scene: Scene, code: Code, queue: QueueState, index: int) -> Obstacle:
    limit = code is Code.OVER_LIMIT
    bound = queue.limit[index] if limit else queue.deserved[index]
    held = queue.allocated[index] if limit else queue.non_preemptible[index]
    asked = total(scene.tasks)[index]
    below = "leaf" if queue.name == scene.group.queue else "ancestor"
    names = {"queue": queue.name, "resource": RESOURCES[index], "place": below}
    numbers = {"bound": bound, "held": held, "asked": asked, "short": held + asked - bound}
    numbers["possible"] = bound if bound > 0 else 0.0
    cause = Cause(
        code,
        not at_most(asked, bound),
        names,
        numbers,
        holders=holders_in(scene, subtree(scene.session.queues, queue.name), RESOURCES[index], fixed=not limit),
    )
    return Obstacle(cause, partial(raised, name=queue.name, index=index, limit=limit, to=held + asked))


def raised(scene: Scene, name: str, index: int, *, limit: bool, to: float) -> Scene:
    """The scene with a limit or quota raised to an amount (never lowered)."""
    field = RESOURCES[index]
    queue = next((each for each in scene.snapshot.queues if each.name == name), None)
    if queue is None:
        return scene
    resource = getattr(queue, field)
    bound = resource.limit if limit else resource.quota
    if bound == UNLIMITED or bound >= to:
        return scene
    changed = msgspec.structs.replace(resource, **{"limit" if limit else "quota": to})
    return scene.with_queue(name, **{field: changed})


def subtree(queues: QueueTree, name: str) -> frozenset[str]:
    """A queue and all below it."""
    return frozenset(each.name for each in queues.by_name.values() if any(up.name == name for up in each.chain()))


QUEUE_FINDERS: tuple[Callable[[Scene], Iterator[Obstacle]], ...] = (
    pool_wrong,
    queue_wrong,
    shard_missing,
    scheduler_hangs,
    queue_unusable,
    backed_off,
    subgroup_unknown,
    pods_missing,
    pods_gated,
    gates,
)
