"""Columns of long lists as the text that the database has, for `values_list`: a thousand rows cost less as strings
than as times, ids and documents that would only be written down again."""

from collections.abc import Callable
from typing import Any

from django.db.models import ExpressionWrapper, F, Field, TextField
from django.db.models.functions import Cast


def as_text(path: str) -> Cast:
    """The column as text: a uuid, a time, a JSON document."""
    return Cast(path, TextField())


def as_stored(path: str) -> "ExpressionWrapper[Any]":
    """The column as its driver gives it: an exact decimal is a Decimal, and an int or float of SQLite."""
    return ExpressionWrapper(F(path), output_field=Field())


def moment_of(text: str) -> str:
    """A time in RFC 3339 to the second, from its text in UTC (`2026-11-30 01:02:03.5+00`)."""
    return f"{text[:10]}T{text[11:19]}Z"


def exact_moment_of(text: str) -> str:
    """The same with its microseconds."""
    return f"{text[:10]}T{text[11:19]}.{text[20:].partition('+')[0]:0<6}Z"


def uuid_text(text: str) -> str:
    """An id with its dashes: SQLite keeps the digits only."""
    if len(text) != 32:
        return text
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Remembered(dict[Any, Any]):
    """What `make` makes of a key, kept: most of a list's rows have the same amounts, clusters and pools."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        made = self[key] = self._make(key)
        return made
