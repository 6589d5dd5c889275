"""What would become of gangs that nobody has submitted yet: where they go, at whose cost, or what keeps them out.

A shard is prepared once; each preview adds its gangs to it, runs the cycle for them and takes everything back. Where
many gangs wait, those that a cycle without the new ones does not place take no part: they would hardly be placed with
them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock

import msgspec

from scheduling.actions import Actions
from scheduling.gangs import job_of
from scheduling.placement import Placer
from scheduling.preview_levels import Before, levels_of, room_before
from scheduling.preview_structs import Gang, GangPreview, Preview, QueueAfter, Verdict
from scheduling.resources import from_triple
from scheduling.session import Session
from scheduling.sharing import counted_as
from scheduling.state import ACTIVE, Job, Status, Task, pod_order, total
from scheduling.structs import CycleResult, Eviction, Reason, SchedulerConfig, Snapshot

MANY_WAITING = 40
"""More waiting gangs than these are looked through beforehand for those that a cycle would place."""
MOST_CYCLES = 3
MOST_TRIED = 12
"""So many running gangs are tried as the one whose end makes room."""


class PreparedShard:
    """A shard on which previews are tried, one at a time. It costs as much memory as one cycle."""

    def __init__(self, snapshot: Snapshot, config: SchedulerConfig | None = None) -> None:
        self.snapshot = snapshot
        self.config = config or SchedulerConfig()
        self._lock = RLock()
        self._session = Session(snapshot, self.config)
        self._holds = Amounts(self._session)
        self._moving = self._about_to_move()

    def preview(self, gangs: Sequence[Gang]) -> Preview:
        """What the next cycles make of these gangs together: those that wait for another one after it."""
        tried = self._tried(gangs)
        return msgspec.structs.replace(tried, gangs=tuple(self._explained(each, tried, gangs) for each in gangs))

    def fits(self, gangs: Sequence[Gang]) -> bool:
        """Whether all of these run in the next cycles without anybody going."""
        with self._lock, self._with(gangs) as trial:
            previews: dict[str, GangPreview] = {}
            for stage in stages(gangs):
                for gang, found in trial.run(stage, previews):
                    if found.verdict is not Verdict.NOW:
                        return False
                    previews[gang.group.key] = found
            return True

    def _tried(self, gangs: Sequence[Gang]) -> Preview:
        """The same, where what is not placed is merely waiting."""
        with self._lock, self._with(gangs) as trial:
            before = trial.queues()
            previews: dict[str, GangPreview] = {}
            for stage in stages(gangs):
                for gang, found in trial.run(stage, previews):
                    previews[gang.group.key] = found
            after = trial.queues()
        queues = tuple(_joined(before[name], after[name]) for name in after)
        return Preview(tuple(previews[gang.group.key] for gang in gangs), queues)

    @cached_property
    def emptied(self) -> "PreparedShard":
        """The same nodes and queues without anybody of this scheduler."""
        pods = tuple(pod for pod in self.snapshot.pods if not pod.podgroup)
        return PreparedShard(msgspec.structs.replace(self.snapshot, podgroups=(), pods=pods), self.config)

    def _explained(self, gang: Gang, tried: Preview, gangs: Sequence[Gang]) -> GangPreview:
        """A gang that is not placed: never here, or when somebody ends, and whose end that is."""
        found = next(each for each in tried.gangs if each.key == gang.group.key)
        if found.verdict is not Verdict.WAITING or found.waits_for:
            return found
        alone = self.emptied._tried([each for each in gangs if not each.waits_for])
        there = next((each for each in alone.gangs if each.key == gang.group.key), None)
        if there is not None and there.verdict is not Verdict.NOW:
            return msgspec.structs.replace(found, verdict=Verdict.NEVER, reasons=there.reasons or found.reasons)
        with self._lock, self._with([gang]) as trial:
            return msgspec.structs.replace(found, room_after=trial.who_makes_room(gang))

    @contextmanager
    def _with(self, gangs: Sequence[Gang]) -> "Iterator[_Trial]":
        """The session with these gangs in it; afterwards it is as before. Where pods share GPUs or mind other pods, a
        session of its own."""
        pods = [pod for gang in gangs for pod in gang.pods]
        nodes = self._session.nodes
        special = any(pod.gpu_fraction or pod.gpu_memory_mib or pod.anti_affinity or pod.pod_affinity for pod in pods)
        if special or nodes.neighbours is not None or nodes.shared.rows:
            yield _Trial(Session(_with_gangs(self.snapshot, gangs), self.config), gangs, self._moving)
            return
        trial = _Trial(self._session, gangs, self._moving)
        trial.adopt()
        try:
            yield trial
        finally:
            self._session.restore()
            trial.dismiss()
            self._holds.give_back(self._session)

    def _about_to_move(self) -> frozenset[str]:
        """The waiting gangs that take part, and the stale ones."""
        session = self._session
        waiting = [job for job in session.jobs.values() if job.pending or job.gated or job.stale]
        if len(waiting) <= MANY_WAITING:
            return frozenset(job.key for job in waiting)
        result = Actions(self.snapshot, self.config, session=session, jobs=waiting).run()
        placed = {*result.bound, *result.pipelined}
        moving = frozenset(job.key for job in waiting if any(task.key in placed for task in job.tasks()))
        stale = frozenset(result.stale_since)
        _undo(session, waiting, self._holds)
        return moving | stale


class Amounts:
    """What nodes and queues hold, to give it back exactly: sums of fractions drift."""

    def __init__(self, session: Session) -> None:
        self.idle, self.releasing = session.nodes.idle.copy(), session.nodes.releasing.copy()
        self.fair = dict(session.fair_share)
        self.queues = {
            name: (list(queue.allocated), list(queue.non_preemptible), list(queue.request), list(queue.fair))
            for name, queue in session.queues.by_name.items()
        }

    def give_back(self, session: Session) -> None:
        """Make the session's amounts these."""
        session.nodes.idle[:], session.nodes.releasing[:] = self.idle, self.releasing
        session.fair_share = dict(self.fair)
        session.budget = session.config.search_budget
        for name, (allocated, firm, request, fair) in self.queues.items():
            queue = session.queues.by_name[name]
            queue.allocated[:], queue.non_preemptible[:] = allocated, firm
            queue.request[:], queue.fair[:] = request, fair


