"""Every page that edits a row: what others saved since it was opened is never overwritten."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from django.db.models import F
from django.http import HttpResponse
from django.urls import reverse

from accounts.models import AuditEntry, Role
from tests.contracts.urlconf import routes
from workloads.graph import parse_graph

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
        self._is_first = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        if tag == "form":
            self._found = {}
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self._put(given.get("name"), given.get("value"))
        elif tag in ("select", "textarea"):
            self._name, self._is_first = given["name"], True
            self._put(self._name, "")
        elif tag == "option":
            if "selected" in given or self._is_first:
                self._put(self._name, given.get("value"))
            self._is_first = False

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


@pytest.mark.parametrize("page", PAGES)
def test_a_form_saved_as_it_was_opened_says_that_nothing_changed(
    page: str, edited: Any, client_of: Any, admin: Any
) -> None:
    (row, url), client = edited(page), client_of(admin)
    fields = fields_of(client.get(url))
    same = {"action": "save"} if page == "workloads:edit" else {}

    answer = client.post(url, {**fields, **same}, follow=True)

    shown = answer.content.decode()
    assert f"Nothing changed: {row} is already as it was sent." in shown
    assert "the cluster follows" not in shown
    assert generation(row) == int(fields["generation"])
    assert not AuditEntry.objects.filter(object_id=str(row.pk)).exclude(action="create").exists()


def test_replicas_that_are_so_already_change_nothing(submit: Any, client_of: Any, admin: Any) -> None:
    workload = submit()
    component = parse_graph(workload.manifest).components[0]
    fields = {"component": component.name, "replicas": str(component.replicas)}

    answer = client_of(admin).post(reverse("workloads:scale", args=[workload.pk]), fields, follow=True)

    assert f"Nothing changed: {workload} is already as it was sent." in answer.content.decode()
    assert generation(workload) == workload.generation


def test_an_unchanged_role_keeps_the_moment_of_its_last_change(client_of: Any, admin: Any) -> None:
    role = Role.objects.create(name="Readers", rights=["project:read"])
    client, url = client_of(admin), reverse("accounts:role-edit", args=[role.pk])
    fields = {"name": "Readers", "description": "", "enabled": "on", "right": "project:read"}

    answer = client.post(url, {**fields, "updated": client.get(url).context["updated"]}, follow=True)

    assert "Nothing changed: Readers is already as it was sent." in answer.content.decode()
    assert Role.objects.get().updated_at == role.updated_at


def test_unchanged_distances_stay_assumptions(topology: Any, client_of: Any, admin: Any) -> None:
    client, url = client_of(admin), reverse("topology:topology-links", args=[topology.pk])
    links = [{"latencyMicroseconds": n, "bandwidthGigabytesPerSecond": n, "assumed": True} for n in (3, 2, 1)]
    type(topology).objects.filter(pk=topology.pk).update(links=links)

    answer = client.post(url, fields_of(client.get(url)), follow=True)

    assert "Nothing changed: topology-1 is already as it was sent." in answer.content.decode()
    assert type(topology).objects.get(pk=topology.pk).links == links
