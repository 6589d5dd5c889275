"""`/api/v1/network-topologies` and `/api/v1/node-pools`."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.models import Cluster
from core.api.bodies import check_keys
from core.api.csv_rendering import RENDERERS
from core.api.filters import compare, filter_by, sort, terms_of
from core.api.ids import number_of
from core.api.listing import count_parameters, list_parameters
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.shapes import Count
from core.api.views import ApiView
from core.errors import Conflict, InvalidInput, NotFound
from core.filters import Filter
from topology import services
from topology.api import wire
from topology.api.impact import dry_impact, with_impact
from topology.api.impact_shapes import DELETING, AcceptedDeletion, Hitting
from topology.api.shapes import (
    PoolChange,
    PoolCreation,
    PoolList,
    PoolShape,
    TopologyCreation,
    TopologyList,
    TopologyShape,
)
from topology.impact import pool_change, pool_deletion, topology_deletion
from topology.models import NodePool
from topology.selectors import TopologyRow, topology_of, topology_rows
from topology.selectors.topologies import find_topology

TOPOLOGY_FILTERS = tuple(Filter(key=key, label=key) for key in ("name", "clusterId", "source", "phase"))
POOL_FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="clusterId", label="clusterId", lookup="cluster__id"),
    Filter(key="phase", label="phase"),
    Filter(key="networkTopologyName", label="networkTopologyName", lookup="network_topology__name"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="updatedAt", label="updatedAt", lookup="updated_at", kind="time"),
)
POOL_SORTS = {
    "name": "name",
    "phase": "phase",
    "clusterId": "cluster_id",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "networkTopologyName": "network_topology__name",
}


def matching_topologies(request: Request) -> list[TopologyRow]:
    """Topologies of both sources that `filterBy` asks for."""
    require(request.user, "network-topologies:read")
    terms = terms_of(request, TOPOLOGY_FILTERS)
    rows = topology_rows(request.user)
    facts = [
        {"name": row.name, "clusterId": str(row.cluster.pk), "source": row.source, "phase": row.phase} for row in rows
    ]
    return [row for row, fact in zip(rows, facts, strict=True) if all(compare(t, fact[t.filter.key]) for t in terms)]


class TopologyListView(ApiView):
    """List and create."""

    parameters = count_parameters(TOPOLOGY_FILTERS, searched=False)
    gives: Mapping[str, Any] = {"get": TopologyList, "post": TopologyShape}
    takes: Mapping[str, Any] = {"post": TopologyCreation}

    def get(self, request: Request) -> Response:
        """Every topology, those made in the cluster too (`source` Cluster)."""
        return Response({"networkTopologies": [wire.topology_json(row) for row in matching_topologies(request)]})

    def post(self, request: Request) -> Response:
        """Create one: `name`, `clusterId`, `levels` broadest first. 201."""
        body = self.body()
        check_keys(body, ("name", "clusterId", "levels"))
        name, levels, cluster = wire.read_text(body, "name"), wire.read_levels(body), cluster_of(request, body)

        def create() -> dict[str, Any]:
            row = services.create_topology(actor_of(request), cluster=cluster, name=name, levels=levels)
            return wire.topology_detail_json(topology_of(row))

        return Response(self.write(create), status=201)


class TopologyCountView(ApiView):
    """How many match."""

    parameters = count_parameters(TOPOLOGY_FILTERS, searched=False)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": len(matching_topologies(request))})


class TopologyView(ApiView):
    """One topology."""

    gives: Mapping[str, Any] = {"get": TopologyShape, "delete": Hitting}
    other_successes: Mapping[str, Any] = {"delete": (200,)}

    def get(self, request: Request, topology_id: str) -> Response:
        """The topology, with what is wrong with its levels on the nodes."""
        require(request.user, "network-topologies:read")
        found = find_topology(request.user, topology_id)
        shown = wire.topology_detail_json(found)
        return tagged(found.row or shown, shown)

    def delete(self, request: Request, topology_id: str) -> Response:
        """Ask for deletion. 409 while pools use it, and for one that was made in the cluster."""
        found = find_topology(request.user, topology_id)
        if found.row is None:
            message = f"Topology {found.name} was made in the cluster by {found.made_by}; Muster leaves it alone."
            raise Conflict(message, objects=[found.name])
        row = found.row
        require(request.user, "network-topologies:delete", row.scope)
        check_match(request, row, needed=True)
        impact = dry_impact(request, lambda: topology_deletion(request.user, row, now=timezone.now()))
        self.write(lambda: services.delete_topology(actor_of(request), topology=row))
        return with_impact(Response(status=204), impact)


def cluster_of(request: Request, body: dict[str, Any]) -> Cluster:
    """The visible cluster that `clusterId` names. Raises `InvalidInput`."""
    try:
        return Cluster.objects.get_visible(request.user, pk=wire.read_text(body, "clusterId"))
    except NotFound as error:
        raise InvalidInput.of("clusterId", "There is no such cluster", "the id of a cluster") from error


def visible_pools(request: Request) -> QuerySet[NodePool]:
    """Pools that `filterBy` asks for."""
    require(request.user, "nodepools:read")
    rows = NodePool.objects.visible_to(request.user).select_related("cluster", "network_topology")
    return filter_by(request, rows, POOL_FILTERS)


def pool_response(pool: NodePool) -> dict[str, Any]:
    """One pool with its nodes."""
    return wire.pool_json(pool, wire.node_names([pool])[pool.pk])


class NodePoolListView(ApiView):
    """List and create."""

    parameters = list_parameters(POOL_FILTERS, POOL_SORTS, searched=False)
    gives: Mapping[str, Any] = {"get": PoolList, "post": PoolShape}
    takes: Mapping[str, Any] = {"post": PoolCreation}

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """Pools, sorted and paged."""
        rows, _next = paginate(request, sort(request, visible_pools(request), POOL_SORTS, default="name"))
        names = wire.node_names(rows)
        return Response({"nodepools": [wire.pool_json(pool, names[pool.pk]) for pool in rows]})

    def post(self, request: Request) -> Response:
        """Create one. 201."""
        body = self.body()
        name, cluster = wire.read_text(body, "name"), cluster_of(request, body)
        changes = wire.read_pool_changes(body, actor_of(request).user)

        def create() -> dict[str, Any]:
            pool = services.create_node_pool(actor_of(request), cluster=cluster, name=name, settings=changes)
            return pool_response(pool)

        return Response(self.write(create), status=201)


class NodePoolCountView(ApiView):
    """How many match."""

    parameters = count_parameters(POOL_FILTERS, searched=False)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": visible_pools(request).count()})


class NodePoolView(ApiView):
    """One pool."""

    gives: Mapping[str, Any] = {"get": PoolShape, "put": PoolShape, "patch": PoolShape, "delete": AcceptedDeletion}
    takes: Mapping[str, Any] = {"put": PoolChange, "patch": PoolChange}

    def get(self, request: Request, pool_id: str) -> Response:
        """The pool."""
        require(request.user, "nodepools:read")
        pool = find_pool(request, pool_id)
        return tagged(pool, pool_response(pool))

    def put(self, request: Request, pool_id: str) -> Response:
        """Change what the body holds; PUT and PATCH take the same body in Run:ai's API."""
        return self.patch(request, pool_id)

    def patch(self, request: Request, pool_id: str) -> Response:
        """Change what the body holds."""
        pool = find_pool(request, pool_id)
        body = self.body()
        wire.refuse_another_identity(body, pool)
        changes = wire.read_pool_changes(body, actor_of(request).user)
        require(request.user, "nodepools:update", pool.scope)
        check_match(request, pool, needed="networkTopologyId" in body)

        def update() -> Response:
            changed = services.update_node_pool(actor_of(request), pool=pool, changes=changes)
            return tagged(changed, pool_response(changed))

        impact = dry_impact(request, lambda: pool_change(request.user, pool, changes, now=timezone.now()))
        return with_impact(self.write(update), impact)

    def delete(self, request: Request, pool_id: str) -> Response:
        """Ask for deletion. 202; 409 for the default pool and while workloads use it."""
        pool = find_pool(request, pool_id)
        require(request.user, "nodepools:delete", pool.scope)
        check_match(request, pool)
        impact = dry_impact(request, lambda: pool_deletion(request.user, pool, now=timezone.now()))
        self.write(lambda: services.delete_node_pool(actor_of(request), pool=pool))
        return with_impact(Response(DELETING, status=202), impact)


def find_pool(request: Request, pool_id: str) -> NodePool:
    """The visible pool of this id. Raises `NotFound`."""
    pools = NodePool.objects.select_related("cluster", "network_topology")
    return pools.get_visible(request.user, pk=number_of(pool_id))
