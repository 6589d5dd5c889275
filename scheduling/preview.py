"""What would become of gangs that nobody has submitted yet: where they go, at whose cost, or what keeps them out.

A shard is prepared once; each preview adds its gangs to it, runs the cycle for them and takes everything back. Where
many gangs wait, those that a cycle without the new ones does not place take no part: they would hardly be placed with
them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock

import msgspec

from scheduling.actions import Actions
from scheduling.preview_structs import Gang, GangPreview, Preview, QueueAfter, Verdict
from scheduling.preview_trial import Trial
from scheduling.session import Session
from scheduling.structs import SchedulerConfig, Snapshot
from scheduling.undoing import Amounts, can_be_undone, collector_paused, undo

MANY_WAITING = 40
"""More waiting gangs than these are looked through beforehand for those that a cycle would place."""


class PreparedShard:
    """A shard on which previews are tried, one at a time. It costs as much memory as one cycle."""

    def __init__(self, snapshot: Snapshot, config: SchedulerConfig | None = None) -> None:
        self.snapshot = snapshot
        self.config = config or SchedulerConfig()
        self._lock = RLock()
        with collector_paused():
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
    def _with(self, gangs: Sequence[Gang]) -> "Iterator[Trial]":
        """The session with these gangs in it; afterwards it is as before. Where pods share GPUs or mind other pods, a
        session of its own."""
        pods = [pod for gang in gangs for pod in gang.pods]
        special = any(pod.gpu_fraction or pod.gpu_memory_mib or pod.anti_affinity or pod.pod_affinity for pod in pods)
        if special or not can_be_undone(self._session):
            yield Trial(Session(_with_gangs(self.snapshot, gangs), self.config), gangs, self._moving)
            return
        trial = Trial(self._session, gangs, self._moving)
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
        waiting = [job for job in session.restless.values() if job.pending or job.gated or job.stale]
        if len(waiting) <= MANY_WAITING:
            return frozenset(job.key for job in waiting)
        result = Actions(self.snapshot, self.config, session=session, jobs=waiting).run()
        placed = {*result.bound, *result.pipelined}
        moving = frozenset(job.key for job in waiting if any(task.key in placed for task in job.tasks()))
        stale = frozenset(result.stale_since)
        undo(session, waiting, self._holds)
        return moving | stale


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
