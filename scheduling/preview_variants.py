"""Where the scheduler's order is not decided before objects exist: the answers that are equally good.

Gangs of one queue and priority that are made within one second take their turns by random UID, and so do unequal pods
of one set (golden/SCHEMA.md: b012). The surplus pods of several sets take theirs as their gates open: Grove opens them
one by one, and a cycle may run in between. Equal gangs and equal pods may change places without a difference.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, permutations

import msgspec

from scheduling.gangs import job_of
from scheduling.preview import PreparedShard
from scheduling.preview_structs import Gang, Preview
from scheduling.state import DEFAULT_PODSET, pod_order
from scheduling.structs import Pod

MOST_ORDERS = 6


def equal_answers(shard: PreparedShard, gangs: Sequence[Gang], *, most: int = MOST_ORDERS) -> tuple[Preview, ...]:
    """The previews that differ in how many pods of each shape a node gets, over so many orders; the given one first."""
    found: dict[object, Preview] = {}
    for ordered in islice(orders(gangs), most):
        preview = shard.preview(ordered)
        found.setdefault(_places(ordered, preview), preview)
    return tuple(found.values())


def orders(gangs: Sequence[Gang]) -> Iterator[tuple[Gang, ...]]:
    """The gangs with UIDs in every order that makes a difference; at first as they are given."""
    yield tuple(gangs)
    shapes = sorted({shape_of(gang) for gang in gangs if gang.waits_for}, key=repr)
    if len(shapes) > 1:
        for order in permutations(range(len(shapes))):
            rank = dict(zip(shapes, order, strict=True))
            yield tuple(_ranked(gang, rank.get(shape_of(gang), 0)) for gang in gangs)
    for index, gang in enumerate(gangs):
        for name in sorted({pod.subgroup for pod in gang.pods}):
            members = [pod for pod in gang.pods if pod.subgroup == name]
            if len({_asked(pod) for pod in members}) > 1:
                for ordered in _pod_orders(members, _asked):
                    yield (*gangs[:index], _with_order(gang, ordered), *gangs[index + 1 :])
        surplus = _surplus(gang)
        if len({pod.subgroup for pod in surplus}) > 1:
            for ordered in _pod_orders(surplus, _asked_within):
                yield (*gangs[:index], _arriving(gang, ordered), *gangs[index + 1 :])


def _pod_orders(pods: Sequence[Pod], alike: Callable[[Pod], object]) -> Iterator[list[Pod]]:
    """Every order of unequal pods, those that are alike not told apart."""
    of: dict[object, list[Pod]] = {}
    for pod in pods:
        of.setdefault(alike(pod), []).append(pod)
    kinds = sorted(of, key=repr)
    order = [number for number, kind in enumerate(kinds) for _ in of[kind]]
    while True:
        left = [iter(of[kind]) for kind in kinds]
        yield [next(left[number]) for number in order]
        if not _advance(order):
            return


def _advance(order: list[int]) -> bool:
    """The next order as a dictionary has them, in place; False after the last."""
    pivot = next((at for at in range(len(order) - 2, -1, -1) if order[at] < order[at + 1]), -1)
    if pivot < 0:
        return False
    larger = next(at for at in range(len(order) - 1, pivot, -1) if order[at] > order[pivot])
    order[pivot], order[larger] = order[larger], order[pivot]
    order[pivot + 1 :] = reversed(order[pivot + 1 :])
    return True


def _surplus(gang: Gang) -> list[Pod]:
    """The pods beyond the minimum of their set, in order."""
    found: list[Pod] = []
    for name, podset in job_of(gang.group).podsets.items():
        members = sorted((pod for pod in gang.pods if (pod.subgroup or DEFAULT_PODSET) == name), key=pod_order)
        found += members[podset.min_available :]
    return found


def _arriving(gang: Gang, ordered: Sequence[Pod]) -> Gang:
    """The gang with the gates of these pods opening one after the other."""
    keys = tuple(pod.key for pod in ordered)
    pods = tuple(msgspec.structs.replace(pod, gated=True) if pod.key in keys else pod for pod in gang.pods)
    return msgspec.structs.replace(gang, pods=pods, arrivals=keys)


def shape_of(gang: Gang) -> object:
    """What makes two gangs interchangeable."""
    group = gang.group
    return (group.queue, group.priority, group.topology, tuple(sorted(map(_asked, gang.pods), key=repr)))


def _asked(pod: Pod) -> tuple[object, ...]:
    amounts = pod.requests
    return (amounts.gpu, amounts.cpu, amounts.memory, pod.gpu_fraction, pod.gpu_memory_mib)


def _asked_within(pod: Pod) -> tuple[object, ...]:
    return (pod.subgroup, *_asked(pod))


def _ranked(gang: Gang, rank: int) -> Gang:
    return msgspec.structs.replace(gang, group=msgspec.structs.replace(gang.group, uid=f"{rank:04d}-{gang.group.name}"))


def _with_order(gang: Gang, ordered: Sequence[Pod]) -> Gang:
    """The gang with these of its pods in this order."""
    place = {pod.key: number for number, pod in enumerate(ordered)}
    pods = tuple(
        msgspec.structs.replace(pod, uid=f"{place[pod.key]:06d}") if pod.key in place else pod for pod in gang.pods
    )
    return msgspec.structs.replace(gang, pods=pods)


def _places(gangs: Sequence[Gang], preview: Preview) -> object:
    """How many pods of each shape are on each node."""
    counts: dict[object, int] = {}
    for gang, found in zip(gangs, preview.gangs, strict=True):
        for pod in gang.pods:
            if pod.key in found.placed:
                at = (gang.group.queue, _asked(pod), found.placed[pod.key])
                counts[at] = counts.get(at, 0) + 1
    return frozenset(counts.items())
