"""`/api/v1/workload-types`, `…-categories` and `…-priorities`: the words that workloads are described by.

Muster has one type, the DynamoGraphDeployment, of the category Deploy; priorities are the PriorityClasses that the
watcher saw in the visible clusters.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT
from clusters.models import Cluster, ClusterObject
from core.api.filters import compare, terms_of
from core.api.ids import uuid_of
from core.api.listing import filter_parameter, flag_parameter, read_choice, sort_parameters
from core.api.views import ApiView
from core.errors import NotFound
from core.filters import Filter
from core.moments import rfc3339
from workloads.api.listing import CATEGORY, KIND
from workloads.api.shapes import CategoryList, CategoryShape, TypeList, TypeShape, WorkloadPriorityList

# Fixed by what they name, so that every installation gives the same id.
_NAMESPACE = uuid.UUID("a5f0a4c1-6f0e-4f55-8a7e-5c6f2f3f6d21")
EXTERNAL = flag_parameter("externalTypesOnly")
TYPE_FILTERS = (Filter(key="name", label="name"), Filter(key="group", label="group"))
PRIORITY_FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="source", label="source"),
    Filter(key="value", label="value", kind="number"),
)
PRIORITY_SORTS = ("name", "source", "value")
DEFAULT_PRIORITY = "inference"


def fixed_id(kind: str, name: str) -> str:
    """The id of a category, type or priority."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}/{name}"))


def categories() -> list[dict[str, Any]]:
    """Schema WorkloadCategory."""
    return [{"id": fixed_id("category", CATEGORY), "name": CATEGORY}]


def types() -> list[dict[str, Any]]:
    """Schema WorkloadType."""
    return [
        {
            "id": fixed_id("type", KIND),
            "name": KIND,
            "group": DYNAMO_GRAPH_DEPLOYMENT.group,
            "categoryId": fixed_id("category", CATEGORY),
            "categoryName": CATEGORY,
            "priorityId": fixed_id("priority", DEFAULT_PRIORITY),
            "priorityName": DEFAULT_PRIORITY,
            "clusterStatuses": None,
        }
    ]


class CategoryListView(ApiView):
    """Categories."""

    gives: Mapping[str, Any] = {"get": CategoryList}

    def get(self, request: Request) -> Response:
        """`{categories}`."""
        require(request.user, "workloads:read")
        return Response({"categories": categories()})


class CategoryView(ApiView):
    """One category."""

    gives: Mapping[str, Any] = {"get": CategoryShape}

    def get(self, request: Request, category_id: str) -> Response:
        """The category."""
        require(request.user, "workloads:read")
        return Response(_one(categories(), category_id))


class TypeListView(ApiView):
    """Types."""

    parameters = (filter_parameter(TYPE_FILTERS), EXTERNAL)
    gives: Mapping[str, Any] = {"get": TypeList}

    def get(self, request: Request) -> Response:
        """`{types}`; none with `externalTypesOnly=true`: nobody registers others here."""
        require(request.user, "workloads:read")
        terms = terms_of(request, TYPE_FILTERS)
        found = [] if read_choice(request, EXTERNAL) == "true" else types()
        return Response({"types": [row for row in found if all(compare(t, row[t.filter.key]) for t in terms)]})


class TypeView(ApiView):
    """One type."""

    gives: Mapping[str, Any] = {"get": TypeShape}

    def get(self, request: Request, type_id: str) -> Response:
        """The type."""
        require(request.user, "workloads:read")
        return Response(_one(types(), type_id))


class PriorityListView(ApiView):
    """Priorities."""

    parameters = (filter_parameter(PRIORITY_FILTERS), *sort_parameters(PRIORITY_SORTS))
    gives: Mapping[str, Any] = {"get": WorkloadPriorityList}

    def get(self, request: Request) -> Response:
        """`{priorities}`: every PriorityClass that stands in a visible cluster, with the clusters it stands in."""
        require(request.user, "workloads:read")
        terms = terms_of(request, PRIORITY_FILTERS)
        by = request.query_params.get("sortBy", "name")
        is_descending = request.query_params.get("sortOrder") == "desc"
        rows = [row for row in priorities(request) if all(compare(t, row[t.filter.key]) for t in terms)]
        return Response({"priorities": sorted(rows, key=lambda row: (row[by], row["name"]), reverse=is_descending)})


def priorities(request: Request) -> list[dict[str, Any]]:
    """Schema WorkloadPriority, one per name; those of KAI Scheduler say so in `source`."""
    clusters = [row.pk for row in Cluster.objects.visible_to(request.user)]
    rows = ClusterObject.objects.filter(
        cluster__in=clusters, group="scheduling.k8s.io", plural="priorityclasses"
    ).order_by("name", "cluster_id")
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.name.startswith("system-"):
            continue
        entry = found.setdefault(
            row.name,
            {
                "id": fixed_id("priority", row.name),
                "name": row.name,
                "source": "",
                "value": max(0, int(row.manifest.get("value", 0))),
                "createdAt": rfc3339(row.created_at),
                "updatedAt": rfc3339(row.created_at),
                "status": [],
            },
        )
        entry["status"].append({"clusterId": str(row.cluster_id), "phase": "Ready"})
    return list(found.values())


def _one(rows: list[dict[str, Any]], given: str) -> dict[str, Any]:
    wanted = str(uuid_of(given))
    for row in rows:
        if row["id"] == wanted:
            return row
    raise NotFound
