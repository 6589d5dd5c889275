"""Shapes of workloads (`runai-openapi.json`: Workload, WorkloadDetailed, WorkloadV2, Pod1, Event)."""

from typing import Annotated, Any, Literal

from core.api.limits import either, limited
from core.api.shapes import UNSET, Condition, Encoded, Shape, UnsetType
from workloads.api.placement_shapes import PlacementPreview

MAX_IDS = 100  # of one batch


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


class RoleProgress(Shape):
    """A component and its pods: wanted, on a node, ready. `gpusEach` is a decimal as text."""

    component: str
    type: str
    gpus_each: str
    desired: int
    placed: int
    ready: int


class Standing(Shape):
    """Where it stands, empty before it is reconciled. `state` is kept, loosened, broken, waits, or empty where nothing
    was asked; `level` the narrowest that all pods share; `lost` and `outside` are nodes."""

    state: str | UnsetType = UNSET
    level: str | UnsetType = UNSET
    domains: list[str] | UnsetType = UNSET
    lost: list[str] | UnsetType = UNSET
    outside: list[str] | UnsetType = UNSET


class WaitingReason(Shape):
    """Why it waits, empty where it does not: a code with its numbers and names, and the scheduler's own words."""

    code: str | UnsetType = UNSET
    arguments: dict[str, str] | UnsetType = UNSET
    words: list[str] | UnsetType = UNSET


class AdditionalFields(Shape):
    """What is Muster's: roles with their pods, placement, since when and why it waits. They are answered as the
    reconciler stored them."""

    roles: list[RoleProgress]
    placement: Standing
    waiting_since: str | None
    waiting_reason: WaitingReason
    conditions: list[Condition]


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
    placement: PlacementPreview | UnsetType = UNSET


class SyncInfo(Shape):
    """How far the cluster is."""

    status: Literal["Queued", "Applying", "Synced", "Deleting", "Failed"]
    message: str | UnsetType = UNSET


class WorkloadV2Answer(Shape):
    """A submission and how far it is."""

    workload: WorkloadV2
    sync_info: SyncInfo


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


# Without a manifest there is nothing to submit.
SubmissionGiven = Annotated[
    Submission, either({"manifest": {"type": "object"}}, {"manifestBase64Encoded": {"type": "string"}})
]


class WorkloadFailure(Shape):
    """A workload that was left as it is, and why."""

    id: str
    code: int
    message: str


class WorkloadBatchAnswer(Shape):
    """Which were done and which refused."""

    id: str
    succeeded: list[str]
    failed: list[WorkloadFailure]


class WorkloadBatch(Shape):
    """One act on up to 100 workloads."""

    ids: Annotated[list[str], limited(minItems=1, maxItems=MAX_IDS)]
    action: Literal["delete", "suspend", "resume"]


class CategoryShape(Shape):
    """A category of workloads."""

    id: str
    name: str


class CategoryList(Shape):
    """Categories."""

    categories: list[CategoryShape]


class TypeShape(Shape):
    """A type of workloads."""

    id: str
    name: str
    group: str
    category_id: str
    category_name: str
    priority_id: str
    priority_name: str
    cluster_statuses: None


class TypeList(Shape):
    """Types."""

    types: list[TypeShape]


class ClusterPhase(Shape):
    """How a cluster has it."""

    cluster_id: str
    phase: str


class WorkloadPriority(Shape):
    """A PriorityClass, and the clusters that have it."""

    id: str
    name: str
    source: str
    value: int
    created_at: str
    updated_at: str
    status: list[ClusterPhase]


class WorkloadPriorityList(Shape):
    """Priorities."""

    priorities: list[WorkloadPriority]
