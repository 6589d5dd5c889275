"""Telemetry in Run:ai's shape: one figure as of now, summed by up to two groups. What is not known is absent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from core.errors import Fault, InvalidInput
from core.moments import rfc3339

MAX_GROUPS = 2
UNKNOWN_FILTER: Mapping[int, str] = {404: "What is filtered by is absent, or outside of what you may see."}


@dataclass(frozen=True, slots=True)
class Group:
    """A value to group by, as programs and as people read it."""

    value: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is summed. `amount` None: it is not known, which is not 0."""

    groups: Mapping[str, Group]
    amount: Decimal | float | int | None


@dataclass(frozen=True, slots=True)
class TelemetryQuery:
    """What was asked for."""

    type: str
    group_by: tuple[str, ...]


def telemetry_parameters(types: Sequence[str], groups: Sequence[str], *filters: str) -> tuple[OpenApiParameter, ...]:
    """How a view of telemetry is described."""
    by = OpenApiParameter(
        "groupBy",
        {"type": "array", "items": {"type": "string", "enum": list(groups)}, "maxItems": MAX_GROUPS},
        explode=False,
    )
    asked = OpenApiParameter("telemetryType", OpenApiTypes.STR, enum=types, required=True)
    return (asked, by, *(OpenApiParameter(name, OpenApiTypes.STR) for name in filters))


def read_telemetry(request: Request, types: Sequence[str], groups: Sequence[str]) -> TelemetryQuery:
    """`telemetryType` and `groupBy`. Raises `InvalidInput` that names every wrong one."""
    faults: list[Fault] = []
    type_ = request.query_params.get("telemetryType", "")
    if type_ not in types:
        message = f"{type_[:60]!r} is not a telemetry type" if type_ else "Required parameter is missing"
        faults.append(Fault("telemetryType", message, ", ".join(types)))
    given = [text for item in request.query_params.getlist("groupBy") for text in item.split(",") if text]
    wrong = [text for text in given if text not in groups]
    if wrong:
        faults.append(Fault("groupBy", f"{wrong[0][:60]!r} cannot be grouped by", ", ".join(groups)))
    if len(given) > MAX_GROUPS:
        faults.append(Fault("groupBy", f"{len(given)} are too many", f"at most {MAX_GROUPS}"))
    if faults:
        raise InvalidInput(faults)
    return TelemetryQuery(type_, tuple(dict.fromkeys(given)))


def telemetry_json(asked: TelemetryQuery, facts: Iterable[Fact], at: datetime | None = None) -> dict[str, Any]:
    """Schema TelemetryResponse. A group of which nothing is known has no value."""
    sums: dict[tuple[Group, ...], Decimal] = {}
    for fact in facts:
        if fact.amount is not None:
            key = tuple(fact.groups[name] for name in asked.group_by)
            sums[key] = sums.get(key, Decimal(0)) + Decimal(str(fact.amount))
    values = [_value(asked.group_by, key, amount) for key, amount in sums.items()]
    moment = at or timezone.now()
    return {"type": asked.type, "timestamp": rfc3339(moment), "values": values}


def _value(names: Sequence[str], key: Sequence[Group], amount: Decimal) -> dict[str, Any]:
    answer: dict[str, Any] = {"value": f"{amount.normalize():f}"}
    if names:
        answer["groups"] = [
            {"key": name, "value": group.value, "name": group.name or group.value}
            for name, group in zip(names, key, strict=True)
        ]
    return answer
