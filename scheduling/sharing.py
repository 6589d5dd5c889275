"""GPUs shared by several pods: which devices of a node are shared, how much of them is free.

A node's GPU column counts whole devices. The first pod on a device takes it whole from that column; later
pods use what is left of the device, which the column does not show.
"""

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

from scheduling.resources import TOLERANCE
from scheduling.structs import Pod

DEFAULT_MEMORY_MIB = 100.0
"""What a device counts as when its node does not tell its memory, as in KAI."""

_GROUP_SPACE = uuid.UUID("5f0e0f43-7ad0-4f5c-9a1c-5b0f3b0d6d1e")


@dataclass(frozen=True, slots=True)
class Share:
    """A part of each of some devices: as a fraction, or as an amount of memory in MiB."""

    fraction: float
    memory_mib: float
    devices: int

    def of(self, device_memory: float) -> float:
        """The part of a device with this much memory."""
        return self.fraction or self.memory_mib / device_memory


class Hold(IntEnum):
    """How a pod has its part: it keeps it, is about to leave it, or is promised it."""

    STAYING = 0
    LEAVING = 1
    PROMISED = 2


@dataclass(slots=True)
class _Device:
    parts: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    pods: list[int] = field(default_factory=lambda: [0, 0, 0])

    def columns(self) -> tuple[int, int]:
        """What the device does to the node's columns of idle and of releasing whole GPUs."""
        staying, leaving, promised = (count > 0 for count in self.pods)
        idle = -1 if staying or leaving else 0
        return idle, 0 if staying else int(leaving) - int(promised)

    def left(self, *, now: bool) -> float:
        """The free part: now, or once those who leave are gone and the promised have come."""
        return 1.0 - self.parts[Hold.STAYING] - self.parts[Hold.LEAVING if now else Hold.PROMISED]

    def opened(self, *, now: bool) -> bool:
        """Whether the node's column does not show this device as a whole free one."""
        held = self.pods[Hold.STAYING] or self.pods[Hold.LEAVING if now else Hold.PROMISED]
        return held > 0


class SharedGpus:
    """The shared devices of all nodes, by row and name of their GPU group."""

    def __init__(self, memory: NDArray[np.float64]) -> None:
        self.memory = memory
        self.rows: dict[int, dict[str, _Device]] = {}
        self._places: dict[tuple[str, int, bool], tuple[str, ...]] = {}
        self._settled: set[tuple[str, int]] = set()

    def book(self, row: int, key: str, share: Share, hold: Hold, step: int) -> tuple[int, int]:
        """Add (+1) or remove (-1) a pod; the change of the node's idle and releasing whole devices."""
        place = (key, row, hold is Hold.PROMISED)
        if step > 0 and (hold is not Hold.LEAVING or place not in self._places):
            self._places[place] = self._choose(row, key, share, hold)
        devices = self.rows.setdefault(row, {})
        part = share.of(float(self.memory[row]))
        idle = releasing = 0
        for name in self._places[place]:
            device = devices.setdefault(name, _Device())
            before = device.columns()
            device.pods[hold] += step
            device.parts[hold] = device.parts[hold] + step * part if device.pods[hold] else 0.0
            after = device.columns()
            idle += after[0] - before[0]
            releasing += after[1] - before[1]
            if not any(device.pods):
                del devices[name]
        if not devices:
            del self.rows[row]
        return idle, releasing

    def settle(self, row: int, key: str, names: tuple[str, ...]) -> None:
        """Say where a running pod is; without it one is chosen."""
        if names:
            self._places[key, row, False] = names
            self._settled.add((key, row))

    def groups(self, row: int, key: str) -> tuple[str, ...]:
        """The GPU groups that a pod was given on a node."""
        return self._places.get((key, row, False), ())

    def _choose(self, row: int, key: str, share: Share, hold: Hold) -> tuple[str, ...]:
        """The fullest shared devices with room, then new ones; where it really runs, its own ones."""
        if hold is Hold.STAYING and (key, row) in self._settled:
            return self._places[key, row, False]
        devices = self.rows.get(row, {})
        part = share.of(float(self.memory[row]))
        now = hold is not Hold.PROMISED
        open_ones = [(device.left(now=now), name) for name, device in devices.items()]
        chosen = [name for left, name in sorted(open_ones) if left + TOLERANCE >= part][: share.devices]
        while len(chosen) < share.devices:
            chosen.append(_new_name(key, row, {*devices, *chosen}))
        return tuple(chosen)

    def openings(self, share: Share, rows: NDArray[np.intp], *, now: bool) -> NDArray[np.float64]:
        """How many shared devices of each of these nodes have room for such a part."""
        counts = np.zeros(len(self.memory))
        for row, devices in self.rows.items():
            part = share.of(float(self.memory[row]))
            counts[row] = sum(
                device.opened(now=now) and device.left(now=now) + TOLERANCE >= part for device in devices.values()
            )
        if share.memory_mib:
            counts[share.memory_mib > self.memory] = -np.inf
        chosen: NDArray[np.float64] = counts[rows]
        return chosen

    def leftovers(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The free parts of the shared devices, summed by node."""
        sums = np.zeros(len(self.memory))
        for row, devices in self.rows.items():
            sums[row] = sum(device.left(now=False) for device in devices.values() if device.opened(now=False))
        chosen: NDArray[np.float64] = sums[rows]
        return chosen


def _new_name(key: str, row: int, taken: set[str]) -> str:
    number = 0
    while (name := str(uuid.uuid5(_GROUP_SPACE, f"{key} {row} {number}"))) in taken:
        number += 1
    return name


def share_of(pod: Pod) -> Share | None:
    """The part of GPUs that a pod asks for, None when it asks for whole ones."""
    if not pod.gpu_fraction and not pod.gpu_memory_mib:
        return None
    return Share(pod.gpu_fraction, float(pod.gpu_memory_mib), max(pod.fraction_devices, 1))


def counted_as(least_memory: float) -> Callable[[Pod], Pod]:
    """Give a sharing pod the GPU amount that queues count: its fraction in hundredths (0.125 is 0.13), of an amount
    of memory its part of the smallest device there is."""

    def counted(pod: Pod) -> Pod:
        share = share_of(pod)
        if share is None:
            return pod
        amount = share.of(least_memory) * share.devices
        if share.fraction:
            amount = math.floor(share.fraction * 100 + 0.5) * share.devices / 100
        return msgspec.structs.replace(pod, requests=msgspec.structs.replace(pod.requests, gpu=amount))

    return counted
