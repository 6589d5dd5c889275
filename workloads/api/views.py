"""`/api/v1/workloads` and `/api/v2/workloads`."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from core.api.bodies import check_keys
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, search, sort
from core.api.ids import uuid_of
from core.api.listing import SEARCH, count_parameters, flag_parameter, list_parameters, page_parameters, read_choice
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.shapes import UNSET, Count, check_shape, conforming
from core.api.views import ApiView, is_dry_run
from core.errors import InvalidInput
from core.filters import Filter
from organizations.models import Project
from workloads import document as documents
from workloads import observed, selectors, services
from workloads.api import wire
from workloads.api.listing import COLUMNS, workloads_of
from workloads.api.observed_shapes import PodList
from workloads.api.placement_shapes import PlacementPreview
from workloads.api.shapes import (
    Submission,
    SubmissionGiven,
    WorkloadDetailed,
    WorkloadList,
    WorkloadV2,
    WorkloadV2Answer,
)
from workloads.models import Workload, WorkloadQuerySet
from workloads.placement_alternatives import full_preview
from workloads.reconcile.preview import rendered_manifest

FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="clusterId", label="clusterId", lookup="cluster__id"),
    Filter(key="projectId", label="projectId", lookup="project__id"),
    Filter(key="projectName", label="projectName", lookup="project__name"),
    Filter(key="departmentId", label="departmentId", lookup="project__department__id"),
    Filter(key="departmentName", label="departmentName", lookup="project__department__name"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="submittedBy", label="submittedBy", lookup="submitted_by"),
    Filter(key="phase", label="phase"),
    Filter(key="nodepool", label="nodepool", lookup="node_pool__name"),
    Filter(key="allocatedGPU", label="allocatedGPU", lookup="gpus_held", kind="number"),
    Filter(key="priorityClassName", label="priorityClassName", lookup="priority_class"),
)
SORTS = {
    "name": "name",
    "clusterId": "cluster_id",
    "projectId": "project_id",
    "projectName": "project__name",
    "departmentId": "project__department_id",
    "departmentName": "project__department__name",
    "createdAt": "created_at",
    "submittedBy": "submitted_by",
    "phase": "phase",
    "nodepool": "node_pool__name",
    "allocatedGPU": "gpus_held",
    "priorityClassName": "priority_class",
}
DELETED = flag_parameter("deleted")
LIST = (*list_parameters(FILTERS, SORTS), DELETED)
SEARCHED = ("name", "project__name", "project__department__name", "submitted_by")


def matching(request: Request) -> WorkloadQuerySet:
    """The visible workloads that `filterBy` and `search` ask for; none with `deleted=true`: gone rows are gone."""
    require(request.user, "workloads:read")
    rows: Any = search(request, filter_by(request, selectors.workloads_of(request.user), FILTERS), SEARCHED)
    found: WorkloadQuerySet = rows.none() if read_choice(request, DELETED) == "true" else rows
    return found


class WorkloadListView(ApiView):
    """Run:ai's list."""

    parameters = LIST
    gives: Mapping[str, Any] = {"get": WorkloadList}

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """Workloads, sorted and paged: `{workloads, next}`."""
        ordered: Any = sort(request, matching(request), SORTS, default="name")
        rows, following = paginate(request, ordered.values_list(*COLUMNS))
        return Response(WorkloadList(workloads=workloads_of(rows), next=following or UNSET))


class WorkloadCountView(ApiView):
    """How many match."""

    parameters = (*count_parameters(FILTERS), DELETED)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response(Count(count=matching(request).count()))


class WorkloadView(ApiView):
    """One workload, in detail."""

    gives: Mapping[str, Any] = {"get": WorkloadDetailed}

    def get(self, request: Request, workload_id: str) -> Response:
        """The workload."""
        workload = find(request, workload_id)
        return tagged(workload, wire.workload_detailed(workload))


class WorkloadPodsView(ApiView):
    """The pods of one workload."""

    parameters = (SEARCH, DELETED, *page_parameters())
    gives: Mapping[str, Any] = {"get": PodList}

    def get(self, request: Request, workload_id: str) -> Response:
        """`{pods, next}`."""
        workload = find(request, workload_id)
        pods = search(request, observed.pods_of(workload), ("name", "node_name", "component"))
        if read_choice(request, DELETED) == "true":
            pods = pods.none()  # a pod that is gone is not kept
        rows, following = paginate(request, pods.order_by("component", "name", "pk"))
        return Response(PodList(pods=[wire.pod_shape(workload, pod) for pod in rows], next=following or UNSET))


class WorkloadsV2View(ApiView):
    """Submissions by manifest."""

    parameters = LIST
    gives: Mapping[str, Any] = {"get": WorkloadList, "post": WorkloadV2}
    takes: Mapping[str, Any] = {"post": SubmissionGiven}

    def get(self, request: Request) -> Response:
        """The list, as of v1."""
        return WorkloadListView().get(request)

    def post(self, request: Request) -> Response:
        """Submit. 202; `?dryRun=true` checks, writes nothing, and adds where it would land (`placement`)."""
        project, source, stopped = read_submission(request, self.body())

        def submit() -> WorkloadV2:
            row = services.submit_workload(actor_of(request), project=project, source=source, stopped=stopped)
            return wire.workload_v2(row, rendered_manifest(row))

        answer = self.write(submit)
        if is_dry_run(request):
            answer.placement = placement_of(request, project, source)
        return Response(answer, status=202)


