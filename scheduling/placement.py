"""Placing a gang: subgroup by subgroup, domain by domain, pod by pod (KAI's allocate and topology code)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduling import verdicts
from scheduling.domains import Capacity, DomainTree, SortedTree, same_kind, tree_of
from scheduling.fit import Chooser, Scores
from scheduling.gangs import ordered, tasks_to_place
from scheduling.gates import check_gates
from scheduling.nodes import Rows
from scheduling.resources import CPU, GPU, MEMORY, PODS, Vector
from scheduling.session import Session
from scheduling.state import ACTIVE, FitError, Job, PodSet, SubGroupSet, Task, TaskErrors

Group = SubGroupSet | PodSet

MANY_PODS = 8
MANY_NODES = 64
NodeSets = Iterable[Rows]


class Placer:
    """Places jobs in one session; ``real`` attempts bind, the others only promise places."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.chooser = Chooser(session.nodes, session.config, session.snapshot.pool)
        self._topologies = {topology.name: topology for topology in session.snapshot.topologies}
        self._sorted: dict[str, SortedTree] = {}
        self._scores: dict[str, Scores] = {}

    def place(self, job: Job, rows: Rows, *, real: bool) -> bool:
        """Give the next pods of the job places on these rows, all or none (undo is the caller's)."""
        self._scores = {}
        tasks = tasks_to_place(job, real=real)
        verdict = check_gates(self.session.queues, job, tasks)
        if verdict is not None:
            if real:
                job.errors.append(verdict)
            return False
        return self._place_set(job, job.root, tasks, rows, real=real)

    def _place_set(self, job: Job, group: SubGroupSet, tasks: Sequence[Task], rows: Rows, *, real: bool) -> bool:
        for subset in self._node_sets(job, group, tasks, rows):
            mark = self.session.mark()
            if self._place_members(job, group, tasks, subset, real=real):
                return True
            self.session.rollback(mark)
        return False

    def _place_members(self, job: Job, group: SubGroupSet, tasks: Sequence[Task], rows: Rows, *, real: bool) -> bool:
        for inner in ordered(group.groups):
            names = {podset.name for podset in inner.all_podsets()}
            chosen = [task for task in tasks if task.podset.name in names]
            if not self._place_set(job, inner, chosen, rows, real=real):
                return False
        for podset in ordered(group.podsets):
            chosen = [task for task in tasks if task.podset.name == podset.name]
            if not self._place_podset(job, podset, chosen, rows, real=real):
                return False
        return True

    def _place_podset(self, job: Job, podset: PodSet, tasks: Sequence[Task], rows: Rows, *, real: bool) -> bool:
        for subset in self._node_sets(job, podset, tasks, rows):
            mark = self.session.mark()
            if self._place_tasks(job, podset, tasks, subset, real=real):
                return True
            self.session.rollback(mark)
        return False

    def _place_tasks(self, job: Job, podset: PodSet, tasks: Sequence[Task], rows: Rows, *, real: bool) -> bool:
        scores = self._scores_of(podset)
        if self._place_alike(tasks, rows, scores, real=real):
            return True
        for index, task in enumerate(tasks):
            if not self._place_task(job, task, rows, scores, real=real):
                job.errors.append(verdicts.failed_pod(job, podset, task, index))
                return False
        return True

    def _place_alike(self, tasks: Sequence[Task], rows: Rows, scores: Scores | None, *, real: bool) -> bool:
        """Many equal pods on many nodes in one pass; False when that would not give what pod by pod does."""
        if len(tasks) < MANY_PODS or len(rows) < MANY_NODES:
            return False
        first = tasks[0]
        if any(task.quota != first.quota or task.signature != first.signature for task in tasks):
            return False
        chosen = self.chooser.fill(first, rows, scores, len(tasks))
        if chosen is None:
            return False
        for task, row in zip(tasks, chosen, strict=True):
            if real:
                self.session.allocate(task, row)
            else:
                self.session.pipeline(task, row)
        return True

    def _place_task(self, job: Job, task: Task, rows: Rows, scores: Scores | None, *, real: bool) -> bool:
        too_large = self.chooser.too_large(task)
        if too_large:
            job.task_errors[task.key] = verdicts.unmet_conditions(task, too_large)
            return False
        errors = TaskErrors() if real else None
        row = self.chooser.choose(task, rows, scores, errors)
        if errors is not None and errors.counts:
            verdicts.add_counts(job, task, errors)
        if row < 0:
            return False
        if real and self.chooser.available(task, row):
            self.session.allocate(task, row)
        else:
            self.session.pipeline(task, row)
        return True

    def _scores_of(self, podset: PodSet) -> Scores | None:
        """Topology scores of the nearest (sub)group with a preferred level."""
        group: Group | None = podset
        while group is not None:
            if group.name in self._scores:
                return self._scores[group.name]
            group = group.parent
        return None

    def _node_sets(self, job: Job, group: Group, tasks: Sequence[Task], rows: Rows) -> NodeSets:
        """The sets of rows to try in turn; none when the constraint cannot be met."""
        constraint = group.constraint
        if not constraint.topology:
            return [rows]
        tree = self.tree(constraint.topology)
        if tree is None:
            job.errors.append(verdicts.topology_missing(constraint.topology))
            return []
        if not tasks:
            return [rows]
        return _Constrained(self, job, group, tasks, tree).node_sets(rows)

    def tree(self, name: str) -> DomainTree | None:
        """The domain tree of a topology, built when first asked for."""
        if name not in self._topologies:
            return None
        if name not in self._sorted:
            self._sorted[name] = SortedTree(tree_of(self._topologies[name], self.session.nodes))
        return self._sorted[name].tree

    def keep_scores(self, name: str, scores: Scores) -> None:
        """Remember the topology scores of a (sub)group for the rest of this job's attempt."""
        self._scores[name] = scores

    def sorted_tree(self, tree: DomainTree) -> SortedTree:
        """The order of the tree's domains, shared by all attempts of the session."""
        return self._sorted[tree.name]


