"""Moments as people and programs give them."""

from datetime import UTC, datetime

import pytest

from core.times import read_moment

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30T12:00:00Z", NOON),
        ("2026-11-30T13:00:00+01:00", NOON),
        ("2026-11-30T13:00:00 01:00", NOON),  # a plus sign that was not encoded
        ("2026-12-01T04:30:00+16:30", NOON),  # a zone that PostgreSQL does not take
        ("2026-11-30 12:00:00Z", NOON),
        ("2026-11-30", datetime(2026, 11, 30, tzinfo=UTC)),
        ("2026-11-30T12:00:00", NOON),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:00:00-14:00", None),
        ("2026-13-01", None),
        ("tomorrow", None),
        ("", None),
        (7, None),
        (None, None),
    ],
)
def test_a_moment_is_read_in_utc(settings, text, moment):
    settings.TIME_ZONE = "UTC"
    found = read_moment(text)

    assert found == moment
    assert found is None or found.tzinfo is UTC


def test_where_a_zone_is_needed_one_without_is_none():
    assert read_moment("2026-11-30T12:00:00", zoned=True) is None
    assert read_moment("2026-11-30T12:00:00Z", zoned=True) == NOON
