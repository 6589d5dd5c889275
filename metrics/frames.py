"""Packs one moment of a cluster's GPUs into bytes: one byte a GPU and figure, compressed. Pure.

255 is "not measured", which is not 0. A layout says which position is which GPU: nodes in order, `slots` GPUs each.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.exposition import GpuReading

UNMEASURED = 255
SLOTS = 16

Bytes = npt.NDArray[np.uint8]
Owners = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which GPU stands where: position = index of its node × `slots` + its number. Nodes are only ever added."""

    nodes: tuple[str, ...]
    slots: int = SLOTS

    @property
    def size(self) -> int:
        """Positions in all."""
        return len(self.nodes) * self.slots


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment. `present`: the GPU was listed by its exporter; `owner` indexes `owners` from 1, 0 = nobody."""

    utilisation: Bytes
    memory: Bytes
    temperature: Bytes
    present: Bytes
    owner: Owners
    owners: tuple[str, ...]


def extend(layout: Layout, names: Sequence[str]) -> Layout:
    """The layout with nodes that it did not know, at its end; the same object where it knew all."""
    known = set(layout.nodes)
    new = tuple(sorted(set(names) - known))
    return Layout(layout.nodes + new, layout.slots) if new else layout


def frame_of(
    layout: Layout, readings: Mapping[str, Sequence[GpuReading]], owner_of: Mapping[tuple[str, str], str]
) -> Frame:
    """The frame of what was read of each node; `owner_of` gives the owner's key for a pod (namespace, name)."""
    figures = {name: np.full(layout.size, UNMEASURED, np.uint8) for name in ("utilisation", "memory", "temperature")}
    present, owner = np.zeros(layout.size, np.uint8), np.zeros(layout.size, np.uint16)
    owners: dict[str, int] = {}
    position = {name: index * layout.slots for index, name in enumerate(layout.nodes)}
    for node, gpus in readings.items():
        for gpu in gpus:
            if gpu.index >= layout.slots:
                continue
            at = position[node] + gpu.index
            present[at] = 1
            for name, values in figures.items():
                value = getattr(gpu, name)
                if value is not None:
                    values[at] = min(254, round(value))
            key = _owner_key(gpu, owner_of)
            if key:
                owner[at] = owners.setdefault(key, len(owners) + 1)
    return Frame(**figures, present=present, owner=owner, owners=tuple(owners))


def carried_over(frame: Frame, layout: Layout, *, before: Frame, nodes: Iterable[str]) -> Frame:
    """`frame` with what `before`, of the same layout, says of `nodes`."""
    wanted = set(nodes)
    index = np.flatnonzero(np.array([name in wanted for name in layout.nodes], bool))
    at = (index[:, None] * layout.slots + np.arange(layout.slots)).ravel()
    figures = {name: getattr(frame, name).copy() for name in ("utilisation", "memory", "temperature", "present")}
    for name, values in figures.items():
        values[at] = getattr(before, name)[at]
    numbers = {key: number for number, key in enumerate(frame.owners, start=1)}
    renumbered = [0, *(numbers.setdefault(key, len(numbers) + 1) for key in before.owners)]
    owner = frame.owner.copy()
    owner[at] = np.array(renumbered, np.uint16)[before.owner[at]]
    return Frame(**figures, owner=owner, owners=tuple(numbers))


def _owner_key(gpu: GpuReading, owner_of: Mapping[tuple[str, str], str]) -> str:
    if gpu.mig:
        return "mig"
    if gpu.owner is None:
        return ""
    return owner_of.get((gpu.owner.namespace, gpu.owner.pod), f"{gpu.owner.namespace}/{gpu.owner.pod}")


def pack(values: Bytes | Owners) -> bytes:
    """Compressed bytes, as rows hold them."""
    return zlib.compress(values.tobytes(), 1)


def unpack_bytes(data: bytes, size: int) -> Bytes:
    """A figure back, as long as `size`: nodes that were added later are not measured in it."""
    values = np.frombuffer(zlib.decompress(data), np.uint8)
    return _padded(values, size, UNMEASURED)


def unpack_flags(data: bytes, size: int) -> Bytes:
    """`present` back."""
    return _padded(np.frombuffer(zlib.decompress(data), np.uint8), size, 0)


def unpack_owners(data: bytes, size: int) -> Owners:
    """Owners back."""
    values = np.frombuffer(zlib.decompress(data), np.uint16)
    out = np.zeros(size, np.uint16)
    out[: len(values[:size])] = values[:size]
    return out


def _padded(values: Bytes, size: int, filler: int) -> Bytes:
    out = np.full(size, filler, np.uint8)
    out[: len(values[:size])] = values[:size]
    return out


def mean_of(figures: Sequence[Bytes]) -> Bytes:
    """Per GPU the mean of the measured values; unmeasured where none was."""
    stack = np.stack(figures).astype(np.float64)
    stack[stack == UNMEASURED] = np.nan
    counted = np.sum(~np.isnan(stack), axis=0)
    sums = np.nansum(stack, axis=0)
    means = np.divide(sums, counted, out=np.full(len(sums), float(UNMEASURED)), where=counted > 0)
    rounded: Bytes = np.rint(means).astype(np.uint8)
    return rounded