class WorkloadV2View(ApiView):
    """One submission."""

    gives: Mapping[str, Any] = {"get": WorkloadV2Answer, "put": WorkloadV2, "delete": WorkloadV2}
    takes: Mapping[str, Any] = {"put": Submission}

    def get(self, request: Request, workload_id: str) -> Response:
        """What was sent, what is applied, and how far that is."""
        row = find(request, workload_id)
        shown = wire.workload_v2(row, rendered_manifest(row))
        return tagged(row, WorkloadV2Answer(workload=shown, sync_info=wire.sync_info(row)))

    def put(self, request: Request, workload_id: str) -> Response:
        """Replace the manifest, the priority, or whether it runs (`desiredPhase`). 202."""
        row, body = find(request, workload_id), self.body()
        require(request.user, "workloads:update", row.scope)
        check_match(request, row)
        check_keys(body, wire.SUBMISSION_KEYS)
        metadata, given = wire.read_metadata(body), wire.read_source(body)
        _check_place(row, metadata)
        if given is not None:
            wire.check_agreement(given, metadata)
        source = wire.with_metadata(row.source if given is None else given, metadata)
        phase = body.get("desiredPhase")
        stopped = wire.is_stopped(phase)

        def update() -> WorkloadV2:
            actor = actor_of(request)
            if phase is not None and stopped:
                services.suspend_workload(actor, workload=row)
            elif phase is not None:
                services.resume_workload(actor, workload=row)
            if source != row.source:
                services.update_workload(actor, workload=row, source=source)
            return wire.workload_v2(row, rendered_manifest(row))

        return Response(self.write(update), status=202)

    def delete(self, request: Request, workload_id: str) -> Response:
        """Ask for deletion. 202."""
        row = find(request, workload_id)
        require(request.user, "workloads:delete", row.scope)
        check_match(request, row)

        def delete() -> WorkloadV2:
            services.delete_workload(actor_of(request), workload=row)
            return wire.workload_v2(row, rendered_manifest(row))

        return Response(self.write(delete), status=202)


def read_submission(request: Request, body: Mapping[str, Any]) -> tuple[Project, str, bool]:
    """The project of a submission, its document with what its metadata says, and whether it is to be suspended.
    Raises `InvalidInput`."""
    check_keys(body, wire.SUBMISSION_KEYS)
    source, metadata = wire.read_source(body), wire.read_metadata(body)
    stopped = wire.is_stopped(body.get("desiredPhase"))
    check_shape(body, Submission)
    if source is None:
        raise InvalidInput.of("manifest", "no manifest is given", "manifest or manifestBase64Encoded")
    wire.check_agreement(source, metadata)
    return project_of(request, metadata, source), wire.with_metadata(source, metadata), stopped


def placement_of(request: Request, project: Project, source: str) -> PlacementPreview:
    """Where a document would land. Raises `InvalidInput` for one that cannot be read."""
    draft = services.read_draft(project=project, source=source)
    found: PlacementPreview = conforming(full_preview(actor_of(request).user, draft.submission), PlacementPreview)
    return found


def find(request: Request, workload_id: str) -> Workload:
    """The visible workload of this id. Raises `NotFound`."""
    return selectors.workload_of(request.user, uuid_of(workload_id))


def _check_place(row: Workload, metadata: Mapping[str, Any]) -> None:
    """An edit may say where the workload is, and may not move it."""
    for key, own in (("projectId", str(row.project_id)), ("clusterId", str(row.cluster_id))):
        if metadata.get(key) and str(metadata[key]) != own:
            raise InvalidInput.of(f"metadata.{key}", "a workload stays where it is; submit another one there", own)


def project_of(request: Request, metadata: Any, source: str) -> Project:
    """The project that `metadata.projectId` names, else the one whose namespace the manifest has."""
    projects = Project.objects.visible_to(request.user).select_related("department", "cluster")
    text = str(metadata.get("projectId") or "")
    if text:
        found = projects.filter(pk=int(text)).first() if text.isascii() and text.isdigit() and len(text) < 18 else None
        field, allowed = "metadata.projectId", "the id of a project"
    else:
        namespace = str((documents.load(source).get("metadata") or {}).get("namespace") or "")
        named = list(projects.filter(namespace=namespace)[:2]) if namespace else []
        found = named[0] if len(named) == 1 else None
        field, allowed = "metadata.projectId", "the id of a project, or its namespace in the manifest"
    if found is None:
        raise InvalidInput.of(field, "There is no such project", allowed)
    if metadata.get("clusterId") and str(metadata["clusterId"]) != str(found.cluster_id):
        raise InvalidInput.of("metadata.clusterId", "The project is of another cluster", str(found.cluster_id))
    return found
