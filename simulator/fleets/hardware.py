"""Node objects as a kubelet, GPU feature discovery and the device plugin leave them. Pure."""

import hashlib
from dataclasses import dataclass, field
from functools import cache

from clusters.kinds import NODE
from simulator.client import Object

ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
TEAM_POOL = "team-pool"
UNHEALTHY_GPUS = "simulator.muster/unhealthy-gpus"
BOOTED = "2026-11-01T06:00:00Z"
KUBELET = "v1.35.4"


@dataclass(frozen=True, slots=True)
class Machine:
    """One node. `labels` and `annotations` come on top of the standard ones; rack "" leaves the label out."""

    name: str
    zone: str
    rack: str
    gpus: int = 8
    unhealthy: int = 0
    cordoned: bool = False
    labels: dict[str, str] = field(default_factory=dict)


def node_manifest(machine: Machine) -> Object:
    """An HGX H100 server: 8 GPUs of 80 GB, 192 cores, 2 TiB; 4 cores and 32 GiB are kept for the system."""
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        HOSTNAME: machine.name,
        "node.kubernetes.io/instance-type": "hgx-h100-8",
        ZONE: machine.zone,
        **({RACK: machine.rack} if machine.rack else {}),
        **_gpu_labels(machine.gpus),
        **machine.labels,
    }
    annotations = {"node.alpha.kubernetes.io/ttl": "0"}
    if machine.unhealthy:
        annotations[UNHEALTHY_GPUS] = str(machine.unhealthy)
    spec: Object = {"podCIDR": _pod_cidr(machine.name), "providerID": f"metal://{machine.zone}/{machine.name}"}
    if machine.cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": NODE.api_version,
        "kind": NODE.kind,
        "metadata": {"name": machine.name, "labels": labels, "annotations": annotations},
        "spec": spec,
        "status": _status(machine),
    }


def _status(machine: Machine) -> Object:
    capacity = {
        "cpu": "192",
        "ephemeral-storage": "3749529804Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "2113461108Ki",
        "pods": "110",
        GPU: str(machine.gpus),
    }
    allocatable = capacity | {
        "cpu": "188",
        "memory": "2079906676Ki",
        "ephemeral-storage": "3455566665Ki",
        GPU: str(machine.gpus - machine.unhealthy),
    }
    addresses = [
        {"type": "InternalIP", "address": node_address(machine.name)},
        {"type": "Hostname", "address": machine.name},
    ]
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": _conditions(),
        "addresses": addresses,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {**_node_info(), **_identity(machine.name)},
        "images": _images(),
    }


@cache
def _gpu_labels(gpus: int) -> dict[str, str]:
    """What GPU feature discovery writes."""
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.machine": "HGX-H100",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/cuda.driver-version.full": "570.124.06",
        "nvidia.com/cuda.runtime-version.full": "12.8",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "none",
        "nvidia.com/gpu.deploy.dcgm-exporter": "true",
    }


@cache
def _conditions() -> list[Object]:
    healthy = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": BOOTED,
            "lastTransitionTime": BOOTED,
        }
        for kind, status, reason, message in healthy
    ]


@cache
def _node_info() -> Object:
    return {
        "architecture": "amd64",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.8.0-71-generic",
        "kubeletVersion": KUBELET,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "osImage": "Ubuntu 24.04.3 LTS",
    }


@cache
def _images() -> list[Object]:
    known = (
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1", 12_884_901_888),
        ("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3-4.1.3-ubuntu22.04", 421_527_552),
    )
    return [{"names": [name], "sizeBytes": size} for name, size in known]


def _identity(name: str) -> dict[str, str]:
    digest = hashlib.sha256(name.encode()).hexdigest()
    text = f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
    return {"machineID": digest[:32], "systemUUID": text, "bootID": text[::-1]}


@cache
def node_address(name: str) -> str:
    digest = hashlib.sha256(name.encode()).digest()
    return f"10.20.{digest[0]}.{max(digest[1], 1)}"


def _pod_cidr(name: str) -> str:
    digest = hashlib.sha256(name.encode()).digest()
    return f"10.{128 + digest[0] % 64}.{digest[1]}.0/24"
