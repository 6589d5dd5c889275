"""The actions that evict: consolidation, reclaim, preemption, stale gangs."""

import math
from collections.abc import Callable, Sequence

from scheduling import verdicts
from scheduling.fit import Chooser
from scheduling.gangs import quota_to_place, tasks_to_place
from scheduling.gates import over_quota
from scheduling.order import JobQueue
from scheduling.placement import Placer
from scheduling.queues import QueueState
from scheduling.reclaim import Ledger, Reclaimer, parting
from scheduling.resources import DIVIDED, GPU, Triple, triple
from scheduling.scenarios import Scenario
from scheduling.search import Search, Solution, Validator, all_placed, split_core, victims_by_job
from scheduling.session import Session
from scheduling.state import ACTIVE, FitError, Job, PodSet, Status, Task, total

CONSOLIDATION = "Consolidation"
RECLAIM = "Reclaim"
PREEMPT = "Preempt"
STALE = "StaleGangEviction"

Victims = Callable[[], JobQueue]


class Evicting:
    """Finds victims for one waiting job by the rules of each action."""

    def __init__(self, session: Session, placer: Placer) -> None:
        self.session = session
        self.placer = placer
        self.chooser: Chooser = placer.chooser
        self._preempt_runtimes: dict[str, float] = {}
        self._reclaim_runtimes: dict[tuple[str, str], float] = {}

    def hopeless(self, job: Job) -> bool:
        """A pod that no node could hold: no eviction helps; the job's status says so."""
        for task in tasks_to_place(job, real=False):
            text = self.chooser.too_large(task)
            if text:
                job.errors.append(verdicts.never_fits(task, text))
                job.task_errors.setdefault(task.key, verdicts.too_large(text))
                return True
        return False

    def consolidate(self, job: Job) -> Solution | None:
        """Move others so that the job fits; tried only when enough GPUs are free in sum."""
        nodes = self.session.nodes
        free = float(nodes.soon_free(nodes.all_rows)[nodes.usable, GPU].sum())
        if free < quota_to_place(job, real=False)[GPU]:
            return None
        movable = [
            each for each in self.session.jobs.values() if each.group.preemptible and each is not job and each.active
        ]
        most = self.session.config.max_consolidation_preemptees
        chosen = movable[: most + 1] if most >= 0 else movable
        return self._search(job, lambda: self._queue(chosen), all_placed)

    def may_reclaim(self, job: Job) -> bool:
        """Whether the job's queue is entitled to take from others."""
        return self._reclaimer(job).may_try()

    def reclaim(self, job: Job) -> Solution | None:
        """Take from other queues what they hold beyond their share or quota."""
        reclaimer = self._reclaimer(job)
        queues = self.session.queues
        givers = {
            name
            for name, queue in queues.by_name.items()
            if queue.leaf and name != job.queue and reclaimer.may_take_from(queue)
        }
        victims = [
            each
            for each in self.session.jobs.values()
            if each.queue in givers
            and each.group.preemptible
            and each.active
            and (each.elastic or not self._reclaim_protected(job, each))
        ]
        ledger = Ledger(queues, self.session.config.saturation_multiplier)

        def validate(scenario: Scenario) -> bool:
            asking = self._reclaimer(scenario.probe.job)
            return ledger.allows(asking, self._lost(scenario)) and self._spares_protected(
                scenario, lambda each: self._reclaim_protected(job, each)
            )

        return self._search(job, lambda: self._queue(victims), validate)

    def preempt(self, job: Job) -> Solution | None:
        """Take from jobs of lower priority in the same queue."""
        if over_quota(self.session.queues, job, total(tasks_to_place(job, real=False))):
            return None
        victims = [
            each
            for each in self.session.jobs.values()
            if each.group.preemptible
            and each.group.priority < job.group.priority
            and each.queue == job.queue
            and each.active
            and (each.elastic or not self._preempt_protected(each))
        ]

        def validate(scenario: Scenario) -> bool:
            return self._spares_protected(scenario, self._preempt_protected)

        return self._search(job, lambda: self._queue(victims), validate)

    def _search(self, job: Job, victims: Victims, validate: Validator) -> Solution | None:
        return Search(self.placer, job, victims, validate).run()

    def _queue(self, jobs: Sequence[Job]) -> JobQueue:
        session = self.session
        return JobQueue(session.queues, triple(session.total), victims=True).fill(jobs)

    def _reclaimer(self, job: Job) -> Reclaimer:
        queue = self.session.queues.by_name[job.queue]
        return Reclaimer(queue, quota_to_place(job, real=False), preemptible=job.group.preemptible)

    def _lost(self, scenario: Scenario) -> dict[str, list[Triple]]:
        """What each queue loses, unit by unit: surplus pods singly, the core of a gang together.

        Pods that have a place again in the same scenario do not count, unless the shard says so.
        """
        staying = ACTIVE if self.session.config.consolidating_reclaim else frozenset[Status]()
        lost: dict[str, list[Triple]] = {}
        for tasks in victims_by_job(scenario).values():
            job = tasks[0].job
            core, surplus = split_core(job, tasks)
            gone = [task for task in core if task.status not in staying]
            units = [task.quota for task in surplus if task.status not in staying]
            if gone:
                units.append(total(gone))
            if units:
                lost.setdefault(job.queue, []).extend(units)
        return lost

    def _spares_protected(self, scenario: Scenario, protected: Callable[[Job], bool]) -> bool:
        """An elastic job in its minimum runtime keeps its minimum."""
        for key, tasks in victims_by_job(scenario).items():
            job = self.session.jobs[key]
            minimum = sum(podset.min_available for podset in job.podsets.values())
            if job.elastic and protected(job) and minimum > job.used - len(tasks):
                return False
        return True

    def spared_until(self, job: Job, victim: Job) -> float:
        """Until when the victim's minimum runtime keeps the job from evicting it; minus infinity where it does not."""
        start = victim.group.last_start
        if start is None or job.queue not in self.session.queues.by_name:
            return -math.inf
        if victim.queue == job.queue:
            lower = victim.group.priority < job.group.priority
            return start + self._preempt_runtime(victim) if lower else -math.inf
        known = victim.queue in self.session.queues.by_name
        return start + self._reclaim_runtime(job, victim) if known else -math.inf

    def _preempt_protected(self, victim: Job) -> bool:
        return self._protected(victim, self._preempt_runtime(victim))

    def _reclaim_protected(self, job: Job, victim: Job) -> bool:
        return self._protected(victim, self._reclaim_runtime(job, victim))

    def _preempt_runtime(self, victim: Job) -> float:
        if victim.queue not in self._preempt_runtimes:
            queue = self.session.queues.by_name.get(victim.queue)
            runtimes = [each.queue.preempt_min_runtime for each in queue.chain()] if queue else []
            self._preempt_runtimes[victim.queue] = _first(runtimes, self.session.config.preempt_min_runtime)
        return self._preempt_runtimes[victim.queue]

    def _reclaim_runtime(self, job: Job, victim: Job) -> float:
        """The runtime is that of the victim's queue where the hierarchies part, or above it."""
        pair = (job.queue, victim.queue)
        if pair not in self._reclaim_runtimes:
            queues = self.session.queues.by_name
            mine, theirs = parting(queues[job.queue], queues[victim.queue])
            runtimes = [each.queue.reclaim_min_runtime for each in theirs.chain()]
            if mine.parent is None and theirs.parent is None:
                runtimes = runtimes[:1]
            self._reclaim_runtimes[pair] = _first(runtimes, self.session.config.reclaim_min_runtime)
        return self._reclaim_runtimes[pair]

    def _protected(self, victim: Job, runtime: float) -> bool:
        start = victim.group.last_start
        return start is not None and self.session.now < start + runtime


