"""Reads dcgm-exporter's text: one reading per physical GPU, its MIG instances below it. Pure.

Names: NVIDIA/dcgm-exporter etc/default-counters.csv. `GPU_UTIL` is in percent, `GR_ENGINE_ACTIVE` a ratio from 0 to
1, the only one that exists under MIG. Attribution: labels `pod` and `namespace`, or `exported_*` behind Prometheus.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from prometheus_client.parser import text_string_to_metric_families

GPU_UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
ENGINE_ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
MEMORY_USED = "DCGM_FI_DEV_FB_USED"
MEMORY_FREE = "DCGM_FI_DEV_FB_FREE"
TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"
WANTED = (GPU_UTILISATION, ENGINE_ACTIVE, MEMORY_USED, MEMORY_FREE, TEMPERATURE)

# Compute slices of a whole GPU under MIG.
SLICES = 7
MAX_GPUS = 64


class NotExposition(ValueError):
    """The answer is not Prometheus' text format."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The pod that holds a GPU, as the exporter attributes it."""

    namespace: str
    pod: str


@dataclass(frozen=True, slots=True)
class MigReading:
    """One MIG instance: utilisation in percent of the instance, None = not measured; `owner` None = unattributed."""

    instance: str
    profile: str
    utilisation: float | None
    owner: Owner | None

    @property
    def slices(self) -> int:
        """Compute slices, from the profile's name ("1g.12gb")."""
        digits = self.profile.partition("g.")[0]
        return int(digits) if digits.isdigit() else 1


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One physical GPU. Percent, percent, degrees Celsius; None = not measured, which is not 0."""

    index: int
    model: str = ""
    utilisation: float | None = None
    memory: float | None = None
    temperature: float | None = None
    owner: Owner | None = None
    mig: tuple[MigReading, ...] = field(default=())


def read_exposition(text: str) -> tuple[GpuReading, ...]:
    """The GPUs of one exporter, each once however often it is listed. Raises `NotExposition`."""
    devices: dict[int, dict[str, float | None]] = {}
    facts: dict[int, Mapping[str, str]] = {}
    instances: dict[tuple[int, str], tuple[Mapping[str, str], float | None]] = {}
    for name, labels, value in _samples(text):
        index = _index(labels)
        if index is None:
            continue
        instance = labels.get("GPU_I_ID", "")
        if instance:
            if name == ENGINE_ACTIVE:
                instances[(index, instance)] = (labels, value)
            facts.setdefault(index, labels)
            devices.setdefault(index, {})
            continue
        values = devices.setdefault(index, {})
        if value is not None or name not in values:
            values[name] = value
        if _owner(labels) is not None or index not in facts:
            facts[index] = labels
    return tuple(_reading(index, devices[index], facts[index], _mig_of(index, instances)) for index in sorted(devices))


def _samples(text: str) -> Iterator[tuple[str, Mapping[str, str], float | None]]:
    """The samples that are wanted; the others are not parsed, which is most of the text."""
    lines = [line for line in text.splitlines() if line.startswith(WANTED)]
    if not lines and text.strip() and not text.lstrip().startswith("#"):
        raise NotExposition("the answer has no dcgm-exporter metrics")
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                value = float(sample.value)
                yield sample.name, sample.labels, value if math.isfinite(value) else None
    except (ValueError, KeyError, IndexError) as error:
        raise NotExposition(f"the answer is not Prometheus text: {str(error)[:120]}") from error


def _reading(
    index: int, values: Mapping[str, float | None], labels: Mapping[str, str], mig: tuple[MigReading, ...]
) -> GpuReading:
    reading = GpuReading(
        index=index,
        model=labels.get("modelName", ""),
        utilisation=_utilisation(values),
        memory=_memory(values),
        temperature=_within(values.get(TEMPERATURE), 0, 200),
        owner=None if mig else _owner(labels),
    )
    if not mig:
        return reading
    measured = [part for part in mig if part.utilisation is not None]
    whole = sum((part.utilisation or 0) * part.slices for part in measured) / SLICES if measured else None
    return replace(reading, mig=mig, utilisation=whole if reading.utilisation is None else reading.utilisation)


def _mig_of(
    index: int, instances: Mapping[tuple[int, str], tuple[Mapping[str, str], float | None]]
) -> tuple[MigReading, ...]:
    return tuple(
        MigReading(instance, labels.get("GPU_I_PROFILE", ""), _ratio(value), _owner(labels))
        for (gpu, instance), (labels, value) in sorted(instances.items())
        if gpu == index
    )


def _utilisation(values: Mapping[str, float | None]) -> float | None:
    percent = _within(values.get(GPU_UTILISATION), 0, 100)
    return percent if percent is not None else _ratio(values.get(ENGINE_ACTIVE))


def _ratio(value: float | None) -> float | None:
    ratio = _within(value, 0, 1)
    return None if ratio is None else ratio * 100


def _memory(values: Mapping[str, float | None]) -> float | None:
    used, free = values.get(MEMORY_USED), values.get(MEMORY_FREE)
    if used is None or free is None or used < 0 or free < 0 or used + free <= 0:
        return None
    return 100 * used / (used + free)


def _within(value: float | None, low: float, high: float) -> float | None:
    """The value where it can be true; a little above the bound is the bound."""
    if value is None or value < low or value > high * 1.05:
        return None
    return min(value, high)


def _index(labels: Mapping[str, str]) -> int | None:
    text = labels.get("gpu", "")
    return int(text) if text.isdigit() and int(text) < MAX_GPUS else None


def _owner(labels: Mapping[str, str]) -> Owner | None:
    for prefix in ("exported_", ""):
        if labels.get(f"{prefix}pod"):
            return Owner(labels.get(f"{prefix}namespace", ""), labels[f"{prefix}pod"])
    return None


def merge_readings(readings: Iterable[GpuReading]) -> tuple[GpuReading, ...]:
    """Readings of several exporters of one node: each GPU once, a measured value before none."""
    found: dict[int, GpuReading] = {}
    for reading in readings:
        known = found.get(reading.index)
        if known is None or (known.utilisation is None and reading.utilisation is not None):
            found[reading.index] = reading
    return tuple(found[index] for index in sorted(found))
