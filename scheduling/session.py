"""The state of one cycle: nodes, queues and jobs built from a snapshot, and a journal to undo attempts."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scheduling.gangs import job_of
from scheduling.neighbours import Neighbours
from scheduling.nodes import NodeTable
from scheduling.pod_columns import columns_of
from scheduling.queues import QueueTree
from scheduling.resources import DIVIDED, GPU, Triple, from_triple
from scheduling.sharing import Hold, counted_as, share_of
from scheduling.state import COUNTED, DEFAULT_PODSET, Job, Status, Task, pod_order
from scheduling.structs import Pod, PodGroup, Resources, SchedulerConfig, Snapshot

Entry = Callable[[], None]
Columns = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]
"""Job, status and row of each pod; -1 for none."""

IDLE_SHARE = {Status.RUNNING: -1, Status.ALLOCATED: -1, Status.RELEASING: -1, Status.PIPELINED: 0}
RELEASING_SHARE = {Status.RUNNING: 0, Status.ALLOCATED: 0, Status.RELEASING: 1, Status.PIPELINED: -1}


class Session:
    """What a cycle reads and changes. Every change goes through ``allocate``, ``pipeline`` and ``evict``.

    A gang is calm of which all pods run and no fewer than its minimum: a cycle only takes from it. A session of a
    snapshot that differs little from that of another one (``like``) has the calm ones of which nothing differs in
    common with it; each of the two undoes what it did to them before the other goes on.
    """

    def __init__(self, snapshot: Snapshot, config: SchedulerConfig, *, like: "Session | None" = None) -> None:
        self.snapshot = snapshot
        self.config = config
        self.now = snapshot.now
        self.nodes = NodeTable(snapshot.nodes)
        self.queues = QueueTree(snapshot.queues)
        self.columns = columns_of(snapshot.pods)
        self.jobs: dict[str, Job] = {}
        self.restless: dict[str, Job] = {}
        """The jobs that are not calm: those that take part in a cycle."""
        self._calm: dict[int, Job] = {}
        self._own: list[Job] = []
        """Calm jobs that were made here."""
        self._make_jobs(like)
        self.journal: list[tuple[str, Task, Entry]] = []
        self._settled: list[tuple[str, Task, Entry]] = []
        self.total: Resources = Resources()
        self.budget = config.search_budget
        self.sharing = False
        """Whether any pod asks for a part of a GPU."""
        if self.columns.minding.any():
            self.nodes.neighbours = Neighbours(snapshot.pods, self.nodes.label, len(self.nodes.names))
        self._add_pods()
        self.fair_share = self.queues.divide(self.total, config.k_value)

    def _make_jobs(self, like: "Session | None") -> None:
        """Take the calm jobs in common with the other session, make the others; which of these are calm shows later."""
        common = self._in_common(like) if like is not None else {}
        for group in self.snapshot.podgroups:
            known = common.get(id(group))
            if known is not None:
                self.jobs[known.key] = self._calm[id(group)] = known
            elif heeded(group):
                self.admit(job_of(group))

    def _in_common(self, like: "Session") -> dict[int, Job]:
        """Calm jobs of another session that stand here as they stand there, by identity of their pod group."""
        touched = self.columns.differing(like.columns)
        special = any(each.sharing.any() or each.minding.any() for each in (self.columns, like.columns))
        if touched is None or special or like.nodes.names != self.nodes.names:
            return {}
        common = like._calm.copy()
        for key in touched:
            if key in like.jobs:
                common.pop(id(like.jobs[key].group), None)
        return common

    def admit(self, job: Job) -> None:
        """Take in a job that takes part."""
        self.jobs[job.key] = self.restless[job.key] = job

    def dismiss(self, key: str) -> None:
        """Forget a job again."""
        self.jobs.pop(key, None)
        self.restless.pop(key, None)

    def _add_pods(self) -> None:
        """Put the pods into jobs and on nodes; those of other schedulers only take room.

        A pod that names an unknown subgroup asks for nothing.
        """
        pods, requests, statuses = self.snapshot.pods, self.columns.requests, self.columns.statuses
        sharing = np.flatnonzero(self.columns.sharing).tolist()
        self.sharing = bool(sharing)
        if sharing:
            counted = counted_as(self.nodes.least_memory)
            changed, requests = list(pods), requests.copy()
            for number in sharing:
                changed[number] = counted(pods[number])
                requests[number, GPU] = changed[number].requests.gpu
            pods = tuple(changed)
        groups = self.columns.groups_as({key: number for number, key in enumerate(self.jobs)})
        rows = self.columns.nodes_as(self.nodes.row)
        if self.nodes.neighbours is not None:
            for number in np.flatnonzero((rows >= 0) & np.isin(statuses, ON_NODE)).tolist():
                self.nodes.neighbours.book(pods[number], int(rows[number]), 1)
        asking = statuses == Status.PENDING
        for number in np.flatnonzero(asking & (groups >= 0)).tolist():
            pod = pods[number]
            asking[number] = (pod.subgroup or DEFAULT_PODSET) in self.jobs[pod.podgroup].podsets
        self._book((groups, statuses, rows), requests, asking, [(number, pods[number]) for number in sharing])
        self._fill_jobs(pods, (groups, statuses, rows), set(groups[self.columns.restless].tolist()))

    def _fill_jobs(self, pods: Sequence[Pod], columns: Columns, restless: set[int]) -> None:
        """Give the jobs their pods; those of a calm gang are made only when somebody asks for them."""
        groups = columns[0]
        order = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[order], np.arange(len(self.jobs) + 1)).tolist()
        for number, job in enumerate(self.jobs.values()):
            if job.key not in self.restless:
                continue
            own = order[bounds[number] : bounds[number + 1]]

            make = partial(_tasks_of, pods, columns, own)
            if number in restless or job.group.subgroups:
                held = job.allocated
                for task in make():
                    job.add(task)
                job.allocated = held
            else:
                _promise_tasks(job, len(own), make)
                if len(own) and len(own) >= job.podsets[DEFAULT_PODSET].min_available:
                    self._calm[id(job.group)] = self.restless.pop(job.key)
                    self._own.append(job)

    def _book(
        self,
        columns: Columns,
        requests: NDArray[np.float64],
        asking: NDArray[np.bool_],
        sharing: list[tuple[int, Pod]],
    ) -> None:
        """Take room on the nodes, and tell the queues what is held and asked."""
        groups, statuses, rows = columns
        placed = (rows >= 0) & np.isin(statuses, ON_NODE)
        taken = np.column_stack((requests, np.ones(len(requests))))
        for number, pod in sharing:
            taken[number, GPU] = 0.0
            if placed[number]:
                self._book_share(int(rows[number]), pod, Status(int(statuses[number])))
        np.subtract.at(self.nodes.idle, rows[placed], taken[placed])
        leaving = placed & (statuses == Status.RELEASING)
        np.add.at(self.nodes.releasing, rows[leaving], taken[leaving])
        foreign = placed & (groups < 0)
        self._sum_up(requests[foreign], rows[foreign])
        counted = np.isin(statuses, tuple(COUNTED))
        held = self._by_group(groups, requests, counted)
        asked = self._by_group(groups, requests, counted | asking)
        for job, holds in zip(self.jobs.values(), held.T.tolist(), strict=True):
            job.allocated = holds
        self._tell_queues(held, asked)

    def _tell_queues(self, held: NDArray[np.float64], asked: NDArray[np.float64]) -> None:
        """Give the queues what their jobs hold and ask for, summed by queue; arrays are by resource and job."""
        names = {name: number for number, name in enumerate(dict.fromkeys(job.queue for job in self.jobs.values()))}
        queues = _column(names[job.queue] for job in self.jobs.values())
        firm = np.fromiter((not job.group.preemptible for job in self.jobs.values()), bool, len(self.jobs))
        soft_sums, firm_sums = _summed(held * ~firm, queues, len(names)), _summed(held * firm, queues, len(names))
        for name, asks, soft, hard in zip(names, _summed(asked, queues, len(names)), soft_sums, firm_sums, strict=True):
            self.queues.ask(name, asks)
            self.queues.book(name, soft, 1, preemptible=True)
            self.queues.book(name, hard, 1, preemptible=False)

    def _book_share(self, row: int, pod: Pod, status: Status) -> None:
        share = share_of(pod)
        if share is None:
            return
        self.nodes.shared.settle(row, pod.key, pod.gpu_groups)
        idle, releasing = self.nodes.shared.book(row, pod.key, share, HOLDS[status], 1)
        self.nodes.idle[row, GPU] += idle
        self.nodes.releasing[row, GPU] += releasing

    def _by_group(
        self, groups: NDArray[np.intp], requests: NDArray[np.float64], chosen: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Sums of the chosen pods' requests, by resource and job."""
        chosen = chosen & (groups >= 0)
        size = len(self.jobs)
        columns = [np.bincount(groups[chosen], requests[chosen, column], size)[:size] for column in DIVIDED]
        return np.stack(columns)

    def _sum_up(self, foreign: NDArray[np.float64], rows: NDArray[np.intp]) -> None:
        """Totals of the usable nodes less what foreign pods hold there."""
        sums = self.nodes.allocatable[self.nodes.usable].sum(axis=0)[:3]
        sums = sums - foreign[self.nodes.usable[rows]].sum(axis=0)
        self.total = from_triple([float(amount) for amount in sums])

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self.journal)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark, latest first."""
        while len(self.journal) > mark:
            self.journal.pop()[2]()

    def settle(self) -> None:
        """Make the journal final for this cycle: only ``restore`` takes it back."""
        self._settled.extend(self.journal)
        self.journal.clear()

    def restore(self) -> None:
        """Undo everything that the session went through since it was built."""
        self.rollback(0)
        self.journal, self._settled = self._settled, self.journal
        self.rollback(0)

    def dissolve(self) -> None:
        """Cut the circles among jobs, pods and queues, so that memory is given back at once. It is of no use then."""
        for job in (*self._own, *self.restless.values()):
            job.dissolve()
        for queue in self.queues.by_name.values():
            queue.parent = None
            queue.children.clear()

    def allocate(self, task: Task, row: int) -> None:
        """Give a pending pod idle resources of a node: it will be bound."""
        self._move("allocate", task, Status.ALLOCATED, row)

    def pipeline(self, task: Task, row: int) -> None:
        """Promise a pod a place, on resources that are being released; on its own node it just stays."""
        if task.status is Status.RELEASING and task.virtual and task.node == row:
            self._move("unevict", task, Status.RUNNING, row)
        else:
            self._move("pipeline", task, Status.PIPELINED, row)

    def evict(self, task: Task) -> None:
        """Take a pod's place away; its resources are releasing from now on.

        KAI may evict a pod twice in one scenario: the queue is credited twice, the pod gets two events.
        """
        if task.status is Status.RELEASING and task.virtual:
            self._credit_again(task)
        else:
            self._move("evict", task, Status.RELEASING, task.node)

    def _credit_again(self, task: Task) -> None:
        job = task.job
        self.queues.book(job.queue, task.quota, -1, preemptible=job.group.preemptible)

        def undo() -> None:
            self.queues.book(job.queue, task.quota, 1, preemptible=job.group.preemptible)

        self.journal.append(("evict", task, undo))

    def _move(self, kind: str, task: Task, status: Status, row: int) -> None:
        before = (task.status, task.node, task.origin, task.virtual)
        moved = task.status is Status.RELEASING and status is Status.PIPELINED
        if moved:
            task.origin = task.node
        elif task.node >= 0:
            self._account(task.node, task.status, task, -1)
        self._account(row, status, task, 1)
        task.node = row
        task.virtual = status is not Status.RUNNING
        self._set_status(task, status)

        def undo() -> None:
            self._account(row, status, task, -1)
            if not moved and before[1] >= 0:
                self._account(before[1], before[0], task, 1)
            self._set_status(task, before[0])
            _, task.node, task.origin, task.virtual = before

        self.journal.append((kind, task, undo))

    def _set_status(self, task: Task, status: Status) -> None:
        job = task.job
        booked, books = task.status in HOLDING, status in HOLDING
        job.count(task, task.status, -1)
        task.status = status
        job.count(task, status, 1)
        if booked != books:
            step = 1 if books else -1
            self.queues.book(job.queue, task.quota, step, preemptible=job.group.preemptible)

    def _account(self, row: int, status: Status, task: Task, step: int) -> None:
        if row < 0:
            return
        idle, releasing = IDLE_SHARE[status] * step, RELEASING_SHARE[status] * step
        if idle:
            self.nodes.idle[row] += idle * task.taken
        if releasing:
            self.nodes.releasing[row] += releasing * task.taken
        if self.nodes.neighbours is not None and IDLE_SHARE[status] + RELEASING_SHARE[status]:
            self.nodes.neighbours.book(task.pod, row, step)
        if task.share is not None:
            idle, releasing = self.nodes.shared.book(row, task.key, task.share, HOLDS[status], step)
            self.nodes.idle[row, GPU] += idle
            self.nodes.releasing[row, GPU] += releasing


HOLDS = {
    Status.RUNNING: Hold.STAYING,
    Status.ALLOCATED: Hold.STAYING,
    Status.RELEASING: Hold.LEAVING,
    Status.PIPELINED: Hold.PROMISED,
}
NO_BACKOFF = -1
ON_NODE = tuple(int(status) for status in IDLE_SHARE)
HOLDING = frozenset({Status.RUNNING, Status.ALLOCATED, Status.PIPELINED})


def _column(values: Iterable[int]) -> NDArray[np.intp]:
    return np.array(list(values), dtype=np.intp)


def _summed(amounts: NDArray[np.float64], queues: NDArray[np.intp], size: int) -> list[Triple]:
    """Amounts by resource and job, summed by queue."""
    columns = [np.bincount(queues, column, size).tolist() for column in amounts]
    return list(zip(*columns, strict=True))


def _tasks_of(pods: Sequence[Pod], columns: Columns, own: NDArray[np.intp]) -> list[Task]:
    """The tasks of these pods, in order."""
    _, statuses, rows = columns
    members = [(pods[each], Status(int(statuses[each])), int(rows[each])) for each in own.tolist()]
    members.sort(key=lambda member: pod_order(member[0]))
    return [Task(pod, status, row) for pod, status, row in members]


def _promise_tasks(job: Job, count: int, make: Callable[[], list[Task]]) -> None:
    podset = job.podsets[DEFAULT_PODSET]
    podset.size = podset.active = podset.used = podset.alive = count

    def tasks() -> list[Task]:
        made = make()
        for task in made:
            task.job, task.podset = job, podset
        return made

    podset.make_tasks = tasks


def heeded(group: PodGroup) -> bool:
    """Whether the scheduler looks at a gang at all: not one that failed once and wants no second try."""
    return group.scheduling_backoff == NO_BACKOFF or not group.backed_off
