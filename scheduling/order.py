"""Whose turn it is: order of jobs inside a queue and of queues at each level of the hierarchy.

KAI keeps heaps that are put right only at their top, and only where something was popped or pushed; what
a department compares with may therefore be a job that is no longer its best one. This copies that.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from scheduling.gangs import quota_to_place
from scheduling.queues import QueueState, QueueTree
from scheduling.resources import DIVIDED, Triple, within
from scheduling.state import Job

Item = TypeVar("Item")

Rank = tuple[int, int, float, str]
NOTHING: Triple = (0.0, 0.0, 0.0)


class Heap(Generic[Item]):
    """A binary heap by a ``before`` function, moving items exactly as Go's ``container/heap`` does."""

    def __init__(self, before: Callable[[Item, Item], bool], items: list[Item] | None = None) -> None:
        self._before = before
        self.items: list[Item] = items or []

    def push(self, item: Item) -> None:
        """Add an item."""
        self.items.append(item)
        self._up(len(self.items) - 1)

    def pop(self) -> Item:
        """Take the first item."""
        last = len(self.items) - 1
        self.items[0], self.items[last] = self.items[last], self.items[0]
        self._down(0, last)
        return self.items.pop()

    def fix_top(self) -> None:
        """Put the first item where it belongs after it has changed."""
        self._down(0, len(self.items))

    def _up(self, child: int) -> None:
        while child > 0:
            parent = (child - 1) // 2
            if not self._before(self.items[child], self.items[parent]):
                return
            self.items[parent], self.items[child] = self.items[child], self.items[parent]
            child = parent

    def _down(self, parent: int, size: int) -> None:
        while (child := 2 * parent + 1) < size:
            right = child + 1
            if right < size and self._before(self.items[right], self.items[child]):
                child = right
            if not self._before(self.items[child], self.items[parent]):
                return
            self.items[parent], self.items[child] = self.items[child], self.items[parent]
            parent = child


def job_rank(job: Job) -> Rank:
    """Jobs of a queue: priority, then below, at, above the minimum, then older, then uid."""
    return (-job.group.priority, _elastic_state(job), job.group.created, job.uid)


def _elastic_state(job: Job) -> int:
    above = 0
    for podset in job.podsets.values():
        if podset.active < podset.min_available:
            return 0
        above = above or int(podset.active > podset.min_available)
    return 1 + above


class _Node:
    """A queue with jobs waiting in it or below it."""

    def __init__(self, queue: QueueState) -> None:
        self.queue = queue
        self.parent: _Node | None = None
        self.stale = False
        self.jobs: Heap[Job] | None = None
        self.children: Heap[_Node] | None = None

    @property
    def size(self) -> int:
        heap = self.jobs or self.children
        return len(heap.items) if heap else 0


