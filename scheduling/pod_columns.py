"""The pods of a snapshot as columns, read once for snapshots that hold mostly the same pods."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scheduling.state import Status
from scheduling.structs import FINISHED, Pod

Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Amounts = NDArray[np.float64]

MOSTLY = 0.5
"""Pods are read anew where more than this part of them is not known."""


class PodColumns:
    """What a session reads of pods, row by row. ``groups`` and ``nodes`` number the names in ``group_codes`` and
    ``node_codes``; ``requests`` are cpu, memory and gpu. ``kept`` are the rows of ``root``, of which these columns
    are a part, that are here too; ``fresh`` names the pod groups of the pods that ``root`` has not."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        """Read all of these pods."""
        self.pods = tuple(pods)
        self.root = self
        self.kept: Codes = np.arange(len(pods))
        self.fresh: frozenset[str] = frozenset()
        self.group_codes, self.groups = _coded([pod.podgroup for pod in pods], {})
        self.node_codes, self.nodes = _coded([pod.node for pod in pods], {})
        self._read(pods)

    def _read(self, pods: Sequence[Pod]) -> None:
        count = len(pods)
        self.statuses: Codes = np.fromiter((int(_status(pod)) for pod in pods), np.intp, count)
        self.requests: Amounts = np.empty((count, 3))
        for column, name in enumerate(("cpu", "memory", "gpu")):
            self.requests[:, column] = np.fromiter((getattr(pod.requests, name) for pod in pods), np.float64, count)
        self.sharing = _mask(bool(pod.gpu_fraction or pod.gpu_memory_mib) for pod in pods)
        self.minding = _mask(bool(pod.anti_affinity or pod.pod_affinity) for pod in pods)
        self.restless = _mask(pod.subgroup != "" for pod in pods) | (self.statuses != Status.RUNNING)

    @cached_property
    def _rows(self) -> dict[int, int]:
        """Row by identity of the pod: these columns keep the pods alive."""
        return {id(pod): row for row, pod in enumerate(self.pods)}

    def part(self, pods: Sequence[Pod]) -> "PodColumns | None":
        """The columns of pods that are mostly the same objects; None where they are not."""
        rows: Codes = np.fromiter((self._rows.get(id(pod), -1) for pod in pods), np.intp, len(pods))
        unknown = np.flatnonzero(rows < 0)
        if len(unknown) > MOSTLY * len(pods):
            return None
        added = [pods[row] for row in unknown.tolist()]
        more = PodColumns(added)
        part = object.__new__(PodColumns)
        part.pods, part.root, part.kept = tuple(pods), self, rows[rows >= 0]
        part.fresh = frozenset(pod.podgroup for pod in added)
        rows[unknown] = len(self.pods) + np.arange(len(added))
        part.group_codes, groups = _coded([pod.podgroup for pod in added], self.group_codes)
        part.node_codes, nodes = _coded([pod.node for pod in added], self.node_codes)
        part.groups = np.concatenate((self.groups, groups))[rows]
        part.nodes = np.concatenate((self.nodes, nodes))[rows]
        part.requests = np.concatenate((self.requests, more.requests))[rows]
        for name in ("statuses", "sharing", "minding", "restless"):
            setattr(part, name, np.concatenate((getattr(self, name), getattr(more, name)))[rows])
        return part

    def differing(self, other: "PodColumns") -> frozenset[str] | None:
        """The pod groups of which another part of the same root has other pods; None where the roots differ."""
        if self.root is not other.root:
            return None
        here, there = (np.zeros(len(self.root.pods), dtype=bool) for _ in range(2))
        here[self.kept], there[other.kept] = True, True
        names = list(self.root.group_codes)
        changed = np.unique(self.root.groups[here != there]).tolist()
        return frozenset(names[code] for code in changed) | self.fresh | other.fresh

    def groups_as(self, index: Mapping[str, int]) -> Codes:
        """The number of each pod's group by this index, -1 for those that it has not."""
        return _renumbered(self.group_codes, index)[self.groups]

    def nodes_as(self, index: Mapping[str, int]) -> Codes:
        """The same of its node."""
        return _renumbered(self.node_codes, index)[self.nodes]


_recent: deque[PodColumns] = deque(maxlen=2)


def columns_of(pods: Sequence[Pod]) -> PodColumns:
    """The columns of these pods: a part of those read lately where they are mostly the same, else read anew."""
    for known in tuple(_recent):
        if known.pods is pods:
            return known
    for known in reversed(tuple(_recent)):
        part = known.part(pods) if known.pods else None
        if part is not None:
            return part
    columns = PodColumns(pods)
    _recent.append(columns)
    return columns


def _status(pod: Pod) -> Status:
    if pod.phase == "Running" and not pod.releasing:
        return Status.RUNNING
    if pod.phase in FINISHED:
        return Status[pod.phase.upper()]
    if pod.releasing:
        return Status.RELEASING
    if pod.node:
        return Status.RUNNING
    return Status.GATED if pod.gated else Status.PENDING


def _coded(names: Sequence[str], known: Mapping[str, int]) -> tuple[Mapping[str, int], Codes]:
    """Names as numbers; those that are not known get the next ones in a dictionary of their own."""
    if any(name not in known for name in names):
        known = dict(known)
        for name in names:
            known.setdefault(name, len(known))
    return known, np.fromiter((known[name] for name in names), np.intp, len(names))


def _renumbered(codes: Mapping[str, int], index: Mapping[str, int]) -> Codes:
    return np.fromiter((index.get(name, -1) for name in codes), np.intp, len(codes))


def _mask(values: Iterable[bool]) -> Mask:
    return np.array(list(values), dtype=bool)
