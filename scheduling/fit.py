"""One pod, one node: which nodes have room and are allowed, which of them KAI takes, why the others not."""

import numpy as np
from numpy.typing import NDArray

from scheduling.nodes import Mask, NodeTable, Rows
from scheduling.resources import CPU, DIVIDED, GPU, MEMORY, PODS, TOLERANCE, describe, humanize
from scheduling.state import Task, TaskErrors
from scheduling.structs import SchedulerConfig

Scores = NDArray[np.float64]

DENSITY_SCORE = 9.0
RESOURCE_TYPE_SCORE = 10.0
AVAILABILITY_SCORE = 1000.0
SHARING_SCORE = 10_000.0
SHORT_OF = "node(s) didn't have enough resources: "
RESOURCE_NAMES = {GPU: "GPUs", CPU: "CPU cores", MEMORY: "memory", PODS: "pods"}


class Chooser:
    """Chooses nodes for pods on the table's current amounts."""

    def __init__(self, nodes: NodeTable, config: SchedulerConfig, pool: str) -> None:
        self.nodes = nodes
        self.config = config
        self.pool = pool or "default"
        self.largest = nodes.allocatable.max(axis=0) if len(nodes.names) else np.zeros(4)

    def fits(self, task: Task, rows: Rows) -> Mask:
        """Rows with room (idle or releasing) where the pod is allowed."""
        return enough(task, self.nodes.room(task, rows)) & self.nodes.allowed_now(task)[rows]

    def choose(self, task: Task, rows: Rows, scores: Scores | None, errors: TaskErrors | None) -> int:
        """The row that KAI takes, -1 for none. Reasons of the rows tried before it go into ``errors``.

        ``scores`` are the topology scores by row; a row without one (NaN) is not tried at all.
        """
        if scores is not None:
            rows = rows[~np.isnan(scores[rows])]
        if not len(rows):
            return -1
        fits = self.fits(task, rows)
        if not fits.any():
            self._explain(task, rows, fits, errors)
            return -1
        points = self._points(task, rows)
        if scores is not None:
            points = points + scores[rows]
        best = int(np.argmax(np.where(fits, points, -np.inf)))
        if errors is not None:
            before = points > points[best]
            before[:best] |= points[:best] == points[best]
            self._explain(task, rows[before], fits[before], errors)
        return int(rows[best])

    def fill(self, task: Task, rows: Rows, scores: Scores | None, count: int) -> list[int] | None:
        """Rows for ``count`` pods like this one, in order; None when packing pod by pod could differ.

        Packing takes one node until it is full, because a node rises in order as it fills. That holds
        where nothing is being released.
        """
        column = GPU if task.request[GPU] > 0 else CPU
        strategy = self.config.gpu_placement if column == GPU else self.config.cpu_placement
        if scores is not None:
            rows = rows[~np.isnan(scores[rows])]
        if strategy == "spread" or task.share is not None or task.request[column] <= 0:
            return None
        if self.nodes.releasing[rows].any() or self._minds_others(task):
            return None
        rows = rows[self.fits(task, rows)]
        asked = task.request > 0
        room = np.floor((self.nodes.idle[rows][:, asked] + TOLERANCE) / task.request[asked]).min(axis=1)
        if room.sum() < count:
            return None
        points = self._points(task, rows)
        if scores is not None:
            points = points + scores[rows]
        order = np.lexsort((rows, -points))
        taken = np.minimum(np.cumsum(room[order]), count)
        numbers = np.diff(taken, prepend=0.0).astype(np.intp)
        return [int(row) for row in np.repeat(rows[order], numbers)]

    def _minds_others(self, task: Task) -> bool:
        neighbours = self.nodes.neighbours
        return neighbours is not None and neighbours.concerns(task.pod)

    def _points(self, task: Task, rows: Rows) -> Scores:
        """KAI's node score without topology: packing or spreading, then CPU-only nodes, then idle ones."""
        nodes = self.nodes
        column = GPU if task.request[GPU] > 0 else CPU
        capacity = nodes.allocatable[rows, column]
        free = nodes.soon_free_of(column, rows)
        strategy = self.config.gpu_placement if column == GPU else self.config.cpu_placement
        points = _spread(free, capacity) if strategy == "spread" else _pack(free, capacity)
        if column == CPU:
            points = points + RESOURCE_TYPE_SCORE * (nodes.allocatable[rows, GPU] == 0)
        available = enough(task, nodes.room(task, rows, now=True))
        points = points + AVAILABILITY_SCORE * available
        if task.share is not None and nodes.shared.rows:
            openings = nodes.shared.openings(task.share, rows, now=False)
            points = points + SHARING_SCORE * (openings >= task.share.devices)
        return points

    def available(self, task: Task, row: int) -> bool:
        """Whether the node has what the pod needs right now."""
        return bool(enough(task, self.nodes.room(task, np.array([row]), now=True))[0])

    def _explain(self, task: Task, rows: Rows, fits: Mask, errors: TaskErrors | None) -> None:
        """Count why these nodes do not take the pod: what they lack, else why it is not allowed there."""
        if errors is None:
            return
        rows = rows[~fits]
        roomy = enough(task, self.nodes.room(task, rows))
        idle = self.nodes.room(task, rows[~roomy], now=True)
        for index in (GPU, CPU, MEMORY, PODS):
            errors.count(SHORT_OF + RESOURCE_NAMES[index], int((task.need[index] > idle[:, index] + TOLERANCE).sum()))
        for row in rows[roomy].tolist():
            errors.count(self.nodes.refusal(row, task.pod), 1)

    def too_large(self, task: Task) -> str:
        """KAI's text when no node of the pool could ever hold the pod, "" otherwise."""
        for index in (GPU, CPU, MEMORY):
            if task.need[index] > self.largest[index] + TOLERANCE:
                return self._too_large_text(task, index)
        return ""

    def _too_large_text(self, task: Task, index: int) -> str:
        asked = describe([task.quota[each] for each in DIVIDED])
        start = f"The pod {task.key} requires {asked}, pods: 1."
        name = {GPU: "GPU", CPU: "CPU", MEMORY: "memory"}[index]
        if self.largest[index] == 0:
            return f"{start} No node in the {self.pool} node-pool has {name} resources"
        unit = {GPU: "", CPU: " cores", MEMORY: " GB"}[index]
        top = humanize(float(self.largest[index]), index)
        return (
            f"{start} Max {name} resources available in a single node in the {self.pool} node-pool "
            f"is topped at {top}{unit}"
        )


def enough(task: Task, free: Scores) -> Mask:
    """Rows of free amounts that hold what the task needs."""
    met: Mask = task.need[0] <= free[:, 0] + TOLERANCE
    for column in range(1, 4):
        met &= task.need[column] <= free[:, column] + TOLERANCE
    return met


def _pack(free: Scores, capacity: Scores) -> Scores:
    """Nine points for the node with the least free, none for the one with the most."""
    having = capacity != 0
    if not having.any():
        return np.zeros(len(free))
    lowest, highest = free[having].min(), max(free[having].max(), 0.0)
    if highest == 0:
        return np.zeros(len(free))
    if lowest == highest:
        return np.where(having, DENSITY_SCORE, 0.0)
    return np.where(having, DENSITY_SCORE * (1 - (free - lowest) / (highest - lowest)), 0.0)


def _spread(free: Scores, capacity: Scores) -> Scores:
    """The fraction that is free."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(capacity != 0, free / capacity, 0.0)
