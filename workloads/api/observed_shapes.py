"""Shapes of pods, events and histories (`runai-openapi.json`: Pod1, Event, WorkloadHistoryRecord)."""

from typing import Literal

from core.api.shapes import UNSET, Shape, UnsetType
from workloads.api.shapes import AllocatedResources, RequestedGpus


class Container(Shape):
    """A container of a pod."""

    name: str
    image: str


class PodRequest(Shape):
    """What a pod asks for."""

    gpu: RequestedGpus


class PodShape(Shape):
    """One pod. `id` is its uid, `name` what logs are asked for by; brief lists leave its owners unnamed."""

    id: str
    tenant_id: int
    name: str
    workload_id: str
    project_id: str
    cluster_id: str
    priority_class_name: str
    k8s_phase: str
    k8s_phase_updated_at: str
    created_at: str
    updated_at: str
    deleted_at: str | None
    node_name: str | None
    ip: str | None
    requested_node_pools: list[str]
    current_node_pool: str | None
    containers: list[Container]
    requested_resources: PodRequest
    allocated_resources: AllocatedResources
    workload_name: str | UnsetType = UNSET
    project_name: str | UnsetType = UNSET


class PodList(Shape):
    """Pods; `next` is the offset of the next page."""

    pods: list[PodShape]
    next: int | UnsetType = UNSET


class InvolvedObject(Shape):
    """What an event is about."""

    uid: str
    kind: str
    name: str
    namespace: str


class EventShape(Shape):
    """What the cluster said. `createdAt` is when it said so last."""

    created_at: str
    type: str
    cluster_id: str
    message: str
    reason: str
    source: str
    count: int
    id: str | UnsetType = UNSET
    involved_object: InvolvedObject | UnsetType = UNSET


class EventList(Shape):
    """Events; `next` is the offset of the next page."""

    events: list[EventShape]
    next: int | UnsetType = UNSET


class RecordMeta(Shape):
    """When and what."""

    creation_timestamp: str
    type: Literal["Event", "PhaseUpdate"]


class PhaseUpdate(Shape):
    """The phase that holds since then."""

    phase: str
    phase_message: str


class RecordSpec(Shape):
    """One of the two."""

    event: EventShape | UnsetType = UNSET
    phase_update: PhaseUpdate | UnsetType = UNSET


class RecordShape(Shape):
    """One record of a history."""

    meta: RecordMeta
    spec: RecordSpec


class RecordList(Shape):
    """Records; `next` is the offset of the next page."""

    records: list[RecordShape]
    next: int | UnsetType = UNSET
