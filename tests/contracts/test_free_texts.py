"""Every free text that people give is held to one rule, by form and by REST: what cannot be seen, or turns the text
round, is refused by the name of its field and of the character, and nothing is written."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from accounts.models import Role, User
from core.models import OwnView
from metrics.models import Report
from organizations.models import Department, Project

HIDDEN = {
    "a\x07b": "U+0007",
    "a\u202eb": "U+202E RIGHT-TO-LEFT OVERRIDE",
    "a\u2066b": "U+2066 LEFT-TO-RIGHT ISOLATE",
    "a\u200bb": "U+200B ZERO WIDTH SPACE",
}
ROLE = {"name": "Lookers", "description": "", "right": "project:read", "enabled": "on"}
API_ROLE = {"name": "Lookers", "description": "", "permissions": [{"resourceType": "project", "actions": ["read"]}]}


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    return client_of(admin)


def counts() -> list[int]:
    return [model._default_manager.count() for model in (Department, Project, Role, User, Report, OwnView)]


FORMS: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "department": ("/departments/new/", {"name": "team"}, "description"),
    "project": ("/projects/new/", {"name": "team"}, "description"),
    "role": ("/access/roles/new", ROLE, "name"),
    "what a role is for": ("/access/roles/new", ROLE, "description"),
    "person": ("/access/users/new", {"email": "new@example.org"}, "name"),
    "group": ("/access/rules/new", {"subjectType": "group", "role": "Viewer", "scope": "tenant:"}, "subjectId"),
    "view": ("/views", {"path": "/nodes/", "table": "nodes", "query": "q=x"}, "label"),
}


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("what", FORMS)
def test_a_form_names_the_character_and_writes_nothing(page: Client, project: Any, what: str, text: str) -> None:
    path, fields, field = FORMS[what]
    before = counts()
    more = {"department": str(project.department.pk)} if what == "project" else {}

    answer = page.post(path, {**fields, **more, field: text})

    assert answer.status_code in (400, 422)
    assert f"Character 2 is {HIDDEN[text]}" in answer.content.decode()
    assert counts() == before


REST: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "department": ("/api/v1/org-unit/departments", {"name": "team", "resources": []}, "description"),
    "project": ("/api/v1/org-unit/projects", {"name": "team", "resources": []}, "description"),
    "role": ("/api/v2/authorization/roles", API_ROLE, "name"),
    "what a role is for": ("/api/v2/authorization/roles", API_ROLE, "description"),
    "report": (
        "/api/v1/org-unit/reports",
        {"start": "2026-11-28T00:00:00Z", "end": "2026-11-29T00:00:00Z"},
        "name",
    ),
}


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("what", REST)
def test_rest_names_field_and_character_and_writes_nothing(page: Client, project: Any, what: str, text: str) -> None:
    path, body, field = REST[what]
    before = counts()
    place = {"clusterId": str(project.cluster_id)} if "resources" in body else {}
    place |= {"parentId": str(project.department.pk)} if what == "project" else {}

    answer = page.post(path, json.dumps({**body, **place, field: text}), content_type="application/json")

    assert answer.status_code == 400, answer.content
    (fault,) = [fault for fault in answer.json()["faults"] if fault["field"] == field]
    assert fault["message"].startswith(f"Character 2 is {HIDDEN[text]}")
    assert counts() == before


def test_a_description_may_have_several_lines_and_keeps_them(page: Client, project: Any) -> None:
    opened = page.get(f"/projects/{project.pk}/edit/").context["generation"]

    page.post(f"/projects/{project.pk}/edit/", {"description": "one\r\n\ttwo 👩\u200d💻", "generation": opened})

    assert Project.objects.get().description == "one\n\ttwo 👩\u200d💻"
