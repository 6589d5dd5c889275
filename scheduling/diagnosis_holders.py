"""Who holds what a pod group waits for, and whose end would let it run."""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

import msgspec

from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Holder
from scheduling.structs import FINISHED, Pod

MAX_HOLDERS = 12
MAX_ENDINGS = 5
MAX_ENDED = 48
MAX_SEARCHED = 3


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
    """Sets of holders after whose end the group runs: single ones where one suffices, else one set.

    ``holders`` are tried first; ``others`` only as far as these do not suffice. Nobody is named where it takes more
    than `MAX_ENDED` ends. Each is asked for without evictions, whose search costs most where it fails; none can be left
    out of a set as long as nobody is evicted. Only where no single end suffices so, those of the `MAX_SEARCHED` largest
    holders are asked for with them, the set without those whom it may evict, and all ends where these do not suffice.
    """
    near = [holder.group for holder in holders][: min(MAX_HOLDERS, scene.effort)]
    calm = scene.with_config(msgspec.structs.replace(scene.config, search_budget=0))
    single = _single(calm, near) or _single(scene, near[:MAX_SEARCHED])
    if single or not scene.effort:
        return single
    every = list(dict.fromkeys(holder.group for holder in (*holders, *others)))[:MAX_ENDED]
    if not every:
        return ()
    if not calm.without(every).runs:
        return (tuple(_needed(scene, _fewest(scene, every))),) if scene.without(every).runs else ()
    found = _needed(calm, _fewest(calm, every))
    firm = {holder.group for holder in (*holders, *others) if not holder.preemptible}
    fewer = [key for key in found if key in firm]
    return (tuple(fewer if 0 < len(fewer) < len(found) and scene.without(fewer).runs else found),)


def _single(scene: Scene, keys: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The first of them, `MAX_ENDINGS` at most, of which each suffices."""
    return tuple(islice(((key,) for key in keys if scene.without((key,)).runs), MAX_ENDINGS))


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