def _undo(session: Session, jobs: Iterable[Job], holds: Amounts) -> None:
    session.restore()
    for job in jobs:
        job.errors.clear()
        job.task_errors.clear()
    holds.give_back(session)


class _Trial:
    """Gangs in a session, cycle after cycle."""

    def __init__(self, session: Session, gangs: Sequence[Gang], moving: frozenset[str]) -> None:
        self.session = session
        self.gangs = gangs
        self._adopted = False
        self.moving = [session.jobs[key] for key in moving if key in session.jobs]

    def adopt(self) -> None:
        """Put the gangs into a session that was built without them."""
        self._adopted = True
        counted = counted_as(self.session.nodes.least_memory)
        for gang in self.gangs:
            job = job_of(gang.group)
            tasks = [Task(counted(pod), Status.PENDING, -1) for pod in sorted(gang.pods, key=pod_order)]
            for task in tasks:
                job.add(task)
            self.session.jobs[job.key] = job
            if not gang.waits_for:
                self.session.queues.ask(job.queue, total(task for task in tasks if task not in job.invalid))
        self._divide()

    def dismiss(self) -> None:
        """Take them out again, once everything else is undone."""
        for gang in self.gangs:
            self.session.jobs.pop(gang.group.key, None)
        for job in self.moving:
            job.errors.clear()
            job.task_errors.clear()

    def _divide(self) -> None:
        session = self.session
        session.fair_share = session.queues.divide(session.total, session.config.k_value)

    def run(self, stage: Sequence[Gang], known: Mapping[str, GangPreview]) -> list[tuple[Gang, GangPreview]]:
        """One cycle for the gangs of a stage. One whose predecessor does not run is not tried."""
        open_ones = [gang for gang in stage if not gang.waits_for or known[gang.waits_for].placed]
        found = [(gang, _waiting_for(gang, known)) for gang in stage if gang not in open_ones]
        jobs = [self.session.jobs[gang.group.key] for gang in open_ones]
        for gang, job in zip(open_ones, jobs, strict=True):
            if gang.waits_for and self._adopted:
                self.session.queues.ask(job.queue, total(job.tasks()))
                self._divide()
        rooms = [room_before(self.session, gang) for gang in open_ones]
        result = self._cycles(jobs)
        found += [
            (gang, self._found(gang, job, result, room)) for gang, job, room in zip(open_ones, jobs, rooms, strict=True)
        ]
        return found

    def _cycles(self, jobs: Sequence[Job]) -> CycleResult:
        """Cycles until these gangs change no more: what a cycle leaves of a gang's surplus the next may place."""
        taking = [*self.moving, *jobs]
        evicted: list[Eviction] = []
        pipelined: dict[str, str] = {}
        for _ in range(MOST_CYCLES):
            for job in taking:
                job.errors.clear()
                job.task_errors.clear()
            before = sum(job.active for job in jobs)
            result = Actions(self.session.snapshot, self.session.config, session=self.session, jobs=taking).run()
            evicted += result.evicted
            pipelined |= result.pipelined
            active = sum(job.active for job in jobs)
            if active == before or not any(job.pending for job in jobs):
                break
        return msgspec.structs.replace(result, evicted=tuple(evicted), pipelined=pipelined)

    def _found(self, gang: Gang, job: Job, result: CycleResult, room: Before) -> GangPreview:
        names = self.session.nodes.names
        placed = {task.key: names[task.node] for task in job.tasks() if task.status in ACTIVE}
        evicted = tuple(each for each in result.evicted if each.evictor == job.key)
        condition = result.conditions.get(job.key)
        return GangPreview(
            key=job.key,
            verdict=_verdict(job, evicted, result),
            placed=placed,
            pods=len(gang.pods),
            evicted=evicted,
            levels=levels_of(self.session, gang, placed, room),
            reasons=condition.reasons if condition else _not_ready(job, result),
        )

    def who_makes_room(self, gang: Gang) -> tuple[tuple[str, ...], ...]:
        """Running gangs that would make room if they ended: each that is enough alone, else the largest together."""
        session, job = self.session, self.session.jobs[gang.group.key]
        holders = [each for each in session.jobs.values() if each.used and each is not job]
        holders.sort(key=lambda each: each.allocated[2])
        short = sum(task.quota[2] for task in job.tasks()) - float(session.nodes.idle[session.nodes.usable, 2].sum())
        enough = [each for each in holders if each.allocated[2] >= max(short, 1e-9)]
        single = [each for each in enough[:MOST_TRIED] if self._fits_without([each], job)]
        if single:
            return tuple((each.key,) for each in single)
        largest = holders[::-1]
        if not largest or not self._fits_without(largest, job):
            return ()
        low, high = 0, len(largest)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits_without(largest[:middle], job) else (middle, high)
        return (tuple(each.key for each in largest[:high]),)

    def _fits_without(self, ended: Sequence[Job], job: Job) -> bool:
        session, mark = self.session, self.session.mark()
        for each in ended:
            for task in each.tasks():
                if task.status is Status.RUNNING:
                    session.evict(task)
        placed = Placer(session).place(job, session.nodes.all_rows, real=False)
        session.rollback(mark)
        job.errors.clear()
        job.task_errors.clear()
        return placed

    def queues(self) -> dict[str, QueueAfter]:
        """The queues of the gangs and those above, as they stand."""
        found: dict[str, QueueAfter] = {}
        for gang in self.gangs:
            queue = self.session.queues.by_name.get(gang.group.queue)
            for each in queue.chain() if queue else ():
                amounts = from_triple(each.allocated)
                found[each.name] = QueueAfter(
                    name=each.name,
                    deserved=from_triple(each.deserved),
                    limit=from_triple(each.limit),
                    fair_share=from_triple(each.fair),
                    before=amounts,
                    after=amounts,
                    non_preemptible=from_triple(each.non_preemptible),
                )
        return found


