"""Fair share taken apart: what each queue gets of its level's total, of what parts, and what keeps it from more.

The numbers are those of ``fairshare``; nothing is divided here. Pure facts, without words.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from scheduling.fairshare import Claim, Gift, Stage, divide_in_steps
from scheduling.structs import UNLIMITED

TINY = 1e-6
"""Amounts below this are floating point noise, as in the comparison with the recordings."""


class Bound(StrEnum):
    """What keeps a queue's share from being larger."""

    ASKS_NOTHING = "asks-nothing"
    HAS_ALL = "has-all"
    LIMIT = "limit"
    NOTHING_UNUSED = "nothing-unused"
    NO_WEIGHT = "no-weight"
    HIGHER_PRIORITY = "higher-priority"
    USAGE = "usage"
    """Past usage takes its weight away."""
    OTHERS = "others"


class Share(msgspec.Struct, frozen=True):
    """One queue's share of one resource, in the resource's own unit.

    ``fair`` = ``guaranteed`` + ``by_weight`` + ``odd``. ``total`` is what its level divides: the pool's total, or
    the share of its parent. ``unused`` is what the quotas of the level left, never negative; ``earlier`` how much
    of it higher priorities took first. ``weights`` sums the weights, its own included, of the queues of its
    priority that wanted more than their quota.
    """

    claim: Claim
    parent: str
    total: float
    fair: float
    guaranteed: float
    by_weight: float
    odd: float
    unused: float
    earlier: float
    weights: float
    bound: Bound

    @property
    def over_quota(self) -> float:
        """What it gets beyond its guaranteed part."""
        return self.by_weight + self.odd


class LevelSteps(msgspec.Struct, frozen=True):
    """The division of one level, in KAI's order; a ``parent`` of "" is the top."""

    parent: str
    total: float
    unused: float
    quotas: tuple[Gift, ...]
    rounds: tuple["Round", ...]
    remainders: tuple[Gift, ...]

    @property
    def granted(self) -> float:
        """The guaranteed parts together; more than ``total`` where the quotas are oversubscribed."""
        return sum(gift.amount for gift in self.quotas)


class Round(msgspec.Struct, frozen=True):
    """One round of giving by weight among the queues of one priority."""

    priority: int
    number: int
    pot: float
    gifts: tuple[Gift, ...]


class Division(msgspec.Struct, frozen=True):
    """One resource divided down the whole tree."""

    total: float
    shares: Mapping[str, Share]
    levels: tuple[LevelSteps, ...]


def explain_division(total: float, k: float, claims: Iterable[tuple[str, Claim]]) -> Division:
    """Divide one resource; ``claims`` are pairs of parent ("" at the top) and claim. Levels come top first."""
    children: dict[str, list[Claim]] = defaultdict(list)
    for parent, claim in claims:
        children[parent].append(claim)
    shares: dict[str, Share] = {}
    levels: list[LevelSteps] = []
    waiting = [("", total)]
    while waiting:
        parent, amount = waiting.pop(0)
        level = children.get(parent, [])
        if not level:
            continue
        steps, found = _explain_level(parent, amount, k, level)
        levels.append(steps)
        shares |= found
        waiting += [(claim.uid, found[claim.uid].fair) for claim in level if claim.uid in children]
    return Division(total, shares, tuple(levels))


def _explain_level(parent: str, total: float, k: float, claims: Sequence[Claim]) -> tuple[LevelSteps, dict[str, Share]]:
    fair, gifts = divide_in_steps(total, k, claims)
    by_uid = {claim.uid: claim for claim in claims}
    quotas = tuple(gift for gift in gifts if gift.stage is Stage.QUOTA)
    steps = LevelSteps(
        parent=parent,
        total=total,
        unused=max(total - sum(gift.amount for gift in quotas), 0.0),
        quotas=quotas,
        rounds=_rounds(gifts, by_uid),
        remainders=tuple(gift for gift in gifts if gift.stage is Stage.REMAINDER),
    )
    parts = _parts(gifts)
    wanting = _wanting(claims, parts)
    shares = {}
    for claim in claims:
        guaranteed, by_weight, odd = parts[claim.uid]
        earlier = sum(gift.amount for group in steps.rounds if group.priority > claim.priority for gift in group.gifts)
        share = Share(
            claim=claim,
            parent=parent,
            total=total,
            fair=fair[claim.uid],
            guaranteed=guaranteed,
            by_weight=by_weight,
            odd=odd,
            unused=steps.unused,
            earlier=earlier,
            weights=wanting[claim.priority],
            bound=Bound.OTHERS,
        )
        shares[claim.uid] = msgspec.structs.replace(share, bound=_bound(share))
    return steps, shares


def _rounds(gifts: Sequence[Gift], claims: Mapping[str, Claim]) -> tuple[Round, ...]:
    found: dict[tuple[int, int], list[Gift]] = {}
    for gift in gifts:
        if gift.stage is Stage.WEIGHT:
            found.setdefault((claims[gift.uid].priority, gift.round), []).append(gift)
    return tuple(Round(priority, number, group[0].pot, tuple(group)) for (priority, number), group in found.items())


def _parts(gifts: Sequence[Gift]) -> dict[str, tuple[float, float, float]]:
    """Per queue what the quota, the weight and the odd units gave."""
    order = (Stage.QUOTA, Stage.WEIGHT, Stage.REMAINDER)
    parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for gift in gifts:
        parts[gift.uid][order.index(gift.stage)] += gift.amount
    return {uid: (amounts[0], amounts[1], amounts[2]) for uid, amounts in parts.items()}


def _wanting(claims: Sequence[Claim], parts: Mapping[str, tuple[float, float, float]]) -> dict[int, float]:
    """Per priority the weights of those who want more than their quota gave."""
    weights: dict[int, float] = defaultdict(float)
    for claim in claims:
        weights[claim.priority] += claim.weight if claim.requestable - parts[claim.uid][0] > 0 else 0.0
    return weights


def _bound(share: Share) -> Bound:
    claim = share.claim
    tests = (
        (Bound.ASKS_NOTHING, claim.request <= 0),
        (Bound.HAS_ALL, _reaches(share.fair, claim.request)),
        (Bound.LIMIT, claim.limit != UNLIMITED and _reaches(share.fair, claim.limit)),
        (Bound.NOTHING_UNUSED, share.unused <= TINY * max(share.total, 1.0)),
        (Bound.NO_WEIGHT, claim.weight <= 0),
        (Bound.HIGHER_PRIORITY, share.over_quota <= 0 and share.earlier > 0),
        (Bound.USAGE, share.over_quota <= 0 and claim.usage > 0),
    )
    return next((bound for bound, holds in tests if holds), Bound.OTHERS)


def _reaches(amount: float, wanted: float) -> bool:
    return amount >= wanted - TINY * max(wanted, 1.0)
