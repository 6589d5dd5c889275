"""Which victims to try, in which order: the generators of KAI's eviction search.

Victims are taken job by job in batches; a batch (a gang, or one surplus pod) is evicted as a whole. The
first generator tries only what shares a node with the latest victim, the second grows sets of nodes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scheduling.gangs import partial, tasks_to_evict, tasks_to_place
from scheduling.nodes import NodeTable
from scheduling.order import JobQueue
from scheduling.resources import GPU, TOLERANCE
from scheduling.state import Job, Task

Batch = list[Task]
Amounts = NDArray[np.float64]
Codes = NDArray[np.intp]


class Probe:
    """One question of the search: can this (partial) job be placed, given the victims found so far?"""

    def __init__(self, job: Job, recorded: Sequence[Batch], feasible: set[int]) -> None:
        self.job = job
        self.pending = tasks_to_place(job, real=False)
        self.recorded = list(recorded)
        self.feasible = feasible
        self.recorded_tasks = [task for batch in self.recorded for task in batch]


class Room:
    """Whether victims free enough GPUs at all: a quick look before a scenario is tried."""

    def __init__(self, probe: Probe, nodes: NodeTable) -> None:
        sizes = {float(task.request[GPU]) for task in probe.pending}
        alike = len(sizes) == 1 and not any(task.share is not None for task in probe.pending)
        self._size = sizes.pop() if alike else 0.0
        self._count = len(probe.pending)
        self._free: Amounts = nodes.soon_free(nodes.all_rows)[:, GPU]
        self._feasible = probe.feasible
        self._sure = sum(self._fitting(row, 0.0) for row in probe.feasible) if self._size else 0

    def suffices(self, victims: Sequence[Task]) -> bool:
        """False only when the pods, all of one size, cannot find room on the nodes that are tried."""
        if not self._size:
            return True
        freed: dict[int, float] = {}
        for task in {task.key: task for task in victims}.values():
            freed[task.node] = freed.get(task.node, 0.0) + float(task.request[GPU])
        room = self._sure
        for row, amount in freed.items():
            room += self._fitting(row, amount) - (self._fitting(row, 0.0) if row in self._feasible else 0)
        return room >= self._count

    def _fitting(self, row: int, freed: float) -> int:
        return max(int((float(self._free[row]) + freed + TOLERANCE) // self._size), 0)


class Scenario:
    """A set of victims to evict together: those of the probe, then the potential ones.

    A pod may be in both (see ``node_local``), and is then evicted twice, as in KAI.
    """

    def __init__(self, probe: Probe, potential: Sequence[Batch]) -> None:
        self.probe = probe
        self.victims = [*probe.recorded_tasks, *(task for batch in potential for task in batch)]
        self._batch_of: dict[str, Batch] = {}
        for batch in (*potential, *probe.recorded):
            for task in batch:
                self._batch_of[task.key] = batch
        self.fingerprint = (
            tuple(sorted(task.key for task in probe.pending)),
            tuple(sorted(task.key for task in probe.recorded_tasks)),
            tuple(sorted(task.key for batch in potential for task in batch)),
        )

    def batches_of(self, tasks: Iterable[Task]) -> list[Batch]:
        """The batches that these victims came with, each once."""
        found: list[Batch] = []
        held: set[str] = set()
        for task in tasks:
            if task.key not in held:
                batch = self._batch_of[task.key]
                found.append(batch)
                held.update(each.key for each in batch)
        return found


Labels = Callable[[str, str], list[str | None]]
"""Values of a topology level by row: (topology, level) to a column."""


Step = tuple[Job, Batch, Job | None]
"""A job whose turn it is, its next victims, and what is pushed back of it."""


class Tape:
    """The victims of a search in their order, taken from the queue once for all its probes."""

    def __init__(self, queue: JobQueue) -> None:
        self._start = queue
        self._queue = queue.copy()
        self._steps: list[Step] = []

    def step(self, number: int) -> Step | None:
        """A step of those that follow each other; None after the last."""
        while number >= len(self._steps):
            if not self._queue:
                return None
            job = self._queue.pop()
            victims, more = tasks_to_evict(job)
            rest = None
            if more:
                chosen = {task.key for task in victims}
                rest = partial(job, [task for task in job.tasks() if task.key not in chosen])
                self._queue.push(rest)
            self._steps.append((job, victims, rest))
        return self._steps[number]

    def with_rest(self, number: int, rest: Job | None) -> "Tape":
        """What follows a step where something else is pushed back of its job."""
        queue = self._start.copy()
        for _, _, pushed in self._steps[:number]:
            queue.pop()
            if pushed is not None:
                queue.push(pushed)
        queue.pop()
        if rest is not None:
            queue.push(rest)
        return Tape(queue)

    @cached_property
    def held(self) -> dict[int, float]:
        """GPUs by row that everybody in the queue holds."""
        held: dict[int, float] = {}
        for job in self._start.jobs():
            for task in job.tasks():
                if task.node >= 0:
                    held[task.node] = held.get(task.node, 0.0) + float(task.request[GPU])
        return held


class _Accumulator:
    """Takes victims from the tape, batch by batch, and says when they could be enough."""

    def __init__(self, probe: Probe, tape: Tape, nodes: NodeTable, labels: Labels) -> None:
        self.probe = probe
        self.nodes = nodes
        self._tape = tape
        self._place = 0
        self.batches: list[Batch] = []
        self._of_job: dict[str, list[Task]] = {}
        self._on_row: dict[int, dict[str, Job]] = {}
        for task in probe.recorded_tasks:
            self._of_job.setdefault(task.job.key, []).append(task)
        self._recorded = {task.key for task in probe.recorded_tasks}
        self._gpus: Amounts = nodes.soon_free(nodes.all_rows)[:, GPU]
        self.free = self._gpus.copy()
        self._required = sorted((float(task.request[GPU]) for task in probe.pending), reverse=True)
        self._choosy = [task.pod for task in probe.pending if task.pod.node_selector or task.pod.affinity]
        self._grouped = _required_by_level(probe, labels)
        self._sums = [_sums(codes, self.free) for codes, _ in self._grouped]
        self._release(probe.recorded_tasks)

    def _release(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            if task.node < 0:
                continue
            self.free[task.node] += task.request[GPU]
            for (codes, _), sums in zip(self._grouped, self._sums, strict=True):
                if codes[task.node] >= 0:
                    sums[codes[task.node]] += task.request[GPU]

    def advance(self, step: Step) -> bool:
        """Take one more batch; False when the next job brought none (its victims are recorded already)."""
        job, victims, pushed = step
        self._place += 1
        if any(task.key in self._recorded for task in victims):
            rest = [task for task in job.tasks() if task.key not in self._recorded]
            if rest or pushed is not None:
                self._tape = self._tape.with_rest(self._place - 1, partial(job, rest) if rest else None)
                self._place = 0
            return False
        if victims:
            self.batches.append(victims)
            self._release(victims)
        for task in victims:
            self._of_job.setdefault(task.job.key, []).append(task)
            self._on_row.setdefault(task.node, {})[task.job.key] = task.job
        return True

    def sharing_node(self, row: int) -> list[Batch]:
        """Everything so far of each job with a victim on this node, recorded victims included."""
        return [self._of_job[key].copy() for key in self._on_row.get(row, ())]

    def states(self) -> Iterator[None]:
        """Stop at every state that the filters let pass, the recorded victims alone first."""
        if self._valid():
            yield
        if not self._could_pass():
            return
        while (step := self._tape.step(self._place)) is not None:
            if self.advance(step) and self._valid():
                yield

    def _could_pass(self) -> bool:
        """Whether the filters might let any state pass: not where the largest ask finds no holder even when everybody
        in the queue is gone."""
        free = self.free.copy()
        held = self._tape.held
        free[list(held.keys())] += np.fromiter(held.values(), np.float64, len(held))
        asked = [(self._required, free), *((required, _sums(codes, free)) for codes, required in self._grouped)]
        return all(holders.max(initial=0.0) >= required[0] for required, holders in asked if required)

    def _valid(self) -> bool:
        return self._selectors_met() and self._domains_suffice() and first_fit(self._required, self.free)

    def _selectors_met(self) -> bool:
        for pod in self._choosy:
            matching = self.nodes.matching(pod)
            held = (task.node for batch in self.batches for task in batch)
            if not any(matching[row] for row in (*self.probe.feasible, *held)):
                return False
        return True

    def _domains_suffice(self) -> bool:
        if self.nodes.shared.rows:  # Sums of parts depend on their order.
            return all(first_fit(required, _sums(codes, self.free)) for codes, required in self._grouped)
        return all(first_fit(required, sums) for (_, required), sums in zip(self._grouped, self._sums, strict=True))


def _required_by_level(probe: Probe, labels: Labels) -> list[tuple[Codes, list[float]]]:
    """Per required level the GPUs of each inner (sub)group with that level, largest first.

    Pods of the job that run already are counted too, as in KAI: they hide solutions.
    """
    grouped: dict[tuple[str, str], list[float]] = {}
    stack = [probe.job.root]
    while stack:
        group = stack.pop()
        stack.extend(group.groups)
        constraint = group.constraint
        if constraint.topology and constraint.required:
            tasks = (task for podset in group.all_podsets() for task in podset.tasks)
            gpus = sum(float(task.request[GPU]) for task in tasks)
            grouped.setdefault((constraint.topology, constraint.required), []).append(gpus)
    return [(_codes(labels(*key)), sorted(amounts, reverse=True)) for key, amounts in grouped.items()]


def _codes(column: Sequence[str | None]) -> Codes:
    """A number per distinct label value, -1 where there is none."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(value, len(known)) if value else -1 for value in column], dtype=np.intp)


