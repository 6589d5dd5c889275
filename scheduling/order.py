"""Whose turn it is: order of jobs inside a queue and of queues at each level of the hierarchy.

KAI keeps heaps that are put right only at their top, and only where something was popped or pushed; what
a department compares with may therefore be a job that is no longer its best one. This copies that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from scheduling.gangs import quota_to_place
from scheduling.queues import QueueState, QueueTree
from scheduling.resources import DIVIDED, Triple, within
from scheduling.state import Job

Item = TypeVar("Item")

Rank = tuple[int, int, float, str]
Amounts = list[float]
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
        self.contender: Contender | None = None
        """How it stands in comparisons; kept for victims alone, until something is pushed or popped below."""
        self.jobs: Heap[Job] | None = None
        self.children: Heap[_Node] | None = None

    @property
    def size(self) -> int:
        heap = self.jobs or self.children
        return len(heap.items) if heap else 0


class JobQueue:
    """Jobs in the order in which an action takes them; for victims everything is turned around."""

    def __init__(self, queues: QueueTree, total: Triple, *, victims: bool = False, depth: int | None = None) -> None:
        """``depth``: so many jobs of a queue are kept."""
        self._queues = queues
        self._total = total
        self._victims = victims
        self._depth = depth
        self._nodes: dict[str, _Node] = {}
        self._roots: Heap[_Node] = Heap(self._node_before)
        self._popped: dict[str, Amounts] = {}
        """What the popped victims of a queue hold."""
        self._ranks: dict[int, Rank] = {}
        self._standings: dict[str, Standing] = {}

    def fill(self, jobs: Iterable[Job]) -> "JobQueue":
        """Add jobs; those of missing or inner queues are left out."""
        if self._victims:
            self._fill_sorted(jobs)
        else:
            for job in jobs:
                self.push(job)
        return self

    def _fill_sorted(self, jobs: Iterable[Job]) -> None:
        """Add many victims at once: what stands sorted is a heap already. Only the best one so far of each queue
        stands for it while others are linked, as if all were pushed one after the other."""
        found: dict[str, list[Job]] = {}
        for job in jobs:
            node = self._nodes.get(job.queue)
            if node is None or node.jobs is None:
                self.push(job)
                found[job.queue] = [job]
                continue
            self._ranks[id(job)] = job_rank(job)
            found[job.queue].append(job)
            if self._job_before(job, node.jobs.items[0]):
                node.jobs.items[0] = job
                _mark(node)
        for name, own in found.items():
            node = self._nodes.get(name)
            if node is not None and node.jobs is not None:
                node.jobs.items = sorted(own, key=lambda job: self._ranks[id(job)], reverse=True)

    def jobs(self) -> Iterator[Job]:
        """All jobs that wait here, in no order."""
        for node in self._nodes.values():
            if node.jobs is not None:
                yield from node.jobs.items

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
        other._popped = {name: held.copy() for name, held in self._popped.items()}
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
        if self._depth is not None and len(node.jobs.items) > self._depth:
            node.jobs.items.pop()  # KAI too drops what stands last in the heap, which need not be the worst.
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
            popped = self._popped.setdefault(node.queue.name, [0.0, 0.0, 0.0])
            for index in DIVIDED:
                popped[index] += job.allocated[index]
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
        before = queue_before(self._contender(left), self._contender(right))
        return not before if self._victims else before

    def _contender(self, node: _Node) -> "Contender":
        """A queue with its best job; for victims with what it would lose, beside what was popped already. Its queue
        holds the same whenever victims are compared: what was tried meanwhile is undone by then."""
        if node.contender is not None:
            return node.contender
        leaf = node
        while leaf.children is not None:
            leaf = leaf.children.items[0]
        assert leaf.jobs is not None  # noqa: S101 (a leaf has them)
        job = leaf.jobs.items[0]
        if not self._victims:
            request = quota_to_place(job, real=False)
            return Contender(Standing(node.queue, request, self._total), request)
        name = node.queue.name
        if name not in self._standings:
            self._standings[name] = Standing(node.queue, NOTHING, self._total)
        popped = self._popped.get(leaf.queue.name, NOTHING)
        lost = [-(popped[index] + job.allocated[index]) for index in DIVIDED]
        node.contender = Contender(self._standings[name], lost)
        return node.contender


def _mark(node: _Node | None) -> None:
    while node is not None:
        node.stale = True
        node.contender = None
        node = node.parent


class Standing:
    """How a queue stands to its shares with a request on top, whatever else is compared."""

    def __init__(self, queue: QueueState, request: Triple, total: Triple) -> None:
        self.queue = queue
        self.total = total
        self.shares = [queue.allocatable(index) for index in DIVIDED]
        wastes = any(self.shares[index] == 0 and queue.allocated[index] + request[index] > 0 for index in DIVIDED)
        self.first = (queue.over_fair(), not queue.fits_deserved(request), -queue.queue.priority, wastes)
        self.alone = queue.dominant_share(total, NOTHING)


class Contender:
    """A queue in a comparison, with what it would hold more."""

    def __init__(self, standing: Standing, change: Sequence[float]) -> None:
        self.standing = standing
        self.rank = (*standing.first, standing.queue.dominant_share(standing.total, change), standing.alone)


def queue_before(left: Contender, right: Contender) -> bool:
    """Whether the left queue's turn comes first (KAI's ``queue_order``)."""
    if left.rank != right.rank:
        return left.rank < right.rank
    a, b = left.standing, right.standing
    smaller = _smaller_share(a.shares, b.shares)
    return a.queue.queue.created < b.queue.queue.created if smaller == 0 else smaller < 0


def _smaller_share(left: Sequence[float], right: Sequence[float]) -> int:
    left_within = all(within(x, y) for x, y in zip(left, right, strict=True))
    right_within = all(within(y, x) for x, y in zip(left, right, strict=True))
    return int(right_within) - int(left_within)
