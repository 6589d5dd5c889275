"""`/api/v1/workloads/{id}/events`, `…/history` and `/api/v1/workloads/pods`: what was seen of workloads."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import ClusterEvent, Pod
from core.api.csv_rendering import RENDERERS
from core.api.filters import filter_by, search, sort
from core.api.listing import ORDER, choice_parameter, count_parameters, list_parameters, page_parameters, read_choice
from core.api.pagination import paginate, slice_of
from core.api.shapes import UNSET, Count
from core.api.views import ApiView
from core.filters import Filter
from core.moments import rfc3339
from scheduling.structs import FINISHED
from workloads import observed, selectors
from workloads.api import wire
from workloads.api.listing import shown_workload
from workloads.api.observed_shapes import (
    EventList,
    EventShape,
    InvolvedObject,
    PhaseUpdate,
    PodList,
    RecordList,
    RecordMeta,
    RecordShape,
    RecordSpec,
)
from workloads.api.views import DELETED, find
from workloads.models import Workload
from workloads.told_events import told_events

POD_FILTERS = (
    Filter(key="clusterId", label="clusterId", lookup="cluster__id"),
    Filter(key="workloadId", label="workloadId", lookup="workload"),
    Filter(key="nodeName", label="nodeName", lookup="node_name"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="deletedAt", label="deletedAt", lookup="deletion_requested_at", kind="time"),
)
POD_SORTS = {
    "clusterId": "cluster_id",
    "workloadId": "workload",
    "nodeName": "node_name",
    "createdAt": "created_at",
    "deletedAt": "deletion_requested_at",
}
COMPLETED = choice_parameter("completed", ("all", "true", "false"))
VERBOSITY = choice_parameter("verbosity", ("brief", "full"))


class WorkloadEventsView(ApiView):
    """What the cluster said about one workload in the last day."""

    parameters = (ORDER, *page_parameters())
    gives: Mapping[str, Any] = {"get": EventList}

    def get(self, request: Request, workload_id: str) -> Response:
        """`{events, next}`, the newest first."""
        workload = find(request, workload_id)
        rows = observed.events_of(workload)
        is_ascending = request.query_params.get("sortOrder") == "asc"
        found, following = paginate(request, rows.reverse() if is_ascending else rows)
        told = told_events(request.user, workload, found)
        return Response(EventList(events=[event_shape(row) for row in told], next=following or UNSET))


class WorkloadHistoryView(ApiView):
    """Events and the phase that holds, as one list."""

    parameters = page_parameters()
    gives: Mapping[str, Any] = {"get": RecordList}

    def get(self, request: Request, workload_id: str) -> Response:
        """`{records, next}`, the newest first. Of phases only the present one has a time that was recorded."""
        workload = find(request, workload_id)
        limit, offset = slice_of(request)
        last = offset + limit + 1
        told = told_events(request.user, workload, observed.events_of(workload)[:last])
        records = [_event_record(row) for row in told]
        records = sorted([*records, phase_record(workload)], key=_made_at, reverse=True)[:last]
        following = offset + limit if len(records) == last else None
        return Response(RecordList(records=records[offset : offset + limit], next=following or UNSET))


class PodListView(ApiView):
    """The pods of all workloads that one may see."""

    parameters = (*list_parameters(POD_FILTERS, POD_SORTS), VERBOSITY, COMPLETED, DELETED)
    gives: Mapping[str, Any] = {"get": PodList}

    renderer_classes = RENDERERS

    def get(self, request: Request) -> Response:
        """`{pods, next}`. `verbosity` brief or full: full has the names of workload and project too."""
        full = read_choice(request, VERBOSITY) == "full"
        rows = sort(request, visible_pods(request), POD_SORTS, default="createdAt")
        found, following = paginate(request, rows)
        owners = selectors.workloads_of(request.user).filter(pk__in={pod.workload for pod in found})
        workloads = {str(row.pk): row for row in owners}
        pods = [wire.pod_shape(workloads[pod.workload], pod, named=full) for pod in found if pod.workload in workloads]
        return Response(PodList(pods=pods, next=following or UNSET))


class PodCountView(ApiView):
    """How many match."""

    parameters = (*count_parameters(POD_FILTERS), COMPLETED, DELETED)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response(Count(count=visible_pods(request).count()))


def visible_pods(request: Request) -> QuerySet[Pod]:
    """The pods of visible workloads that `filterBy`, `search`, `completed` and `deleted` ask for. Of the workloads the
    ids alone are read: those of a page's pods are read with the page."""
    require(request.user, "workloads:read")
    ids = [str(pk) for pk in Workload.objects.visible_to(request.user).values_list("pk", flat=True)]
    rows = search(request, Pod.objects.filter(workload__in=ids), ("name", "node_name", "component"))
    completed = read_choice(request, COMPLETED)
    if completed != "all":
        rows = rows.filter(Q(phase__in=FINISHED) if completed == "true" else ~Q(phase__in=FINISHED))
    if read_choice(request, DELETED) == "true":
        rows = rows.none()  # a pod that is gone is not kept
    return filter_by(request, rows, POD_FILTERS)


def event_shape(event: ClusterEvent) -> EventShape:
    """Schema Event; an object without a uid is left out."""
    about = InvolvedObject(
        uid=event.involved_uid, kind=event.involved_kind, name=event.involved_name, namespace=event.namespace
    )
    return EventShape(
        created_at=rfc3339(event.last_seen_at),
        type=event.type,
        cluster_id=str(event.cluster_id),
        message=event.message,
        reason=event.reason,
        source=event.source,
        count=event.count,
        id=event.uid if _is_uuid(event.uid) else UNSET,
        involved_object=about if _is_uuid(event.involved_uid) else UNSET,
    )


def phase_record(workload: Workload) -> RecordShape:
    """Since when the workload is in its phase."""
    shown = shown_workload(workload)
    update = PhaseUpdate(phase=shown.phase, phase_message=shown.phase_message)
    meta = RecordMeta(creation_timestamp=shown.phase_updated_at, type="PhaseUpdate")
    return RecordShape(meta=meta, spec=RecordSpec(phase_update=update))


def _event_record(event: ClusterEvent) -> RecordShape:
    shown = event_shape(event)
    return RecordShape(meta=RecordMeta(creation_timestamp=shown.created_at, type="Event"), spec=RecordSpec(event=shown))


def _made_at(record: RecordShape) -> str:
    return record.meta.creation_timestamp


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
