"""CSV: everything that matches, in order, safe in a spreadsheet, in bounded queries."""

import csv
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import RequestFactory

from accounts.models import User
from core.csv import CHUNK, safe_cell
from core.tables import Column, TableSpec, build_table, table_response


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1+1", "'＝1+1"),
        ("＠SUM(A1)", "'＠SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("-rm", "'-rm"),
        (-5, "-5"),
        (Decimal("-0.50"), "-0.5"),
        (Decimal("1E+3"), "1000"),
        (0, "0"),
        (None, ""),
        (True, "true"),
        ("a\x00b", "ab"),
        (datetime(2026, 11, 24, 14, 2, 31, 99, UTC), "2026-11-24T14:02:31+00:00"),
    ],
)
def test_a_cell_cannot_become_a_formula(value: object, cell: str) -> None:
    assert safe_cell(value) == cell


def test_all_matches_are_exported_in_order(rf: RequestFactory, db: None, django_assert_num_queries: Any) -> None:
    User.objects.bulk_create(
        User(email=f"p{i:04}@x.org", name=f"={i}" if i == 0 else f"P {i}, “x”") for i in range(CHUNK + 7)
    )
    people = TableSpec(
        name="People here",
        row_template="unused",
        columns=(
            Column(key="name", label="Name"),
            Column(key="email", label="Email", sort=("email",), csv=lambda user: user.email.upper()),
            Column(key="gpus", label="Held", unit="GPUs", csv=lambda user: None),
        ),
        default_sort="email",
    )
    request = rf.get("/people?format=csv&page=2")
    table = build_table(request, User.objects.filter(email__endswith="@x.org"), people)

    response = table_response(request, "unused.html", table)
    with django_assert_num_queries(3):
        text = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]

    rows = list(csv.reader(text.removeprefix("\ufeff").splitlines()))
    assert rows[0] == ["Name", "Email", "Held (GPUs)"]
    assert rows[1] == ["'=0", "P0000@X.ORG", ""]
    assert len(rows) == CHUNK + 8
    assert rows[-1] == [f"P {CHUNK + 6}, “x”", f"P{CHUNK + 6:04}@X.ORG", ""]
    assert response.headers["Content-Disposition"].startswith('attachment; filename="people-here-2')
