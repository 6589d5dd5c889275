"""Tables: column definitions and cells of any resource."""

from datetime import UTC, datetime
from typing import Any

from simulator.api.resources import Column, Resource
from simulator.client import Object


def table_row(resource: Resource, body: Object) -> list[Any]:
    return [body["metadata"].get("name", ""), *(column.value(body) for column in columns_of(resource))]


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """The columns beside the name."""
    return resource.columns or (AGE,)


def age(body: Object) -> str:
    return since(body["metadata"].get("creationTimestamp"))


def since(stamp: Any) -> str:
    """Go's short human duration (`5d3h`), `<unknown>` without a time."""
    if _moment(stamp) is None:
        return "<unknown>"
    return human_duration(seconds_between(stamp, None))


def seconds_between(start: Any, end: Any) -> float:
    """Seconds from one time to another, or to now; 0 without a start."""
    began = _moment(start)
    if began is None:
        return 0.0
    return ((_moment(end) or datetime.now(UTC)) - began).total_seconds()


def _moment(stamp: Any) -> datetime | None:
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    except ValueError:
        return None


# Below so many seconds a duration is shown in this unit, with the rest in that smaller one (0: without).
_STEPS = (
    (120, "s", 1, "", 0),
    (600, "m", 60, "s", 1),
    (10_800, "m", 60, "", 0),
    (28_800, "h", 3600, "m", 60),
    (172_800, "h", 3600, "", 0),
    (691_200, "d", 86_400, "h", 3600),
    (63_072_000, "d", 86_400, "", 0),
    (252_288_000, "y", 31_536_000, "d", 86_400),
)


def human_duration(seconds: float) -> str:
    """`k8s.io/apimachinery/pkg/util/duration.HumanDuration`."""
    total = int(seconds)
    if total < 0:
        return "<invalid>" if total < -1 else "0s"
    for limit, unit, size, smaller, smaller_size in _STEPS:
        if total < limit:
            whole, rest = divmod(total, size)
            part = rest // smaller_size if smaller_size else 0
            return f"{whole}{unit}{part}{smaller}" if part else f"{whole}{unit}"
    return f"{total // 31_536_000}y"


AGE = Column("Age", age)
