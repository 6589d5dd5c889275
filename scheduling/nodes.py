"""The nodes of a shard as arrays, and which nodes a pod may use at all.

Rows are sorted by node name in byte order, so the lowest row wins every tie, as in KAI.
"""

import operator
from collections import deque
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from scheduling.neighbours import Neighbours
from scheduling.resources import CPU, GPU, MEMORY, PODS
from scheduling.selectors import HARD_EFFECTS, matches_affinity, untolerated
from scheduling.sharing import DEFAULT_MEMORY_MIB, SharedGpus
from scheduling.state import FitSignature, Task
from scheduling.structs import Node, Pod, Toleration

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

UNSCHEDULABLE = "node is unschedulable"
NOT_READY = "node has NotReady condition"
TAINT = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


MAX_MASKS = 512
"""So many kinds of pods are remembered per fleet."""


class Fleet:
    """What does not change while nodes stay as they are. Kept from one cycle to the next."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.given = tuple(nodes)
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.names = [node.name for node in self.nodes]
        self.row = {name: index for index, name in enumerate(self.names)}
        count = len(self.nodes)
        self.allocatable = np.zeros((count, 4))
        for column, name in ((CPU, "cpu"), (MEMORY, "memory"), (GPU, "gpu")):
            amounts = (getattr(node.allocatable, name) for node in self.nodes)
            self.allocatable[:, column] = np.fromiter(amounts, np.float64, count)
        self.allocatable[:, PODS] = np.fromiter((node.pods for node in self.nodes), np.float64, count)
        self.memory = np.array([float(node.gpu_memory_mib) or DEFAULT_MEMORY_MIB for node in self.nodes], dtype=float)
        self.usable: Mask = np.array([node.ready and not node.unschedulable for node in self.nodes], dtype=bool)
        self.all_rows: Rows = np.arange(count)
        self.plain: Mask = self.usable & np.array(
            [not any(taint.effect in HARD_EFFECTS for taint in node.taints) for node in self.nodes], dtype=bool
        )
        for array in (self.allocatable, self.memory, self.usable, self.all_rows, self.plain):
            array.flags.writeable = False
        self._masks: dict[FitSignature, Mask] = {}
        self._labels: dict[str, list[str | None]] = {}

    def is_of(self, nodes: Sequence[Node]) -> bool:
        """Whether these are the very same node objects."""
        return len(nodes) == len(self.given) and all(map(operator.is_, nodes, self.given))

    def label(self, key: str) -> list[str | None]:
        """Values of a label by row, None where it is missing."""
        if key not in self._labels:
            self._labels[key] = [node.labels.get(key) for node in self.nodes]
        return self._labels[key]

    def allowed(self, pod: Pod, signature: FitSignature) -> Mask:
        """Rows where condition, taints, selector and affinity let the pod in, whatever is free there."""
        mask = self._masks.get(signature)
        if mask is None:
            mask = (self._tolerating(pod.tolerations) if pod.tolerations else self.plain) & self.matching(pod)
            if len(self._masks) >= MAX_MASKS:
                self._masks.clear()
            self._masks[signature] = mask
        return mask

    def _tolerating(self, tolerations: Sequence[Toleration]) -> Mask:
        tolerated = [untolerated(node.taints, tolerations) is None for node in self.nodes]
        mask: Mask = np.logical_and(self.usable, np.array(tolerated, dtype=bool))
        return mask

    def matching(self, pod: Pod) -> Mask:
        """Rows that the pod's selector and affinity name, whatever their state."""
        mask = np.ones(len(self.nodes), dtype=bool)
        for key, wanted in pod.node_selector.items():
            values = self.label(key)
            mask &= np.array([value == wanted for value in values], dtype=bool)
        if pod.affinity:
            mask &= np.array([matches_affinity(node, pod.affinity) for node in self.nodes], dtype=bool)
        return mask