class _Constrained:
    """One (sub)group under a topology constraint: which domains may take its pods, in which order."""

    def __init__(self, placer: Placer, job: Job, group: Group, tasks: Sequence[Task], tree: DomainTree) -> None:
        self.placer = placer
        self.job = job
        self.group = group
        self.tree = tree
        self.required = tree.level(group.constraint.required)
        self.preferred = tree.level(group.constraint.preferred)
        self.requests = np.stack([_counted(task) for task in tasks])
        self.request: Vector = self.requests.sum(axis=0)
        self.count = len(tasks)
        self.names = {task.podset.name for task in tasks}

    def node_sets(self, rows: Rows) -> NodeSets:
        """Candidates: narrowest level first, inside a level the fullest domain first."""
        tree = self.tree
        valid = rows[tree.valid[rows]]
        top = tree.common(valid, self.preferred)
        capacity = Capacity(tree, self.placer.session.nodes, top)
        if same_kind(self.requests):
            capacity.count_pods(self.requests.max(axis=0), self.count)
        if self._misfit(capacity, *top) is not None:
            self._fail(f"not enough resources in {_place_name(tree, top)} to allocate the job")
            return []
        order = self.placer.sorted_tree(tree)
        lowest = self.preferred or self.required
        if lowest:
            order.sort(capacity, self.request, lowest)
        if self.preferred:
            self._score(capacity, order)
        candidates = self._candidates(capacity, order)
        allowed = np.zeros(len(tree.valid), dtype=bool)
        allowed[valid] = True
        members = (tree.members(depth, code) for depth, code in candidates)
        return (member[allowed[member]] for member in members)

    def _candidates(self, capacity: Capacity, order: SortedTree) -> list[tuple[int, int]]:
        depths = self._depths()
        if depths is None:
            return []
        pinned = self._pinned()
        found: list[tuple[int, int]] = []
        for depth in depths:
            fitting = self._fitting(capacity, depth)
            if pinned is not None:
                fitting &= pinned[depth]
            if fitting.any():
                found.extend((depth, code) for code in order.order(depth) if fitting[code])
        if not found:
            last = depths[-1]
            tried = (code for code in order.order(last) if pinned is None or pinned[last][code])
            misfits = (self._misfit(capacity, last, code) for code in tried)
            self.job.errors.extend(misfit for misfit in misfits if misfit is not None)
            self._fail()
        return found

    def _fitting(self, capacity: Capacity, depth: int) -> NDArray[np.bool_]:
        """The domains of a level that can take the pods: by count where they were counted, else by ratio."""
        fitting: NDArray[np.bool_] = capacity.ratios(depth, self.request) <= 1.0
        if capacity.pods is None:
            return fitting.copy()
        counts = capacity.pods[depth]
        return np.where(counts >= 0, counts >= self.count, fitting)

    def _depths(self) -> list[int] | None:
        """Levels to try, deepest first; None when the constraint names no level that the walk meets.

        KAI only logs that: the job is not placed and its status says nothing.
        """
        if not self.required and not self.preferred:
            return None
        depths: list[int] = []
        met_preferred = met_required = False
        for depth in range(len(self.tree.labels) - 1, -1, -1):
            label = self.tree.labels[depth]
            met_preferred = met_preferred or label == self.preferred
            met_required = label == self.required
            if met_preferred or met_required:
                depths.append(depth)
            if met_required:
                break
        if (self.required and not met_required) or (self.preferred and not met_preferred):
            return None
        return depths

    def _pinned(self) -> list[NDArray[np.bool_]] | None:
        """Per depth the domains inside required-level domains that hold a placed pod of the group."""
        podsets = [podset for podset in _podsets(self.group) if podset.name in self.names]
        if not self.required or not any(podset.active for podset in podsets):
            return None
        rows = [task.node for podset in podsets for task in podset.tasks if task.status in ACTIVE]
        tree = self.tree
        depth = tree.labels.index(self.required)
        held = set(tree.codes[depth][[row for row in rows if row >= 0]].tolist())
        allowed = np.array([code in held for code in range(len(tree.ids[depth]))], dtype=bool)
        pinned = [np.zeros(len(ids), dtype=bool) for ids in tree.ids]
        pinned[depth] = allowed
        for below in range(depth + 1, len(tree.labels)):
            pinned[below] = pinned[below - 1][tree.parents[below]]
        return pinned

    def _misfit(self, capacity: Capacity, depth: int, code: int) -> FitError | None:
        """Why the pods do not fit into a domain, None when they do."""
        if capacity.pods is not None and capacity.pods[depth][code] >= 0:
            room = int(capacity.pods[depth][code])
            if room >= self.count:
                return None
            return verdicts.domain_full(self.tree.ids[depth][code], room, self.count)
        if capacity.ratio(depth, code, self.request) <= 1.0:
            return None
        free = capacity.free[depth][code]
        short = [index for index in (GPU, CPU, MEMORY, PODS) if self.request[index] > free[index]]
        return verdicts.domain_short(short)

    def _fail(self, suffix: str = "") -> None:
        self.job.errors.append(
            verdicts.topology_unsatisfied(self.job, self.group.name, (self.tree.name, self.required), suffix)
        )

    def _score(self, capacity: Capacity, order: SortedTree) -> None:
        """Preferred-level domains inside the top, later ones higher: the emptiest fills first."""
        tree = self.tree
        depth = tree.depth(self.preferred)
        scores = np.full(len(tree.valid), np.nan)
        if depth is not None and depth >= capacity.top[0]:
            inside = tree.codes[capacity.top[0]] == capacity.top[1]
            held = set(tree.codes[depth][inside].tolist())
            domains = [code for code in order.order(depth) if code in held]
            by_code = np.full(len(tree.ids[depth]), np.nan)
            for place, code in enumerate(domains, start=1):
                by_code[code] = np.floor(place / len(domains) * 10) * 100000.0
            scores[inside] = by_code[tree.codes[depth][inside]]
        self.placer.keep_scores(self.group.name, scores)


def _counted(task: Task) -> Vector:
    """What a domain is asked for: of pods that ask for GPU memory no GPU, as KAI's vectors have none for them."""
    if task.share is None or not task.share.memory_mib:
        return task.request
    request = task.request.copy()
    request[GPU] = 0.0
    return request


def _podsets(group: Group) -> Iterator[PodSet]:
    if isinstance(group, PodSet):
        yield group
    else:
        yield from group.all_podsets()


def _place_name(tree: DomainTree, top: tuple[int, int]) -> str:
    return "the cluster" if top[0] == 0 else tree.ids[top[0]][top[1]]
