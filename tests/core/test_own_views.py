"""A person's own saved views, on the list of nodes."""

import pytest

from core.models import OwnView
from core.own_views import MAX_VIEWS
from tests.clusters.builders import add_node

PATH, TABLE = "/nodes/", "nodes"
CORDONED = "filter=state%3D%3DCordoned"


@pytest.fixture
def page(admin, client_of, cluster):
    add_node(cluster, "a")
    add_node(cluster, "b", cordoned=True)
    add_node(cluster, "c", cordoned=True)
    return client_of(admin)


def keep(client, query=f"{CORDONED}&sort=-name&page=3&cluster=x", label="Out of use", **more):
    return client.post("/views", {"path": PATH, "table": TABLE, "label": label, "query": query, **more})


def own(client, path=PATH):
    return [(view.label, view.count, view.current) for view in client.get(path).context["table"].own]


def test_a_view_is_kept_counted_opened_and_forgotten(page):
    answer = keep(page)

    assert (answer.status_code, answer["Location"]) == (302, f"{PATH}?{CORDONED}&sort=-name")
    assert own(page) == [("Out of use", 2, False)]
    assert own(page, answer["Location"]) == [("Out of use", 2, True)]
    opened = page.get(answer["Location"])
    assert [row.name for row in opened.context["table"].rows] == ["c", "b"]
    assert "Forget view “Out of use”" in opened.content.decode()
    assert "Keep this view" in page.get(f"{PATH}?q=a").content.decode()

    page.post("/views", {"path": PATH, "forget": str(OwnView.objects.get().pk)})
    assert own(page) == []


def test_a_view_of_the_same_name_takes_its_place(page):
    keep(page)
    keep(page, query="q=a")

    assert own(page) == [("Out of use", 1, False)]


def test_views_are_of_one_person_and_one_list(page, client_of, viewer):
    keep(page)
    other = client_of(viewer)

    assert own(other) == []
    assert own(page, "/clusters/") == []
    assert other.post("/views", {"path": PATH, "forget": str(OwnView.objects.get().pk)}).status_code == 404
    assert OwnView.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": "  "},
        {"label": "\u200b"},
        {"label": "x\u202espO"},
        {"label": "x" * 61},
        {"query": ""},
        {"query": "page=2&cluster=x"},
        {"table": ""},
        {"path": "https://elsewhere.example/"},
        {"path": "//elsewhere.example/"},
        {"path": ""},
    ],
)
def test_what_is_no_view_is_refused(page, wrong):
    assert keep(page, **wrong).status_code == 400
    assert not OwnView.objects.exists()


def test_there_is_a_bound(page):
    for number in range(MAX_VIEWS):
        keep(page, label=f"view {number}")

    assert keep(page, label="one more").status_code == 400
    assert keep(page, label="view 0", query="q=b").status_code == 302
    assert OwnView.objects.count() == MAX_VIEWS


def test_a_view_whose_filter_is_gone_still_opens(page, admin):
    OwnView.objects.create(user=admin, table=TABLE, label="old", query="filter=colour%3D%3Dred")

    assert own(page) == [("old", 3, False)]
    assert "There is no field" in page.get(f"{PATH}?filter=colour%3D%3Dred").content.decode()


@pytest.mark.parametrize("pk", ["9" * 5000, "9" * 30, "\u00b2", "-1", "x", ""])
def test_a_view_that_cannot_be_is_not_found(page, pk):
    assert page.post("/views", {"path": PATH, "forget": pk}).status_code == 404


def test_a_list_with_a_name_that_postgresql_cannot_hold_has_no_views(page):
    answer = keep(page, table="a\x00b")
    assert (answer.status_code, "<code>table</code>: It holds a NUL" in answer.content.decode()) == (400, True)
    assert not OwnView.objects.exists()
