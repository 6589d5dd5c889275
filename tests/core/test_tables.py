"""Lists: search, filters, sort, pages and views from the URL, on rows of people."""

import uuid
from typing import Any

import pytest
from django.test import RequestFactory

from accounts.models import User
from core.filters import Filter
from core.saved_views import SavedView
from core.tables import Column, Table, TableSpec, build_table

PEOPLE = TableSpec(
    name="people",
    row_template="unused",
    columns=(
        Column(key="name", label="Name", sort=("name",)),
        Column(key="email", label="Email", sort=("-email",)),
        Column(key="note", label="Note"),
    ),
    default_sort="name",
    search=("name", "email"),
    filters=(Filter(key="name", label="Name"), Filter(key="active", label="Active", kind="flag", lookup="is_active")),
    page_size=2,
)


@pytest.fixture
def people(db: None) -> dict[str, User]:
    rows = [("ada", "z@x.org"), ("bo", "b@x.org"), ("bo", "a@x.org"), ("cy%", "c@x.org"), ("", "d@x.org")]
    return {
        email: User.objects.create(id=uuid.UUID(int=number), email=email, name=name)
        for number, (name, email) in enumerate(rows)
    }


def ask(rf: RequestFactory, query: str, **more: Any) -> Table:
    return build_table(rf.get(f"/people?{query}"), User.objects.filter(email__endswith="@x.org"), PEOPLE, **more)


def emails(table: Table) -> list[str]:
    return [row.email for row in table.rows]


def test_pages_do_not_overlap_and_ties_go_by_id(rf: RequestFactory, people: Any) -> None:
    tables = [ask(rf, f"sort=name&page={page}") for page in (1, 2, 3)]

    seen = [email for table in tables for email in emails(table)]
    assert seen == ["d@x.org", "z@x.org", "b@x.org", "a@x.org", "c@x.org"]
    assert [t.page.number for t in tables] == [1, 2, 3]
    assert tables[0].total == 5


@pytest.mark.parametrize(("page", "number"), [("0", 3), ("-4", 3), ("9" * 4000, 3), ("x", 1), ("", 1), ("2\x00", 1)])
def test_absurd_pages_show_a_page_that_exists(rf: RequestFactory, people: Any, page: str, number: int) -> None:
    assert ask(rf, f"page={page}").page.number == number


def test_a_column_that_sorts_downwards_turns_round(rf: RequestFactory, people: Any) -> None:
    assert emails(ask(rf, "sort=email")) == ["z@x.org", "d@x.org"]
    assert emails(ask(rf, "sort=-email")) == ["a@x.org", "b@x.org"]


def test_headers_say_the_order_in_force_and_the_next_one(rf: RequestFactory, people: Any) -> None:
    heads = {head.column.key: head for head in ask(rf, "sort=-name").heads}

    assert (heads["name"].order, heads["name"].next_sort) == ("descending", "name")
    assert (heads["email"].order, heads["email"].next_sort) == ("", "email")


def test_the_columns_that_are_asked_for_are_shown(rf: RequestFactory, people: Any) -> None:
    table = ask(rf, "show=email&show=nonsense")

    assert [head.column.key for head in table.heads if head.shown] == ["name", "email"]
    assert table.hidden_classes == "without-3"
    assert ask(rf, "show=nonsense").hidden_classes == ""


def test_every_word_must_occur_in_one_of_the_fields(rf: RequestFactory, people: Any) -> None:
    assert emails(ask(rf, "q=BO+a%40x")) == ["a@x.org"]
    assert emails(ask(rf, "q=%25")) == ["c@x.org"]
    assert ask(rf, "q=bo").total_all == 5


def test_a_search_with_nul_or_without_end_is_named_and_cut(rf: RequestFactory, people: Any) -> None:
    table = ask(rf, "q=b%00o" + "&sort=password")

    assert emails(table) == ["b@x.org", "a@x.org"]
    assert "NUL" in table.problems[0]
    assert "“password”" in table.problems[1]
    assert "name, email" in table.problems[1]
    assert "200" in ask(rf, "q=" + "x" * 300).problems[0]


def test_a_wrong_filter_is_left_out_and_named(rf: RequestFactory, people: Any) -> None:
    table = ask(rf, "filter=owner%3D%3Dx&filter=name%3D%3Dada")

    assert emails(table) == ["z@x.org"]
    assert table.problems == ("A filter was left out: There is no field “owner” to filter by. Allowed: active, name.",)


def test_the_form_sends_a_condition_in_parts(rf: RequestFactory, people: Any) -> None:
    assert emails(ask(rf, "filter=active%3D%3Dtrue&field=name&op=%3D%3D&value=ada")) == ["z@x.org"]


def test_a_list_filtered_to_nothing_says_which_filter_to_drop(rf: RequestFactory, people: Any) -> None:
    table = ask(rf, "filter=name%3D%3Dbo&filter=active%3D%3Dfalse")

    assert table.state == "filtered"
    assert [(str(relief.term), relief.count) for relief in table.reliefs] == [("active==false", 2)]


def test_nothing_at_all_is_empty_not_filtered(rf: RequestFactory, db: None) -> None:
    assert ask(rf, "filter=name%3D%3Dbo").state == "empty"


def test_views_count_the_list_they_open(rf: RequestFactory, people: Any, django_assert_num_queries: Any) -> None:
    views = (SavedView(label="All"), SavedView(label="Bo", terms=("name==bo",)))

    with django_assert_num_queries(4):
        table = ask(rf, "filter=name%3D%3Dbo", views=views)

    assert [(v.label, v.count, v.current, v.query) for v in table.views] == [
        ("All", 5, False, ""),
        ("Bo", 2, True, "filter=name%3D%3Dbo"),
    ]


def test_rows_are_presented_a_page_at_a_time(rf: RequestFactory, people: Any) -> None:
    seen: list[int] = []
    table = ask(rf, "", present=lambda rows: seen.append(len(rows)) or [row.name.upper() for row in rows])

    assert list(table.rows) == ["", "ADA"]
    assert seen == [2]
