from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.moments import rfc3339


@pytest.mark.parametrize(
    ("moment", "seconds", "microseconds"),
    [
        (datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC), "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.000000Z"),
        (datetime(2026, 11, 30, 1, 2, 3, 987654, UTC), "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.987654Z"),
        (
            datetime(2026, 11, 30, 1, 2, 3, tzinfo=timezone(timedelta(hours=8))),
            "2026-11-29T17:02:03Z",
            "2026-11-29T17:02:03.000000Z",
        ),
    ],
)
def test_a_moment_is_written_in_utc(moment: datetime, seconds: str, microseconds: str) -> None:
    assert rfc3339(moment) == seconds
    assert rfc3339(moment, "microseconds") == microseconds


def test_no_moment_stays_none() -> None:
    assert rfc3339(None) is None
