"""The eviction search: find victims so that a job can be placed, try it, keep the first that is allowed."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scheduling.gangs import attempt, tasks_to_place
from scheduling.nodes import NodeTable, Rows
from scheduling.order import JobQueue
from scheduling.placement import Placer
from scheduling.resources import GPU, triple
from scheduling.scenarios import Batch, Labels, Probe, Room, Scenario, Tape, growing, node_local
from scheduling.session import Session
from scheduling.state import Job, Status, Task

Validator = Callable[[Scenario], bool]
Generator = Callable[[Probe, Tape, NodeTable, Labels], Iterator[Scenario]]

GENERATORS: tuple[tuple[Generator, float], ...] = ((node_local, 0.2), (growing, 0.4))
"""The generators, and how much of a cycle's budget each may use for one job."""
ATTEMPT_COST = 20
"""What trying a scenario costs of the budget, beside its victims."""


class Solution:
    """A scenario that worked; its changes are in the session's journal until rolled back or committed."""

    def __init__(self, victims: list[Task], batches: list[Batch]) -> None:
        self.victims = victims
        self.batches = batches


class Search:
    """The search for one job. ``victims`` makes the queue of candidates, ``validate`` has the last word."""

    def __init__(self, placer: Placer, job: Job, victims: Callable[[], JobQueue], validate: Validator) -> None:
        self.placer = placer
        self.session: Session = placer.session
        self.job = job
        self._tape = Tape(victims())
        self.validate = validate
        self.tasks = tasks_to_place(job, real=False)
        self._failed: set[tuple[tuple[str, ...], ...]] = set()
        self._feasible = self._feasible_rows()
        self._waiting: dict[str, Job] = {key: each for key, each in self.session.restless.items() if each.pending}
        self._recorded: Solution | None = None
        self._spare = 0

    def _feasible_rows(self) -> set[int]:
        """Nodes with some GPU left; all nodes when a pod of the job needs none."""
        nodes = self.session.nodes
        if any(task.request[GPU] <= 0 for task in self.job.tasks()):
            return set(nodes.all_rows.tolist())
        soon = nodes.soon_free(nodes.all_rows)[:, GPU] > 0
        having = soon | (nodes.idle[:, GPU] > 0) | (nodes.releasing[:, GPU] > 0)
        return set(np.flatnonzero(having).tolist())

    def run(self) -> Solution | None:
        """The solution for all pods of the next attempt, None when no generator finds one."""
        if not self.tasks:
            return None
        for generator, share in GENERATORS:
            self._recorded = None
            self._spare = self.session.budget - int(share * self.session.config.search_budget)
            if not self._most_solvable(generator):
                continue
            solution = self._probe(len(self.tasks), generator)
            if solution is not None:
                return solution
        return None

    def _most_solvable(self, generator: Generator) -> int:
        """Largest number of pods that can be placed: doubled until it fails, then halved in between."""
        count = len(self.tasks)
        low, high, size = 0, 0, 1
        while True:
            if not self._try(size, generator):
                high = size
                break
            low = size
            if size == count:
                return count
            size = min(size * 2, count)
        while high - low > 1:
            middle = (low + high) // 2
            if self._try(middle, generator):
                low = middle
            else:
                high = middle
        return low

    def _try(self, size: int, generator: Generator) -> bool:
        mark = self.session.mark()
        solution = self._probe(size, generator)
        if solution is None:
            return False
        self.session.rollback(mark)
        self._recorded = solution
        return True

    def _probe(self, size: int, generator: Generator) -> Solution | None:
        recorded = self._recorded
        feasible = set(self._feasible)
        if recorded is not None:
            feasible |= {task.node for task in recorded.victims}
        job = attempt(self.job, self.tasks[:size])
        probe = Probe(job, recorded.batches if recorded else [], feasible)
        room = Room(probe, self.session.nodes)
        for scenario in generator(probe, self._tape, self.session.nodes, self._labels):
            if scenario.fingerprint in self._failed or not scenario.victims:
                continue
            if self.session.budget <= max(self._spare, 0):
                return None
            if not room.suffices(scenario.victims):
                self.session.budget -= 1
                continue
            self.session.budget -= ATTEMPT_COST + len(scenario.victims)
            mark = self.session.mark()
            solution = self._simulate(scenario)
            if solution is not None:
                return solution
            self.session.rollback(mark)
            self._failed.add(scenario.fingerprint)
        return None

    def _labels(self, topology: str, level: str) -> list[str | None]:
        tree = self.placer.tree(topology)
        return self.session.nodes.label(tree.level(level) if tree else level)

    def _simulate(self, scenario: Scenario) -> Solution | None:
        for task in scenario.victims:
            self.session.evict(task)
        rows = scenario.probe.feasible | {task.node for task in scenario.victims}
        if not self._place_all(scenario, np.array(sorted(rows), dtype=np.intp)):
            return None
        if not self.validate(scenario):
            return None
        lost = [task for task in scenario.victims if task.status is Status.RELEASING]
        moved = [task for task in scenario.victims if task.status is Status.PIPELINED]
        actual = [*lost, *moved]
        return Solution(actual, scenario.batches_of(actual))

    def _place_all(self, scenario: Scenario, rows: Rows) -> bool:
        """Place the job and its victims again in the order of their turns; the job has to succeed."""
        job = scenario.probe.job
        jobs = self._waiting.copy()
        touched = {task.job.key for task in scenario.victims}
        for task in scenario.victims:
            jobs[task.job.key] = task.job
        jobs[job.key] = job
        queue = JobQueue(self.session.queues, triple(self.session.total)).fill(jobs.values())
        placed = False
        while queue:
            each = queue.pop()
            if each is job:
                if not self.placer.place(job, rows, real=False):
                    return False
                placed = True
            elif each.key in touched:
                mark = self.session.mark()
                if not self.placer.place(each, rows, real=False):
                    self.session.rollback(mark)
        return placed


def all_placed(scenario: Scenario) -> bool:
    """Consolidation: nobody may lose its place."""
    return all(task.status is not Status.RELEASING for task in scenario.victims)


def victims_by_job(scenario: Scenario) -> dict[str, list[Task]]:
    """The victims of each job, in the order in which they were chosen."""
    grouped: dict[str, list[Task]] = {}
    for task in scenario.victims:
        grouped.setdefault(task.job.key, []).append(task)
    return grouped


def split_core(job: Job, tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """The victims that count as the gang's minimum, and the surplus ones, set by set."""
    core: list[Task] = []
    surplus: list[Task] = []
    for podset in job.podsets.values():
        own = [task for task in tasks if task.podset is podset]
        core.extend(own[: podset.min_available])
        surplus.extend(own[podset.min_available :])
    return core, surplus
