"""`/api/v1/org-unit/projects`."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from clusters.models import Cluster
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, search, sort
from core.api.ids import number_of
from core.api.listing import count_parameters, list_parameters
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.shapes import UNSET, Count
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.filters import Filter
from organizations import services
from organizations.api import wire
from organizations.api.amounts import read_resources
from organizations.api.listing import PROJECT_COLUMNS, projects_of, shown_projects
from organizations.api.shapes import (
    OwnerChange,
    ProjectCreation,
    ProjectList,
    ProjectShape,
    ResourceGiven,
    ResourcesChanged,
    ResourceShape,
)
from organizations.api.views import COMMON_FILTERS, COMMON_SORTS, cluster_of, ranked, shown_resources
from organizations.impact import deletion_impact, quota_impact
from organizations.models import Department, Project
from organizations.services import ProjectInput
from organizations.services.departments import DEFAULT_DEPARTMENT
from topology.api.impact import dry_impact, with_impact
from topology.api.impact_shapes import DELETING, AcceptedDeletion

PROJECT_FILTERS = (
    *COMMON_FILTERS,
    Filter(key="phase", label="phase"),
    Filter(key="departmentId", label="departmentId", lookup="department_id", kind="number"),
    Filter(key="parentId", label="parentId", lookup="department_id", kind="number"),
    Filter(key="parentName", label="parentName", lookup="department__name"),
)
PROJECT_SORTS = {
    **COMMON_SORTS,
    "phase": "phase",
    "departmentId": "department_id",
    "parentId": "department_id",
    "parentName": "department__name",
}


def visible_projects(request: Request) -> QuerySet[Project]:
    """Projects that `filterBy` and `search` ask for."""
    require(request.user, "project:read")
    rows = ranked(request, Project.objects.visible_to(request.user))
    return search(request, filter_by(request, rows, PROJECT_FILTERS), ("name", "namespace", "department__name"))


def find_project(request: Request, project_id: str) -> Project:
    """The visible project of this id. Raises `NotFound`."""
    rows = Project.objects.select_related("cluster", "department")
    return rows.get_visible(request.user, pk=number_of(project_id))


def shown_project(project: Project) -> ProjectShape:
    """The project as it is now."""
    return shown_projects(Project.objects.filter(pk=project.pk))[0]


def parent_of(request: Request, body: dict[str, Any], cluster: Cluster) -> Department:
    """The department that `parentId` names; the cluster's `default` without one. Raises `InvalidInput`."""
    given = wire.read_text(body, "parentId")
    departments = Department.objects.filter(cluster=cluster)
    try:
        if given is None:
            return departments.get_visible(request.user, name=DEFAULT_DEPARTMENT)
        return departments.get_visible(request.user, pk=number_of(given))
    except NotFound as error:
        message = "There is no such department in the cluster"
        raise InvalidInput.of("parentId", message, "the id of a department") from error


class ProjectListView(ApiView):
    """List and create."""

    parameters = list_parameters(PROJECT_FILTERS, PROJECT_SORTS)
    gives: Mapping[str, Any] = {"get": ProjectList, "post": ProjectShape}
    takes: Mapping[str, Any] = {"post": ProjectCreation}

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """Projects, sorted and paged."""
        found: Any = sort(request, visible_projects(request), PROJECT_SORTS, default="name")
        rows, following = paginate(request, found.values_list(*PROJECT_COLUMNS))
        return Response(ProjectList(projects=projects_of(rows), next=following or UNSET))

    def post(self, request: Request) -> Response:
        """Create one. `requestedNamespace` may be one that exists; it is used then. 201."""
        body = self.body()
        wire.check_keys(body, wire.PROJECT_KEYS)
        cluster = cluster_of(request, body)
        namespace = wire.read_text(body, "requestedNamespace") or ""
        given = ProjectInput(
            name=wire.read_text(body, "name", required=True) or "",
            description=wire.read_text(body, "description") or "",
            namespace=namespace,
            adopts_namespace=bool(namespace),
            quotas=read_resources(body.get("resources") or [], cluster),
        )
        department = parent_of(request, body, cluster)
        new = Project(cluster=cluster, department=department, name=given.name)
        impact = dry_impact(request, lambda: quota_impact(request.user, new, given.quotas, now=timezone.now()))
        created = self.write(
            lambda: shown_project(services.create_project(actor_of(request), department=department, given=given))
        )
        return with_impact(Response(created, status=201), impact)


class ProjectCountView(ApiView):
    """How many match."""

    parameters = count_parameters(PROJECT_FILTERS)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response(Count(count=visible_projects(request).count()))


class ProjectView(ApiView):
    """One project."""

    gives: Mapping[str, Any] = {"get": ProjectShape, "put": ProjectShape, "delete": AcceptedDeletion}
    takes: Mapping[str, Any] = {"put": OwnerChange}

    def get(self, request: Request, project_id: str) -> Response:
        """The project."""
        require(request.user, "project:read")
        project = find_project(request, project_id)
        return tagged(project, shown_project(project))

    def put(self, request: Request, project_id: str) -> Response:
        """Change the description and the pools that the body names; the others stay as they are."""
        project, body = find_project(request, project_id), self.body()
        wire.check_keys(body, ("description", "resources"))
        description = wire.read_text(body, "description")
        quotas = read_resources(body.get("resources") or [], project.cluster)
        require(request.user, "project:update", project.scope)
        check_match(request, project, needed=bool(body.get("resources")))

        def update() -> ProjectShape:
            actor = actor_of(request)
            return shown_project(
                services.update_project(actor, project=project, description=description, quotas=quotas)
            )

        impact = dry_impact(request, lambda: quota_impact(request.user, project, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)

    def delete(self, request: Request, project_id: str) -> Response:
        """Ask for deletion. 202; 409 while it has workloads."""
        project = find_project(request, project_id)
        require(request.user, "project:delete", project.scope)
        check_match(request, project)
        impact = dry_impact(request, lambda: deletion_impact(request.user, project, now=timezone.now()))
        self.write(lambda: services.delete_project(actor_of(request), project=project))
        return with_impact(Response(DELETING, status=202), impact)


class ProjectResourcesView(ApiView):
    """The quota of one project."""

    gives: Mapping[str, Any] = {
        "put": ResourcesChanged,
        "patch": ResourcesChanged,
    }
    takes: Mapping[str, Any] = {"put": list[ResourceGiven], "patch": list[ResourceGiven]}

    def put(self, request: Request, project_id: str) -> Response:
        """As PATCH: an item is located by its node pool."""
        return self.patch(request, project_id)

    def patch(self, request: Request, project_id: str) -> Response:
        """Change the amounts that are given; answers all of them."""
        project = find_project(request, project_id)
        quotas = read_resources(request.data, project.cluster)
        require(request.user, "project:update", project.scope)
        check_match(request, project, needed=True)

        def update() -> list[ResourceShape]:
            services.update_project(actor_of(request), project=project, quotas=quotas)
            return shown_resources("project", project.pk)

        impact = dry_impact(request, lambda: quota_impact(request.user, project, quotas, now=timezone.now()))
        return with_impact(Response(self.write(update)), impact)