def _sums(codes: Codes, free: Amounts) -> Amounts:
    """What is free in each domain."""
    labelled = codes >= 0
    sums: Amounts = np.bincount(codes[labelled], weights=free[labelled]).astype(np.float64)
    return sums


def first_fit(required: Sequence[float], free: Amounts) -> bool:
    """Whether each amount, largest first, finds a holder; holders are tried fullest of free first."""
    if not required or required[0] == 0:
        return True
    if not len(free) or float(free.max()) < required[0]:
        return False
    if required[0] == required[-1]:
        return bool(np.floor(np.maximum(free, 0.0) / required[0]).sum() >= len(required))
    left = np.sort(free)[::-1].copy()
    for amount in required:
        if amount == 0:
            return True
        holders = left >= amount
        if not holders.any():
            return False
        left[int(np.argmax(holders))] -= amount
    return True


def node_local(probe: Probe, tape: Tape, nodes: NodeTable, labels: Labels) -> Iterator[Scenario]:
    """For each node of the latest victim's job: everything so far of the jobs with victims on that node.

    That includes, once more, the victims recorded by an earlier probe if they belong to one of these jobs.
    """
    accumulator = _Accumulator(probe, tape, nodes, labels)
    for _ in accumulator.states():
        batches = accumulator.batches
        if not batches:
            if probe.recorded:
                yield Scenario(probe, [])
            continue
        latest = batches[-1][-1].job
        seen: set[tuple[str, ...]] = set()
        for row in sorted({task.node for task in latest.tasks() if task.node >= 0}):
            chosen = accumulator.sharing_node(row)
            key = tuple(sorted(task.key for batch in chosen for task in batch))
            if chosen and key not in seen:
                seen.add(key)
                yield Scenario(probe, chosen)


