"""CSV exports: everything that matches, streamed, safe to open in a spreadsheet."""

import csv
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from io import StringIO
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.text import slugify
from django.utils.timezone import now

CHUNK = 500
# What spreadsheets take for the beginning of a formula; those of East Asia in full width too.
FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column of the export. `source` is a dotted attribute path (None ends it) or a function of the row."""

    label: str
    source: str | Callable[[Any], object]
    unit: str = ""

    @property
    def head(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def value(self, row: object) -> object:
        if callable(self.source):
            return self.source(row)
        value: object = row
        for name in self.source.split("."):
            value = None if value is None else getattr(value, name)
        return value


def csv_response(
    request: HttpRequest,
    name: str,
    columns: Sequence[CsvColumn],
    matching: QuerySet[Any, Any],
    present: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
) -> StreamingHttpResponse:
    """All rows of `matching`, in its order. `present` turns a chunk of objects into rows.

    The ids are read first and the rows in chunks after: memory stays bounded, the set is that of one moment.
    """
    lines = _lines(columns, matching, present)
    response = StreamingHttpResponse(
        _without_blocking(lines) if isinstance(request, ASGIRequest) else lines,
        content_type="text/csv; charset=utf-8",
    )
    stamp = now().strftime("%Y-%m-%d-%H%M")
    response.headers["Content-Disposition"] = f'attachment; filename="{slugify(name)}-{stamp}.csv"'
    response.headers["Cache-Control"] = "no-store"
    return response


def safe_cell(value: object) -> str:
    """The text of a cell. What a spreadsheet would run as a formula is quoted; numbers keep their sign."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    text = str(value).replace("\x00", "")
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _lines(
    columns: Sequence[CsvColumn],
    matching: QuerySet[Any, Any],
    present: Callable[[Sequence[Any]], Sequence[Any]] | None,
) -> Iterator[str]:
    # The byte order mark lets spreadsheets read names that are not ASCII.
    yield "\ufeff" + csv_line([column.head for column in columns])
    keys = iter(list(matching.values_list("pk", flat=True)))
    while chunk := list(islice(keys, CHUNK)):
        found = {item.pk: item for item in matching.filter(pk__in=chunk)}
        objects = [found[key] for key in chunk if key in found]
        for row in present(objects) if present else objects:
            yield csv_line([column.value(row) for column in columns])


def csv_line(values: Sequence[object]) -> str:
    """One line with its end, every value a safe cell."""
    buffer = StringIO()
    csv.writer(buffer).writerow([safe_cell(value) for value in values])
    return buffer.getvalue()


async def _without_blocking(lines: Iterator[str]) -> AsyncIterator[str]:
    """The same lines for an ASGI server: the database is read in a worker thread, a batch at a time."""
    while batch := await sync_to_async(lambda: "".join(islice(lines, CHUNK)))():
        yield batch
