"""Pods that must, or must not, run near others: required pod affinity and anti-affinity.

Counts per term and node what is placed; a cluster without such terms has no table at all.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scheduling.selectors import meets
from scheduling.structs import Pod, PodTerm

AWAY = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"
NEAR = "node(s) didn't match pod affinity rules"

Mask = NDArray[np.bool_]
Labels = Callable[[str], Sequence[str | None]]
Kind = tuple[PodTerm, str]
"""A term and the namespace of the pod that has it."""


class Neighbours:
    """What is placed where, as far as a term of any pod cares."""

    def __init__(self, pods: Sequence[Pod], labels: Labels, size: int) -> None:
        self._kinds: dict[Kind, int] = {}
        for pod in pods:
            for term in (*pod.anti_affinity, *pod.pod_affinity):
                self._kinds.setdefault((term, pod.namespace), len(self._kinds))
        self._labels = labels
        self._matching = np.zeros((len(self._kinds), size), dtype=np.int64)
        self._owning = np.zeros((len(self._kinds), size), dtype=np.int64)
        self._codes: dict[str, NDArray[np.int64]] = {}
        self._matched: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}

    def concerns(self, pod: Pod) -> bool:
        """Whether the pod has a term, or matches one."""
        return bool(pod.anti_affinity or pod.pod_affinity or self._matches(pod))

    def book(self, pod: Pod, row: int, step: int) -> None:
        """A pod comes to (+1) or leaves (-1) a node."""
        for number in self._matches(pod):
            self._matching[number, row] += step
        for term in pod.anti_affinity:
            self._owning[self._kinds[term, pod.namespace], row] += step

    def refused(self, pod: Pod) -> tuple[tuple[str, Mask], ...]:
        """Per rule its text and the rows that it forbids."""
        rules = []
        away = self._no_rows()
        for term in pod.anti_affinity:
            away |= self._near(term, self._matching[self._kinds[term, pod.namespace]])
        rules.append((AWAY, away))
        kept = self._no_rows()
        for (term, _), number in self._kinds.items():
            if number in self._matches(pod):
                kept |= self._near(term, self._owning[number])
        rules.append((KEPT_AWAY, kept))
        if pod.pod_affinity:
            rules.append((NEAR, self._too_far(pod)))
        return tuple(rules)

    def _too_far(self, pod: Pod) -> Mask:
        """Rows without a wanted neighbour; the first pod of a series that wants its own kind is free."""
        far = self._no_rows()
        numbers = [self._kinds[term, pod.namespace] for term in pod.pod_affinity]
        own = self._matches(pod)
        first = all(number in own for number in numbers) and not self._matching[numbers].any()
        for term, number in zip(pod.pod_affinity, numbers, strict=True):
            near = self._code(term.topology_key) >= 0 if first else self._near(term, self._matching[number])
            far |= ~near
        return far

    def _no_rows(self) -> Mask:
        return np.zeros(self._matching.shape[1], dtype=bool)

    def _near(self, term: PodTerm, counts: NDArray[np.int64]) -> Mask:
        """Rows in a domain of the term's topology where something is counted."""
        codes = self._code(term.topology_key)
        held = np.unique(codes[(counts > 0) & (codes >= 0)])
        near: Mask = np.isin(codes, held)
        return near

    def _code(self, key: str) -> NDArray[np.int64]:
        if key not in self._codes:
            numbers: dict[str, int] = {}
            codes = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in self._labels(key)]
            self._codes[key] = np.array(codes, dtype=np.int64)
        return self._codes[key]

    def _matches(self, pod: Pod) -> list[int]:
        """Numbers of the terms that match the pod, whoever has them."""
        key = (pod.namespace, tuple(sorted(pod.labels.items())))
        if key not in self._matched:
            self._matched[key] = [
                number
                for (term, home), number in self._kinds.items()
                if _matches(term, home, pod.namespace, pod.labels)
            ]
        return self._matched[key]


def _matches(term: PodTerm, home: str, namespace: str, labels: Mapping[str, str]) -> bool:
    return namespace in (term.namespaces or (home,)) and all(meets(each, labels.get(each.key)) for each in term.match)
