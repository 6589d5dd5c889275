"""What the queues of a shard hold and ask against their fair share, and who may take from whom.

Rules of KAI's ``proportion`` plugin, through ``queues`` and ``reclaim``; amounts in devices, millicores and bytes.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from scheduling.fairshare import Claim
from scheduling.queues import QueueState, QueueTree, claim_of
from scheduling.reclaim import parting
from scheduling.resources import CPU, GPU, MEMORY
from scheduling.session import Session
from scheduling.shares import TINY, Division, explain_division
from scheduling.structs import UNLIMITED, Queue, Resources, SchedulerConfig, Snapshot

NAMES: Mapping[str, int] = {"gpu": GPU, "cpu": CPU, "memory": MEMORY}


class Holding(msgspec.Struct, frozen=True):
    """One queue and one resource. ``keeps`` is what nobody may take: the fair share, at least the quota, at most
    the limit; -1 is everything. ``fixed`` is held by pods that may not be evicted."""

    queue: str
    deserved: float
    fair: float
    keeps: float
    held: float
    fixed: float
    asked: float

    @property
    def waits(self) -> float:
        """Asked and not held."""
        return max(self.asked - self.held, 0.0)

    @property
    def borrowed(self) -> float:
        """Held above what it keeps."""
        return 0.0 if self.keeps == UNLIMITED else max(self.held - self.keeps, 0.0)

    @property
    def owed(self) -> float:
        """What it waits for and is still entitled to."""
        return max(min(self.waits, self.fair - self.held), 0.0)

    @property
    def idle_quota(self) -> float:
        """Guaranteed and neither held nor asked for, so that others may borrow it; 0 for an unlimited quota."""
        return 0.0 if self.deserved == UNLIMITED else max(self.deserved - max(self.held, self.asked), 0.0)


class Debt(msgspec.Struct, frozen=True):
    """Of what ``borrower`` holds, ``amount`` may be reclaimed for ``starved``, which is owed it.

    ``by_quota``: the starved side is within its quota and takes what the other holds above its own quota.
    """

    starved: str
    borrower: str
    amount: float
    by_quota: bool


class ShardShares(msgspec.Struct, frozen=True):
    """A shard's queues: the three divisions, what is held, and the debts, all by resource (gpu, cpu, memory)."""

    total: Resources
    queues: Mapping[str, Queue]
    leaves: frozenset[str]
    divisions: Mapping[str, Division]
    holdings: Mapping[str, Mapping[str, Holding]]
    debts: Mapping[str, tuple[Debt, ...]]
    cyclic: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Queues that the scheduler leaves out: their parent is missing."""


class Changes(msgspec.Struct, frozen=True):
    """A what-if: another total, other quota, limit or weight of a queue's resource, another priority of a queue.

    Keys of ``quotas``, ``limits`` and ``weights`` are (queue, gpu | cpu | memory).
    """

    totals: Mapping[str, float] = {}
    quotas: Mapping[tuple[str, str], float] = {}
    limits: Mapping[tuple[str, str], float] = {}
    weights: Mapping[tuple[str, str], float] = {}
    priorities: Mapping[str, int] = {}


def explain_shard(
    snapshot: Snapshot, config: SchedulerConfig | None = None, changes: Changes | None = None
) -> ShardShares:
    """The shares of a shard as its scheduler counts them, or as it would with ``changes``."""
    config, changes = config or SchedulerConfig(), changes or Changes()
    queues = tuple(changed_queue(queue, changes) for queue in snapshot.queues)
    session = Session(msgspec.structs.replace(snapshot, queues=queues), config)
    total = msgspec.structs.replace(session.total, **changes.totals)
    tree = session.queues
    tree.divide(total, config.k_value)
    return ShardShares(
        total=total,
        queues={name: state.queue for name, state in tree.by_name.items()},
        leaves=frozenset(name for name, state in tree.by_name.items() if state.leaf),
        divisions={
            name: explain_division(getattr(total, name), config.k_value, _claims(tree, index))
            for name, index in NAMES.items()
        },
        holdings={
            name: {each.name: _holding(each, index) for each in tree.by_name.values()} for name, index in NAMES.items()
        },
        debts={name: tuple(_debts(tree, index)) for name, index in NAMES.items()},
        cyclic=tuple(tree.cyclic),
        dropped=tuple(sorted({queue.name for queue in queues} - tree.by_name.keys() - set(tree.cyclic))),
    )


def changed_queue(queue: Queue, changes: Changes) -> Queue:
    """The queue as it would be; the same where nothing of it changes."""
    parts = {}
    for name in NAMES:
        part = getattr(queue, name)
        parts[name] = msgspec.structs.replace(
            part,
            quota=changes.quotas.get((queue.name, name), part.quota),
            limit=changes.limits.get((queue.name, name), part.limit),
            weight=changes.weights.get((queue.name, name), part.weight),
        )
    return msgspec.structs.replace(queue, priority=changes.priorities.get(queue.name, queue.priority), **parts)


def _claims(tree: QueueTree, index: int) -> Iterator[tuple[str, Claim]]:
    return ((state.queue.parent, claim_of(state, index)) for state in tree.by_name.values())


def _holding(state: QueueState, index: int) -> Holding:
    return Holding(
        queue=state.name,
        deserved=state.deserved[index],
        fair=state.fair[index],
        keeps=state.allocatable(index),
        held=state.allocated[index],
        fixed=state.non_preemptible[index],
        asked=state.request[index],
    )


def _debts(tree: QueueTree, index: int) -> Iterator[Debt]:
    """Every pair of a leaf that waits within its fair share and a leaf that holds what may be taken for it."""
    leaves = [state for state in tree.by_name.values() if state.leaf]
    lenders = [state for state in leaves if state.allocated[index] - state.non_preemptible[index] > TINY]
    for starved in leaves:
        owed = _holding(starved, index).owed
        if owed <= TINY:
            continue
        for borrower in lenders:
            if borrower is starved:
                continue
            amount, by_quota = _reclaimable(starved, borrower, index)
            if amount > TINY:
                yield Debt(starved.name, borrower.name, min(amount, owed), by_quota)


def _reclaimable(starved: QueueState, borrower: QueueState, index: int) -> tuple[float, bool]:
    """How much of the borrower's holding may go, looked at where the hierarchies of the two part."""
    mine, theirs = parting(starved, borrower)
    loose = borrower.allocated[index] - borrower.non_preemptible[index]
    over_share = _above(theirs.allocated[index], theirs.allocatable(index))
    room = _room(mine, index)
    over_quota = min(_above(theirs.allocated[index], theirs.deserved[index]), room)
    if over_quota > over_share:
        return min(loose, over_quota), True
    return min(loose, over_share), False


def _above(amount: float, bound: float) -> float:
    return 0.0 if bound == UNLIMITED else max(amount - bound, 0.0)


def _room(queue: QueueState, index: int) -> float:
    """What may be added within the quota."""
    if queue.deserved[index] == UNLIMITED:
        return max(queue.request[index] - queue.allocated[index], 0.0)
    return max(queue.deserved[index] - queue.allocated[index], 0.0)


def debts_to(debts: Sequence[Debt], starved: str) -> list[Debt]:
    """Who could give something back to this queue, the largest first."""
    return sorted((debt for debt in debts if debt.starved == starved), key=lambda debt: (-debt.amount, debt.borrower))


def debts_of(debts: Sequence[Debt], borrower: str) -> list[Debt]:
    """For whom this queue's holding may be reclaimed, the largest first."""
    return sorted((debt for debt in debts if debt.borrower == borrower), key=lambda debt: (-debt.amount, debt.starved))