def growing(probe: Probe, tape: Tape, nodes: NodeTable, labels: Labels) -> Iterator[Scenario]:
    """Sets of nodes, least capacity first, from the smallest set that could suffice up to all."""
    accumulator = _Accumulator(probe, tape, nodes, labels)
    for _ in accumulator.states():
        if not accumulator.batches:
            yield Scenario(probe, [])
            continue
        yield from _grow(probe, accumulator)


def _grow(probe: Probe, accumulator: _Accumulator) -> Iterator[Scenario]:
    batches = list(accumulator.batches)
    by_row: dict[int, list[int]] = {}
    for index, batch in enumerate(batches):
        for task in batch:
            if index not in by_row.setdefault(task.node, []):
                by_row[task.node].append(index)
    demand = [float(task.request[GPU]) for task in probe.pending]
    free = accumulator.free
    rows = [row for row in by_row if not (min(demand) > 0 and free[row] < min(demand))]
    rows.sort(key=lambda row: float(free[row]))
    others = [row for row in probe.feasible if row not in by_row]
    missing = sum(demand) - sum(float(free[row]) for row in others)
    for count in range(_smallest_cover([float(free[row]) for row in rows], missing), len(rows) + 1):
        picked = {index for row in rows[:count] for index in by_row[row]}
        yield Scenario(probe, [batches[index] for index in sorted(picked)])


def _smallest_cover(capacities: Sequence[float], missing: float) -> int:
    if missing <= 0:
        return 0
    covered = 0.0
    for count, capacity in enumerate(capacities, start=1):
        covered += capacity
        if covered >= missing:
            return count
    return len(capacities) + 1
