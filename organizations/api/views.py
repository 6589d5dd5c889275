"""`/api/v1/org-unit/departments` and `/api/v1/org-unit/priorities`; what projects share."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.models import Cluster
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, sort
from core.api.ids import number_of
from core.api.listing import choice_parameter, count_parameters, list_parameters, read_choice
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.shapes import UNSET, Count
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.filters import Filter
from organizations import services
from organizations.api import wire
from organizations.api.amounts import DEFAULT_PRIORITY, PRIORITIES, read_resources
from organizations.api.listing import DEPARTMENT_COLUMNS, departments_of, shown_departments
from organizations.api.quotas import quotas_of, read_rows
from organizations.api.shapes import (
    DepartmentCreation,
    DepartmentList,
    DepartmentShape,
    OwnerChange,
    PriorityList,
    PriorityShape,
    ResourceGiven,
    ResourcesChanged,
    ResourceShape,
)
from organizations.impact import deletion_impact, quota_impact
from organizations.models import Department, Project
from organizations.selectors import with_gpu_quota
from topology.api.impact import dry_impact, with_impact
from topology.api.impact_shapes import Hitting

COMMON_FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="clusterId", label="clusterId", lookup="cluster__id"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="totalGpuQuota", label="totalGpuQuota", lookup="total_gpu_quota", kind="number"),
)
COMMON_SORTS = {
    "name": "name",
    "clusterId": "cluster_id",
    "createdAt": "created_at",
    "totalGpuQuota": "total_gpu_quota",
}


VERBOSITY = choice_parameter("verbosity", ("brief", "meta", "verbose"))
Owner = TypeVar("Owner", Department, Project)


def cluster_of(request: Request, body: dict[str, Any]) -> Cluster:
    """The visible cluster that `clusterId` names. Raises `InvalidInput`."""
    try:
        return Cluster.objects.get_visible(request.user, pk=wire.read_text(body, "clusterId", required=True))
    except NotFound as error:
        raise InvalidInput.of("clusterId", "There is no such cluster", "the id of a cluster") from error


def ranked(request: Request, rows: "QuerySet[Owner]") -> "QuerySet[Owner]":
    """`rows` with their `total_gpu_quota`, where the request sorts or filters by it: it costs a join and a group."""
    asked = "totalGpuQuota" in request.META.get("QUERY_STRING", "")
    return with_gpu_quota(rows) if asked else rows


def visible_departments(request: Request) -> QuerySet[Department]:
    """Departments that `filterBy` asks for."""
    require(request.user, "department:read")
    rows = ranked(request, Department.objects.visible_to(request.user))
    return filter_by(request, rows, COMMON_FILTERS)


def find_department(request: Request, department_id: str) -> Department:
    """The visible department of this id. Raises `NotFound`."""
    rows = Department.objects.select_related("cluster")
    return rows.get_visible(request.user, pk=number_of(department_id))


def shown_department(department: Department) -> DepartmentShape:
    """The department as it is now."""
    return shown_departments(Department.objects.filter(pk=department.pk), verbose=True)[0]


def shown_resources(owner: str, key: int) -> list[ResourceShape]:
    """The quota of a department or project, by pool."""
    rows = sorted(read_rows(owner, [key]).get(key, ()), key=lambda row: row.pool_id)
    return quotas_of(tuple(rows)).resources


class DepartmentListView(ApiView):
    """List and create."""

    parameters = (*list_parameters(COMMON_FILTERS, COMMON_SORTS, searched=False), VERBOSITY)
    gives: Mapping[str, Any] = {"get": DepartmentList, "post": DepartmentShape}
    takes: Mapping[str, Any] = {"post": DepartmentCreation}

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """Departments, sorted and paged; with their status where `verbosity` is verbose."""
        verbosity = read_choice(request, VERBOSITY)
        found: Any = sort(request, visible_departments(request), COMMON_SORTS, default="name")
        rows, following = paginate(request, found.values_list(*DEPARTMENT_COLUMNS))
        return Response(
            DepartmentList(departments=departments_of(rows, status=verbosity == "verbose"), next=following or UNSET)
        )

    def post(self, request: Request) -> Response:
        """Create one. 201."""
        body = self.body()
        wire.check_keys(body, wire.DEPARTMENT_KEYS)
        name, cluster = wire.read_text(body, "name", required=True) or "", cluster_of(request, body)
        description = wire.read_text(body, "description") or ""
        quotas = read_resources(body.get("resources") or [], cluster)

        def create() -> DepartmentShape:
            actor = actor_of(request)
            department = services.create_department(
                actor, cluster=cluster, name=name, description=description, quotas=quotas
            )
            return shown_department(department)

        return Response(self.write(create), status=201)


class DepartmentCountView(ApiView):
    """How many match."""

    parameters = count_parameters(COMMON_FILTERS, searched=False)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response(Count(count=visible_departments(request).count()))


class DepartmentView(ApiView):
    """One department."""

    gives: Mapping[str, Any] = {"get": DepartmentShape, "put": DepartmentShape, "delete": Hitting}
    other_successes: Mapping[str, Any] = {"delete": (200,)}
    takes: Mapping[str, Any] = {"put": OwnerChange}

    def get(self, request: Request, department_id: str) -> Response:
        """The department."""
        require(request.user, "department:read")
        department = find_department(request, department_id)
        return tagged(department, shown_department(department))

    def put(self, request: Request, department_id: str) -> Response:
        """Change the description and the pools that the body names; the others stay as they are."""
        department, body = find_department(request, department_id), self.body()
        wire.check_keys(body, ("description", "resources"))
        description = wire.read_text(body, "description")
        quotas = read_resources(body.get("resources") or [], department.cluster)
        require(request.user, "department:update", department.scope)
        check_match(request, department, needed=bool(body.get("resources")))

        def update() -> DepartmentShape:
            actor = actor_of(request)
            return shown_department(
                services.update_department(actor, department=department, description=description, quotas=quotas)
            )

        impact = dry_impact(request, lambda: quota_impact(request.user, department, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)

    def delete(self, request: Request, department_id: str) -> Response:
        """Ask for deletion. 204; 409 while it has projects."""
        department = find_department(request, department_id)
        require(request.user, "department:delete", department.scope)
        check_match(request, department)
        impact = dry_impact(request, lambda: deletion_impact(request.user, department, now=timezone.now()))
        self.write(lambda: services.delete_department(actor_of(request), department=department))
        return with_impact(Response(status=204), impact)


class DepartmentResourcesView(ApiView):
    """The quota of one department."""

    gives: Mapping[str, Any] = {
        "put": ResourcesChanged,
        "patch": ResourcesChanged,
    }
    takes: Mapping[str, Any] = {"put": list[ResourceGiven], "patch": list[ResourceGiven]}

    def put(self, request: Request, department_id: str) -> Response:
        """As PATCH: an item is located by its node pool."""
        return self.patch(request, department_id)

    def patch(self, request: Request, department_id: str) -> Response:
        """Change the amounts that are given; answers all of them."""
        department = find_department(request, department_id)
        quotas = read_resources(request.data, department.cluster)
        require(request.user, "department:update", department.scope)
        check_match(request, department, needed=True)

        def update() -> list[ResourceShape]:
            services.update_department(actor_of(request), department=department, quotas=quotas)
            return shown_resources("department", department.pk)

        impact = dry_impact(request, lambda: quota_impact(request.user, department, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)


class PriorityListView(ApiView):
    """The priorities of departments and projects."""

    gives: Mapping[str, Any] = {"get": PriorityList}

    def get(self, request: Request) -> Response:
        """Names and numbers; any number is taken as text."""
        require(request.user, "department:read")
        found = [PriorityShape(name=n, value=v, is_default=n == DEFAULT_PRIORITY) for n, v in PRIORITIES.items()]
        return Response(PriorityList(priorities=found))
