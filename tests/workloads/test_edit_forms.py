"""Every page that edits a row: what others saved since it was opened is never overwritten."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db.models import F
from django.http import HttpResponse
from django.urls import reverse

from tests.contracts.urlconf import routes

PAGES: Mapping[str, Mapping[str, str]] = {
    "workloads:edit": {"source": "# more\n", "action": "save"},
    "organizations:project-edit": {"description": "new"},
    "organizations:department-edit": {"description": "new"},
    "topology:node-pool-edit": {"min_guaranteed_runtime": "1h"},
}
"""By page: what a person types; the document of a workload is written on."""


class Form(HTMLParser):
    """The fields of the form that names a generation, as a browser would send them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._found: dict[str, str] = {}
        self._name = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        if tag == "form":
            self._found = {}
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self._put(given.get("name"), given.get("value"))
        elif tag in ("select", "textarea"):
            self._name = given["name"]
            self._put(self._name, "")
        elif tag == "option" and ("selected" in given or not self._found.get(self._name)):
            self._put(self._name, given.get("value"))

    def handle_data(self, data: str) -> None:
        if self.lasttag == "textarea" and self._name:
            self._found[self._name] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self._name = ""
        elif tag == "form" and "generation" in self._found:
            self.fields = self._found

    def _put(self, name: str | None, value: str | None) -> None:
        if name:
            self._found[name] = value or ""


def fields_of(answer: HttpResponse) -> dict[str, str]:
    fields = Form(answer.content.decode()).fields
    assert fields, "no form with a generation"
    return fields


@pytest.fixture
def edited(submit: Any, project: Any, h200: Any) -> Any:
    """`edited(page)`: the row that the page edits, and the page's address."""
    rows = {
        "workloads:edit": submit(),
        "organizations:project-edit": project,
        "organizations:department-edit": project.department,
        "topology:node-pool-edit": h200,
    }
    return lambda page: (rows[page], reverse(page, args=[rows[page].pk]))


def typed(page: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The form after a person has typed into it."""
    changes = dict(PAGES[page])
    if "source" in changes:
        changes["source"] = fields["source"] + changes["source"]
    return {**fields, **changes}


def generation(row: Any) -> int:
    found: int = type(row).objects.get(pk=row.pk).generation
    return found


def test_every_edit_page_is_here() -> None:
    assert {route.name for route in routes() if route.pattern.endswith("edit/")} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("said", [None, "", "abc", "-1", "\u00b2", "9" * 5000])
def test_a_form_that_does_not_say_which_generation_it_saw_is_stale(
    page: str, said: str | None, edited: Any, client_of: Any, admin: Any
) -> None:
    (row, url), client = edited(page), client_of(admin)
    opened = typed(page, fields_of(client.get(url)))
    other = {key: value for key, value in opened.items() if key != "generation"}

    answer = client.post(url, other if said is None else {**other, "generation": said})

    assert answer.status_code == 422
    assert "changed by somebody else" in answer.content.decode()
    assert generation(row) == int(opened["generation"])
    assert client.post(url, opened).status_code == 302
    assert generation(row) == int(opened["generation"]) + 1


@pytest.mark.parametrize("page", PAGES)
def test_a_form_that_comes_back_stays_as_old_as_it_is(page: str, edited: Any, client_of: Any, admin: Any) -> None:
    """Else what others saved would be overwritten by the second press of the button."""
    (row, url), client = edited(page), client_of(admin)
    fields = typed(page, fields_of(client.get(url)))
    type(row).objects.filter(pk=row.pk).update(generation=F("generation") + 1)

    for _ in range(2):
        answer = client.post(url, fields)
        assert answer.status_code == 422
        fields = typed(page, fields_of(answer)) | {"confirmed": "1"}

    assert generation(row) == int(fields["generation"]) + 1
