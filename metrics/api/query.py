"""Reads what a request for metrics asks, and says what was recorded in Run:ai's shape (MetricsCompositeResponse)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import Fault, InvalidInput
from core.moments import rfc3339
from core.times import read_moment

WEEK_HOURS = 168
SHORT_HOURS = 6
MAX_SAMPLES = 1000

# A moment and a figure; None: it was not measured.
Value = tuple[datetime, float | None]


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for: types in their order, the time, and how many samples at most."""

    types: tuple[str, ...]
    start: datetime
    end: datetime
    samples: int

    @property
    def hours(self) -> int:
        """How far back to read, in hours: minutes are kept for six, roll-ups for a week."""
        back = timezone.now() - self.start
        return SHORT_HOURS if back <= timedelta(hours=SHORT_HOURS) else WEEK_HOURS


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one type, of one GPU or group where it has several."""

    type: str
    values: Sequence[Value]
    labels: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)


def metric_parameters(types: Sequence[str], *more: OpenApiParameter) -> tuple[OpenApiParameter, ...]:
    """How a view of metrics is described."""
    listed = {"type": "array", "minItems": 1, "items": {"type": "string", "enum": list(types)}}
    samples = {"type": "integer", "minimum": 0, "maximum": MAX_SAMPLES, "default": 20}
    return (
        OpenApiParameter("metricType", listed, required=True, explode=False),
        OpenApiParameter("start", OpenApiTypes.DATETIME, required=True),
        OpenApiParameter("end", OpenApiTypes.DATETIME, required=True),
        OpenApiParameter("numberOfSamples", samples),
        *more,
    )


def read_query(request: Request, allowed: Sequence[str]) -> Query:
    """`metricType`, `start`, `end`, `numberOfSamples`. Raises `InvalidInput` that names every wrong one."""
    params, faults = request.query_params, list[Fault]()
    types = [text for given in params.getlist("metricType") for text in given.split(",") if text]
    wrong = [text for text in types if text not in allowed]
    if wrong or not types:
        message = f"{wrong[0][:60]!r} is not a metric type here" if wrong else "Required parameter is missing"
        faults.append(Fault("metricType", message, ", ".join(allowed)))
    start, end = (_moment(params.get(name, ""), name, faults) for name in ("start", "end"))
    if start and end and start >= end:
        faults.append(Fault("end", "It is not after start", "a later time"))
    text = params.get("numberOfSamples", "20")
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= MAX_SAMPLES):
        faults.append(Fault("numberOfSamples", f"{text[:20]!r} is not allowed", f"0 to {MAX_SAMPLES}"))
    if faults or start is None or end is None:
        raise InvalidInput(faults)
    return Query(tuple(dict.fromkeys(types)), start, end, int(text))


def _moment(text: str, name: str, faults: list[Fault]) -> datetime | None:
    moment = read_moment(text)
    if moment is None:
        faults.append(Fault(name, f"{text[:40]!r} is not a time", "2026-11-29T14:00:00Z"))
    return moment


def answer(asked: Query, lines: Iterable[Line]) -> Response:
    """The measurements. 207 where a type that was asked for is not recorded: it is absent then, not 0."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        found.setdefault(line.type, []).append(_entry(asked, line))
    measurements = [entry for type_ in asked.types for entry in found.get(type_, ())]
    return Response({"measurements": measurements}, status=200 if all(t in found for t in asked.types) else 207)


def _entry(asked: Query, line: Line) -> dict[str, Any]:
    points = [(at, value) for at, value in line.values if asked.start <= at <= asked.end]
    values = [
        {"value": f"{value:.4g}", "timestamp": rfc3339(at)}
        for at, value in _thinned(points, asked.samples)
        if value is not None
    ]
    entry: dict[str, Any] = {"type": line.type, "values": values}
    if line.labels:
        entry["labels"] = dict(line.labels)
    if line.groups:
        entry["groups"] = [{"key": key, "value": value} for key, value in line.groups.items()]
    return entry


def _thinned(points: Sequence[Value], samples: int) -> Sequence[Value]:
    """At most `samples` points, evenly taken, the newest among them."""
    if samples == 0 or len(points) <= samples:
        return points if samples else ()
    step = len(points) / samples
    return [points[int((index + 1) * step) - 1] for index in range(samples)]
