"""dcgm-exporter's text exposition of one node (etc/default-counters.csv), GPUs attributed to pods. Pure."""

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clusters.operators.objects import labels_of, spec_of
from simulator.actors.exporters.load import GpuLoad, gpus_of, idle_load
from simulator.client import Object

DRIVER = "570.124.06"
METRICS: tuple[tuple[str, str, str], ...] = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered."),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active."),
    (
        "DCGM_FI_PROF_DRAM_ACTIVE",
        "gauge",
        "Ratio of cycles the memory interface is active.",
    ),
)
XID_UNHEALTHY = 79


class Gpu(NamedTuple):
    """A device and what runs on it; `pod` None when it is free."""

    number: int
    load: GpuLoad
    pod: Object | None
    unhealthy: bool = False


def assign(pods: Iterable[Object], gpus: int, before: Mapping[int, str]) -> dict[int, Object]:
    """Which pod has which device. A pod keeps the devices it had (`before`: UID per device); a new one, in the
    order of binding, takes the first free ones."""
    ordered = sorted(pods, key=_bound_order)
    by_uid = {pod["metadata"]["uid"]: pod for pod in ordered}
    assigned = {n: by_uid[uid] for n, uid in before.items() if n < gpus and uid in by_uid}
    free = [number for number in range(gpus) if number not in assigned]
    for pod in ordered:
        has = sum(other is pod for other in assigned.values())
        for _ in range(min(gpus_of(pod) - has, len(free))):
            assigned[free.pop(0)] = pod
    return assigned


def gpu_uuid(node: str, index: int) -> str:
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{node}/{index}')}"


def exposition(node: Object, gpus: Iterable[Gpu], memory_mib: int) -> str:
    """The body of `/metrics`."""
    devices = [(gpu, _labels(node, gpu)) for gpu in gpus]
    lines: list[str] = []
    for name, kind, text in METRICS:
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{{{labels}}} {_value(name, gpu, memory_mib)}" for gpu, labels in devices]
    return "\n".join(lines) + "\n"


def idle_gpu(number: int, *, unhealthy: bool = False) -> Gpu:
    return Gpu(number, idle_load(), None, unhealthy)


def _value(name: str, gpu: Gpu, memory_mib: int) -> float | int:
    load = gpu.load
    values: Mapping[str, float | int] = {
        "DCGM_FI_DEV_SM_CLOCK": load.clock,
        "DCGM_FI_DEV_GPU_TEMP": int(load.celsius),
        "DCGM_FI_DEV_POWER_USAGE": load.watts,
        "DCGM_FI_DEV_GPU_UTIL": int(load.utilisation),
        "DCGM_FI_DEV_FB_FREE": memory_mib - load.memory_used,
        "DCGM_FI_DEV_FB_USED": load.memory_used,
        "DCGM_FI_DEV_XID_ERRORS": XID_UNHEALTHY if gpu.unhealthy else 0,
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": load.engine,
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": load.tensor,
        "DCGM_FI_PROF_DRAM_ACTIVE": load.dram,
    }
    return values[name]


def _labels(node: Object, gpu: Gpu) -> str:
    name = node["metadata"]["name"]
    model = labels_of(node).get("nvidia.com/gpu.product", "").replace("-", " ")
    labels = {
        "gpu": str(gpu.number),
        "UUID": gpu_uuid(name, gpu.number),
        "pci_bus_id": f"00000000:{0x1B + 0x10 * gpu.number:02X}:00.0",
        "device": f"nvidia{gpu.number}",
        "modelName": model,
        "Hostname": name,
        "DCGM_FI_DRIVER_VERSION": DRIVER,
    }
    if gpu.pod is not None:
        container = next((c["name"] for c in spec_of(gpu.pod).get("containers") or ()), "")
        labels |= {
            "exported_container": container,
            "exported_namespace": gpu.pod["metadata"]["namespace"],
            "exported_pod": gpu.pod["metadata"]["name"],
        }
    return ",".join(f'{key}="{value}"' for key, value in labels.items())


def _bound_order(pod: Object) -> tuple[str, str]:
    status = pod.get("status") or {}
    return status.get("startTime") or pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]
