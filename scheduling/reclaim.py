"""Who may take from whom across queues (KAI's ``proportion/reclaimable``)."""

import math
from collections.abc import Iterable, Mapping, Sequence

from scheduling.queues import QueueState, QueueTree
from scheduling.resources import DIVIDED, Triple, within
from scheduling.structs import UNLIMITED

Amounts = list[float]


class Reclaimer:
    """What a job asks for, and the queue it asks from."""

    def __init__(self, queue: QueueState, request: Triple, *, preemptible: bool) -> None:
        self.queue = queue
        self.request = request
        self.preemptible = preemptible

    def may_try(self) -> bool:
        """The queue would stay within its fair share, and for non-preemptible jobs within its quota."""
        queue, request = self.queue, self.request
        if not all(within(queue.allocated[i] + request[i], queue.fair[i]) for i in DIVIDED):
            return False
        return self.preemptible or all(
            within(queue.non_preemptible[i] + request[i], queue.deserved[i]) for i in DIVIDED
        )

    def may_take_from(self, victim: QueueState) -> bool:
        """Whether jobs of this queue are candidates at all, before any is chosen."""
        mine, theirs = parting(self.queue, victim)
        if not mine.fits_deserved(self.request):
            return not _within_allocatable(theirs, theirs.allocated)
        under = False
        for index in DIVIDED:
            if self.request[index] <= 0 or theirs.deserved[index] == UNLIMITED:
                continue
            if theirs.allocated[index] > theirs.deserved[index]:
                return True
            under = under or theirs.allocated[index] < theirs.deserved[index]
        return not under


def parting(left: QueueState, right: QueueState) -> tuple[QueueState, QueueState]:
    """The two queues at the level where the hierarchies of the given queues part."""
    pair = (left, right)
    for mine, theirs in zip(left.path(), right.path(), strict=False):
        pair = (mine, theirs)
        if mine is not theirs:
            break
    return pair


def _within_allocatable(queue: QueueState, amounts: Sequence[float]) -> bool:
    return all(within(amounts[index], queue.allocatable(index)) for index in DIVIDED)


class Ledger:
    """What the queues would still hold while victims are taken one after the other."""

    def __init__(self, queues: QueueTree, multiplier: float) -> None:
        """Takes down what the queues hold now, before the search changes it."""
        self._queues = queues
        self._held = {name: list(queue.allocated) for name, queue in queues.by_name.items()}
        self._firm = {name: list(queue.non_preemptible) for name, queue in queues.by_name.items()}
        self._multiplier = multiplier
        self.remaining: dict[str, Amounts] = {}
        self._involved: dict[str, set[int]] = {}

    def allows(self, reclaimer: Reclaimer, victims: Mapping[str, Sequence[Triple]]) -> bool:
        """Whether all these victims, by queue, may go: each in turn, then the balance between siblings."""
        self.remaining = {}
        self._involved = {}
        for name, amounts in victims.items():
            if not self._take(reclaimer, self._queues.by_name[name], amounts):
                return False
        return self._balanced(reclaimer)

    def _left(self, queue: QueueState) -> Amounts:
        return self.remaining.setdefault(queue.name, list(self._held[queue.name]))

    def _take(self, reclaimer: Reclaimer, victim: QueueState, amounts: Sequence[Triple]) -> bool:
        mine, theirs = parting(reclaimer.queue, victim)
        involved = {index for each in amounts for index in DIVIDED if each[index] > 0}
        for each in amounts:
            left = self._left(theirs)
            over_share = not _within_allocatable(theirs, left)
            over_quota = not all(within(left[i], theirs.deserved[i]) for i in DIVIDED)
            if not over_share and not (self._fits(mine, reclaimer) and over_quota):
                return False
            for queue in victim.chain():
                remaining = self._left(queue)
                for index in DIVIDED:
                    remaining[index] -= each[index]
                self._involved.setdefault(queue.name, set()).update(involved)
        return True

    def _fits(self, queue: QueueState, reclaimer: Reclaimer) -> bool:
        held = self._held[queue.name]
        return all(within(held[i] + reclaimer.request[i], queue.deserved[i]) for i in DIVIDED)

    def _balanced(self, reclaimer: Reclaimer) -> bool:
        own = {index for index in DIVIDED if reclaimer.request[index] > 0}
        for queue in reclaimer.queue.chain():
            left = self.remaining.get(queue.name) or list(self._held[queue.name])
            holds = [left[index] + reclaimer.request[index] for index in DIVIDED]
            for name in list(self.remaining):
                sibling = self._queues.by_name[name]
                if sibling.parent is not queue.parent or sibling is queue:
                    continue
                involved = self._involved.get(name, set()) | own
                if not self._less_saturated(queue, holds, sibling, involved):
                    return False
            if not reclaimer.preemptible and not all(
                within(self._firm[queue.name][i] + reclaimer.request[i], queue.deserved[i]) for i in DIVIDED
            ):
                return False
        return True

    def _less_saturated(self, queue: QueueState, holds: Amounts, sibling: QueueState, involved: Iterable[int]) -> bool:
        for index in involved:
            if queue.fair[index] == UNLIMITED and sibling.fair[index] == UNLIMITED:
                continue
            mine = saturation(holds[index], queue.fair[index])
            theirs = saturation(self.remaining[sibling.name][index], sibling.fair[index])
            if mine > 1 and sibling.fair[index] > 0 and mine * self._multiplier >= theirs:
                return False
        return True


def saturation(allocated: float, fair: float) -> float:
    """Allocated part of the fair share; infinite when there is none."""
    if fair == 0:
        return math.inf if allocated > 0 else 0.0
    return 0.0 if fair == UNLIMITED else allocated / fair
