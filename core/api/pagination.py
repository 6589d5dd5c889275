"""`limit` and `offset` of lists, as Run:ai's API has them."""

from typing import Any, NamedTuple, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request

from core.errors import Fault, InvalidInput

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
MAX_OFFSET = 10**9

Row = TypeVar("Row", bound=Model)


class Slice(NamedTuple):
    """Which part of a list was asked for."""

    limit: int
    offset: int


def slice_of(request: Request, *, default: int = DEFAULT_LIMIT, maximum: int = MAX_LIMIT) -> Slice:
    """`?limit=` (1 to `maximum`) and `?offset=`; raises `InvalidInput` that names every wrong one."""
    faults: list[Fault] = []
    limit = _whole(request, "limit", default, (1, maximum), faults)
    offset = _whole(request, "offset", 0, (0, MAX_OFFSET), faults)
    if faults:
        raise InvalidInput(faults)
    return Slice(limit, offset)


def paginate(request: Request, rows: "QuerySet[Row]", **bounds: int) -> tuple[list[Row], int | None]:
    """The rows asked for, and the offset of the next page: None at the end. One query. `rows` must be ordered."""
    limit, offset = slice_of(request, **bounds)
    found = list(rows[offset : offset + limit + 1])
    return found[:limit], offset + limit if len(found) > limit else None


def _whole(request: Request, name: str, default: int, bounds: tuple[int, int], faults: list[Any]) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    low, high = bounds
    if text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high:
        return int(text)
    faults.append(Fault(name, f"{text[:20]!r} is not a whole number in the range", f"{low} to {high}"))
    return default
