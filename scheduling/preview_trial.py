"""Gangs that do not exist yet, in a session: adopted, taken through cycles, dismissed."""

from collections.abc import Mapping, Sequence

import msgspec

from scheduling.actions import Actions
from scheduling.gangs import job_of
from scheduling.placement import Placer
from scheduling.preview_levels import Before, levels_of, room_before
from scheduling.preview_structs import Gang, GangPreview, QueueAfter, Verdict
from scheduling.resources import from_triple
from scheduling.session import Session
from scheduling.sharing import counted_as
from scheduling.state import ACTIVE, Job, Status, Task, pod_order, total
from scheduling.structs import CycleResult, Eviction, Reason

MOST_CYCLES = 3
MOST_TRIED = 12
"""So many running gangs are tried as the one whose end makes room."""


class Trial:
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
            pods = sorted(gang.pods, key=pod_order)
            tasks = [Task(counted(pod), Status.GATED if pod.gated else Status.PENDING, -1) for pod in pods]
            for task in tasks:
                job.add(task)
            self.session.admit(job)
            if not gang.waits_for:
                self.session.queues.ask(job.queue, total(task for task in tasks if task not in job.invalid))
        self._divide()

    def dismiss(self) -> None:
        """Take them out again, once everything else is undone."""
        for gang in self.gangs:
            self.session.dismiss(gang.group.key)
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
        for gang, job in zip(open_ones, jobs, strict=True):
            for key in gang.arrivals:
                _open_gate(job, key)
                result = _after(result, self._cycles(jobs))
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


def _open_gate(job: Job, key: str) -> None:
    task = next(task for task in job.tasks() if task.key == key)
    job.count(task, Status.GATED, -1)
    task.status = Status.PENDING
    job.count(task, Status.PENDING, 1)


def _after(first: CycleResult, then: CycleResult) -> CycleResult:
    """What the later cycles say, with everybody who had to go or was promised a place before."""
    evicted, pipelined = (*first.evicted, *then.evicted), {**first.pipelined, **then.pipelined}
    return msgspec.structs.replace(then, evicted=evicted, pipelined=pipelined)


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