def stages(gangs: Sequence[Gang]) -> list[list[Gang]]:
    """The gangs that start at once, then those that wait for them."""
    first = [gang for gang in gangs if not gang.waits_for]
    later = [gang for gang in gangs if gang.waits_for]
    return [stage for stage in (first, later) if stage]


def _with_gangs(snapshot: Snapshot, gangs: Sequence[Gang]) -> Snapshot:
    groups = (*snapshot.podgroups, *(gang.group for gang in gangs))
    pods = (*snapshot.pods, *(pod for gang in gangs for pod in gang.pods))
    return msgspec.structs.replace(snapshot, podgroups=groups, pods=pods)


def _joined(before: QueueAfter, after: QueueAfter) -> QueueAfter:
    return msgspec.structs.replace(after, before=before.before)


def _waiting_for(gang: Gang, known: Mapping[str, GangPreview]) -> GangPreview:
    first = known[gang.waits_for]
    return GangPreview(gang.group.key, first.verdict, pods=len(gang.pods), waits_for=gang.waits_for)


def _verdict(job: Job, evicted: Sequence[Eviction], result: CycleResult) -> Verdict:
    if not job.root.satisfied:
        return Verdict.WAITING
    if evicted:
        return Verdict.EVICTING
    promised = any(task.key in result.pipelined for task in job.tasks())
    return Verdict.RELEASING if promised else Verdict.NOW


def _not_ready(job: Job, result: CycleResult) -> tuple[Reason, ...]:
    """A gang without enough pods gets no condition, only an event."""
    found = (each for each in result.events if each.key == job.key and each.kind == "PodGroup")
    return tuple(Reason(each.reason, each.message) for each in found if each.reason == "NotReady")
