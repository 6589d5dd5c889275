"""Texts of the databases become what the API writes."""

import pytest

from core.api.columns import exact_moment_of, moment_of


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        ("2026-11-30 01:02:03.456789", "2026-11-30T01:02:03.456789Z"),  # SQLite
        ("2026-11-30 01:02:03", "2026-11-30T01:02:03.000000Z"),
        ("2026-11-30 01:02:03.456789+00", "2026-11-30T01:02:03.456789Z"),  # PostgreSQL leaves out zeros at the end
        ("2026-11-30 01:02:03.456+00", "2026-11-30T01:02:03.456000Z"),
        ("2026-11-30 01:02:03.5+00", "2026-11-30T01:02:03.500000Z"),
        ("2026-11-30 01:02:03+00", "2026-11-30T01:02:03.000000Z"),
    ],
)
def test_a_moment_is_written_to_the_microsecond_from_either_databases_text(stored: str, written: str) -> None:
    assert exact_moment_of(stored) == written
    assert moment_of(stored) == written[:19] + "Z"
