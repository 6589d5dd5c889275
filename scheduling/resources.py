"""Resource vectors: positions, conversions and how KAI prints quantities."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scheduling.structs import UNLIMITED, Queue, QueueResource, Resources

CPU, MEMORY, GPU, PODS = range(4)
DIVIDED = (CPU, MEMORY, GPU)
"""The resources that queues divide, in KAI's order: checks name the first that fails."""

UNITS = (1000.0, 1e9, 1.0)
"""Divisors for texts: cores, GB (10^9) and devices."""

TOLERANCE = 1e-9

Vector = NDArray[np.float64]
Triple = tuple[float, float, float]


def vector(resources: Resources, pods: float) -> Vector:
    """``[cpu, memory, gpu, pods]``."""
    return np.array([resources.cpu, resources.memory, resources.gpu, pods], dtype=np.float64)


def triple(resources: Resources) -> Triple:
    """``(cpu, memory, gpu)``."""
    return (resources.cpu, resources.memory, resources.gpu)


def from_triple(values: Sequence[float]) -> Resources:
    """The struct of ``(cpu, memory, gpu)``."""
    return Resources(gpu=values[GPU], cpu=values[CPU], memory=values[MEMORY])


def queue_resource(queue: Queue, index: int) -> QueueResource:
    """Quota, limit and weight of one resource of a queue."""
    return (queue.cpu, queue.memory, queue.gpu)[index]


def at_most(quantity: float, limit: float) -> bool:
    """Whether the quantity stays within the limit, ignoring floating point noise."""
    return quantity <= limit + TOLERANCE


def within(quantity: float, limit: float) -> bool:
    """The same where -1 stands for unlimited on either side."""
    if limit == UNLIMITED:
        return True
    return quantity != UNLIMITED and at_most(quantity, limit)


def humanize(value: float, index: int) -> str:
    """A quantity as KAI prints it: in cores, GB or devices, cut to three digits, -1 as Unlimited."""
    if value == UNLIMITED:
        return "Unlimited"
    return cut_digits(value / UNITS[index])


def cut_digits(value: float) -> str:
    """At most three digits after the point, cut and not rounded, without trailing zeros."""
    text = f"{value:.6f}"
    whole, _, fraction = text.partition(".")
    fraction = fraction[:3].rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def plain_number(value: float) -> str:
    """A number as Go's ``%v`` prints a float of ordinary size."""
    return str(int(value)) if value == int(value) else repr(value)


def describe(values: Sequence[float]) -> str:
    """``GPU: 8, CPU: 0 (cores), memory: 0 (GB)`` of ``(cpu, memory, gpu)``."""
    gpu, cpu, memory = (humanize(values[i], i) for i in (GPU, CPU, MEMORY))
    return f"GPU: {gpu}, CPU: {cpu} (cores), memory: {memory} (GB)"
