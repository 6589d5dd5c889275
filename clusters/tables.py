"""The lists of this package."""

from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from clusters.models import Node
from core.filters import Filter
from core.tables import Column, TableSpec

CLUSTER_STATES = (
    ("Connected", _("Connected")),
    ("WaitingToConnect", _("Waiting to connect")),
    ("Disconnected", _("Disconnected")),
    ("MissingPrerequisites", _("Missing prerequisites")),
    ("ServiceIssues", _("Service issues")),
)
NODE_STATES = (
    ("Ready", _("Ready")),
    ("Unhealthy", _("GPUs unhealthy")),
    ("Cordoned", _("Cordoned")),
    ("NotReady", _("Not ready")),
    ("Unknown", _("Unknown")),
)


def free_gpus(row: Node) -> Decimal:
    """Free GPUs of a node row of `selectors.node_rows`; never below 0."""
    return max(Decimal(row.free), Decimal(0))  # type: ignore[attr-defined]  # an annotation


def nodes_read(row: Any) -> int | None:
    """Nodes of a row of `selectors.cluster_list`; None where the cluster was never heard."""
    return row.node_count if row.last_contact_at else None


def gpus_read(row: Any) -> int | None:
    """The same of its GPUs."""
    return row.gpu_count if row.last_contact_at else None


CLUSTERS = TableSpec(
    name="clusters",
    row_template="clusters/cluster_list.html#row",
    empty_template="clusters/cluster_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",)),
        Column(key="phase", label=_("State"), sort=("phase",)),
        Column(key="kubernetes_version", label=_("Kubernetes"), sort=("kubernetes_version",), spare=True),
        Column(key="node_count", label=_("Nodes"), sort=("node_count",), numeric=True, csv=nodes_read),
        Column(key="gpu_count", label=_("GPUs"), sort=("gpu_count",), numeric=True, csv=gpus_read),
        Column(key="server", label=_("API server"), grow=True),
        Column(key="last_contact_at", label=_("Last contact"), sort=("last_contact_at",)),
    ),
    default_sort="name",
    search=("name", "server"),
    search_label=_("Name, API server"),
    filters=(
        Filter(key="phase", label=_("State"), kind="choice", choices=CLUSTER_STATES),
        Filter(key="name", label=_("Name")),
    ),
    topics=("clusters.Cluster",),
)

NODES = TableSpec(
    name="nodes",
    row_template="clusters/node_list.html#row",
    topics=("clusters.Node",),
    empty_template="clusters/node_list.html#empty",
    columns=(
        Column(key="name", label=_("Name"), sort=("name",)),
        Column(key="state", label=_("State"), sort=("urgency", "name")),
        Column(key="cluster.name", label=_("Cluster"), spare=True),
        Column(key="pool", label=_("Node pool"), sort=("pool",)),
        Column(key="gpu_type", label=_("GPU type"), sort=("gpu_type",), grow=True),
        Column(key="gpu_capacity", label=_("GPUs"), sort=("gpu_capacity",), numeric=True),
        Column(key="held", label=_("Allocated"), sort=("held",), numeric=True),
        Column(key="free", label=_("Free"), sort=("free",), numeric=True, csv=free_gpus),
        Column(key="pod_count", label=_("Pods"), sort=("pod_count",), numeric=True, spare=True),
        Column(key="created_at", label=_("Age"), sort=("-created_at",)),
    ),
    default_sort="state",
    search=("name", "gpu_type", "internal_address"),
    search_label=_("Name, GPU type, address"),
    filters=(
        Filter(key="state", label=_("State"), kind="choice", choices=NODE_STATES),
        Filter(key="pool", label=_("Node pool")),
        Filter(key="label", label=_("Label (key=value)"), lookup="labels", kind="label"),
        Filter(key="gpuType", label=_("GPU type"), lookup="gpu_type"),
        Filter(key="gpus", label=_("GPUs"), lookup="gpu_capacity", kind="number"),
        Filter(key="free", label=_("Free GPUs"), lookup="free", kind="number"),
        Filter(key="cluster", label=_("Cluster"), lookup="cluster__name"),
        Filter(key="name", label=_("Name")),
    ),
)
