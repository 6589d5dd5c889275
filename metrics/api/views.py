"""`…/metrics` of workloads and nodes, in Run:ai's shape (schema MetricsCompositeResponse): GPU utilisation."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.permissions import require
from clusters.models import Node
from core.api.ids import uuid_of
from core.api.views import ApiView
from core.errors import Fault, InvalidInput
from metrics import selectors
from metrics.selectors import Series
from metrics.series import Point
from workloads.models import Workload

WEEK_HOURS = 168
SHORT_HOURS = 6
UTILISATION = "GPU_UTILIZATION"
UTILISATION_PER_GPU = "GPU_UTILIZATION_PER_GPU"
ALLOCATION = "GPU_ALLOCATION"


class WorkloadMetricsView(ApiView):
    """A workload's GPUs."""

    def get(self, request: Request, workload_id: str) -> Response:
        """`GPU_UTILIZATION` (average in percent over the GPUs that it holds) and `GPU_ALLOCATION` (how many)."""
        require(request.user, "workloads:read")
        rows = Workload.objects.select_related("cluster", "project")
        workload = rows.get_visible(request.user, pk=uuid_of(workload_id))
        asked = read_query(request, (UTILISATION, ALLOCATION))
        series = selectors.workload_series(workload, asked.hours)
        found = {UTILISATION: [(None, series)], ALLOCATION: [(None, series)]}
        return Response({"measurements": measurements(asked, found)})


class NodeMetricsView(ApiView):
    """A node's GPUs."""

    def get(self, request: Request, node_id: str) -> Response:
        """`GPU_UTILIZATION_PER_GPU` and `GPU_UTILIZATION`, in percent."""
        require(request.user, "nodes:read")
        rows = Node.objects.select_related("cluster")
        node = rows.get_visible(request.user, uid=node_id.replace("\x00", ""))
        asked = read_query(request, (UTILISATION_PER_GPU, UTILISATION))
        lines = selectors.node_series(node, asked.hours)
        found: Mapping[str, Sequence[tuple[str | None, Sequence[Series]]]] = {
            UTILISATION_PER_GPU: [(line.name, [line]) for line in lines],
            UTILISATION: [(None, [mean_line(lines)] if lines else [])],
        }
        return Response({"measurements": measurements(asked, found)})


class Query:
    """What was asked for: types in their order, the time, and how many samples at most."""

    def __init__(self, types: Sequence[str], start: datetime, end: datetime, samples: int) -> None:
        self.types, self.start, self.end, self.samples = types, start, end, samples

    @property
    def hours(self) -> int:
        """How far back to read, in hours: minutes are kept for six, roll-ups for a week."""
        back = timezone.now() - self.start
        return SHORT_HOURS if back <= timedelta(hours=SHORT_HOURS) else WEEK_HOURS


def read_query(request: Request, allowed: Sequence[str]) -> Query:
    """`metricType`, `start`, `end`, `numberOfSamples`. Raises `InvalidInput` that names every wrong one."""
    params, faults = request.query_params, list[Fault]()
    types = [text for given in params.getlist("metricType") for text in given.split(",") if text]
    wrong = [text for text in types if text not in allowed]
    if wrong or not types:
        message = f"{wrong[0][:60]!r} is not recorded here" if wrong else "Required parameter is missing"
        faults.append(Fault("metricType", message, ", ".join(allowed)))
    start, end = (_moment(params.get(name, ""), name, faults) for name in ("start", "end"))
    if start and end and start >= end:
        faults.append(Fault("end", "It is not after start", "a later time"))
    text = params.get("numberOfSamples", "20")
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= 1000):
        faults.append(Fault("numberOfSamples", f"{text[:20]!r} is not allowed", "0 to 1000"))
    if faults or start is None or end is None:
        raise InvalidInput(faults)
    return Query(types, start, end, int(text))


def _moment(text: str, name: str, faults: list[Fault]) -> datetime | None:
    try:
        # An unencoded `+` of an offset arrives as a space.
        moment = parse_datetime(text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text)
    except ValueError:
        moment = None
    if moment is None:
        faults.append(Fault(name, f"{text[:40]!r} is not a time", "2026-11-29T14:00:00Z"))
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.get_current_timezone())


def measurements(
    asked: Query, found: Mapping[str, Sequence[tuple[str | None, Sequence[Series]]]]
) -> list[dict[str, Any]]:
    """One entry per type and label, `values` thinned to the samples asked for; unmeasured moments are left out."""
    answers = []
    for type_ in asked.types:
        for label, lines in found[type_]:
            points = [p for line in lines for p in line.points if asked.start <= p.at <= asked.end]
            values = [_value(type_, p) for p in _thinned(points, asked.samples)]
            entry = {"type": type_, "values": [value for value in values if value is not None]}
            answers.append({**entry, "labels": {"gpu": label}} if label is not None else entry)
    return answers


def _value(type_: str, point: Point) -> dict[str, str] | None:
    amount = point.measured if type_ == ALLOCATION else point.average
    if amount is None:
        return None
    return {"value": f"{amount:.4g}", "timestamp": point.at.strftime("%Y-%m-%dT%H:%M:%SZ")}


def _thinned(points: Sequence[Point], samples: int) -> Sequence[Point]:
    """At most `samples` points, evenly taken, the newest among them."""
    if samples == 0 or len(points) <= samples:
        return points if samples else ()
    step = len(points) / samples
    return [points[int((index + 1) * step) - 1] for index in range(samples)]


def mean_line(lines: Sequence[Series]) -> Series:
    """The average over the lines at each moment, of those that were measured."""
    points = []
    for moments in zip(*(line.points for line in lines), strict=True):
        known = [p.average for p in moments if p.average is not None]
        average = sum(known) / len(known) if known else None
        points.append(Point(moments[0].at, average, None, len(known)))
    return Series("mean", tuple(points))
