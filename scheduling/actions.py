"""The actions of a cycle in KAI's order, and what is reported at its end."""

from collections.abc import Collection

import msgspec

from scheduling import verdicts
from scheduling.evicting import (
    CONSOLIDATION,
    PREEMPT,
    RECLAIM,
    STALE,
    Evicting,
    FailedJobs,
    delay_error,
    eviction_texts,
)
from scheduling.gangs import tasks_to_place
from scheduling.order import JobQueue
from scheduling.placement import Placer
from scheduling.resources import triple
from scheduling.search import Solution
from scheduling.session import Session
from scheduling.state import ACTIVE, DEFAULT_PODSET, Job, Status, Task
from scheduling.structs import (
    Condition,
    CycleResult,
    Event,
    Eviction,
    PodCondition,
    SchedulerConfig,
    Snapshot,
)

ALLOCATE = "allocate"


class Actions:
    """Runs one cycle and collects its outcome. ``session``: one that stands already for this snapshot; ``jobs``:
    those that take part and are reported, all where none are named (calm ones have no part in it)."""

    def __init__(
        self,
        snapshot: Snapshot,
        config: SchedulerConfig,
        *,
        session: Session | None = None,
        jobs: Collection[Job] | None = None,
    ) -> None:
        self.session = Session(snapshot, config) if session is None else session
        self.jobs: Collection[Job] = self.session.jobs.values() if jobs is None else jobs
        self.taking: Collection[Job] = list(self.session.restless.values()) if jobs is None else jobs
        self.placer = Placer(self.session)
        self.bound: dict[str, str] = {}
        self.gpu_groups: dict[str, tuple[str, ...]] = {}
        self.pipelined: dict[str, str] = {}
        self.evicted: dict[str, Eviction] = {}
        self.events: list[Event] = []
        self.started: list[str] = []
        self.stale_since: dict[str, float] = {}
        self.stale_evicted: set[str] = set()
        self.awaiting: set[str] = set()
        self.evicting = Evicting(self.session, self.placer)

    def run(self) -> CycleResult:
        """All actions, then the report."""
        self.act()
        return self.report()

    def act(self) -> None:
        """All actions: who is bound, promised a place, evicted."""
        for job in self.taking:
            if job.queue not in self.session.queues.by_name:
                job.errors.append(verdicts.queue_missing(job.queue))
        runs = self.session.config.runs
        if runs(ALLOCATE):
            self.allocate()
        for action in (CONSOLIDATION, RECLAIM, PREEMPT):
            if runs(action.lower()):
                self._evict_for(action)
        if runs(STALE.lower()):
            self._evict_stale()

    def waiting(self) -> list[Job]:
        """Jobs with pending pods of which enough exist."""
        return [job for job in self.taking if job.pending and job.root.ready]

    def queue_of(self, jobs: list[Job], action: str) -> JobQueue:
        """Jobs in the order of their turns, as many of each queue as the action looks at."""
        session = self.session
        depth = session.config.queue_depth.get(action.lower())
        return JobQueue(session.queues, triple(session.total), depth=depth).fill(jobs)

    def allocate(self) -> None:
        """Place jobs on what is free, minimums first, then surplus pods one by one."""
        queue = self.queue_of(self.waiting(), ALLOCATE)
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

    def _evict_for(self, action: str) -> None:
        """Search victims for each waiting job in turn."""
        failed: dict[str, FailedJobs] = {}
        queue = self.queue_of([job for job in self.waiting() if self._may_evict(job, action)], action)
        while queue:
            job = queue.pop()
            if action == RECLAIM and not self.evicting.may_reclaim(job):
                continue
            known = failed.setdefault("" if action == CONSOLIDATION else job.queue, FailedJobs())
            if not known.easier(job) or self.evicting.hopeless(job):
                continue
            mark = self.session.mark()
            solution = self._solve(action, job)
            if solution is None:
                known.add(job)
                continue
            self._commit_evictions(action, job, mark)

    def _may_evict(self, job: Job, action: str) -> bool:
        if action == CONSOLIDATION and not job.group.preemptible:
            return False
        queue = self.session.queues.by_name.get(job.queue)
        if queue is None or not queue.leaf:
            return False
        error = delay_error(job, self.session.now)
        if error is not None and not any(each.reason == error.reason for each in job.errors):
            job.errors.append(error)
        return error is None

    def _solve(self, action: str, job: Job) -> Solution | None:
        if action == CONSOLIDATION:
            return self.evicting.consolidate(job)
        return self.evicting.reclaim(job) if action == RECLAIM else self.evicting.preempt(job)

    def _commit_evictions(self, action: str, job: Job, mark: int) -> None:
        """Write down who goes and why, with the queues' numbers from before, then make it final."""
        journal = self.session.journal[mark:]
        victims = [task for kind, task, _ in journal if kind == "evict"]
        kept = [task for kind, task, _ in journal if kind == "unevict"]
        gone = victims.copy()
        for task in kept:
            gone.remove(task)
        texts = self._texts_before(action, job, gone, mark)
        notes = {
            "num-evicted-pods": str(len(victims)),
            "evictor-action-type": action,
            "evictor-pod-group-name": job.group.name,
            "evictor-pod-group-namespace": job.group.namespace,
        }
        for task in gone:
            self._record(task, Eviction(task.key, task.job.key, action, texts[task.key], job.key), notes)
        self.commit(mark)

    def _texts_before(self, action: str, job: Job, gone: list[Task], mark: int) -> dict[str, str]:
        """The texts, from the queues as they were before the first eviction of this search."""
        if action != RECLAIM:
            return eviction_texts(self.session, action, job, gone)
        changes = [(task, kind) for kind, task, _ in self.session.journal[mark:]]
        queues = self.session.queues
        for task, kind in changes:
            step = 1 if kind == "evict" else -1
            queues.book(task.job.queue, task.quota, step, preemptible=task.job.group.preemptible)
        texts = eviction_texts(self.session, action, job, gone)
        for task, kind in changes:
            step = -1 if kind == "evict" else 1
            queues.book(task.job.queue, task.quota, step, preemptible=task.job.group.preemptible)
        return texts

    def _record(self, task: Task, eviction: Eviction, notes: dict[str, str]) -> None:
        if task.status is Status.PIPELINED:
            moved_to = self.session.nodes.names[task.node]
            eviction = msgspec.structs.replace(eviction, moved_to=moved_to)
        self.evicted[task.key] = eviction
        self.events.append(Event("PodGroup", task.job.key, "Evict", eviction.message, annotations=notes))

    def _evict_stale(self) -> None:
        """Gangs that run below their minimum for longer than the grace lose their remaining pods."""
        session = self.session
        for job in self.taking:
            if not job.stale:
                continue
            since = session.now if job.group.stale_since is None else job.group.stale_since
            self.stale_since[job.key] = since
            grace = session.config.staleness_grace if job.group.staleness_grace is None else job.group.staleness_grace
            if grace < 0 or session.now - since < grace:
                continue
            self._evict_gang(job)

    def _evict_gang(self, job: Job) -> None:
        remaining = [task for task in job.tasks() if task.status in ACTIVE]
        notes = {"num-evicted-pods": str(len(remaining)), "evictor-action-type": STALE}
        self.stale_evicted.add(job.key)
        for task in remaining:
            named = task.podset.name if task.podset.name != DEFAULT_PODSET else ""
            text = verdicts.stale_eviction(task, task.podset.min_available, named)
            mark = self.session.mark()
            self.session.evict(task)
            self._record(task, Eviction(task.key, job.key, STALE, text), notes)
            self.commit(mark)

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
                if task.share is not None:
                    self.gpu_groups[task.key] = session.nodes.shared.groups(task.node, task.key)
                self.awaiting.add(task.job.key)
            elif task.status is Status.PIPELINED:
                self._promise(task)
            task.virtual = False
            task.job.forget()
        session.settle()

    def _promise(self, task: Task) -> None:
        node = self.session.nodes.names[task.node]
        self.pipelined[task.key] = node
        self.awaiting.add(task.job.key)
        text = f"Pod {task.key} was pipelined to node {node}"
        self.events.append(Event("Pod", task.key, "Pipelined", text))

    def report(self) -> CycleResult:
        """Conditions and events of every job."""
        conditions: dict[str, Condition] = {}
        pod_conditions: dict[str, PodCondition] = {}
        cleared: list[str] = []
        for job in self.jobs:
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
            gpu_groups=self.gpu_groups,
        )

    def _report_job(
        self,
        job: Job,
        conditions: dict[str, Condition],
        pod_conditions: dict[str, PodCondition],
        cleared: list[str],
    ) -> None:
        prefix = self._prefix(job)
        stale = job.key in self.stale_since and job.group.stale_since is not None
        if stale or job.key in self.stale_evicted:
            self.events.append(Event("PodGroup", job.key, "StaleJob", verdicts.stale(job)))
        for task in job.invalid:
            self._refuse(task, verdicts.unknown_subgroup(job, task, prefix), pod_conditions)
        if not job.pending and not job.gated:
            if job.key not in self.awaiting:
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