def _first(runtimes: Sequence[float | None], default: float) -> float:
    return next((each for each in runtimes if each is not None), default)


class FailedJobs:
    """Remembers for which jobs a search failed, so that none that is no easier is tried in this cycle."""

    def __init__(self) -> None:
        self._smallest: dict[tuple[object, ...], Job] = {}

    def easier(self, job: Job) -> bool:
        """Whether the job might succeed where a like one failed."""
        known = self._smallest.get(_signature(job))
        return known is None or _easier(job, known)

    def add(self, job: Job) -> None:
        """A search failed."""
        key = _signature(job)
        known = self._smallest.get(key)
        if known is None or _smaller(job, known):
            self._smallest[key] = job


def _signature(job: Job) -> tuple[object, ...]:
    return tuple(sorted((_set_signature(podset) for podset in job.podsets.values()), key=repr))


def _set_signature(podset: PodSet) -> tuple[object, ...]:
    if podset.active == podset.size:
        return ()
    constraints: list[object] = [podset.constraint]
    parent = podset.parent
    while parent is not None:
        constraints.append(parent.constraint)
        parent = parent.parent
    waiting = sorted(repr(task.signature) for task in podset.tasks if task.status not in ACTIVE)
    return (tuple(constraints), tuple(waiting))


def _requests(job: Job) -> list[Triple]:
    pending = [task.quota for task in job.tasks() if task.may_be_placed(real=True)]
    return sorted(pending)


def _easier(job: Job, known: Job) -> bool:
    mine, theirs = _requests(job), _requests(known)
    if not mine or not theirs:
        return False
    if len(theirs) > len(mine):
        return True
    for index, each in enumerate(mine):
        if index >= len(theirs):
            return False
        if all(each[i] <= theirs[index][i] for i in DIVIDED) and each != theirs[index]:
            return True
    return False


def _smaller(job: Job, known: Job) -> bool:
    mine, theirs = _requests(job), _requests(known)
    if not mine or not theirs or len(mine) > len(theirs):
        return False
    return all(all(a[i] <= b[i] for i in DIVIDED) for a, b in zip(mine, theirs, strict=False))


def delay_error(job: Job, now: float) -> FitError | None:
    """The verdict on a job that may not evict yet, None when it may."""
    group = job.group
    if group.preemption_delay <= 0:
        return None
    end = max(group.created, group.last_eviction or 0.0) + group.preemption_delay
    return verdicts.delayed(group.preemption_delay, end) if now < end else None


def eviction_texts(session: Session, action: str, job: Job, victims: Sequence[Task]) -> dict[str, str]:
    """Why each victim goes, with the numbers from before any of them went."""
    if action == PREEMPT:
        return {task.key: verdicts.preempted(task, job) for task in victims}
    if action == CONSOLIDATION:
        return {task.key: verdicts.consolidated(task) for task in victims}
    reclaimer = session.queues.by_name[job.queue]
    texts: dict[str, str] = {}
    for task in victims:
        victim = session.queues.by_name[task.job.queue]
        pair: tuple[QueueState | None, QueueState | None] = (victim, reclaimer)
        if victim.parent is not reclaimer.parent:
            pair = (victim.parent, reclaimer.parent)
        texts[task.key] = verdicts.reclaimed(task, job, pair[0] or victim, pair[1] or reclaimer)
    return texts
