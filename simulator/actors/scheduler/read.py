"""Nodes and pods as the API serves them → the engine's structs. Pure; KAI's own kinds: `scheduling.objects`."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from clusters.operators.objects import annotations_of, is_deleting, labels_of, spec_of, status_of
from scheduling.affinity import Namespaces, node_terms, pod_terms
from scheduling.objects import fraction_of, is_ready, moment, read_toleration, whole
from scheduling.structs import Node, Pod, Resources, Taint
from simulator.actors.quantities import parse_quantity, pod_requests
from simulator.client import Object

GPU = "nvidia.com/gpu"
SCHEDULER_NAME = "kai-scheduler"
POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"


def read_node(node: Object) -> Node:
    spec, labels = spec_of(node), dict(labels_of(node))
    allocatable = status_of(node).get("allocatable") or {}
    taints = tuple(Taint(t["key"], t.get("effect", ""), t.get("value") or "") for t in spec.get("taints") or ())
    return Node(
        name=node["metadata"]["name"],
        allocatable=_resources(allocatable),
        pods=int(_quantity(str(allocatable.get("pods", "110")))),
        labels=labels,
        taints=taints,
        unschedulable=bool(spec.get("unschedulable")),
        ready=is_ready(status_of(node).get("conditions") or ()),
        gpu_memory_mib=whole(labels.get("nvidia.com/gpu.memory", "0")),
    )


def read_pod(pod: Object, namespaces: Namespaces | None = None) -> Pod:
    """A pod; `namespaces`, their labels by name, are for terms that select some by label."""
    spec, metadata, annotations = spec_of(pod), pod["metadata"], annotations_of(pod)
    group = annotations.get(POD_GROUP, "") if spec.get("schedulerName") == SCHEDULER_NAME else ""
    amounts = pod_requests(spec)
    requests = Resources(
        float(amounts.get(GPU, 0)), float(amounts.get("cpu", 0) * 1000), float(amounts.get("memory", 0))
    )
    return Pod(
        name=metadata["name"],
        namespace=metadata["namespace"],
        podgroup=f"{metadata['namespace']}/{group}" if group else "",
        subgroup=labels_of(pod).get(SUBGROUP, ""),
        requests=requests,
        node=spec.get("nodeName") or "",
        phase=status_of(pod).get("phase") or "Pending",
        uid=metadata.get("uid", ""),
        created=moment(metadata.get("creationTimestamp")) or 0.0,
        gated=bool(spec.get("schedulingGates")),
        releasing=is_deleting(pod),
        node_selector=dict(spec.get("nodeSelector") or {}),
        tolerations=tuple(read_toleration(entry) for entry in spec.get("tolerations") or ()),
        affinity=node_terms(spec),
        labels=labels_of(pod),
        anti_affinity=pod_terms(spec, "podAntiAffinity", namespaces),
        pod_affinity=pod_terms(spec, "podAffinity", namespaces),
        task_priority=whole(labels_of(pod).get("kai.scheduler/task-priority", "0")),
        gpu_fraction=fraction_of(annotations.get("gpu-fraction")),
        gpu_memory_mib=whole(annotations.get("gpu-memory", "0")),
        fraction_devices=whole(annotations.get("gpu-fraction-num-devices", "1")) or 1,
        gpu_groups=tuple(v for k, v in sorted(labels_of(pod).items()) if k.startswith("runai-gpu-group")),
    )


def _resources(amounts: Mapping[str, Any]) -> Resources:
    return Resources(
        gpu=_quantity(str(amounts.get(GPU, "0"))),
        cpu=_quantity(str(amounts.get("cpu", "0"))) * 1000,
        memory=_quantity(str(amounts.get("memory", "0"))),
    )


@lru_cache(maxsize=4096)
def _quantity(text: str) -> float:
    try:
        return float(parse_quantity(text))
    except ValueError:
        return 0.0
