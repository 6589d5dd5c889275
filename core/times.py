"""Moments that somebody gives, in a filter, a query or a body, and those that objects of a cluster name."""

from datetime import UTC, datetime

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from scheduling.moments import LATEST

YEARS = range(2, 9999)  # with room for any offset from UTC


def read_moment(text: object, *, zoned: bool = False) -> datetime | None:
    """The moment of a text in RFC 3339, or of the beginning of a day; None for what is none. Without a zone it is in
    the one of the installation; with `zoned` it is none then.

    It is in UTC: PostgreSQL takes no zone beyond ±15:59. A plus sign that was not encoded arrives as a space.
    """
    if not isinstance(text, str):
        return None
    try:
        found = parse_datetime(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        return None
    if found is None or found.year not in YEARS or (zoned and is_naive(found)):
        return None
    return (make_aware(found) if is_naive(found) else found).astimezone(UTC)


def nearest_moment(text: str | None) -> datetime | None:
    """The moment of a Kubernetes time (RFC 3339), at the end of the calendar the nearest that any time zone can show.
    None where it is missing or unreadable, and for Go's zero time in the year 1."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    if found is None or found.year < YEARS.start:
        return None
    return min(found if found.tzinfo else found.replace(tzinfo=UTC), LATEST)
