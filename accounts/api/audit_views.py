"""`/api/v1/audit/log`: who did what, in Run:ai's shape, as a list and as a file."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.shapes import AuditList
from accounts.audit import visible_entries
from accounts.audit_changes import as_seen_by
from accounts.audit_wire import FILTERS, SORTS, entry_json
from accounts.models import AuditEntry
from accounts.permissions import require
from core.api.filters import filter_by, sort
from core.api.listing import choice_parameter, filter_parameter, sort_parameters
from core.api.pagination import MAX_OFFSET
from core.api.views import ApiView
from core.csv import csv_line
from core.errors import Fault, InvalidInput
from core.times import read_moment

MAX_SAMPLES = 1000
FILE_TYPES = ("CSV", "JSON")
PARAMETERS = (
    OpenApiParameter("start", OpenApiTypes.DATETIME, required=True),
    OpenApiParameter("end", OpenApiTypes.DATETIME, required=True),
    OpenApiParameter("numberOfSamples", {"type": "integer", "minimum": 0, "maximum": MAX_SAMPLES}),
    filter_parameter(FILTERS),
)
COLUMNS = (
    "timestamp", "subject", "subject_type", "source_ip", "action", "result", "entity_type", "entity_name", "entity_id",
    "http_method", "url", "cluster_id", "request_id", "id", "metadata",
)  # fmt: skip


def matching(request: Request) -> QuerySet[AuditEntry]:
    """The visible entries between `start` and `end` (both needed, as in Run:ai) that `filterBy` asks for."""
    require(request.user, "events-history:read")
    faults: list[Fault] = []
    start, end = _moment(request, "start", faults), _moment(request, "end", faults)
    if faults or start is None or end is None:
        raise InvalidInput(faults)
    return filter_by(request, visible_entries(request.user).filter(at__gte=start, at__lte=end), FILTERS)


class AuditLogView(ApiView):
    """The log."""

    parameters = (
        *PARAMETERS,
        OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}),
        *sort_parameters(SORTS),
    )
    gives: Mapping[str, Any] = {"get": AuditList}

    def get(self, request: Request) -> Response:
        """The newest first, unless it is sorted; `numberOfSamples` (20, up to 1000) is the size of a page."""
        rows, (limit, offset) = matching(request), _page(request)
        ordered = sort(request, rows, SORTS, default="timestamp")
        if not {"sortBy", "sortOrder"} & request.query_params.keys():
            ordered = rows.order_by("-at", "-pk")
        found, total = as_seen_by(request.user, ordered[offset : offset + limit]), rows.count()
        base = _base(request)
        # `logs` is required by Run:ai's schema, and defined nowhere in it.
        body: dict[str, Any] = {"total": total, "logs": None, "audit_logs": [entry_json(e, base) for e in found]}
        return Response(body | ({"next": offset + limit} if offset + limit < total and limit else {}))


class AuditLogFileView(ApiView):
    """The log as a file."""

    # The official client calls it otherwise than Run:ai's document.
    parameters = (*PARAMETERS, *(choice_parameter(name, FILE_TYPES) for name in ("file_type", "fileType")))
    answers: Mapping[Any, Any] = {(200, "application/octet-stream"): OpenApiTypes.BINARY}

    def get(self, request: Request) -> HttpResponseBase:
        """CSV (the default) or JSON, the newest first."""
        name = "fileType" if "fileType" in request.query_params else "file_type"
        kind = request.query_params.get(name, FILE_TYPES[0])
        limit = _page(request)[0] if "numberOfSamples" in request.query_params else MAX_SAMPLES
        base = _base(request)
        entries = as_seen_by(request.user, matching(request).order_by("-at", "-pk")[:limit])
        found = (entry_json(entry, base) for entry in entries)
        content = json.dumps(list(found)) if kind == "JSON" else "".join(_csv(found))
        return HttpResponse(
            content,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="audit-log.{kind.lower()}"'},
        )


def _base(request: Request) -> str:
    return str(request.build_absolute_uri("/")).rstrip("/")


def _csv(entries: Iterator[dict[str, Any]]) -> Iterator[str]:
    yield csv_line(COLUMNS)
    for entry in entries:
        shown = {**entry, "metadata": json.dumps(entry["metadata"], ensure_ascii=False)}
        yield csv_line([shown.get(name) for name in COLUMNS])


def _page(request: Request) -> tuple[int, int]:
    faults: list[Fault] = []
    limit = _whole(request, "numberOfSamples", 20, MAX_SAMPLES, faults)
    offset = _whole(request, "offset", 0, MAX_OFFSET, faults)
    if faults:
        raise InvalidInput(faults)
    return limit, offset


def _whole(request: Request, name: str, default: int, high: int, faults: list[Fault]) -> int:
    text = request.query_params.get(name, "") or str(default)
    if text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= high:
        return int(text)
    faults.append(Fault(name, f"{text[:20]!r} is not a whole number in the range", f"0 to {high}"))
    return default


def _moment(request: Request, name: str, faults: list[Fault]) -> datetime | None:
    found = read_moment(request.query_params.get(name, ""))
    if found is None:
        faults.append(Fault(name, "Required parameter is missing or not a time", "2026-11-29T14:00:00Z"))
    return found
