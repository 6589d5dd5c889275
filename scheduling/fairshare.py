"""Fair share: how KAI divides a total among queues and down the hierarchy.

Rule and order of the float64 operations follow ``resource_division.go`` of KAI v0.17: quota first, then the
rest by priority and weight in whole units, then the left-over units by size of the remainder.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from scheduling.structs import UNLIMITED, Resources


class Claim(msgspec.Struct, frozen=True):
    """What one queue asks of one resource, in the resource's own unit (device, millicore, byte)."""

    uid: str
    deserved: float
    limit: float
    weight: float
    request: float
    usage: float = 0.0
    priority: int = 100
    created: float = 0.0

    @property
    def requestable(self) -> float:
        """The request, cut to the limit."""
        return self.request if self.limit == UNLIMITED else min(self.limit, self.request)


class QueueClaims(msgspec.Struct, frozen=True):
    """One queue's claims on the three resources and its place in the hierarchy ("" is the top)."""

    uid: str
    parent: str
    gpu: Claim
    cpu: Claim
    memory: Claim


class Stage(StrEnum):
    """The three stages of a division, in order."""

    QUOTA = "quota"
    WEIGHT = "weight"
    REMAINDER = "remainder"


class Gift(msgspec.Struct, frozen=True):
    """One step of a division: ``amount`` given to a queue out of ``pot``.

    ``part`` is what it was to get before whole units, wants and the pot's end: the quota, the part by weight (out
    of ``weights``, both as past usage changed them), or the remainder that ranked it. ``round`` counts from 0.
    """

    uid: str
    stage: Stage
    amount: float
    pot: float
    part: float
    weight: float = 0.0
    weights: float = 0.0
    round: int = 0


class _Bucket(msgspec.Struct):
    """The queues of one priority with the shares given so far (shared with all other buckets)."""

    claims: list[Claim]
    shares: dict[str, float]
    remainders: dict[str, float]
    k: float
    gifts: list[Gift]


def divide(total: float, k: float, claims: Sequence[Claim]) -> dict[str, float]:
    """Share of each claim, by uid. ``total`` may be short of the quotas: they are granted all the same."""
    return divide_in_steps(total, k, claims)[0]


def divide_in_steps(total: float, k: float, claims: Sequence[Claim]) -> tuple[dict[str, float], list[Gift]]:
    """The shares, and every step that led to them in KAI's order."""
    shares: dict[str, float] = {}
    gifts: list[Gift] = []
    remaining = total
    for claim in claims:
        deserved = total if claim.deserved == UNLIMITED else claim.deserved
        amount = min(deserved, claim.requestable)
        gifts.append(Gift(claim.uid, Stage.QUOTA, amount, remaining, deserved))
        shares[claim.uid] = amount
        remaining -= amount
    if remaining > 0:
        _divide_over_quota(remaining, max(k, 0.0), claims, shares, gifts)
    return shares, gifts


def divide_tree(total: Resources, k: float, queues: Iterable[QueueClaims]) -> dict[str, Resources]:
    """Shares of every queue: the top level divides ``total``, each parent's share is its children's total."""
    children: dict[str, list[QueueClaims]] = defaultdict(list)
    for queue in queues:
        children[queue.parent].append(queue)
    result: dict[str, Resources] = {}
    _divide_level(total, k, "", children, result)
    return result


def _divide_level(
    total: Resources,
    k: float,
    parent: str,
    children: Mapping[str, list[QueueClaims]],
    result: dict[str, Resources],
) -> None:
    level = children.get(parent, [])
    gpu = divide(total.gpu, k, [queue.gpu for queue in level])
    cpu = divide(total.cpu, k, [queue.cpu for queue in level])
    memory = divide(total.memory, k, [queue.memory for queue in level])
    for queue in level:
        share = Resources(gpu[queue.uid], cpu[queue.uid], memory[queue.uid])
        result[queue.uid] = share
        if queue.uid in children:
            _divide_level(share, k, queue.uid, children, result)


