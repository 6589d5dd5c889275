"""Moments that objects name: any year may stand there, and what is added to one may lie beyond the calendar. Pure."""

from datetime import UTC, datetime

EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


def utc_moment(seconds: float) -> datetime:
    """The moment so many seconds after the epoch; the nearest that any time zone can show where there is none."""
    return datetime.fromtimestamp(min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp()), UTC)
