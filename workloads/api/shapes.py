"""Shapes of workloads (`runai-openapi.json`: Workload, WorkloadDetailed, WorkloadV2, Pod1, Event)."""

from typing import Any, Literal

from core.api.shapes import UNSET, Encoded, Shape, UnsetType


class Condition(Shape, forbid_unknown_fields=False, rename="camel"):
    """One condition of a workload."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str


class RequestedPods(Shape):
    """How many pods are wanted, and without how many none starts."""

    number: int
    min: int


class RequestedGpus(Shape):
    """GPUs that are asked for."""

    request: float
    limit: float


class RequestedResources(Shape):
    """What is asked for."""

    gpu_request_type: str
    gpu: RequestedGpus


class AllocatedResources(Shape):
    """What is held."""

    gpu: float


class Actions(Shape):
    """What can be done to it."""

    delete: bool
    suspend: bool


class Placement(Shape):
    """The topology that it asks for, by label keys."""

    name: str
    preferred_placement: str
    required_placement: str


class WorkloadShape(Shape):
    """One workload. `phaseReason` is there where Run:ai has a word for why it waits."""

    id: str
    tenant_id: int
    type: str
    name: str
    source: str
    source_api: str
    priority: str | None
    priority_class_name: str
    preemptible: bool
    submitted_by: str
    cluster_id: str
    project_name: str
    project_id: str
    department_name: str
    department_id: str
    namespace: str
    created_at: str
    updated_at: str
    deleted_at: str | None
    phase: str
    phase_updated_at: str
    phase_message: str
    k8s_phase: str
    k8s_phase_updated_at: str
    conditions: list[Condition]
    running_pods: int
    requested_pods: RequestedPods
    requested_node_pools: list[str]
    current_node_pools: list[str]
    workload_requested_resources: RequestedResources
    pods_requested_resources: RequestedResources
    allocated_resources: AllocatedResources
    images: list[str]
    actions_support: Actions
    category: str
    completed_at: str | None
    topology: Placement | None
    phase_reason: str | UnsetType = UNSET


class WorkloadList(Shape):
    """Workloads; `next` is the offset of the next page."""

    workloads: list[WorkloadShape]
    next: int | UnsetType = UNSET


class PendingMessage(Shape):
    """Why the scheduler holds it back, where Run:ai has a word for it."""

    node_pool: str
    phase_reason: str
    reason: str
    user_message: str


class AdditionalFields(Shape):
    """What is Muster's: roles with their pods, placement, since when and why it waits."""

    roles: list[dict[str, Any]]
    placement: dict[str, Any]
    waiting_since: str | None
    waiting_reason: dict[str, Any]
    conditions: list[dict[str, Any]]


class WorkloadDetailed(WorkloadShape):
    """One workload, with what is Muster's below `additionalFields`."""

    pending_scheduling_messages: list[PendingMessage] | None = None
    additional_fields: AdditionalFields | None = None


class Gvk(Shape):
    """Group, version and kind of a manifest."""

    group: str
    version: str
    kind: str


class V2Metadata(Shape):
    """What is known of a submission."""

    id: str
    name: str
    gvk: Gvk
    project_id: str
    project_name: str
    cluster_id: str
    tenant_id: int
    department_id: str
    department_name: str
    priority: str | None
    category: str
    preemptibility: Literal["preemptible", "non-preemptible"]
    created_at: str
    created_by: str
    updated_at: str
    updated_by: str
    deleted_at: str | None
    deleted_by: str | None


class WorkloadV2(Shape):
    """A submission. `rawManifest` is as sent, `workloadManifest` as Muster applies it; `placement` of dry runs."""

    metadata: V2Metadata
    desired_phase: Literal["Running", "Stopped", "Deleted"]
    workload_manifest: Encoded
    raw_manifest: Encoded
    placement: Encoded | UnsetType = UNSET


class SyncInfo(Shape):
    """How far the cluster is."""

    status: Literal["Queued", "Applying", "Synced", "Deleting", "Failed"]
    message: str | UnsetType = UNSET


class WorkloadV2Answer(Shape):
    """A submission and how far it is."""

    workload: WorkloadV2
    sync_info: SyncInfo


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


class SubmissionMetadata(Shape):
    """What a submission says about its manifest."""

    name: str | None = None
    use_given_name_as_prefix: bool | None = None
    project_id: str | None = None
    cluster_id: str | None = None
    priority: str | None = None
    category: str | None = None
    preemptibility: Literal["preemptible", "non-preemptible"] | None = None


class Submission(Shape):
    """A manifest as JSON (`manifest`) or as YAML in base64 (`manifestBase64Encoded`), one of the two."""

    metadata: SubmissionMetadata | None = None
    manifest: dict[str, Any] | None = None
    manifest_base64_encoded: str | None = None
    desired_phase: Literal["Running", "Stopped"] | None = None