def _divide_over_quota(
    remaining: float, k: float, claims: Sequence[Claim], shares: dict[str, float], gifts: list[Gift]
) -> None:
    """Hand out what the quotas left, higher priority first.

    The left-over units of a high priority are handed out only after every lower priority had its part, so
    a lower one may get a unit that a higher one wants: KAI does the same (golden fs-minimal-0004).
    """
    by_priority: dict[int, list[Claim]] = defaultdict(list)
    for claim in claims:
        by_priority[claim.priority].append(claim)
    buckets = [_Bucket(by_priority[value], shares, {}, k, gifts) for value in sorted(by_priority, reverse=True)]
    for bucket in buckets:
        if remaining <= 0:
            return
        remaining = _divide_by_weight(remaining, bucket)
    for bucket in buckets:
        if remaining <= 0:
            return
        remaining = _divide_remainders(remaining, bucket)


def _divide_by_weight(remaining: float, bucket: _Bucket) -> float:
    for turn in itertools.count():
        at_start = remaining
        weights, weight_sum = _share_weights(bucket)
        if weight_sum == 0:
            return remaining
        someone_asked_less = False
        for claim in bucket.claims:
            if remaining == 0:
                break
            if claim.weight == 0 or _satisfied(claim, bucket.shares):
                continue
            fair = at_start * (weights[claim.uid] / weight_sum)
            wanted = _wanted(claim, bucket.shares)
            given = _give(claim, fair, wanted, bucket)
            bucket.gifts.append(
                Gift(claim.uid, Stage.WEIGHT, given, at_start, fair, weights[claim.uid], weight_sum, turn)
            )
            remaining -= given
            someone_asked_less = someone_asked_less or (given != 0 and wanted < fair)
        if not someone_asked_less or remaining == 0:
            break
    return remaining


def _give(claim: Claim, fair: float, wanted: float, bucket: _Bucket) -> float:
    """Whole units only to a queue that wants more than its part; the rest is remembered."""
    if wanted <= fair:
        bucket.remainders.pop(claim.uid, None)
        given = wanted
    else:
        given = max(float(math.floor(fair)), 0.0)
        if fair - given > 0:
            bucket.remainders[claim.uid] = fair - given
    if given != 0:
        bucket.shares[claim.uid] += given
    return given


def _divide_remainders(remaining: float, bucket: _Bucket) -> float:
    """One unit each by larger remainder, then older queue, then uid; request and limit are not looked at."""
    by_uid = {claim.uid: claim for claim in bucket.claims}
    order = sorted(bucket.remainders, key=_remainder_order(by_uid, bucket.remainders))
    for uid in order:
        if remaining == 0:
            break
        given = min(1.0, remaining)
        bucket.gifts.append(Gift(uid, Stage.REMAINDER, given, remaining, bucket.remainders[uid]))
        bucket.shares[uid] += given
        remaining -= given
    return remaining


def _remainder_order(
    claims: Mapping[str, Claim], remainders: Mapping[str, float]
) -> Callable[[str], tuple[float, float, bytes]]:
    return lambda uid: (-remainders[uid], claims[uid].created, uid.encode())


def _share_weights(bucket: _Bucket) -> tuple[dict[str, float], float]:
    """Normalised weight, lowered by usage where k > 0, of each queue that still wants something."""
    total = 0.0
    for claim in bucket.claims:
        if _wanted(claim, bucket.shares) > 0:
            total += claim.weight
    if total == 0:
        return {}, 0.0
    weights: dict[str, float] = {}
    weight_sum = 0.0
    for claim in bucket.claims:
        if _satisfied(claim, bucket.shares):
            continue
        normalised = claim.weight / total
        weight = max(0.0, normalised + bucket.k * (normalised - claim.usage))
        weights[claim.uid] = weight
        weight_sum += weight
    return weights, weight_sum


def _satisfied(claim: Claim, shares: Mapping[str, float]) -> bool:
    share = shares[claim.uid]
    return claim.request <= share or (claim.limit != UNLIMITED and claim.limit <= share)


def _wanted(claim: Claim, shares: Mapping[str, float]) -> float:
    return max(claim.requestable - shares[claim.uid], 0.0)
