"""`/api/v1/node-pools/{id}/impact`: what cordoning or removing nodes would do; kubectl does it, Muster only looks."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import Node
from core.api.views import ApiView
from core.errors import InvalidInput
from topology.api.impact_shapes import ImpactShape
from topology.api.views import find_pool
from topology.impact import node_changes
from topology.models import NodePool

MOST_NODES = 500
PARAMETERS = [
    OpenApiParameter("cordon", OpenApiTypes.STR, description="Names of nodes to cordon, separated by commas."),
    OpenApiParameter("remove", OpenApiTypes.STR, description="Names of nodes to remove, separated by commas."),
]


class NodePoolImpactView(ApiView):
    """Nodes of a pool that go."""

    parameters = PARAMETERS
    gives: Mapping[str, Any] = {"get": ImpactShape}

    def get(self, request: Request, pool_id: str) -> Response:
        """Workloads that would be hit, stop fitting or be reclaimed, and queues whose share moves."""
        require(request.user, "nodepools:read")
        pool = find_pool(request, pool_id)
        cordon, remove = (_nodes(request, pool, name) for name in ("cordon", "remove"))
        return Response(node_changes(request.user, pool, cordon=cordon, remove=remove, now=timezone.now()))


def _nodes(request: Request, pool: NodePool, parameter: str) -> list[str]:
    """Names of nodes of the pool. Raises `InvalidInput` naming those that it does not have."""
    names = [name for name in request.query_params.get(parameter, "").split(",") if name][:MOST_NODES]
    nodes = Node.objects.filter(cluster=pool.cluster, node_pool=pool.shard, name__in=names)
    missing = sorted(set(names) - set(nodes.values_list("name", flat=True)))
    if missing:
        shown = ", ".join(name[:60] for name in missing[:5])
        raise InvalidInput.of(parameter, f"The pool has no such nodes: {shown}", "names of nodes of the pool")
    return names