_recent: deque[Fleet] = deque(maxlen=4)
_recent_lock = Lock()


def fleet_of(nodes: Sequence[Node]) -> Fleet:
    """The fleet of these nodes: the one of an earlier cycle if the node objects are still the same. Those used last
    stay."""
    fleet = next((each for each in tuple(_recent) if each.is_of(nodes)), None) or Fleet(nodes)
    with _recent_lock:
        if fleet in _recent:
            _recent.remove(fleet)
        _recent.append(fleet)
    return fleet


class NodeTable:
    """Amounts by row: ``allocatable``, ``idle`` (not given away) and ``releasing`` (about to be free).

    Columns are cpu, memory, gpu, pods. ``idle + releasing`` is what an attempt may use; pipelined pods
    make ``releasing`` smaller, even negative.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.fleet = fleet_of(nodes)
        self.nodes = self.fleet.nodes
        self.names = self.fleet.names
        self.row = self.fleet.row
        self.allocatable = self.fleet.allocatable
        self.usable = self.fleet.usable
        self.all_rows = self.fleet.all_rows
        self.label = self.fleet.label
        self.allowed = self.fleet.allowed
        self.matching = self.fleet.matching
        self.idle = self.allocatable.copy()
        self.releasing = np.zeros(self.idle.shape)
        self.shared = SharedGpus(self.fleet.memory)
        self.neighbours: Neighbours | None = None
        """Set by the session when any pod has a term on other pods."""

    @property
    def least_memory(self) -> float:
        """Memory in MiB of the smallest GPU device."""
        return float(self.shared.memory.min()) if self.nodes else DEFAULT_MEMORY_MIB

    def room(self, task: Task, rows: Rows, *, now: bool = False) -> NDArray[np.float64]:
        """What is free for a task on these rows (ascending), to be compared with its ``need``; now, or soon.

        The answer is for reading only.
        """
        every = len(rows) == len(self.nodes)
        free: NDArray[np.float64] = self.idle if every else self.idle[rows]
        if not now:
            free = free + (self.releasing if every else self.releasing[rows])
        if task.share is not None:
            free = free.copy()
            free[:, GPU] += self.shared.openings(task.share, rows, now=now)
        return free

    def soon_free(self, rows: Rows) -> NDArray[np.float64]:
        """Idle and releasing amounts, with what is left of shared GPUs."""
        free: NDArray[np.float64] = self.idle[rows] + self.releasing[rows]
        if self.shared.rows:
            free[:, GPU] += self.shared.leftovers(rows)
        return free

    def soon_free_of(self, column: int, rows: Rows) -> NDArray[np.float64]:
        """One column of ``soon_free``."""
        free: NDArray[np.float64] = self.idle[rows, column] + self.releasing[rows, column]
        if column == GPU and self.shared.rows:
            free += self.shared.leftovers(rows)
        return free

    def allowed_now(self, task: Task) -> Mask:
        """``allowed``, and the pods already placed let this one in too."""
        allowed = self.allowed(task.pod, task.signature)
        if self.neighbours is None or not self.neighbours.concerns(task.pod):
            return allowed
        allowed = allowed.copy()
        for _, rows in self.neighbours.refused(task.pod):
            allowed &= ~rows
        return allowed

    def refusal(self, row: int, pod: Pod) -> str:
        """The reason, in KAI's words, that a node which has room is not allowed."""
        node = self.nodes[row]
        if node.unschedulable:
            return UNSCHEDULABLE
        if not node.ready:
            return NOT_READY
        selected = all(node.labels.get(key) == value for key, value in pod.node_selector.items())
        if not selected or (pod.affinity and not matches_affinity(node, pod.affinity)):
            return AFFINITY
        if untolerated(node.taints, pod.tolerations) is not None:
            return TAINT
        if self.neighbours is not None and self.neighbours.concerns(pod):
            return next((text for text, rows in self.neighbours.refused(pod) if rows[row]), "")
        return ""
