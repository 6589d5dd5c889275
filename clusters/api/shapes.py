"""Shapes of clusters and nodes (`runai-openapi.json`: DisplayedCluster, Node)."""

from typing import Literal

from core.api.shapes import Encoded, Shape

NodeStatus = Literal["Ready", "NotReady", "Unknown"]


class NodeCondition(Shape, forbid_unknown_fields=False):
    """What the kubelet says of a node."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Taint(Shape, forbid_unknown_fields=False):
    """A taint that keeps pods away."""

    key: str
    effect: str
    value: str = ""


class GpuInfo(Shape):
    """The GPUs of a node, by their model."""

    gpu_type: str
    gpu_count: int


class NodeShape(Shape):
    """One node. `gpuInfo` is null on a node without GPUs; the fields from `cordoned` on are Muster's."""

    id: str
    name: str
    cluster_uuid: str
    status: NodeStatus
    conditions: list[NodeCondition]
    taints: list[Taint]
    node_pool: str
    created_at: str
    updated_at: str
    gpu_info: GpuInfo | None
    nv_link_domain_uid: str | None
    nv_link_clique_id: str | None
    cordoned: bool
    labels: Encoded
    allocatable_gpus: int | None
    mig_devices: Encoded


class NodeList(Shape):
    """Nodes."""

    nodes: list[NodeShape]
