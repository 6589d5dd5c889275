"""`/api/v1/org-unit/departments` and `/api/v1/org-unit/priorities`; what projects share."""

from typing import Any

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
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.filters import Filter
from organizations import services
from organizations.api import wire
from organizations.api.amounts import DEFAULT_PRIORITY, PRIORITIES, read_resources, resources_json
from organizations.impact import deletion_impact, quota_impact
from organizations.models import Department
from organizations.selectors import with_gpu_quota
from topology.api.impact import dry_impact, with_impact

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
ALL = "quotas__node_pool"


def cluster_of(request: Request, body: dict[str, Any]) -> Cluster:
    """The visible cluster that `clusterId` names. Raises `InvalidInput`."""
    try:
        return Cluster.objects.get_visible(request.user, pk=wire.read_text(body, "clusterId", required=True))
    except NotFound as error:
        raise InvalidInput.of("clusterId", "There is no such cluster", "the id of a cluster") from error


def visible_departments(request: Request) -> QuerySet[Department]:
    """Departments that `filterBy` asks for."""
    require(request.user, "department:read")
    rows = with_gpu_quota(Department.objects.visible_to(request.user))
    return filter_by(request, rows, COMMON_FILTERS)


def find_department(request: Request, department_id: str) -> Department:
    """The visible department of this id. Raises `NotFound`."""
    rows = Department.objects.select_related("cluster").prefetch_related(ALL)
    return rows.get_visible(request.user, pk=number_of(department_id))


def fresh_department(department: Department) -> dict[str, Any]:
    """The answer to a write."""
    return wire.department_json(Department.objects.prefetch_related(ALL).get(pk=department.pk))


class DepartmentListView(ApiView):
    """List and create."""

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """Departments, sorted and paged."""
        found = sort(request, visible_departments(request), COMMON_SORTS, default="name").prefetch_related(ALL)
        rows, following = paginate(request, found)
        body: dict[str, Any] = {"departments": [wire.department_json(row, verbose=False) for row in rows]}
        return Response(body if following is None else {**body, "next": following})

    def post(self, request: Request) -> Response:
        """Create one. 201."""
        body = self.body()
        wire.check_keys(body, wire.DEPARTMENT_KEYS)
        name, cluster = wire.read_text(body, "name", required=True) or "", cluster_of(request, body)
        description = wire.read_text(body, "description") or ""
        quotas = read_resources(body.get("resources") or [], cluster)

        def create() -> dict[str, Any]:
            actor = actor_of(request)
            department = services.create_department(
                actor, cluster=cluster, name=name, description=description, quotas=quotas
            )
            return fresh_department(department)

        return Response(self.write(create), status=201)


class DepartmentCountView(ApiView):
    """How many match."""

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": visible_departments(request).count()})


class DepartmentView(ApiView):
    """One department."""

    def get(self, request: Request, department_id: str) -> Response:
        """The department."""
        require(request.user, "department:read")
        department = find_department(request, department_id)
        return tagged(department, wire.department_json(department))

    def put(self, request: Request, department_id: str) -> Response:
        """Change the description and the pools that the body names; the others stay as they are."""
        department, body = find_department(request, department_id), self.body()
        wire.check_keys(body, ("description", "resources"))
        description = wire.read_text(body, "description")
        quotas = read_resources(body.get("resources") or [], department.cluster)
        require(request.user, "department:update", department.scope)
        check_match(request, department, needed=bool(body.get("resources")))

        def update() -> dict[str, Any]:
            actor = actor_of(request)
            return fresh_department(
                services.update_department(actor, department=department, description=description, quotas=quotas)
            )

        impact = dry_impact(request, lambda: quota_impact(request.user, department, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)

    def delete(self, request: Request, department_id: str) -> Response:
        """Ask for deletion. 204; 409 while it has projects."""
        department = find_department(request, department_id)
        check_match(request, department)
        impact = dry_impact(request, lambda: deletion_impact(request.user, department, now=timezone.now()))
        self.write(lambda: services.delete_department(actor_of(request), department=department))
        return with_impact(Response(status=204), impact)


class DepartmentResourcesView(ApiView):
    """The quota of one department."""

    def put(self, request: Request, department_id: str) -> Response:
        """As PATCH: an item is located by its node pool."""
        return self.patch(request, department_id)

    def patch(self, request: Request, department_id: str) -> Response:
        """Change the amounts that are given; answers all of them."""
        department = find_department(request, department_id)
        quotas = read_resources(request.data, department.cluster)
        require(request.user, "department:update", department.scope)
        check_match(request, department, needed=True)

        def update() -> list[dict[str, Any]]:
            changed = services.update_department(actor_of(request), department=department, quotas=quotas)
            return resources_json(list(changed.quotas.select_related("node_pool").order_by("node_pool_id")))

        impact = dry_impact(request, lambda: quota_impact(request.user, department, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)


class PriorityListView(ApiView):
    """The priorities of departments and projects."""

    def get(self, request: Request) -> Response:
        """Names and numbers; any number is taken as text."""
        require(request.user, "department:read")
        found = [{"name": n, "value": v, "isDefault": n == DEFAULT_PRIORITY} for n, v in PRIORITIES.items()]
        return Response({"priorities": found})
