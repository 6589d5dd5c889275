"""`/api/v1/workloads/telemetry`: how many workloads there are, what they hold, how long they wait."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from core.api.csv_rendering import RENDERERS
from core.api.shapes import Telemetry
from core.api.telemetry import (
    MAX_GROUPS,
    UNKNOWN_FILTER,
    Fact,
    Group,
    read_telemetry,
    telemetry_json,
    telemetry_parameters,
)
from core.api.views import ApiView
from core.errors import InvalidInput
from workloads import selectors
from workloads.api.listing import CATEGORY, KIND
from workloads.models import Workload

COUNT, ALLOCATION, PENDING = "WORKLOADS_COUNT", "GPU_ALLOCATION", "PENDING_TIME_DISTRIBUTION"
GROUPS = ("ClusterId", "DepartmentId", "ProjectId", "Type", "CurrentNodepools", "Phase", "Category")
PHASES = (
    "Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating", "Stopped", "Stopping",
    "Degraded", "Failed", "Completed", "Terminating", "Unknown",
)  # fmt: skip
PHASES_PARAMETER = OpenApiParameter(
    "filterByPhases", {"type": "array", "items": {"type": "string", "enum": list(PHASES)}}, explode=False
)
# Run:ai documents four buckets, not their bounds; these are Muster's.
WAITS = (
    (timedelta(minutes=5), "0-5m"),
    (timedelta(hours=1), "5m-1h"),
    (timedelta(days=1), "1h-1d"),
    (timedelta.max, "1d+"),
)
WAIT = "PendingTime"
# What is summed and grouped by; so many rows are read at once.
COLUMNS = (
    "cluster__name", "project__name", "project__department__name", "node_pool__name", "phase", "gpus_held",
    "waiting_since",
)  # fmt: skip
AT_ONCE = 1000


class WorkloadTelemetryView(ApiView):
    """One figure over workloads."""

    gives: Mapping[str, Any] = {"get": Telemetry}

    renderer_classes = RENDERERS
    errors = UNKNOWN_FILTER
    parameters = (
        *telemetry_parameters((COUNT, ALLOCATION, PENDING), GROUPS, "clusterId", "nodepoolName", "departmentId"),
        PHASES_PARAMETER,
    )

    def get(self, request: Request) -> Response:
        """`WORKLOADS_COUNT`, `GPU_ALLOCATION` or `PENDING_TIME_DISTRIBUTION`, by up to two groups."""
        require(request.user, "workloads:read")
        asked = read_telemetry(request, (COUNT, ALLOCATION, PENDING), GROUPS)
        rows, now = _matching(request), timezone.now()
        if asked.type == PENDING:
            if len(asked.group_by) == MAX_GROUPS:
                raise InvalidInput.of("groupBy", "The time of waiting is one of the two groups", "one more group")
            waits = type(asked)(asked.type, (WAIT, *asked.group_by))
            return Response(telemetry_json(waits, _waits(rows, now), now))
        facts = (Fact(_groups(row), 1 if asked.type == COUNT else row.gpus_held) for row in rows)
        return Response(telemetry_json(asked, facts, now))


def _matching(request: Request) -> Iterator[Workload]:
    """One after the other: neither all of them nor a document of one is kept."""
    params = request.query_params
    phases = [text for given in params.getlist("filterByPhases") for text in given.split(",") if text]
    wrong = [text for text in phases if text not in PHASES]
    if wrong:
        raise InvalidInput.of("filterByPhases", f"{wrong[0][:20]!r} is not a phase", ", ".join(PHASES))
    rows = selectors.workloads_of(request.user).only(*COLUMNS)
    if phases:
        rows = rows.filter(phase__in=phases)
    wanted = (
        ("clusterId", lambda row: str(row.cluster_id)),
        ("nodepoolName", lambda row: row.node_pool.name),
        ("departmentId", lambda row: str(row.project.department_id)),
    )
    asked = [(found, params[name]) for name, found in wanted if name in params]
    return (row for row in rows.iterator(AT_ONCE) if all(found(row) == value for found, value in asked))


def _groups(row: Workload) -> dict[str, Group]:
    project = row.project
    return {
        "ClusterId": Group(str(row.cluster_id), row.cluster.name),
        "DepartmentId": Group(str(project.department_id), project.department.name),
        "ProjectId": Group(str(project.pk), project.name),
        "Type": Group(KIND),
        "CurrentNodepools": Group(row.node_pool.name if row.gpus_held else ""),
        "Phase": Group(row.phase),
        "Category": Group(CATEGORY),
    }


def _waits(rows: Iterable[Workload], now: datetime) -> Iterator[Fact]:
    for row in rows:
        if row.phase == "Pending" and row.waiting_since is not None:
            waited = now - row.waiting_since
            bucket = next(name for bound, name in WAITS if waited < bound)
            yield Fact({WAIT: Group(bucket), **_groups(row)}, Decimal(1))
