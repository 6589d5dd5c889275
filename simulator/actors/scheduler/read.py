"""Kubernetes objects → the engine's structs. Pure.

A duration that Go cannot read raises UnreadableObject: it blinds every typed reader of the kind, so the real
scheduler stops (kai-scheduler.md §0.5 no. 34).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from scheduling.structs import (
    UNLIMITED,
    Level,
    Node,
    Pod,
    PodGroup,
    Queue,
    QueueResource,
    Resources,
    SubGroup,
    Taint,
    Toleration,
    Topology,
    TopologyConstraint,
)
from simulator.actors.durations import parse_duration
from simulator.actors.objects import (
    annotations_of,
    has_condition,
    is_deleting,
    labels_of,
    parse_timestamp,
    spec_of,
    status_of,
)
from simulator.actors.quantities import parse_quantity, pod_requests
from simulator.actors.scheduler.affinity import node_terms, pod_terms
from simulator.client import Object

GPU = "nvidia.com/gpu"
NODE_POOL = "kai.scheduler/node-pool"
SCHEDULER_NAME = "kai-scheduler"
POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
MEGABYTE = 1_000_000.0
DEFAULT_PRIORITY = 50
NON_PREEMPTIBLE_FROM = 100


class UnreadableObject(ValueError):
    """An object that KAI's typed clients cannot decode."""


def pool_of(obj: Object) -> str:
    return labels_of(obj).get(NODE_POOL, "")


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
        ready=has_condition(node, "Ready") and not any(has_condition(node, p) for p in PRESSURES),
        gpu_memory_mib=_whole(labels.get("nvidia.com/gpu.memory", "0")),
    )


def read_topology(topology: Object) -> Topology:
    given = spec_of(topology).get("levels") or ()
    levels = tuple(Level(level["nodeLabel"], level.get("alias", "")) for level in given)
    return Topology(topology["metadata"]["name"], levels)


def read_queue(queue: Object) -> Queue:
    """Queue objects count CPU in millicores and memory in 10^6 bytes. Raises UnreadableObject."""
    spec = spec_of(queue)
    resources = spec.get("resources") or {}
    return Queue(
        name=queue["metadata"]["name"],
        parent=spec.get("parentQueue") or "",
        uid=queue["metadata"].get("uid", ""),
        priority=spec.get("priority", 100),
        created=_created(queue),
        gpu=_queue_resource(resources.get("gpu"), 1.0),
        cpu=_queue_resource(resources.get("cpu"), 1.0),
        memory=_queue_resource(resources.get("memory"), MEGABYTE),
        preempt_min_runtime=_duration(queue, spec.get("preemptMinRuntime")),
        reclaim_min_runtime=_duration(queue, spec.get("reclaimMinRuntime")),
        pool=pool_of(queue),
    )


def read_pod_group(group: Object, priorities: Mapping[str, int]) -> PodGroup:
    """`priorities`: value per PriorityClass, "" for the global default. Raises UnreadableObject."""
    spec, metadata = spec_of(group), group["metadata"]
    fallback = priorities.get("", DEFAULT_PRIORITY)
    priority = priorities.get(spec.get("priorityClassName") or "", fallback)
    preemptibility = spec.get("preemptibility")
    preemptible = priority < NON_PREEMPTIBLE_FROM if not preemptibility else preemptibility == "preemptible"
    grace = _duration(group, spec.get("stalenessGracePeriod"))
    return PodGroup(
        name=metadata["name"],
        namespace=metadata["namespace"],
        queue=spec.get("queue") or "",
        uid=metadata.get("uid", ""),
        created=_created(group),
        min_member=spec.get("minMember"),
        min_subgroup=spec.get("minSubGroup"),
        priority=priority,
        preemptible=preemptible,
        topology=_constraint(spec.get("topologyConstraint")),
        subgroups=tuple(_sub_group(entry) for entry in spec.get("subGroups") or ()),
        pool=pool_of(group),
        mark_unschedulable=spec.get("markUnschedulable", True) is not False,
        scheduling_backoff=spec.get("schedulingBackoff", -1),
        preemption_delay=_duration(group, spec.get("preemptionDelay")) or 0.0,
        staleness_grace=grace,
        last_start=_moment(annotations_of(group).get(LAST_START)),
        last_eviction=_moment(annotations_of(group).get(LAST_EVICTION)),
        stale_since=_moment(annotations_of(group).get(STALE_SINCE)),
        backed_off=_is_backed_off(group),
    )


def read_pod(pod: Object) -> Pod:
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
        created=_created(pod),
        gated=bool(spec.get("schedulingGates")),
        releasing=is_deleting(pod),
        node_selector=dict(spec.get("nodeSelector") or {}),
        tolerations=tuple(_toleration(entry) for entry in spec.get("tolerations") or ()),
        affinity=node_terms(spec),
        labels=labels_of(pod),
        anti_affinity=pod_terms(spec, "podAntiAffinity"),
        pod_affinity=pod_terms(spec, "podAffinity"),
        task_priority=_whole(labels_of(pod).get("kai.scheduler/task-priority", "0")),
        gpu_fraction=_fraction(annotations.get("gpu-fraction")),
        gpu_memory_mib=_whole(annotations.get("gpu-memory", "0")),
        fraction_devices=_whole(annotations.get("gpu-fraction-num-devices", "1")) or 1,
        gpu_groups=tuple(v for k, v in sorted(labels_of(pod).items()) if k.startswith("runai-gpu-group")),
    )


def _is_backed_off(group: Object) -> bool:
    """Whether its last scheduling condition is one of the pool that it is in."""
    conditions = status_of(group).get("schedulingConditions") or ()
    last = max(conditions, key=lambda entry: _whole(str(entry.get("transitionID", "0"))), default=None)
    return last is not None and last.get("nodePool") == (pool_of(group) or "default")


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


def _queue_resource(resource: Object | None, unit: float) -> QueueResource:
    given = resource or {}
    return QueueResource(
        quota=_scaled(given.get("quota", 0), unit),
        limit=_scaled(given.get("limit", 0), unit),
        weight=float(given.get("overQuotaWeight", 0)),
    )


def _scaled(value: float, unit: float) -> float:
    """-1 is "unlimited" in every unit; other negative memory counts as -1 too (kai-scheduler.md §1.2)."""
    if value == UNLIMITED or (value < 0 and unit == MEGABYTE):
        return UNLIMITED
    return float(value) * unit


def _sub_group(entry: Object) -> SubGroup:
    return SubGroup(
        name=entry["name"],
        min_member=entry.get("minMember"),
        min_subgroup=entry.get("minSubGroup"),
        parent=entry.get("parent") or "",
        topology=_constraint(entry.get("topologyConstraint")),
    )


def _constraint(constraint: Object | None) -> TopologyConstraint:
    given = constraint or {}
    return TopologyConstraint(
        given.get("topology") or "",
        given.get("requiredTopologyLevel") or "",
        given.get("preferredTopologyLevel") or "",
    )


def _toleration(entry: Object) -> Toleration:
    return Toleration(
        entry.get("key") or "",
        entry.get("operator") or "Equal",
        entry.get("value") or "",
        entry.get("effect") or "",
    )


def _fraction(text: str | None) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if 0 < value < 1 else 0.0


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _created(obj: Object) -> float:
    return _moment(obj["metadata"].get("creationTimestamp")) or 0.0


@lru_cache(maxsize=65536)
def _moment(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return parse_timestamp(text).timestamp()
    except ValueError:
        return None


def _duration(obj: Object, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UnreadableObject(f"{obj.get('kind', 'object')} {obj['metadata']['name']}: {error}") from error
