"""Shapes of departments, projects and their quota (`runai-openapi.json`: Department, Project, Resources)."""

import re
from typing import Annotated, Any, Literal

from clusters.names import RFC1123_LABEL
from core.api.limits import Description, Uuid, limited, part
from core.api.shapes import UNSET, Meta, Shape, UnsetType
from organizations.api.fair_share_shapes import Debt, Level, QueueRow
from organizations.quota import LARGEST
from organizations.rules import NAME, NAME_LENGTH, RESERVED_NAMESPACES
from topology.api.impact_shapes import ImpactShape

Name = Annotated[str, limited(NAME, maxLength=NAME_LENGTH)]
_RESERVED = "|".join(sorted(RESERVED_NAMESPACES))
Namespace = Annotated[str, limited(re.compile(f"(?:(?!kube-|(?:{_RESERVED})$){part(RFC1123_LABEL)})?"), maxLength=63)]
# −1 is unlimited; at most six decimals, which JSON Schema cannot say of floating numbers.
_WITHIN = {"minimum": 0, "exclusiveMaximum": int(LARGEST)}
Amount = Annotated[float, limited(anyOf=[_WITHIN, {"const": -1}])]
Weight = Annotated[float, limited(**_WITHIN)]
Priority = Annotated[
    str, limited(re.compile("Low|Normal|High|0*(?:[0-9]{1,6}|1000000)"), maxLength=9, examples=["Normal"])
]
# Parts of Run:ai that KAI Scheduler has no counterpart of: an object that says nothing.
_SAYS_NOTHING = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "null"}}]}
Silent = Annotated[dict[str, Any], limited(additionalProperties=_SAYS_NOTHING, examples=[{}])]


class PoolName(Shape):
    """A node pool."""

    id: str
    name: str


class Bounds(Shape):
    """Amounts of one resource on one pool; null is unlimited."""

    deserved: float | None
    limit: float | None
    over_quota_weight: float


class MemoryBounds(Bounds):
    """Amounts of memory."""

    units: str = "MB"


class ResourceShape(Shape):
    """The quota on one node pool."""

    node_pool: PoolName
    gpu: Bounds
    cpu: Bounds
    memory: MemoryBounds
    priority: str


class TotalResources(Shape):
    """Sums over the pools, null where one is unlimited."""

    gpu_quota: float | None
    cpu_quota: float | None
    memory_quota: float | None


class Amounts(Shape):
    """GPUs, millicores and MB."""

    gpu: float
    cpu: float
    memory: float


class QuotaStatus(Shape):
    """What queues hold and ask for; a part that no queue has reported is absent."""

    allocated: Amounts | UnsetType = UNSET
    allocated_non_preemptible: Amounts | UnsetType = UNSET
    requested: Amounts | UnsetType = UNSET


class PoolQuotaStatus(Shape):
    """The same on one node pool."""

    node_pool_name: str
    node_pool_id: str
    allocated: Amounts | UnsetType = UNSET
    allocated_non_preemptible: Amounts | UnsetType = UNSET
    requested: Amounts | UnsetType = UNSET


class Rules(Shape):
    """Parts of Run:ai that KAI Scheduler has no counterpart of."""

    scheduling_rules: dict[str, Any]
    default_node_pools: list[str]
    node_types: dict[str, Any]


class Owner(Rules):
    """What departments and projects share."""

    id: str
    name: str
    cluster_id: str
    description: str
    resources: list[ResourceShape]
    total_resources: TotalResources
    created_at: str
    updated_at: str
    created_by: str
    updated_by: str


class DepartmentStatus(Shape):
    """What the department's queues hold. By pool where one department is shown."""

    quota_status: QuotaStatus
    node_pool_quota_statuses: list[PoolQuotaStatus] | UnsetType = UNSET


class Deserved(Shape):
    """What projects deserve together."""

    deserved: float | None
    units: str | UnsetType = UNSET


class ProjectsResources(Shape):
    """What the projects of a department deserve together on one pool."""

    node_pool: PoolName
    gpu: Deserved
    cpu: Deserved
    memory: Deserved


class DepartmentShape(Owner):
    """One department; in lists its status with `verbosity=verbose`."""

    status: DepartmentStatus | UnsetType = UNSET
    projects_aggregated_resources: list[ProjectsResources] | UnsetType = UNSET
    impact: ImpactShape | UnsetType = UNSET


