"""Why does a pod group wait? Causes with numbers, true by construction.

Each candidate comes with the change that takes just it away. They are taken away one after the other, in the order
in which they are preferred as an explanation, until the engine places the group; then every one without which it runs
as well is dropped. What is left is what blocks it: all of it has to go, and nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from scheduling.diagnosis_levels import (
    level_names,
    level_too_small,
    pinned,
    placement_wrong,
    single_domain,
    too_small_cause,
    topology_objects,
    unequal_pods,
    unlabelled,
)
from scheduling.diagnosis_nodes import (
    ahead,
    cordoned,
    enough_past_minimum,
    min_runtime,
    not_ready,
    other_pods,
    pool_empty,
    preemption_delay,
    selector,
    tainted,
    too_large,
    unhealthy,
    with_more_nodes,
)
from scheduling.diagnosis_queue import (
    QUEUE_FINDERS,
    backed_off,
    gates,
    pods_gated,
    pods_missing,
    queue_unusable,
    scheduler_hangs,
    shard_missing,
)
from scheduling.diagnosis_rooms import constrained, occupied, occupied_cause, pool_totals
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import ORDER, Cause, Code, Diagnosis, Obstacle

Finder = Callable[[Scene], Iterator[Obstacle]]


def diagnose(scene: Scene) -> Diagnosis:
    """Why the scene's pod group waits. Raises KeyError when the snapshot has no such group."""
    waiting = scene.job.pending + scene.job.gated + len(scene.job.invalid)
    if scene.outcome is not None:
        return Diagnosis((), scene.outcome, waiting=waiting)
    if not waiting and (scene.job.root.satisfied or scene.job.succeeded):
        return Diagnosis(())
    found = _found(scene)
    if found is None:
        return Diagnosis((Cause(Code.UNEXPLAINED),), waiting=waiting)
    needed = _needed(scene, found)
    told = [_told(scene, needed, obstacle) for obstacle in needed]
    told.sort(key=lambda obstacle: ORDER[obstacle.cause.code])
    return Diagnosis(tuple(each.cause for each in told), None, tuple(told), waiting)


def diagnose_unasked(scene: Scene) -> Diagnosis:
    """The causes that are sure without a cycle, each enough by itself; where there are none nothing is known.

    For shards in which so much waits that cycles cost too long. Raises KeyError as `diagnose` does.
    """
    waiting = scene.job.pending + scene.job.gated + len(scene.job.invalid)
    found = [obstacle.cause for find in SURE for obstacle in find(scene)] if waiting else []
    found.sort(key=lambda cause: ORDER[cause.code])
    return Diagnosis(tuple(found), waiting=waiting, asked=False)


def cured(scene: Scene, obstacles: Sequence[Obstacle]) -> Scene:
    """The scene with all these obstacles taken away."""
    for obstacle in obstacles:
        scene = obstacle.cure(scene)
    return scene


def pool_too_small(scene: Scene) -> Iterator[Obstacle]:
    """The whole pool, empty and in order, is too small: as many nodes more as it takes would help."""
    low, high = 0, len(scene.tasks)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if with_more_nodes(scene, middle).runs else (middle, high)
    numbers = pool_totals(scene)
    numbers["short"] = max(numbers["asked"] - numbers["largest"], 0.0)
    numbers["nodesMore"] = high
    cause = Cause(Code.POOL_TOO_SMALL, True, {"pool": scene.group.pool}, numbers)
    yield Obstacle(cause, partial(with_more_nodes, most=high))


FINDERS: tuple[Finder, ...] = (
    *QUEUE_FINDERS,
    topology_objects,
    level_names,
    pool_empty,
    preemption_delay,
    min_runtime,
    ahead,
    unhealthy,
    too_large,
    not_ready,
    cordoned,
    tainted,
    pinned,
    single_domain,
    unequal_pods,
    unlabelled,
    placement_wrong,
    other_pods,
    occupied,
    single_domain,
    unequal_pods,
    selector,
    single_domain,
    unequal_pods,
    level_too_small,
    pool_too_small,
)


SURE: tuple[Finder, ...] = (
    shard_missing,
    scheduler_hangs,
    queue_unusable,
    backed_off,
    pods_missing,
    pods_gated,
    gates,
    topology_objects,
    level_names,
    pool_empty,
    too_large,
)
"""Those that read what stands there, and of which each keeps the next attempt from being placed."""


def _found(start: Scene) -> list[Obstacle] | None:
    """Obstacles whose cures together let it run; None when there are no such.

    A pool that is too small even when empty is too small as it is: what others hold is no cause beside it.
    """
    found: list[Obstacle] = []
    scene = start
    for find in FINDERS:
        if find is pool_too_small:
            found = [each for each in found if each.cause.code is not Code.POOL_FULL]
            scene = cured(start, found)
        fresh = list(find(scene))
        if not fresh:
            continue
        scene = cured(scene, fresh)
        found += fresh
        if scene.runs:
            return found
    return None


def _needed(scene: Scene, found: Sequence[Obstacle]) -> list[Obstacle]:
    """Those of the obstacles without whose cure it does not run: none of what is returned can be left out."""
    needed = list(found)
    changed = True
    while changed:
        changed = False
        for obstacle in list(needed):
            fewer = [each for each in needed if each is not obstacle]
            if fewer and cured(scene, fewer).runs:
                needed, changed = fewer, True
    return needed


POOL_ROOM = frozenset({Code.POOL_FULL, Code.POOL_TOO_SMALL})
"""Their cures change what the domains have, or add one that nobody has."""


def _told(scene: Scene, needed: Sequence[Obstacle], obstacle: Obstacle) -> Obstacle:
    """The obstacle with the numbers that stand when only it is left."""
    code = obstacle.cause.code
    rest = [each for each in needed if each is not obstacle]
    if code is Code.MIN_RUNTIME:
        return enough_past_minimum(cured(scene, rest))
    if code is Code.POOL_FULL:
        return msgspec.structs.replace(obstacle, cause=occupied_cause(cured(scene, rest)))
    if code is Code.LEVEL_TOO_SMALL:
        held = cured(scene, [each for each in rest if each.cause.code not in POOL_ROOM])
        subgroup = obstacle.cause.names["subgroup"]
        found = [each for each in constrained(held) if each.subgroup == subgroup and each.required]
        if found:
            return msgspec.structs.replace(obstacle, cause=too_small_cause(held, found[0]))
    return obstacle
