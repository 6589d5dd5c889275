"""Shapes of clusters and nodes (`runai-openapi.json`: DisplayedCluster, Node)."""

from typing import Annotated, Literal

import msgspec

from clusters.names import RFC1123_LABEL
from core.api.limits import limited
from core.api.shapes import UNSET, Accepted, Encoded, Meta, Shape, UnsetType

Name = Annotated[str, limited(RFC1123_LABEL, maxLength=63)]
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


class ClusterCondition(Shape, forbid_unknown_fields=False):
    """What holds of a cluster."""

    type: str
    status: str
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    observed_generation: int | UnsetType = UNSET
    last_transition_time: str | UnsetType = UNSET


class Operand(Shape):
    """A part of the software in the cluster."""

    ready: bool
    last_transition_time: str | None
    reasons: list[str] | UnsetType = UNSET


class Platform(Shape):
    """What the cluster is."""

    type: str
    kube_version: str


class Dependency(Shape):
    """Whether a part is there, and why not."""

    available: bool
    reason: str


class Dependencies(Shape):
    """Parts that Muster needs, and parts that it can use."""

    required: dict[str, Dependency]
    optional: dict[str, Dependency]


class ClusterStatus(Shape):
    """How the cluster is."""

    state: str
    conditions: list[ClusterCondition]
    operands: dict[str, Operand]
    platform: Platform
    dependencies: Dependencies


class ClusterShape(Shape):
    """One cluster; with `verbosity=metadata` the fields up to `deleteRequestedAt` only."""

    uuid: str
    tenant_id: int
    name: str
    created_at: str
    updated_at: str
    deleted_at: str | None
    delete_requested_at: str | None
    domain: str | UnsetType = UNSET
    server: str | UnsetType = UNSET
    version: str | UnsetType | None = UNSET
    last_liveness: str | UnsetType | None = UNSET
    status: ClusterStatus | UnsetType = UNSET


class ClusterCreation(Shape):
    """A cluster to register: a kubeconfig, or an address (`server`, Run:ai's name is `domain`) with a token."""

    name: Name
    kubeconfig: str | None = None
    server: str | None = None
    domain: str | None = None
    certificate_authority: str | None = None
    token: str | None = None
    version: Annotated[str, limited(maxLength=0, examples=[""])] | None = None


class ClusterRenaming(Shape):
    """A new name."""

    name: Name


class RemovalAccepted(Accepted):
    """A removal that goes on in the background; the dry run of a cleaning one says which workloads end."""

    impact: Encoded | UnsetType = UNSET


class InstallInfo(Shape):
    """The commands that give Muster its account in a cluster. There is no chart and no agent, and so no secret."""

    installation_str: Annotated[str, Meta(examples=["kubectl apply --filename - <<'EOF'\n…\nEOF\n"])]
    repository_name: str
    chart_repo_url: str = msgspec.field(name="chartRepoURL")
    client_secret: str
