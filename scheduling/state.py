"""Pods and gangs while a cycle works on them: statuses, pod sets, subgroup sets, jobs.

These are the only mutable objects besides the session; they live for one cycle and never leave it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum

from scheduling.resources import GPU, Triple, Vector, triple, vector
from scheduling.sharing import share_of
from scheduling.structs import Pod, PodGroup, QueueDetails, TopologyConstraint

DEFAULT_PODSET = "default"


class Status(IntEnum):
    """State of a pod in the cycle."""

    PENDING = 0
    GATED = 1
    ALLOCATED = 2
    PIPELINED = 3
    RUNNING = 4
    RELEASING = 5
    SUCCEEDED = 6
    FAILED = 7

    __hash__ = int.__hash__
    """Looked up in sets for every pod; the one of enumerations is many times slower."""


ACTIVE = frozenset({Status.ALLOCATED, Status.PIPELINED, Status.RUNNING})
"""Has a place and keeps it."""
USED = ACTIVE | {Status.RELEASING}
"""Has a place, even if it is about to lose it."""
COUNTED = frozenset({Status.ALLOCATED, Status.RUNNING})
ALIVE = ACTIVE | {Status.PENDING, Status.GATED}

FitSignature = tuple[object, ...]


class Task:
    """One pod of a gang. ``node`` is the row of its node, -1 for none; ``origin`` where it is evicted from.

    ``request`` is what it asks for; a pod that shares GPUs needs so many devices with room (``need``),
    and takes whole devices only as far as nobody shares them yet (``taken`` has none).
    """

    __slots__ = (
        "_signature",
        "job",
        "key",
        "need",
        "node",
        "order",
        "origin",
        "pod",
        "podset",
        "quota",
        "request",
        "share",
        "status",
        "taken",
        "virtual",
    )  # fmt: skip

    def __init__(self, pod: Pod, status: Status, node: int) -> None:
        self.pod = pod
        self.key = pod.key
        self.status = status
        self.node = node
        self.origin = -1
        self.virtual = False
        self.request: Vector = vector(pod.requests, 1.0)
        self.quota: Triple = triple(pod.requests)
        self.share = share_of(pod)
        self.need = self.taken = self.request
        if self.share is not None:
            self.need, self.taken = self.request.copy(), self.request.copy()
            self.need[GPU], self.taken[GPU] = self.share.devices, 0.0
        self.order = pod_order(pod)
        self._signature: FitSignature | None = None
        self.job: Job
        self.podset: PodSet

    @property
    def signature(self) -> FitSignature:
        """What decides where the pod is allowed."""
        if self._signature is None:
            pod = self.pod
            self._signature = (tuple(sorted(pod.node_selector.items())), pod.tolerations, pod.affinity)
        return self._signature

    def may_be_placed(self, *, real: bool) -> bool:
        """Pending, or in a simulation: evicted by the same simulation."""
        if self.status is Status.PENDING:
            return True
        return not real and self.status is Status.RELEASING and self.virtual


def pod_order(pod: Pod) -> tuple[int, float, str]:
    """Pods of a set: task priority, then older, then uid."""
    return (-pod.task_priority, pod.created, pod.uid or pod.key)


class PodSet:
    """The pods that count towards one minimum: a leaf subgroup, or the whole gang.

    ``make_tasks`` may stand for pods that are counted already; they are made when somebody asks.
    """

    __slots__ = (
        "_tasks", "active", "alive", "constraint", "gated", "make_tasks", "min_available", "name", "parent", "pending",
        "size", "used",
    )  # fmt: skip

    def __init__(self, name: str, min_available: int, constraint: TopologyConstraint) -> None:
        self.name = name
        self.min_available = min_available
        self.constraint = constraint
        self.parent: SubGroupSet | None = None
        self.make_tasks: Callable[[], list[Task]] | None = None
        self._tasks: list[Task] = []
        self.size = 0
        self.active = 0
        self.used = 0
        self.alive = 0
        self.pending = 0
        self.gated = 0

    @property
    def tasks(self) -> list[Task]:
        """The pods in order."""
        if self.make_tasks is not None:
            make, self.make_tasks = self.make_tasks, None
            self._tasks = make()
        return self._tasks

    def add(self, task: Task) -> None:
        """Append a pod and count it."""
        self.tasks.append(task)
        self.size += 1
        self.count(task.status, 1)

    def fill(self, tasks: list[Task]) -> None:
        """Take in all pods of a set that has none yet."""
        self._tasks = tasks
        self.size = len(tasks)
        for status, number in Counter([task.status for task in tasks]).items():
            self.count(status, number)

    def count(self, status: Status, step: int) -> None:
        """Book pods in (above 0) or out (below) of the counters of their status."""
        if status in ACTIVE:
            self.active += step
        if status in USED:
            self.used += step
        if status in ALIVE:
            self.alive += step
        if status is Status.PENDING:
            self.pending += step
        elif status is Status.GATED:
            self.gated += step

    @property
    def ready(self) -> bool:
        """Enough pods exist and are not held by a scheduling gate."""
        return self.alive - self.gated >= self.min_available

    @property
    def satisfied(self) -> bool:
        """The minimum has a place."""
        return self.active >= self.min_available

    @property
    def gang_satisfied(self) -> bool:
        """The minimum is running, pods about to go included."""
        return self.used >= self.min_available


class SubGroupSet:
    """An inner subgroup: some of its members must be satisfied (all, unless ``min_subgroup`` says less)."""

    __slots__ = ("constraint", "groups", "min_subgroup", "name", "parent", "podsets")

    def __init__(self, name: str, constraint: TopologyConstraint, min_subgroup: int | None) -> None:
        self.name = name
        self.constraint = constraint
        self.min_subgroup = min_subgroup
        self.parent: SubGroupSet | None = None
        self.groups: list[SubGroupSet] = []
        self.podsets: list[PodSet] = []

    def members(self) -> "list[SubGroupSet | PodSet]":
        """Direct children, inner sets first."""
        return [*self.groups, *self.podsets]

    def all_podsets(self) -> "Iterator[PodSet]":
        """Every leaf below."""
        yield from self.podsets
        for group in self.groups:
            yield from group.all_podsets()

    def dissolve(self) -> None:
        """Forget who is below and above."""
        for group in self.groups:
            group.dissolve()
        self.parent = None
        self.groups.clear()
        self.podsets.clear()

    @property
    def needed(self) -> int:
        """How many members have to be satisfied."""
        return len(self.groups) + len(self.podsets) if self.min_subgroup is None else self.min_subgroup

    @property
    def satisfied_members(self) -> int:
        """How many members have their minimum placed."""
        return sum(member.satisfied for member in self.members())

    @property
    def satisfied(self) -> bool:
        """Enough members have their minimum placed."""
        return self.satisfied_members >= self.needed

    @property
    def ready(self) -> bool:
        """Enough members are ready for scheduling."""
        return sum(member.ready for member in self.members()) >= self.needed

    @property
    def gang_satisfied(self) -> bool:
        """Enough members are running."""
        return sum(member.gang_satisfied for member in self.members()) >= self.needed


class FitError:
    """Why a job was not placed: code, texts (joined by ", " in ``reasons``), the queue's numbers."""

    __slots__ = ("messages", "queue", "reason")

    def __init__(self, reason: str, messages: list[str], queue: QueueDetails | None = None) -> None:
        self.reason = reason
        self.messages = messages
        self.queue = queue


