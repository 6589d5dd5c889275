"""`/api/v1/clusters` and `/api/v1/nodes`."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db.models import Case, QuerySet, Value, When
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import TENANT, require
from accounts.requests import actor_of
from clusters import selectors, services
from clusters.api import wire
from clusters.api.node_listing import shown_nodes
from clusters.api.shapes import ClusterCreation, ClusterRenaming, ClusterShape, NodeList, RemovalAccepted
from clusters.models import Cluster, Node, Removal
from clusters.removal_impact import ending_workloads
from core.api.bodies import check_keys
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, search, sort
from core.api.ids import uuid_of
from core.api.listing import (
    choice_parameter,
    count_parameters,
    flag_parameter,
    list_parameters,
    read_choice,
    text_parameters,
)
from core.api.matching import check_match, tagged
from core.api.pagination import slice_of
from core.api.queries import unused_parameter
from core.api.shapes import ACCEPTED, Count
from core.api.views import ApiView, is_dry_run
from core.filters import Filter
from core.keys_first import keys_of

NODE_STATUS = (("Ready", "Ready"), ("NotReady", "NotReady"), ("Unknown", "Unknown"))
NODE_FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="status", label="status", kind="choice", choices=NODE_STATUS),
    Filter(key="nodePool", label="nodePool", lookup="pool"),
    Filter(key="gpuType", label="gpuType", lookup="gpu_type"),
    Filter(key="clusterUuid", label="clusterUuid", lookup="cluster__id"),
    Filter(key="label", label="label", lookup="labels", kind="label"),
)
NODE_SORTS = {
    "name": "name",
    "status": "status",
    "nodePool": "pool",
    "gpuType": "gpu_type",
    "clusterUuid": "cluster_id",
}
VERBOSITY = choice_parameter("verbosity", ("full", "metadata"))
DOOMED = flag_parameter("includeRequestedForDelete")
OBJECTS = OpenApiParameter(
    "objects", OpenApiTypes.STR, enum=Removal.values, description="What becomes of what Muster made in the cluster."
)
FORCE = unused_parameter("force", "a cluster is forgotten at once either way; `objects` says what becomes of the rest")
NODE_SEARCH = ("name", "gpu_type", "node_pool")


class ClusterListView(ApiView):
    """List and register."""

    parameters = (VERBOSITY, DOOMED)
    gives: Mapping[str, Any] = {"get": list[ClusterShape], "post": ClusterShape}
    takes: Mapping[str, Any] = {"post": ClusterCreation}

    def get(self, request: Request) -> Response:
        """Every visible cluster, a bare array. `verbosity` metadata or full; `includeRequestedForDelete`."""
        require(request.user, "cluster:read")
        full = read_choice(request, VERBOSITY) == "full"
        rows = Cluster.objects.visible_to(request.user).order_by("name")
        if read_choice(request, DOOMED) == "false":
            rows = rows.filter(deletion_requested_at=None)
        return Response([wire.cluster_json(row, full=full) for row in rows])

    def post(self, request: Request) -> Response:
        """Register a cluster: `name`, and `kubeconfig` or `server`, `certificateAuthority`, `token`. 201."""
        require(request.user, "cluster:create", TENANT)
        body = self.body()
        name = services.check_name(wire.read_text(body, "name"))
        access = wire.read_access(body)

        def register() -> dict[str, Any]:
            return wire.cluster_json(services.register_cluster(actor_of(request), name=name, access=access))

        return Response(self.write(register), status=201)


class ClusterView(ApiView):
    """One cluster."""

    parameters = (VERBOSITY,)
    write_parameters: Mapping[str, Any] = {"delete": (OBJECTS, FORCE)}
    gives: Mapping[str, Any] = {"get": ClusterShape, "put": None, "delete": RemovalAccepted}
    takes: Mapping[str, Any] = {"put": ClusterRenaming}

    def get(self, request: Request, cluster_id: str) -> Response:
        """The cluster."""
        cluster = _cluster(request, cluster_id)
        return tagged(cluster, wire.cluster_json(cluster, full=read_choice(request, VERBOSITY) == "full"))

    def put(self, request: Request, cluster_id: str) -> Response:
        """Rename it. 204."""
        cluster, body = _cluster(request, cluster_id), self.body()
        require(request.user, "cluster:update", cluster.scope)
        check_match(request, cluster)
        check_keys(body, wire.RENAME_FIELDS)
        name = services.check_name(wire.read_text(body, "name"))
        self.write(lambda: services.rename_cluster(actor_of(request), cluster, name=name))
        return Response(status=204)

    def delete(self, request: Request, cluster_id: str) -> Response:
        """Forget it. 202; 409 while anything is defined on it, unless `objects` says what becomes of what Muster made:
        `leave` or `clean`, whose dry run says which workloads end."""
        cluster = _cluster(request, cluster_id)
        require(request.user, "cluster:delete", cluster.scope)
        check_match(request, cluster)
        how = request.query_params.get("objects", "")
        impact = ending_workloads(cluster) if is_dry_run(request) and how == Removal.CLEAN else None
        self.write(lambda: services.remove_cluster(actor_of(request), cluster, how=how))
        return Response({**msgspec.to_builtins(ACCEPTED), **({"impact": impact} if impact else {})}, status=202)


class NodeListView(ApiView):
    """Nodes of all clusters, or of the one in the path."""

    parameters = (*list_parameters(NODE_FILTERS, NODE_SORTS), *text_parameters("nodeName"))
    gives: Mapping[str, Any] = {"get": NodeList}

    renderer_classes = RENDERERS

    def get(self, request: Request, cluster_id: str = "") -> Response:
        """`{nodes}`, filtered, sorted and paged."""
        rows = _nodes(request, cluster_id)
        part = slice_of(request)
        ordered = sort(request, rows, NODE_SORTS, default="name")
        keys = keys_of(ordered[part.offset : part.offset + part.limit])
        return Response(NodeList(nodes=shown_nodes(keys)))


class NodeCountView(ApiView):
    """How many nodes match."""

    parameters = (*count_parameters(NODE_FILTERS), *text_parameters("nodeName"))
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request, cluster_id: str = "") -> Response:
        """`{count}`."""
        return Response({"count": _nodes(request, cluster_id).count()})


def _cluster(request: Request, cluster_id: str) -> Cluster:
    require(request.user, "cluster:read")
    return Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id))


def _nodes(request: Request, cluster_id: str) -> QuerySet[Node]:
    require(request.user, "nodes:read")
    cluster = Cluster.objects.get_visible(request.user, pk=uuid_of(cluster_id)) if cluster_id else None
    status = Case(
        When(ready="True", then=Value("Ready")), When(ready="False", then=Value("NotReady")), default=Value("Unknown")
    )
    rows = selectors.node_rows(request.user, cluster).annotate(status=status)
    name = request.query_params.get("nodeName", "")
    if name:
        rows = rows.filter(name=name)
    return search(request, filter_by(request, rows, NODE_FILTERS), NODE_SEARCH)
