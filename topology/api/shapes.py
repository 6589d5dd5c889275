"""Shapes of topologies and node pools (`runai-openapi.json`: NetworkTopology, Nodepool)."""

from typing import Annotated, Literal

from core.api.shapes import UNSET, Condition, Meta, Shape, UnsetType
from topology.api.impact_shapes import ImpactShape


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

    name: str
    cluster_id: str
    levels: list[str]


Strategy = Annotated[str, Meta(extra_json_schema={"enum": ["binpack", "spread"]})]


class PlacementStrategy(Shape):
    """How pods are laid onto nodes."""

    cpu: Strategy | None = None
    gpu: Strategy | None = None


class SchedulingConfiguration(Shape):
    """How a pool is scheduled. `minGuaranteedRuntime` as `8h40m`."""

    placement_strategy: PlacementStrategy | None = None
    min_guaranteed_runtime: str | None = None


class GpuOptimization(Shape, forbid_unknown_fields=False):
    """Parts of Run:ai that KAI Scheduler has no counterpart of: off."""

    swap_enabled: bool | None = None
    node_level_scheduler_enabled: bool | None = None


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

    label_key: str | None = None
    label_value: str | None = None
    network_topology_id: str | None = None
    placement_strategy: PlacementStrategy | None = None
    scheduling_configuration: SchedulingConfiguration | None = None
    over_provisioning_ratio: float | None = None
    gpu_network_acceleration_label_key: str | None = None
    gpu_network_acceleration_detection: str | None = None
    gpu_resource_optimization: GpuOptimization | None = None


class PoolChange(PoolSettings):
    """What to change of a pool; its name and cluster stay."""

    name: str | None = None
    cluster_id: str | None = None


class PoolCreation(PoolSettings, kw_only=True):
    """A new pool: the nodes with this label."""

    name: str
    cluster_id: str
    label_key: str
    label_value: str
