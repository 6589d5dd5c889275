"""The nodes of a shard as arrays, and which nodes a pod may use at all.

Rows are sorted by node name in byte order, so the lowest row wins every tie, as in KAI.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduling.resources import vector
from scheduling.state import FitSignature
from scheduling.structs import Node, Pod, Requirement, Taint, Toleration

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

UNSCHEDULABLE = "node is unschedulable"
NOT_READY = "node is not ready"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class NodeTable:
    """Amounts by row: ``allocatable``, ``idle`` (not given away) and ``releasing`` (about to be free).

    Columns are cpu, memory, gpu, pods. ``idle + releasing`` is what an attempt may use; pipelined pods
    make ``releasing`` smaller, even negative.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = sorted(nodes, key=lambda node: node.name)
        self.names = [node.name for node in self.nodes]
        self.row = {name: index for index, name in enumerate(self.names)}
        count = len(self.nodes)
        self.allocatable = np.zeros((count, 4))
        for index, node in enumerate(self.nodes):
            self.allocatable[index] = vector(node.allocatable, float(node.pods))
        self.idle = self.allocatable.copy()
        self.releasing = np.zeros((count, 4))
        self.usable: Mask = np.array([node.ready and not node.unschedulable for node in self.nodes], dtype=bool)
        self.all_rows: Rows = np.arange(count)
        self._plain: Mask = self.usable & np.array(
            [not any(taint.effect in HARD_EFFECTS for taint in node.taints) for node in self.nodes], dtype=bool
        )
        self._masks: dict[FitSignature, Mask] = {}
        self._labels: dict[str, list[str | None]] = {}

    def label(self, key: str) -> list[str | None]:
        """Values of a label by row, None where it is missing."""
        if key not in self._labels:
            self._labels[key] = [node.labels.get(key) for node in self.nodes]
        return self._labels[key]

    def allowed(self, pod: Pod, signature: FitSignature) -> Mask:
        """Rows where condition, taints, selector and affinity let the pod in, whatever is free there."""
        if signature not in self._masks:
            mask: Mask = self._tolerating(pod.tolerations) if pod.tolerations else self._plain
            self._masks[signature] = mask & self._selected(pod)
        allowed: Mask = self._masks[signature]
        return allowed

    def _tolerating(self, tolerations: Sequence[Toleration]) -> Mask:
        tolerated = [untolerated(node.taints, tolerations) is None for node in self.nodes]
        mask: Mask = np.logical_and(self.usable, np.array(tolerated, dtype=bool))
        return mask

    def matching(self, pod: Pod) -> Mask:
        """Rows that the pod's selector and affinity name, whatever their state."""
        return self._selected(pod)

    def _selected(self, pod: Pod) -> Mask:
        mask = np.ones(len(self.nodes), dtype=bool)
        for key, wanted in pod.node_selector.items():
            values = self.label(key)
            mask &= np.array([value == wanted for value in values], dtype=bool)
        if pod.affinity:
            mask &= np.array([matches_affinity(node, pod.affinity) for node in self.nodes], dtype=bool)
        return mask

    def refusal(self, row: int, pod: Pod) -> str:
        """The reason, in KAI's words, that a node which has room is not allowed."""
        node = self.nodes[row]
        if node.unschedulable:
            return UNSCHEDULABLE
        if not node.ready:
            return NOT_READY
        if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
            return AFFINITY
        if pod.affinity and not matches_affinity(node, pod.affinity):
            return AFFINITY
        taint = untolerated(node.taints, pod.tolerations)
        if taint is None:
            return ""
        return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first hard taint that no toleration covers."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(_tolerates(each, taint) for each in tolerations):
            return taint
    return None


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def matches_affinity(node: Node, terms: Iterable[tuple[Requirement, ...]]) -> bool:
    """Whether a node fits one of the required terms; an empty term fits nothing."""
    return any(term and all(_matches(node, requirement) for requirement in term) for term in terms)


def _matches(node: Node, requirement: Requirement) -> bool:
    value = node.name if requirement.field else node.labels.get(requirement.key)
    test = _OPERATORS.get(requirement.operator)
    return test is not None and test(value, requirement.values)


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _compare(value: str | None, values: tuple[str, ...], *, greater: bool) -> bool:
    left, right = _number(value), _number(values[0] if values else None)
    if left is None or right is None:
        return False
    return left > right if greater else left < right


_OPERATORS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compare(value, values, greater=True),
    "Lt": lambda value, values: _compare(value, values, greater=False),
}