class TaskErrors:
    """Why a pod was not placed: either one text, or counts of reasons by node."""

    __slots__ = ("counts", "text")

    def __init__(self) -> None:
        self.text = ""
        self.counts: dict[str, int] = {}

    def count(self, reason: str, nodes: int) -> None:
        """So many nodes give this reason."""
        if reason and nodes:
            self.counts[reason] = self.counts.get(reason, 0) + nodes


class Job:
    """A pod group in the cycle. ``partial`` ones stand for some of its pods in an eviction search."""

    __slots__ = (
        "allocated", "errors", "group", "invalid", "key", "podsets", "queue", "root", "succeeded", "task_errors",
        "to_place", "to_place_quota", "uid",
    )  # fmt: skip

    def __init__(self, group: PodGroup, root: SubGroupSet) -> None:
        self.group = group
        self.key = group.key
        self.uid = group.uid or group.key
        self.queue = group.queue
        self.root = root
        self.podsets: dict[str, PodSet] = {podset.name: podset for podset in root.all_podsets()}
        self.allocated = [0.0, 0.0, 0.0]
        self.errors: list[FitError] = []
        self.task_errors: dict[str, TaskErrors] = {}
        self.invalid: list[Task] = []
        self.succeeded = False
        self.to_place: dict[bool, list[Task]] = {}
        self.to_place_quota: dict[bool, Triple] = {}

    def dissolve(self) -> None:
        """Forget the pods and who is below whom."""
        for podset in self.podsets.values():
            podset.parent, podset.make_tasks = None, None
            podset.tasks.clear()
        self.podsets.clear()
        self.root.dissolve()
        self.to_place.clear()

    def tasks(self) -> Iterator[Task]:
        """All pods, set by set, in order."""
        for podset in self.podsets.values():
            yield from podset.tasks

    def add(self, task: Task) -> None:
        """Take a pod in; one that names an unknown subgroup is set aside."""
        task.job = self
        podset = self.podsets.get(task.pod.subgroup or DEFAULT_PODSET)
        if podset is None:
            self.invalid.append(task)
            return
        task.podset = podset
        podset.add(task)
        self._hold(task, task.status, 1)
        self.succeeded = self.succeeded or task.status is Status.SUCCEEDED

    def count(self, task: Task, status: Status, step: int) -> None:
        """Book a pod in or out of the counters; forgets what was cached."""
        task.podset.count(status, step)
        self._hold(task, status, step)
        self.forget()

    def forget(self) -> None:
        """Drop what was cached of the next attempt."""
        self.to_place.clear()
        self.to_place_quota.clear()

    def _hold(self, task: Task, status: Status, step: int) -> None:
        if status in COUNTED:
            for index, amount in enumerate(task.quota):
                self.allocated[index] += step * amount

    @property
    def active(self) -> int:
        """Pods with a place."""
        return sum(podset.active for podset in self.podsets.values())

    @property
    def used(self) -> int:
        """Pods with a place, those about to go included."""
        return sum(podset.used for podset in self.podsets.values())

    @property
    def pending(self) -> int:
        """Pods waiting for a place."""
        return sum(podset.pending for podset in self.podsets.values())

    @property
    def gated(self) -> int:
        """Pods held by a scheduling gate."""
        return sum(podset.gated for podset in self.podsets.values())

    @property
    def elastic(self) -> bool:
        """Has pods beyond a minimum."""
        return any(podset.min_available < podset.size for podset in self.podsets.values())

    @property
    def stale(self) -> bool:
        """Runs with fewer pods than its minimum, and none has succeeded."""
        return not self.succeeded and self.used > 0 and not self.root.gang_satisfied


def total(tasks: Iterable[Task]) -> Triple:
    """Sum of the requests that count against quotas."""
    cpu = memory = gpu = 0.0
    for task in tasks:
        cpu += task.quota[0]
        memory += task.quota[1]
        gpu += task.quota[2]
    return (cpu, memory, gpu)
