"""Turns decoded objects into rows, unsaved. Never fails for an odd object: what cannot be read is unknown.

Resources of pods: the larger of the sum over containers (with sidecars) and the largest init container, plus
overhead (kubernetes: pkg/api/v1/resource/helpers.go, `PodRequests`).
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from clusters import wire
from clusters.kinds import Kind
from clusters.models import ClusterEvent, ClusterObject, Node, Pod
from clusters.names import GPU_RESOURCE, OWNER_LABEL, QUEUE_LABEL, WORKLOAD_LABEL
from clusters.quantities import parse_quantity, to_millicores, to_whole
from clusters.watcher.scheduling import scheduling_of
from clusters.watcher.shapes import shaped
from core.errors import InvalidInput
from core.times import nearest_moment
from scheduling.shards import pool_of_labels

MIG_PREFIX = "nvidia.com/mig-"
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
COMPONENT_LABEL = "nvidia.com/dynamo-component"
COMPONENT_TYPE_LABEL = "nvidia.com/dynamo-component-type"
POD_GROUP_ANNOTATION = "pod-group-name"
GPU_FRACTION_ANNOTATION = "gpu-fraction"
GPU_FRACTION_DEVICES_ANNOTATION = "gpu-fraction-num-devices"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_COUNT = 2**31 - 1
# Of one node, where each is a square of the map; time-sliced ones come in hundreds. More is a mistake of somebody's.
MAX_DEVICES = 4096
# Bytes and millicores: a pebibyte, so that the sum over thousands of odd rows is a number of the database still.
MAX_AMOUNT = 2**50


def node_row(node: wire.NodeObject) -> Node:
    """The row of a node."""
    spec, status = node.spec or wire.NodeSpec(), node.status or wire.NodeStatus()
    labels = node.metadata.labels or {}
    capacity, allocatable = status.capacity or {}, status.allocatable or {}
    gpus = _devices(capacity.get(GPU_RESOURCE) or 0)
    usable = allocatable.get(GPU_RESOURCE, None if GPU_RESOURCE in capacity else 0)
    ready = next((c.status for c in status.conditions or () if c.type == "Ready"), "Unknown")
    return Node(
        **_identity(node.metadata),
        labels=labels,
        taints=msgspec.to_builtins(spec.taints or []),
        conditions=msgspec.to_builtins(status.conditions or []),
        ready=ready[:8],
        cordoned=spec.unschedulable,
        gpu_type=labels.get(GPU_PRODUCT_LABEL, "")[:100],
        gpu_capacity=gpus,
        gpu_allocatable=None if usable is None else _devices(usable),
        gpu_memory_mib=_memory_mib(labels.get(GPU_MEMORY_LABEL)),
        mig={key: _devices(value or 0) for key, value in capacity.items() if key.startswith(MIG_PREFIX)},
        cpu_millicores=_known(to_millicores, capacity.get("cpu")),
        memory_bytes=_known(to_whole, capacity.get("memory")),
        pod_slots=whole(capacity.get("pods") or 0),
        allocatable=_allocatable(allocatable),
        node_pool=pool_of_labels(labels)[:63],
        kubelet_version=(status.node_info.kubelet_version if status.node_info else "")[:64],
        internal_address=next((a.address for a in status.addresses or () if a.type == "InternalIP"), "")[:64],
    )


def pod_row(pod: wire.PodObject) -> Pod:
    """The row of a pod."""
    meta, spec, status = pod.metadata, pod.spec or wire.PodSpec(), pod.status or wire.PodStatus()
    labels, annotations = meta.labels or {}, meta.annotations or {}
    reason, message = _why_not_ready(status)
    return Pod(
        **_identity(meta),
        namespace=meta.namespace,
        phase=status.phase[:16],
        ready=any(c.type == "Ready" and c.status == "True" for c in status.conditions or ()),
        node_name=spec.node_name,
        gpus=pod_gpus(pod),
        cpu_millicores=_number(to_millicores, str(_requested(spec, "cpu"))),
        memory_bytes=_number(to_whole, str(_requested(spec, "memory"))),
        workload=labels.get(WORKLOAD_LABEL, "")[:63],
        graph=labels.get(GRAPH_LABEL, "")[:253],
        component=labels.get(COMPONENT_LABEL, "")[:63],
        component_type=labels.get(COMPONENT_TYPE_LABEL, "")[:32],
        pod_group=annotations.get(POD_GROUP_ANNOTATION, "")[:253],
        queue=labels.get(QUEUE_LABEL, "")[:253],
        gated=bool(spec.scheduling_gates),
        reason=reason[:64],
        message=message[:4000],
        restarts=min(max(sum(c.restart_count for c in status.container_statuses or ()), 0), MAX_COUNT),
        image=(spec.containers[0].image if spec.containers else "")[:500],
        address=status.pod_ip[:64],
        deletion_requested_at=nearest_moment(meta.deletion_timestamp),
        scheduling=scheduling_of(meta, spec),
    )


def pod_gpus(pod: wire.PodObject) -> Decimal:
    """Devices that a pod asks for: whole ones, or KAI's fraction × devices. 0 where a fraction is unreadable."""
    annotations = pod.metadata.annotations or {}
    fraction = annotations.get(GPU_FRACTION_ANNOTATION)
    if fraction is not None:
        try:
            share = Decimal(fraction) * Decimal(annotations.get(GPU_FRACTION_DEVICES_ANNOTATION, "1"))
        except InvalidOperation:
            return Decimal(0)
        return share.quantize(Decimal("0.0001")) if share.is_finite() and 0 < share < 10**6 else Decimal(0)
    return min(_requested(pod.spec or wire.PodSpec(), GPU_RESOURCE), Decimal(10**6))


