"""Who holds what a pod group waits for, and whose end would let it run."""

from collections.abc import Collection, Iterable, Sequence

from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Holder
from scheduling.structs import FINISHED, Pod

MAX_HOLDERS = 12
MAX_ENDINGS = 5
MAX_ENDED = 48


def holders_in(
    scene: Scene, queues: Collection[str], resource: str = "gpu", *, fixed: bool = False
) -> tuple[Holder, ...]:
    """Pod groups of these queues that hold a resource, the largest first; ``fixed``: only non-preemptible ones."""
    groups = {group.key: group for group in scene.shard.podgroups if group.queue in queues}
    if fixed:
        groups = {key: group for key, group in groups.items() if not group.preemptible}
    return _holders(scene, [pod for pod in scene.shard.pods if pod.podgroup in groups], resource)


def holders_on(scene: Scene, nodes: Collection[str] | None = None) -> tuple[Holder, ...]:
    """Pod groups (and pods without one) that hold GPUs on these nodes, or on any, the largest first."""
    pods = [pod for pod in scene.shard.pods if nodes is None or pod.node in nodes]
    return _holders(scene, pods, "gpu")


def _holders(scene: Scene, pods: Iterable[Pod], resource: str) -> tuple[Holder, ...]:
    groups = {group.key: group for group in scene.shard.podgroups}
    held: dict[str, list[Pod]] = {}
    for pod in pods:
        if holds(pod) and pod.podgroup != scene.key and getattr(pod.requests, resource) > 0:
            held.setdefault(pod.podgroup or pod.key, []).append(pod)
    found = []
    for key, own in held.items():
        group = groups.get(key)
        found.append(
            Holder(
                key,
                group.queue if group else "",
                sum(getattr(pod.requests, resource) for pod in own),
                len(own),
                group.preemptible if group else False,
                group.priority if group else 0,
                tuple(sorted({pod.node for pod in own})),
            )
        )
    return tuple(sorted(found, key=lambda holder: (-holder.amount, holder.group)))


def holds(pod: Pod) -> bool:
    """On a node, and not finished."""
    return pod.node != "" and pod.phase not in FINISHED


def endings(scene: Scene, holders: Sequence[Holder], others: Sequence[Holder] = ()) -> tuple[tuple[str, ...], ...]:
    """Sets of holders after whose end the group runs: single ones where one suffices, else one set without surplus.

    ``holders`` are tried first; ``others`` only as far as these do not suffice. Nobody is named where it takes more
    than `MAX_ENDED` ends.
    """
    near = [holder.group for holder in holders]
    single: list[tuple[str, ...]] = []
    for key in near[: min(MAX_HOLDERS, scene.effort)]:
        if len(single) < MAX_ENDINGS and scene.without((key,)).runs:
            single.append((key,))
    if single or not scene.effort:
        return tuple(single)
    seen = set(near)
    every = [*near, *(holder.group for holder in others if holder.group not in seen)][:MAX_ENDED]
    if not every or not scene.without(every).runs:
        return ()
    return (tuple(_needed(scene, _fewest(scene, every))),)


def _fewest(scene: Scene, every: Sequence[str]) -> list[str]:
    """So many of them, from the first, that it runs after their end."""
    low, high = 0, len(every)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if scene.without(every[:middle]).runs else (middle, high)
    return list(every[:high])


def _needed(scene: Scene, chosen: Sequence[str]) -> list[str]:
    """Those without which it does not run, as far as there are tries for it; the last ones taken are tried last."""
    needed = list(chosen)
    for key in list(chosen)[: scene.effort]:
        fewer = [each for each in needed if each != key]
        if fewer and scene.without(fewer).runs:
            needed = fewer
    return needed