class JobQueue:
    """Jobs in the order in which an action takes them; for victims everything is turned around."""

    def __init__(self, queues: QueueTree, total: Triple, *, victims: bool = False) -> None:
        self._queues = queues
        self._total = total
        self._victims = victims
        self._nodes: dict[str, _Node] = {}
        self._roots: Heap[_Node] = Heap(self._node_before)
        self._popped: dict[str, list[Job]] = {}
        self._ranks: dict[int, Rank] = {}

    def fill(self, jobs: Iterable[Job]) -> "JobQueue":
        """Add jobs; those of missing or inner queues are left out."""
        for job in jobs:
            self.push(job)
        return self

    def copy(self) -> "JobQueue":
        """The same queue, to be taken from separately."""
        other = JobQueue(self._queues, self._total, victims=self._victims)
        other._ranks = self._ranks.copy()
        twins = other._nodes
        for name, node in self._nodes.items():
            twin = twins[name] = _Node(node.queue)
            twin.stale = node.stale
            if node.jobs is not None:
                twin.jobs = Heap(other._job_before, node.jobs.items.copy())
        for name, node in self._nodes.items():
            if node.parent is not None:
                twins[name].parent = twins[node.parent.queue.name]
            if node.children is not None:
                below = [twins[each.queue.name] for each in node.children.items]
                twins[name].children = Heap(other._node_before, below)
        other._roots.items = [twins[each.queue.name] for each in self._roots.items]
        other._popped = {name: jobs.copy() for name, jobs in self._popped.items()}
        return other

    def __bool__(self) -> bool:
        return bool(self._roots.items)

    def push(self, job: Job) -> None:
        """Add a job to its queue."""
        queue = self._queues.by_name.get(job.queue)
        if queue is None or not queue.leaf:
            return
        node = self._nodes.get(queue.name)
        new = node is None
        if node is None:
            node = self._nodes[queue.name] = _Node(queue)
            node.jobs = Heap(self._job_before)
        assert node.jobs is not None  # noqa: S101 (a leaf has them)
        if self._victims:
            self._ranks[id(job)] = job_rank(job)
        node.jobs.push(job)
        if new:
            self._link(node)
        _mark(node)

    def _link(self, node: _Node) -> None:
        parent_queue = node.queue.parent
        if parent_queue is None:
            self._roots.push(node)
            return
        parent = self._nodes.get(parent_queue.name)
        new = parent is None
        if parent is None:
            parent = self._nodes[parent_queue.name] = _Node(parent_queue)
            parent.children = Heap(self._node_before)
        assert parent.children is not None  # noqa: S101 (a parent has them)
        node.parent = parent
        parent.children.push(node)
        if new:
            self._link(parent)

    def pop(self) -> Job:
        """Take the next job."""
        node = self._first(self._roots)
        while node.children is not None:
            node = self._first(node.children)
        assert node.jobs is not None  # noqa: S101 (a leaf has them)
        job = node.jobs.pop()
        if self._victims:
            self._popped.setdefault(node.queue.name, []).append(job)
        self._clean(node)
        return job

    def _first(self, heap: Heap[_Node]) -> _Node:
        while heap.items[0].stale:
            top = heap.items[0]
            heap.fix_top()
            top.stale = False
        return heap.items[0]

    def _clean(self, node: _Node) -> None:
        if node.size:
            _mark(node)
            return
        siblings = node.parent.children if node.parent else self._roots
        assert siblings is not None  # noqa: S101 (the same)
        siblings.pop()
        del self._nodes[node.queue.name]
        if node.parent:
            self._clean(node.parent)

    def _job_before(self, left: Job, right: Job) -> bool:
        """Victims do not change while they wait here, so their ranks are kept."""
        if self._victims:
            return not self._ranks[id(left)] < self._ranks[id(right)]
        return job_rank(left) < job_rank(right)

    def _node_before(self, left: _Node, right: _Node) -> bool:
        if not left.size:
            return not self._victims
        if not right.size:
            return self._victims
        before = queue_before(
            Contender(left.queue, *self._best(left)), Contender(right.queue, *self._best(right)), self._total
        )
        return not before if self._victims else before

    def _best(self, node: _Node) -> tuple[Job | None, Sequence[Job]]:
        while node.children is not None:
            node = node.children.items[0]
        assert node.jobs is not None  # noqa: S101 (a leaf has them)
        job = node.jobs.items[0]
        if self._victims:
            return None, [*self._popped.get(node.queue.name, ()), job]
        return job, ()


def _mark(node: _Node | None) -> None:
    while node is not None:
        node.stale = True
        node = node.parent


class Contender:
    """A queue in a comparison, with the job that waits or the victims that it would lose."""

    def __init__(self, queue: QueueState, job: Job | None, victims: Sequence[Job]) -> None:
        self.queue = queue
        self.request = quota_to_place(job, real=False) if job is not None else NOTHING
        lost = [sum(victim.allocated[index] for victim in victims) for index in DIVIDED]
        self.change = [self.request[index] - lost[index] for index in DIVIDED]

    def wastes(self) -> bool:
        """Uses, with the job, a resource of which it has no allocatable share."""
        queue = self.queue
        return any(
            queue.allocatable(index) == 0 and queue.allocated[index] + self.request[index] > 0 for index in DIVIDED
        )


def queue_before(left: Contender, right: Contender, total: Triple) -> bool:
    """Whether the left queue's turn comes first (KAI's ``queue_order``)."""
    a, b = left.queue, right.queue
    for first, second in (
        (a.over_fair(), b.over_fair()),
        (not a.fits_deserved(left.request), not b.fits_deserved(right.request)),
        (-a.queue.priority, -b.queue.priority),
        (left.wastes(), right.wastes()),
        (a.dominant_share(total, left.change), b.dominant_share(total, right.change)),
        (a.dominant_share(total, NOTHING), b.dominant_share(total, NOTHING)),
    ):
        if first != second:
            return first < second
    smaller = _smaller_share(a, b)
    return a.queue.created < b.queue.created if smaller == 0 else smaller < 0


def _smaller_share(a: QueueState, b: QueueState) -> int:
    left = [a.allocatable(index) for index in DIVIDED]
    right = [b.allocatable(index) for index in DIVIDED]
    left_within = all(within(x, y) for x, y in zip(left, right, strict=True))
    right_within = all(within(y, x) for x, y in zip(left, right, strict=True))
    return int(right_within) - int(left_within)
