"""`/api/v1/nodes/telemetry`: how many nodes, GPUs, cores and how much memory there is, as of now."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import Cluster, Node
from clusters.names import DEFAULT_NODE_POOL
from clusters.selectors import held_gpus
from core.api.csv_rendering import RENDERERS
from core.api.ids import uuid_of
from core.api.shapes import Telemetry
from core.api.telemetry import UNKNOWN_FILTER, Fact, Group, read_telemetry, telemetry_json, telemetry_parameters
from core.api.views import ApiView
from metrics import selectors
from metrics.series import node_positions, summary

MIB = 2**20
TYPES = (
    "READY_GPU_NODES", "READY_GPUS", "TOTAL_GPU_NODES", "TOTAL_GPUS", "IDLE_ALLOCATED_GPUS", "FREE_GPUS",
    "ALLOCATED_GPUS", "TOTAL_CPU_CORES", "USED_CPU_CORES", "ALLOCATED_CPU_CORES", "TOTAL_GPU_MEMORY_BYTES",
    "USED_GPU_MEMORY_BYTES", "TOTAL_CPU_MEMORY_BYTES", "USED_CPU_MEMORY_BYTES", "ALLOCATED_CPU_MEMORY_BYTES",
    "FULLY_FREE_GPU_NODES",
)  # fmt: skip
GROUPS = ("ClusterId", "Nodepool", "Node")
Amount = Decimal | int | None


def _gpus_of(node: Node) -> int:
    return node.gpu_capacity if node.gpu_allocatable is None else node.gpu_allocatable


# Of a node and the GPUs that its pods hold. What is used is not measured; what all pods of a node ask of CPU and
# memory is not known, since only pods with GPUs or of projects are watched.
_FIGURES: Mapping[str, Callable[[Node, Decimal], Amount]] = {
    "READY_GPU_NODES": lambda node, held: int(node.gpu_capacity > 0 and node.ready == "True"),
    "READY_GPUS": lambda node, held: _gpus_of(node) if node.ready == "True" else 0,
    "TOTAL_GPU_NODES": lambda node, held: int(node.gpu_capacity > 0),
    "TOTAL_GPUS": lambda node, held: node.gpu_capacity,
    "ALLOCATED_GPUS": lambda node, held: held,
    "FREE_GPUS": lambda node, held: max(Decimal(0), _gpus_of(node) - held) if node.ready == "True" else 0,
    "FULLY_FREE_GPU_NODES": lambda node, held: int(node.gpu_capacity > 0 and node.ready == "True" and not held),
    "TOTAL_CPU_CORES": lambda node, held: None if node.cpu_millicores is None else Decimal(node.cpu_millicores) / 1000,
    "TOTAL_CPU_MEMORY_BYTES": lambda node, held: node.memory_bytes,
    "TOTAL_GPU_MEMORY_BYTES": lambda node, held: (
        None if node.gpu_memory_mib is None else node.gpu_memory_mib * MIB * node.gpu_capacity
    ),
}


class NodeTelemetryView(ApiView):
    """One figure over nodes."""

    gives: Mapping[str, Any] = {"get": Telemetry}

    renderer_classes = RENDERERS
    errors = UNKNOWN_FILTER
    parameters = telemetry_parameters(TYPES, GROUPS, "clusterId", "nodepoolName")

    def get(self, request: Request) -> Response:
        """By `telemetryType`, grouped by up to two of ClusterId, Nodepool, Node; `clusterId`, `nodepoolName`."""
        require(request.user, "nodes:read")
        asked = read_telemetry(request, TYPES, GROUPS)
        rows: Any = Node.objects.visible_to(request.user).select_related("cluster").order_by("cluster_id", "name")
        params = request.query_params
        if "clusterId" in params:
            rows = rows.filter(cluster=Cluster.objects.get_visible(request.user, pk=uuid_of(params["clusterId"])))
        if "nodepoolName" in params:
            name = params["nodepoolName"]
            rows = rows.filter(node_pool="" if name == DEFAULT_NODE_POOL else name)
        return Response(telemetry_json(asked, _facts(list(rows), asked.type)))


def _facts(nodes: list[Node], type_: str) -> Iterator[Fact]:
    if type_ == "IDLE_ALLOCATED_GPUS":
        yield from _idle(nodes)
    elif type_ in _FIGURES:
        held = held_gpus({node.cluster_id for node in nodes})
        for node in nodes:
            yield Fact(_groups(node), _FIGURES[type_](node, held.get((node.cluster_id, node.name), Decimal(0))))


def _idle(nodes: list[Node]) -> Iterator[Fact]:
    """GPUs that are held and measured below the threshold, in each cluster's newest frame."""
    clusters = {node.cluster_id: node.cluster for node in nodes}
    for cluster in clusters.values():
        layout = selectors.layout_of(cluster)
        moment = selectors.latest(cluster, layout)
        places = node_positions(layout)
        for node in nodes:
            if moment is not None and node.cluster_id == cluster.pk and node.name in places:
                yield Fact(_groups(node), summary(moment, places[node.name]).idle)


def _groups(node: Node) -> dict[str, Group]:
    return {
        "ClusterId": Group(str(node.cluster_id), node.cluster.name),
        "Nodepool": Group(node.node_pool or DEFAULT_NODE_POOL),
        "Node": Group(node.name),
    }
