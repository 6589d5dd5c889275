"""The actions of a cycle in KAI's order, and what is reported at its end."""

from scheduling import verdicts
from scheduling.gangs import tasks_to_place
from scheduling.order import JobQueue
from scheduling.placement import Placer
from scheduling.resources import triple
from scheduling.session import Session
from scheduling.state import Job, Status, Task
from scheduling.structs import (
    Condition,
    CycleResult,
    Event,
    Eviction,
    PodCondition,
    SchedulerConfig,
    Snapshot,
)


class Actions:
    """Runs one cycle and collects its outcome."""

    def __init__(self, snapshot: Snapshot, config: SchedulerConfig) -> None:
        self.session = Session(snapshot, config)
        self.placer = Placer(self.session)
        self.bound: dict[str, str] = {}
        self.pipelined: dict[str, str] = {}
        self.evicted: dict[str, Eviction] = {}
        self.events: list[Event] = []
        self.started: list[str] = []
        self.stale_since: dict[str, float] = {}

    def run(self) -> CycleResult:
        """All actions, then the report."""
        for job in self.session.jobs.values():
            if job.queue not in self.session.queues.by_name:
                job.errors.append(verdicts.queue_missing(job.queue))
        self.allocate()
        return self.report()

    def waiting(self) -> list[Job]:
        """Jobs with pending pods of which enough exist."""
        return [job for job in self.session.jobs.values() if job.pending and job.root.ready]

    def queue_of(self, jobs: list[Job], *, victims: bool = False) -> JobQueue:
        """Jobs in the order of their turns."""
        session = self.session
        return JobQueue(session.queues, triple(session.total), victims=victims).fill(jobs)

    def allocate(self) -> None:
        """Place jobs on what is free, minimums first, then surplus pods one by one."""
        queue = self.queue_of(self.waiting())
        rows = self.session.nodes.all_rows
        while queue:
            job = queue.pop()
            mark = self.session.mark()
            held = bool(job.active)
            if not self.placer.place(job, rows, real=True):
                self.session.rollback(mark)
                continue
            pipelined = self._pipeline_all(job, mark)
            self.commit(mark)
            if not pipelined and not held:
                self.started.append(job.key)
            if tasks_to_place(job, real=True):
                queue.push(job)

    def _pipeline_all(self, job: Job, mark: int) -> bool:
        """A minimum that rests partly on resources being released waits as a whole."""
        for podset in job.podsets.values():
            promised = any(task.status is Status.PIPELINED for task in podset.tasks)
            placed = sum(task.status in (Status.ALLOCATED, Status.RUNNING) for task in podset.tasks)
            if promised and placed < podset.min_available:
                break
        else:
            return False
        for _, task, _ in self.session.journal[mark:]:
            if task.status is Status.ALLOCATED and task.job is job:
                self.session.pipeline(task, task.node)
        return True

    def commit(self, mark: int) -> None:
        """Make everything since the mark final: bind, note promises."""
        session = self.session
        seen: set[str] = set()
        for _, task, _ in session.journal[mark:]:
            if task.key in seen:
                continue
            seen.add(task.key)
            if task.status is Status.ALLOCATED:
                task.status = Status.RUNNING
                self.bound[task.key] = session.nodes.names[task.node]
            elif task.status is Status.PIPELINED:
                self._promise(task)
            task.virtual = False
        session.journal.clear()

    def _promise(self, task: Task) -> None:
        node = self.session.nodes.names[task.node]
        self.pipelined[task.key] = node
        text = f"Pod {task.key} was pipelined to node {node}"
        self.events.append(Event("Pod", task.key, "Pipelined", text))

    def report(self) -> CycleResult:
        """Conditions and events of every job."""
        conditions: dict[str, Condition] = {}
        pod_conditions: dict[str, PodCondition] = {}
        cleared: list[str] = []
        for job in self.session.jobs.values():
            self._report_job(job, conditions, pod_conditions, cleared)
        return CycleResult(
            bound=self.bound,
            pipelined=self.pipelined,
            evicted=tuple(self.evicted.values()),
            conditions=conditions,
            cleared=tuple(cleared),
            pod_conditions=pod_conditions,
            events=tuple(self.events),
            fair_share=self.session.fair_share,
            stale_since=self.stale_since,
            started=tuple(self.started),
        )

    def _report_job(
        self,
        job: Job,
        conditions: dict[str, Condition],
        pod_conditions: dict[str, PodCondition],
        cleared: list[str],
    ) -> None:
        prefix = self._prefix(job)
        if job.key in self.stale_since and job.group.stale_since is not None:
            self.events.append(Event("PodGroup", job.key, "StaleJob", verdicts.stale(job)))
        for task in job.invalid:
            self._refuse(task, verdicts.unknown_subgroup(job, task, prefix), pod_conditions)
        if not job.pending and not job.gated:
            if not any(task.status in (Status.ALLOCATED, Status.PIPELINED) for task in job.tasks()):
                cleared.append(job.key)
            return
        if not job.root.ready:
            self.events.append(Event("PodGroup", job.key, "NotReady", verdicts.not_ready(job)))
            return
        for task in job.tasks():
            if task.status is Status.PENDING:
                self._refuse(task, verdicts.pod_message(job, task, prefix), pod_conditions)
        condition = verdicts.condition(job.errors, prefix)
        self.events.append(Event("PodGroup", job.key, "Unschedulable", condition.message))
        if not job.active:
            conditions[job.key] = condition

    def _refuse(self, task: Task, text: str, pod_conditions: dict[str, PodCondition]) -> None:
        self.events.append(Event("Pod", task.key, "Unschedulable", text, "Warning"))
        if task.job.group.mark_unschedulable:
            pod_conditions[task.key] = PodCondition(text)

    def _prefix(self, job: Job) -> str:
        if job.group.scheduling_backoff != 1:
            return ""
        return f"Node-Pool '{self.session.snapshot.pool or 'default'}': "