def event_row(event: wire.EventObject) -> ClusterEvent:
    """The row of a Kubernetes event."""
    series = event.series or wire.Series()
    seen = series.last_observed_time or event.last_timestamp or event.event_time or event.first_timestamp
    source = event.reporting_component or (event.source.component if event.source else "")
    return ClusterEvent(
        **_identity(event.metadata),
        namespace=event.involved_object.namespace,
        type=event.type[:16],
        reason=event.reason[:128],
        message=(event.message or "")[:4000],
        involved_kind=event.involved_object.kind[:63],
        involved_name=event.involved_object.name[:253],
        involved_uid=event.involved_object.uid[:64],
        count=min(max(series.count or event.count or 1, 1), MAX_COUNT),
        source=source[:128],
        last_seen_at=nearest_moment(seen) or nearest_moment(event.metadata.creation_timestamp) or EPOCH,
    )


def object_row(found: wire.AnyObject, kind: Kind) -> ClusterObject:
    """The row of any other object: whole but for managedFields. Items of built-in lists do not say their kind."""
    metadata = dict(found.metadata)
    managers = metadata.pop("managedFields", None) or ()
    first: dict[str, Any] = min(managers, key=lambda entry: entry.get("time", ""), default={})
    manifest: dict[str, Any] = msgspec.to_builtins(found) | {"metadata": metadata}
    manifest["apiVersion"] = found.api_version or kind.api_version
    manifest["kind"] = found.kind or kind.kind
    return ClusterObject(
        uid=metadata["uid"],
        name=metadata["name"],
        resource_version=metadata["resourceVersion"],
        created_at=nearest_moment(metadata.get("creationTimestamp")) or EPOCH,
        group=kind.group,
        plural=kind.plural,
        namespace=metadata.get("namespace", ""),
        manifest=shaped(manifest, kind),
        owner=(metadata.get("labels") or {}).get(OWNER_LABEL, "")[:128],
        made_by=str(first.get("manager", ""))[:128],
    )


def whole(value: wire.Quantity) -> int:
    """A count; 0 where it is unreadable."""
    return min(_number(to_whole, value), MAX_COUNT)


def _devices(value: wire.Quantity) -> int:
    return min(whole(value), MAX_DEVICES)


def _identity(meta: wire.Meta) -> dict[str, Any]:
    return {
        "uid": meta.uid,
        "name": meta.name,
        "resource_version": meta.resource_version,
        "created_at": nearest_moment(meta.creation_timestamp) or EPOCH,
    }


def _number(parse: Any, value: wire.Quantity) -> int:
    return _known(parse, value) or 0


def _known(parse: Any, value: wire.Quantity | None) -> int | None:
    """None where it is not said, or cannot be read."""
    try:
        return None if value is None else int(min(max(parse(value), 0), MAX_AMOUNT))
    except InvalidInput:
        return None


def _memory_mib(label: str | None) -> int | None:
    return int(label) if label and label.isascii() and label.isdigit() and len(label) < 12 else None


def _allocatable(amounts: Mapping[str, wire.Quantity | None]) -> dict[str, int]:
    cpu, memory = _number(to_millicores, amounts.get("cpu") or 0), _number(to_whole, amounts.get("memory") or 0)
    pods = amounts.get("pods")
    return {"cpu": cpu, "memory": memory, "pods": 110 if pods is None else whole(pods)} if amounts else {}


def _requested(spec: wire.PodSpec, resource: str) -> Decimal:
    sidecars = [c for c in spec.init_containers or () if c.restart_policy == "Always"]
    running = _sum([*(spec.containers or ()), *sidecars], resource)
    largest, started = Decimal(0), Decimal(0)
    for container in spec.init_containers or ():
        asked = _sum([container], resource)
        if container.restart_policy == "Always":
            started += asked
        largest = max(largest, started + (asked if container.restart_policy != "Always" else 0))
    return max(running, largest) + _quantity(spec.overhead or {}, resource)


def _sum(containers: Iterable[wire.Container], resource: str) -> Decimal:
    total = Decimal(0)
    for container in containers:
        resources = container.resources or wire.Resources()
        asked = resources.requests or {}
        total += _quantity(asked if resource in asked else resources.limits or {}, resource)
    return total


def _quantity(amounts: Mapping[str, wire.Quantity], resource: str) -> Decimal:
    if resource not in amounts:
        return Decimal(0)
    try:
        return max(parse_quantity(amounts[resource]), Decimal(0))
    except InvalidInput:
        return Decimal(0)


def _why_not_ready(status: wire.PodStatus) -> tuple[str, str]:
    """The most telling reason: why it is not scheduled, what a container waits for, why it failed."""
    for condition in status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.reason, condition.message
    containers = [*(status.init_container_statuses or ()), *(status.container_statuses or ())]
    for container in sorted(containers, key=_only_waits):  # init containers come first, what says why before the rest
        state = container.state or wire.ContainerState()
        if state.waiting and state.waiting.reason:
            return state.waiting.reason, state.waiting.message
        if state.terminated and status.phase == "Failed":
            return state.terminated.reason, state.terminated.message
    return status.reason, status.message


def _only_waits(container: wire.ContainerStatus) -> bool:
    """Whether a container waits for others, so that it does not say why."""
    state = container.state or wire.ContainerState()
    return state.waiting is not None and state.waiting.reason in ("PodInitializing", "ContainerCreating")
