"""How busy a GPU is, from what runs on it: a plausible, slowly varying, repeatable function of pod, GPU and time.

Pure. Nothing here claims to be a measurement: numbers lie in ranges seen for the role (prefill is compute-bound and
bursty, decode is steady with a high memory use), and an idle GPU is 0.
"""

import hashlib
import math
from typing import NamedTuple

from clusters.operators.objects import annotations_of, labels_of, spec_of
from simulator.actors.quantities import devices
from simulator.client import Object

SUB_TYPE = "nvidia.com/dynamo-sub-component-type"
WARM_UP_S = 20.0
IDLE_WATTS, IDLE_CELSIUS = 70.0, 31.0
BUSY_WATTS, BUSY_CELSIUS = 690.0, 72.0
IDLE_MEMORY_MIB = 4


class GpuLoad(NamedTuple):
    """One GPU at one moment: percent, MiB, watts, °C, MHz; `engine` is the ratio 0…1."""

    utilisation: float
    engine: float
    memory_used: int
    watts: float
    celsius: float
    clock: int
    tensor: float
    dram: float


class Profile(NamedTuple):
    """A role's typical level: mean and swing of utilisation, share of GPU memory, period in seconds."""

    mean: float
    swing: float
    memory: float
    period: float


PROFILES = {
    "prefill": Profile(0.68, 0.24, 0.78, 180.0),
    "decode": Profile(0.81, 0.10, 0.91, 420.0),
    "": Profile(0.62, 0.18, 0.84, 300.0),
}
LOAD = "simulator.muster/load"
"""Pod annotation; `idle` holds its GPUs and does nothing with them: what "idle GPUs" pages look for."""


def profile_of(pod: Object) -> Profile:
    return PROFILES.get(labels_of(pod).get(SUB_TYPE, ""), PROFILES[""])


def idle_load() -> GpuLoad:
    return GpuLoad(0.0, 0.0, IDLE_MEMORY_MIB, IDLE_WATTS, IDLE_CELSIUS, 345, 0.0, 0.0)


def load_of(pod: Object, index: int, now: float, *, seed: int, memory_mib: int, ready_for_s: float) -> GpuLoad:
    """GPU number `index` of a ready pod at `now` (seconds since the epoch); it warms up over `WARM_UP_S`."""
    profile = profile_of(pod)
    workload = unit(f"{seed}/{_workload(pod)}")
    own = unit(f"{seed}/{pod['metadata']['name']}/{index}")
    level = 0.0
    if annotations_of(pod).get(LOAD) != "idle":
        wave = math.sin(2 * math.pi * (now / profile.period + workload))
        ripple = math.sin(2 * math.pi * (now / 37.0 + own))
        level = profile.mean + profile.swing * (0.6 * wave + 0.25 * ripple) + 0.06 * (own - 0.5)
    warm = min(max(ready_for_s, 0.0) / WARM_UP_S, 1.0)
    level = min(max(level, 0.0), 1.0) * (0.3 + 0.7 * warm)
    return GpuLoad(
        utilisation=round(100 * min(level * 1.04, 1.0)),
        engine=round(level, 6),
        memory_used=int(memory_mib * (profile.memory * (0.25 + 0.75 * warm) + 0.02 * (own - 0.5))),
        watts=round(IDLE_WATTS + (BUSY_WATTS - IDLE_WATTS) * level, 3),
        celsius=round(IDLE_CELSIUS + (BUSY_CELSIUS - IDLE_CELSIUS) * level),
        clock=int(345 + 1635 * min(1.0, level * 1.5)),
        tensor=round(level * 0.55, 6),
        dram=round(level * (0.62 if profile.memory > 0.85 else 0.4), 6),
    )


def unit(text: str) -> float:
    """A repeatable number in [0, 1) for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def gpus_of(pod: Object) -> int:
    """Whole GPUs that the pod's containers have."""
    total = 0
    for container in spec_of(pod).get("containers") or ():
        resources = container.get("resources") or {}
        total += devices((resources.get("limits") or resources.get("requests") or {}).get("nvidia.com/gpu", 0))
    return total


def _workload(pod: Object) -> str:
    labels = labels_of(pod)
    name = labels.get("nvidia.com/dynamo-graph-deployment-name") or labels.get("app.kubernetes.io/part-of")
    return f"{pod['metadata'].get('namespace', '')}/{name or pod['metadata']['name']}"
