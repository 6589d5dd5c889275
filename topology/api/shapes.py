"""Shapes of topologies and node pools (`runai-openapi.json`: NetworkTopology, Nodepool)."""

import re
from typing import Annotated, Literal

from clusters.names import DEFAULT_NODE_POOL, LABEL_NAME, RFC1123_SUBDOMAIN
from core.api.limits import Uuid, limited, part
from core.api.shapes import UNSET, Condition, Meta, Shape, UnsetType
from topology.api.impact_shapes import ImpactShape
from topology.durations import DURATION
from topology.rules import MAX_KEY_LENGTH, MAX_NAME_LENGTH, NAME
from topology.suggestions import MAX_LEVELS

_LABEL_NAME = rf"(?!.{{64}}){part(LABEL_NAME)}"
Name = Annotated[str, limited(NAME, maxLength=MAX_NAME_LENGTH)]
NewPoolName = Annotated[str, limited(re.compile(f"(?!{DEFAULT_NODE_POOL}$){part(NAME)}"), maxLength=MAX_NAME_LENGTH)]
LabelKey = Annotated[
    str,
    limited(re.compile(f"(?:{part(RFC1123_SUBDOMAIN)}/)?{_LABEL_NAME}"), maxLength=MAX_KEY_LENGTH, examples=["pool"]),
]
LabelValue = Annotated[str, limited(LABEL_NAME, maxLength=63, examples=["h100"])]
Off = Annotated[bool, limited(const=False)]


class TopologyFinding(Shape):
    """Something about the levels on the cluster's nodes."""

    code: str
    severity: str
    message: str
    details: str
    nodes: list[str]


class TopologyStatus(Shape):
    """Conditions; findings where one topology is shown."""

    conditions: list[Condition]
    findings: list[TopologyFinding] | UnsetType = UNSET


class TopologyShape(Shape):
    """One network topology, its levels broadest first."""

    id: str
    tenant_id: int
    name: str
    cluster_id: str
    levels: list[str]
    created_at: str
    created_by: str
    phase: str
    source: str
    node_pools: list[str]
    status: TopologyStatus


class TopologyList(Shape):
    """Topologies."""

    network_topologies: list[TopologyShape]


class TopologyCreation(Shape):
    """A new topology: keys of node labels, broadest first."""

    name: Name
    cluster_id: Uuid
    levels: Annotated[list[LabelKey], limited(minItems=1, maxItems=MAX_LEVELS, uniqueItems=True)]


Strategy = Annotated[str, Meta(extra_json_schema={"enum": ["binpack", "spread"]})]


class PlacementStrategy(Shape):
    """How pods are laid onto nodes."""

    cpu: Strategy | None = None
    gpu: Strategy | None = None


Duration = Annotated[str, limited(DURATION, examples=["8h40m"])]


class SchedulingConfiguration(Shape):
    """How a pool is scheduled. `minGuaranteedRuntime` as `8h40m`."""

    placement_strategy: PlacementStrategy | None = None
    min_guaranteed_runtime: Duration | None = None


class GpuOptimization(Shape):
    """Parts of Run:ai that KAI Scheduler has no counterpart of: off."""

    swap_enabled: Off | None = None
    node_level_scheduler_enabled: Off | None = None
    cpu_swap_memory_size: str | UnsetType | None = UNSET
    reserved_gpu_memory_for_swap_operations: str | UnsetType | None = UNSET


class PoolCondition(Shape):
    """What holds of a pool, and the nodes that it concerns."""

    type: str
    reason: str
    message: str
    status: Literal["True", "False"]
    nodes: list[str]


class PoolStatus(Shape):
    """What the cluster has."""

    label_key: str
    label_value: str
    placement_strategy: PlacementStrategy
    scheduling_configuration: SchedulingConfiguration
    conditions: list[PoolCondition]
    nodes: list[str]


class PoolShape(Shape):
    """One node pool."""

    id: str
    tenant_id: int
    name: str
    cluster_id: str
    cluster_name: str
    label_key: str
    label_value: str
    network_topology_id: str | None
    network_topology_name: str | None
    placement_strategy: PlacementStrategy
    scheduling_configuration: SchedulingConfiguration
    over_provisioning_ratio: int
    gpu_network_acceleration_detection: str
    gpu_resource_optimization: GpuOptimization
    phase: str
    phase_message: str
    status: PoolStatus
    created_by: str
    updated_by: str
    is_default: bool
    created_at: str
    updated_at: str
    impact: ImpactShape | UnsetType = UNSET


class PoolList(Shape):
    """Node pools."""

    nodepools: list[PoolShape]


class PoolSettings(Shape):
    """What a pool is; a null `networkTopologyId` detaches."""

    label_key: LabelKey | None = None
    label_value: LabelValue | None = None
    network_topology_id: Uuid | None = None
    placement_strategy: PlacementStrategy | None = None
    scheduling_configuration: SchedulingConfiguration | None = None
    over_provisioning_ratio: Annotated[float, limited(const=1)] | None = None
    gpu_network_acceleration_label_key: Annotated[str, limited(maxLength=0, examples=[""])] | None = None
    gpu_network_acceleration_detection: Annotated[str, limited(enum=["Auto", "DontUse"])] | None = None
    gpu_resource_optimization: GpuOptimization | None = None


class PoolChange(PoolSettings):
    """What to change of a pool; its name and cluster stay."""

    name: str | None = None
    cluster_id: str | None = None


class PoolCreation(PoolSettings, kw_only=True):
    """A new pool: the nodes with this label."""

    name: NewPoolName
    cluster_id: Uuid
    label_key: LabelKey
    label_value: LabelValue
