"""Queues while a cycle works on them: shares, what is allocated, the hierarchy.

Rules of KAI's ``proportion`` plugin (resource_share, queue tree); what happens to broken hierarchies is
said at ``QueueTree``.
"""

from collections.abc import Iterable, Iterator, Sequence

from scheduling.fairshare import Claim, QueueClaims, divide_tree
from scheduling.resources import CPU, DIVIDED, GPU, MEMORY, Triple, queue_resource, triple, within
from scheduling.structs import UNLIMITED, Queue, Resources

NO_SHARE_PENALTY = 1000.0


class QueueState:
    """One queue; lists are by resource: cpu, memory, gpu."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.name = queue.name
        self.parent: QueueState | None = None
        self.children: list[QueueState] = []
        parts = [queue_resource(queue, index) for index in DIVIDED]
        self.deserved = [part.quota for part in parts]
        self.limit = [part.limit for part in parts]
        self.weight = [part.weight for part in parts]
        for amounts in (self.deserved, self.limit):
            amounts[MEMORY] = max(UNLIMITED, amounts[MEMORY])
        self.allocated = [0.0, 0.0, 0.0]
        self.non_preemptible = [0.0, 0.0, 0.0]
        self.request = [0.0, 0.0, 0.0]
        self.fair = [0.0, 0.0, 0.0]

    @property
    def leaf(self) -> bool:
        """Only leaves run jobs."""
        return not self.children

    def chain(self) -> "Iterator[QueueState]":
        """This queue and its ancestors, upwards."""
        queue: QueueState | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    def path(self) -> "list[QueueState]":
        """From the top level down to this queue."""
        return list(self.chain())[::-1]

    def allocatable(self, index: int) -> float:
        """What the queue may hold before others may reclaim: its share, at least its quota, within its limit."""
        if self.deserved[index] == UNLIMITED:
            return self.limit[index]
        share = max(self.deserved[index], self.fair[index])
        return share if self.limit[index] == UNLIMITED else min(self.limit[index], share)

    def fits_deserved(self, request: Sequence[float]) -> bool:
        """Whether the queue stays within its quota in every resource with this on top."""
        return all(within(self.allocated[i] + request[i], self.deserved[i]) for i in DIVIDED)

    def over_fair(self) -> bool:
        """Whether more than the fair share is allocated of every resource: KAI asks for all three."""
        return all(self.fair[i] < self.allocated[i] for i in DIVIDED)

    def dominant_share(self, total: Triple, extra: Sequence[float]) -> float:
        """Largest part of the allocatable share in use, with ``extra`` added to what is allocated."""
        dominant = 0.0
        for index in DIVIDED:
            share = self.allocatable(index)
            if share == UNLIMITED:
                share = total[index]
            amount = self.allocated[index] + extra[index]
            dominant = max(dominant, amount * NO_SHARE_PENALTY if share == 0 else amount / share)
        return dominant


class QueueTree:
    """The queues that the scheduler sees.

    A queue whose parent is missing is dropped with all its descendants, as KAI does. Queues that are each
    other's parents, or their own, hang KAI; here they are dropped too and named in ``cyclic``.
    """

    def __init__(self, queues: Iterable[Queue]) -> None:
        states = {queue.name: QueueState(queue) for queue in queues}
        self.cyclic: list[str] = []
        self.by_name: dict[str, QueueState] = {}
        for name, state in states.items():
            if self._rooted(state, states):
                self.by_name[name] = state
        for state in self.by_name.values():
            if state.queue.parent:
                state.parent = self.by_name[state.queue.parent]
                state.parent.children.append(state)

    def _rooted(self, state: QueueState, states: dict[str, QueueState]) -> bool:
        seen = {state.name}
        parent = state.queue.parent
        while parent:
            if parent in seen:
                self.cyclic.append(state.name)
                return False
            if parent not in states:
                return False
            seen.add(parent)
            parent = states[parent].queue.parent
        return True

    def book(self, name: str, amounts: Triple, step: int, *, preemptible: bool) -> None:
        """Add (+1) or take back (-1) what a pod holds, at the queue and every ancestor."""
        queue = self.by_name.get(name)
        if queue is None:
            return
        for each in queue.chain():
            for index in DIVIDED:
                each.allocated[index] += step * amounts[index]
                if not preemptible:
                    each.non_preemptible[index] += step * amounts[index]

    def ask(self, name: str, amounts: Triple) -> None:
        """Add to what the queue and its ancestors request."""
        queue = self.by_name.get(name)
        if queue is None:
            return
        for each in queue.chain():
            for index in DIVIDED:
                each.request[index] += amounts[index]

    def divide(self, total: Resources, k: float) -> dict[str, Resources]:
        """Compute every fair share and keep it; returns it by queue name."""
        shares = divide_tree(total, k, [_claims(state) for state in self.by_name.values()])
        for name, share in shares.items():
            self.by_name[name].fair = list(triple(share))
        return shares


def _claims(state: QueueState) -> QueueClaims:
    return QueueClaims(
        uid=state.name,
        parent=state.queue.parent,
        gpu=claim_of(state, GPU),
        cpu=claim_of(state, CPU),
        memory=claim_of(state, MEMORY),
    )


def claim_of(state: QueueState, index: int) -> Claim:
    """What a queue brings to the division of one resource."""
    return Claim(
        uid=state.name,
        deserved=state.deserved[index],
        limit=state.limit[index],
        weight=state.weight[index],
        request=state.request[index],
        usage=triple(state.queue.usage)[index],
        priority=state.queue.priority,
        created=state.queue.created,
    )
