"""The state of one cycle: nodes, queues and jobs built from a snapshot, and a journal to undo attempts."""

from collections.abc import Callable

import numpy as np

from scheduling.gangs import job_of
from scheduling.nodes import NodeTable
from scheduling.queues import QueueTree
from scheduling.resources import from_triple, triple
from scheduling.state import COUNTED, DEFAULT_PODSET, Job, Status, Task, pod_order
from scheduling.structs import Pod, Resources, SchedulerConfig, Snapshot

Entry = Callable[[], None]
Placed = tuple[Pod, Status, int]

IDLE_SHARE = {Status.RUNNING: -1, Status.ALLOCATED: -1, Status.RELEASING: -1, Status.PIPELINED: 0}
RELEASING_SHARE = {Status.RUNNING: 0, Status.ALLOCATED: 0, Status.RELEASING: 1, Status.PIPELINED: -1}


class Session:
    """What a cycle reads and changes. Every change goes through ``allocate``, ``pipeline`` and ``evict``."""

    def __init__(self, snapshot: Snapshot, config: SchedulerConfig) -> None:
        self.snapshot = snapshot
        self.config = config
        self.now = snapshot.now
        self.nodes = NodeTable(snapshot.nodes)
        self.queues = QueueTree(snapshot.queues)
        self.jobs: dict[str, Job] = {group.key: job_of(group) for group in snapshot.podgroups}
        self.journal: list[tuple[str, Task, Entry]] = []
        self.total: Resources = Resources()
        self.budget = config.search_budget
        self._add_pods()
        self.fair_share = self.queues.divide(self.total, config.k_value)

    def _add_pods(self) -> None:
        """Put the pods into jobs and on nodes; those of other schedulers only take room."""
        members: dict[str, list[Placed]] = {key: [] for key in self.jobs}
        foreign: list[Placed] = []
        running: list[Placed] = []
        rows = self.nodes.row
        for pod in self.snapshot.pods:
            status = _status(pod)
            row = rows.get(pod.node, -1) if pod.node else -1
            placed = (pod, status, row)
            members.get(pod.podgroup, foreign).append(placed)
            if row >= 0 and status in IDLE_SHARE:
                running.append(placed)
        self._take_room(running)
        self._sum_up([each for each in foreign if each[2] >= 0 and each[1] in IDLE_SHARE])
        for key, group in members.items():
            self._fill_job(self.jobs[key], group)

    def _take_room(self, running: list[Placed]) -> None:
        if not running:
            return
        requests = np.array([(*triple(pod.requests), 1.0) for pod, _, _ in running])
        rows = np.array([row for _, _, row in running], dtype=np.intp)
        np.subtract.at(self.nodes.idle, rows, requests)
        leaving = np.array([status is Status.RELEASING for _, status, _ in running], dtype=bool)
        if leaving.any():
            np.add.at(self.nodes.releasing, rows[leaving], requests[leaving])

    def _sum_up(self, foreign: list[Placed]) -> None:
        """Totals of the usable nodes less what foreign pods hold there."""
        sums = self.nodes.allocatable[self.nodes.usable].sum(axis=0)
        for pod, _, row in foreign:
            if self.nodes.usable[row]:
                sums[:3] -= triple(pod.requests)
        self.total = from_triple([float(amount) for amount in sums[:3]])

    def _fill_job(self, job: Job, members: list[Placed]) -> None:
        """Count a job's pods and what its queue holds and asks; pods of a calm gang are made only on demand."""
        held, asked = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        calm = not job.group.subgroups
        for pod, status, _ in members:
            counted = status in COUNTED
            calm = calm and status is Status.RUNNING and not pod.subgroup
            if counted or status is Status.PENDING:
                for index, amount in enumerate(triple(pod.requests)):
                    asked[index] += amount
                    held[index] += amount if counted else 0.0
        if calm:
            self._promise_tasks(job, members, held)
        else:
            for task in self._tasks(members):
                job.add(task)
        self.queues.ask(job.queue, (asked[0], asked[1], asked[2]))
        self.queues.book(job.queue, (held[0], held[1], held[2]), 1, preemptible=job.group.preemptible)

    def _promise_tasks(self, job: Job, members: list[Placed], held: list[float]) -> None:
        podset = job.podsets[DEFAULT_PODSET]
        podset.size = podset.active = podset.used = podset.alive = len(members)
        job.allocated = held

        def make() -> list[Task]:
            tasks = self._tasks(members)
            for task in tasks:
                task.job, task.podset = job, podset
            return tasks

        podset.make_tasks = make

    def _tasks(self, members: list[Placed]) -> list[Task]:
        ordered = sorted(members, key=lambda each: pod_order(each[0]))
        return [Task(pod, status, row) for pod, status, row in ordered]

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self.journal)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark, latest first."""
        while len(self.journal) > mark:
            self.journal.pop()[2]()

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
            self.nodes.idle[row] += idle * task.request
        if releasing:
            self.nodes.releasing[row] += releasing * task.request


HOLDING = frozenset({Status.RUNNING, Status.ALLOCATED, Status.PIPELINED})


def _status(pod: Pod) -> Status:
    if pod.phase in ("Succeeded", "Failed"):
        return Status[pod.phase.upper()]
    if pod.releasing:
        return Status.RELEASING
    if pod.node:
        return Status.RUNNING
    return Status.GATED if pod.gated else Status.PENDING
