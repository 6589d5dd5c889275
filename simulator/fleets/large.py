"""`large`: 5,000 nodes, 40,000 GPUs, 50,000 running pods. Pure; equal parts of objects are shared, not copied."""

from collections.abc import Iterator
from functools import cache

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, NAMESPACE, NODE, POD
from simulator.actors.exporters.load import LOAD
from simulator.client import Object
from simulator.fleets.hardware import BOOTED, Machine, node_manifest
from simulator.fleets.platform import Entry, exporter_pod, platform, queue

ZONES, RACKS, NODES = 8, 25, 25
WORKERS, FRONTENDS = 7, 2
"""Per node: workers of one GPU, pods without GPU; with the exporter that makes 10 pods a node."""
PROJECTS = 40
NODES_PER_GROUP = 5
IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"


def machines() -> Iterator[Machine]:
    for zone in range(ZONES):
        for rack in range(RACKS):
            for number in range(NODES):
                yield Machine(
                    name=f"gpu-{zone}-{rack:02d}-{number:02d}", zone=f"zone-{zone}", rack=f"rack-{zone}-{rack:02d}"
                )


def large() -> Iterator[Entry]:
    yield from platform()
    yield KAI_QUEUE, queue("production")
    for project in range(PROJECTS):
        yield NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{project:02d}"}}
        yield KAI_QUEUE, queue(f"team-{project:02d}", "production", gpus=1000)
    for number, machine in enumerate(machines()):
        yield NODE, node_manifest(machine)
        yield POD, exporter_pod(machine.name, number)
        yield from _workload(number, machine.name)


def _workload(number: int, node: str) -> Iterator[Entry]:
    """A gang of five nodes; its PodGroup comes with the first of them."""
    group = number // NODES_PER_GROUP
    namespace, graph = f"team-{group % PROJECTS:02d}", f"serve-{group:04d}"
    if number % NODES_PER_GROUP == 0:
        yield KAI_POD_GROUP, _pod_group(namespace, graph)
    place = number % NODES_PER_GROUP
    for index in range(FRONTENDS):
        yield POD, _pod(namespace, graph, f"frontend-{place}{index}", "frontend", node)
    for index in range(WORKERS):
        role = "prefill" if index < 2 else "decode"
        yield POD, _pod(namespace, graph, f"{role}-{place}{index}", role, node)


def _pod_group(namespace: str, graph: str) -> Object:
    return {
        "apiVersion": KAI_POD_GROUP.api_version,
        "kind": KAI_POD_GROUP.kind,
        "metadata": {
            "name": graph,
            "namespace": namespace,
            "annotations": {
                "kai.scheduler/skip-podgrouper": "true",
                "kai.scheduler/last-start-timestamp": BOOTED,
            },
        },
        "spec": {
            "queue": namespace,
            "minMember": NODES_PER_GROUP * (WORKERS + FRONTENDS),
            "priorityClassName": "train",
        },
    }


def _pod(namespace: str, graph: str, name: str, role: str, node: str) -> Object:
    return {
        "apiVersion": POD.api_version,
        "kind": POD.kind,
        "metadata": {
            "name": f"{graph}-{name}",
            "namespace": namespace,
            "labels": _labels(namespace, graph, role),
            "annotations": _annotations(graph, idle=graph.endswith("7")),
        },
        "spec": {**_pod_spec(role), "nodeName": node},
    }


@cache
def _labels(namespace: str, graph: str, role: str) -> dict[str, str]:
    labels = {
        "nvidia.com/dynamo-component": role,
        "nvidia.com/dynamo-component-type": "frontend" if role == "frontend" else "worker",
        "nvidia.com/dynamo-graph-deployment-name": graph,
        "nvidia.com/dynamo-namespace": f"{namespace}-{graph}",
        "kai.scheduler/queue": namespace,
    }
    return labels if role == "frontend" else {**labels, "nvidia.com/dynamo-sub-component-type": role}


@cache
def _annotations(graph: str, *, idle: bool) -> dict[str, str]:
    return {
        **({LOAD: "idle"} if idle else {}),
        "kai.scheduler/skip-podgrouper": "true",
        "pod-group-name": graph,
        "received-resource-type": "Regular",
    }


@cache
def _pod_spec(role: str) -> Object:
    container: Object = {"name": "main", "image": IMAGE}
    if role != "frontend":
        amounts = {"nvidia.com/gpu": "1"}
        container |= {
            "args": ["-m", "dynamo.vllm", "--model", "Qwen/Qwen3-32B", "--disaggregation-mode", role],
            "resources": {"limits": amounts, "requests": amounts},
        }
    return {"schedulerName": "kai-scheduler", "restartPolicy": "Always", "containers": [container]}