ProjectPhase = Literal["Creating", "Updating", "Deleting", "Ready", "NotReady", "Unknown"]


class ProjectStatus(Shape):
    """How far a project is, and what its queues hold."""

    namespace: str
    phase: ProjectPhase
    phase_message: str | None
    last_updated_time: str
    quota_status: QuotaStatus
    node_pool_quota_statuses: list[PoolQuotaStatus]


class ProjectShape(Owner):
    """One project."""

    parent_id: str
    parent: PoolName
    requested_namespace: str
    enforce_runai_scheduler: bool
    effective: Rules
    status: ProjectStatus
    impact: ImpactShape | UnsetType = UNSET


class DepartmentList(Shape):
    """Departments; `next` is the offset of the next page."""

    departments: list[DepartmentShape]
    next: int | UnsetType = UNSET


class ProjectList(Shape):
    """Projects; `next` is the offset of the next page."""

    projects: list[ProjectShape]
    next: int | UnsetType = UNSET


class PriorityShape(Shape):
    """A priority of departments and projects."""

    name: str
    value: int
    is_default: bool


class PriorityList(Shape):
    """Priorities."""

    priorities: list[PriorityShape]


class PoolGiven(Shape):
    """A node pool by its id, or by its name."""

    id: str | int | None = None
    name: str | None = None


class GivenSurplus(Shape):
    """What is beyond the deserved; null is unlimited, and an absent one stays as it is."""

    limit: Amount | None = None
    over_quota_weight: Weight | None = None


class GivenGpus(GivenSurplus):
    """Amounts of GPUs; null is no amount of deserved ones."""

    deserved: Amount | UnsetType = UNSET


class GivenBounds(GivenSurplus):
    """Amounts of one resource; null is unlimited, and an absent one stays as it is."""

    deserved: Amount | None = None


class GivenMemory(GivenBounds):
    """Amounts of memory."""

    units: Literal["MB", "GB", "Mib"] | None = None


class ResourceGiven(Shape):
    """The quota to set on one node pool, the default one where none is named. `priority`: a name or a number."""

    node_pool: PoolGiven | None = None
    gpu: GivenGpus | None = None
    cpu: GivenBounds | None = None
    memory: GivenMemory | None = None
    priority: Priority | None = None


class ResourcesImpact(Shape):
    """A dry run: the quota as it would be, and whom it would hit."""

    resources: list[ResourceShape]
    impact: ImpactShape


ResourcesChanged = list[ResourceShape] | ResourcesImpact


class OwnerChange(Shape):
    """What to change. Of Run:ai's other parts only what says nothing is taken."""

    description: Description | None = None
    resources: list[ResourceGiven] | None = None
    scheduling_rules: Silent | None = None
    default_node_pools: Annotated[list[Any], Meta(max_length=0)] | None = None
    node_types: Silent | None = None
    enforce_runai_scheduler: Annotated[bool, limited(const=True)] | None = None
    overtime_data: Silent | None = None


class DepartmentCreation(OwnerChange, kw_only=True):
    """A new department."""

    name: Name
    cluster_id: Uuid


class ProjectCreation(OwnerChange, kw_only=True):
    """A new project; `parentId` is its department, the cluster's `default` without one."""

    name: Name
    cluster_id: Uuid
    parent_id: str | None = None
    requested_namespace: Namespace | None = None


class FairShare(Shape):
    """The division of one resource of a pool among its queues."""

    node_pool: PoolName
    resource: str
    observed_at: str | None
    unknown: list[Any]
    total: int | float
    capacity: int | float
    held: int | float
    asked: int | float
    idle_quota: int | float
    queues: list[QueueRow]
    debts: list[Debt]
    levels: list[Level]
    what_if: bool


class FairShareValue(Shape, forbid_unknown_fields=False):
    """A queue's part at one moment."""

    at: str
    priority: int | None
    fair_share: int | float
    allocated: int | float
    allocated_non_preemptible: int | float
    requested: int | float
    deserved: int | float | None
    limit: int | float | None
    over_quota_weight: int | float | None


class FairShareHistory(Shape):
    """How a queue's part went."""

    queue: str
    resource: str
    values: list[FairShareValue]
