"""`/api/v1/org-unit/reports`: consumption reports. They are made at once, from what is recorded."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Value
from django.http import HttpResponse
from django.utils.text import slugify
from drf_spectacular.types import OpenApiTypes
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from accounts.requests import actor_of
from core.api.bodies import check_keys
from core.api.csv_rendering import CsvRenderer
from core.api.filters import filter_by, search, sort
from core.api.ids import uuid_of
from core.api.json_rendering import FastJSONRenderer
from core.api.listing import count_parameters, list_parameters
from core.api.matching import check_match, tagged
from core.api.pagination import paginate
from core.api.shapes import Count
from core.api.views import ApiView
from core.errors import InvalidInput, NotFound
from core.filters import Filter
from core.moments import rfc3339
from core.times import read_moment
from metrics import reports
from metrics.api.shapes import Availability, ReportCreation, ReportList, ReportShape
from metrics.models import Report

TENANT = 1
READY = "Ready"
STATUS = tuple((name, name) for name in ("Pending", "Processing", READY, "Failed"))
FILTERS = (
    Filter(key="name", label="name"),
    Filter(key="createdBy", label="createdBy", lookup="created_by"),
    Filter(key="createdAt", label="createdAt", lookup="created_at", kind="time"),
    Filter(key="status", label="status", kind="choice", choices=STATUS),
)
SORTS = {"name": "name", "createdAt": "created_at", "createdBy": "created_by", "status": "status"}
KEYS = ("name", "start", "end", "groupBy", "filterBy")


class ReportListView(ApiView):
    """List and create."""

    parameters = list_parameters(FILTERS, SORTS)
    gives: Mapping[str, Any] = {"get": ReportList, "post": ReportShape}
    takes: Mapping[str, Any] = {"post": ReportCreation}

    def get(self, request: Request) -> Response:
        """`{reports}`, sorted and paged."""
        rows, _next = paginate(request, sort(request, matching(request), SORTS, default="name"))
        return Response({"reports": [report_json(row) for row in rows]})

    def post(self, request: Request) -> Response:
        """Make one: `name`, `start`, `end`, `groupBy`, `filterBy` of projectName, departmentName, clusterId. 202."""
        require(request.user, reports.RIGHT)
        given = read_report(self.body())
        made = self.write(lambda: report_json(reports.create_report(actor_of(request), given=given)))
        return Response(made, status=202)


class ReportCountView(ApiView):
    """How many match."""

    parameters = count_parameters(FILTERS)
    gives: Mapping[str, Any] = {"get": Count}

    def get(self, request: Request) -> Response:
        """`{count}`."""
        return Response({"count": matching(request).count()})


class ReportAvailabilityView(ApiView):
    """Whether reports can be made."""

    gives: Mapping[str, Any] = {"get": Availability}

    def get(self, request: Request) -> Response:
        """`{isAvailable}`: always; the database keeps them."""
        require(request.user, reports.RIGHT)
        return Response({"isAvailable": True})


class ReportView(ApiView):
    """One report."""

    gives: Mapping[str, Any] = {"get": ReportShape}

    def get(self, request: Request, report_id: str) -> Response:
        """The report."""
        shown = report_json(find(request, report_id))
        return tagged(shown, shown)

    def delete(self, request: Request, report_id: str) -> Response:
        """Delete it."""
        report = find(request, report_id)
        reports.require_deletion(actor_of(request).user, report)
        check_match(request, report_json(report))
        self.write(lambda: reports.delete_report(actor_of(request), report=report))
        return Response(status=204)


class ReportFileView(ApiView):
    """The report's lines."""

    renderer_classes = (CsvRenderer, FastJSONRenderer)  # a refusal is JSON
    answers: Mapping[Any, Any] = {(200, "text/csv"): OpenApiTypes.STR}

    def get(self, request: Request, report_id: str) -> HttpResponse:
        """CSV: group, cluster, GPU hours held, average utilisation of the measured ones."""
        report = find(request, report_id)
        name = f'attachment; filename="{slugify(report.name) or "report"}.csv"'
        return HttpResponse(
            report.content, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name}
        )


def matching(request: Request) -> QuerySet[Report]:
    """The visible reports that `filterBy` and `search` ask for."""
    require(request.user, reports.RIGHT)
    rows = reports.visible_reports(actor_of(request).user).annotate(status=Value(READY)).defer("content")
    return search(request, filter_by(request, rows, FILTERS), ("name", "created_by"))


def find(request: Request, report_id: str) -> Report:
    """The visible report of this id. Raises `NotFound`."""
    require(request.user, reports.RIGHT)
    found = reports.visible_reports(actor_of(request).user).filter(pk=uuid_of(report_id)).first()
    if found is None:
        raise NotFound
    return found


def report_json(report: Report) -> dict[str, Any]:
    """Schema Report."""
    made = rfc3339(report.created_at)
    return {
        "id": str(report.pk),
        "name": report.name,
        "start": rfc3339(report.start),
        "end": rfc3339(report.end),
        "groupBy": report.group_by or None,
        "filterBy": report.filters,
        "tenantId": TENANT,
        "createdAt": made,
        "createdBy": report.created_by,
        "status": READY,
        "statusUpdatedAt": made,
    }


def read_report(body: dict[str, Any]) -> reports.ReportInput:
    """The body of a creation. Raises `InvalidInput` naming the field."""
    check_keys(body, KEYS)
    name, group = body.get("name"), body.get("groupBy") or ""
    if not isinstance(name, str):
        raise InvalidInput.of("name", "Required parameter is missing", "a string")
    if not isinstance(group, str):
        raise InvalidInput.of("groupBy", "It is not a string", ", ".join(reports.GROUPS))
    start, end = (_moment(body.get(key), key) for key in ("start", "end"))
    return reports.ReportInput(name, start, end, group, tuple(_terms(body.get("filterBy") or [])))


def _moment(value: Any, key: str) -> datetime:
    moment = read_moment(value)
    if moment is None:
        raise InvalidInput.of(key, "It is not a time", "2026-11-29T14:00:00Z")
    return moment


def _terms(given: Any) -> list[tuple[str, str]]:
    allowed = "; ".join(f"{key}==…" for key in reports.FILTERS)
    if not isinstance(given, list):
        raise InvalidInput.of("filterBy", "It is not a list", allowed)
    terms = []
    for index, text in enumerate(given):
        key, operator, value = str(text).partition("==")
        if not operator or not value or key not in reports.FILTERS:
            raise InvalidInput.of(f"filterBy[{index}]", f"{str(text)[:60]!r} is not a condition here", allowed)
        terms.append((key, value))
    return terms
