"""The page of a project's secrets: written, never shown, and only one's own."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from organizations.models import Project, ProjectSecret, SharedSecret


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    found: Client = client_of(admin)
    return found


def test_j1_a_token_is_saved_shown_by_name_only_and_deleted(page: Client, project: Project) -> None:
    path = f"/projects/{project.pk}/secrets/"

    refused = page.post(path, {"kind": "hugging-face", "token": ""})
    page.post(path, {"kind": "hugging-face", "token": "hf_abc"})
    page.post(path, {"kind": "opaque", "name": "env", "content": "A=1\nB=x=y"})
    content = page.get(path).content.decode()

    assert (refused.status_code, "token" in refused.context["form"].errors) == (422, True)
    assert list(ProjectSecret.objects.order_by("name").values_list("name", "keys")) == [
        ("env", ["A", "B"]), ("hf-token-secret", ["HF_TOKEN", "token"]),
    ]  # fmt: skip
    assert "HF_TOKEN" in content
    assert "hf_abc" not in content
    page.post(f"{path}{ProjectSecret.objects.get(name='env').pk}/delete/")
    assert ProjectSecret.objects.count() == 1


def test_secrets_of_another_project_cannot_be_deleted_through_mine(page: Client, project: Project) -> None:
    other = Project.objects.create(
        cluster=project.cluster, department=project.department, name="other", namespace="other"
    )
    secret = ProjectSecret.objects.create(project=other, name="x", kind="opaque", content=b"")

    assert page.post(f"/projects/{project.pk}/secrets/{secret.pk}/delete/").status_code == 404
    assert ProjectSecret.objects.count() == 1


def test_what_is_shared_with_a_project_is_shown_and_not_deleted_there(page: Client, project: Project) -> None:
    source = SharedSecret.objects.create(place="tenant", name="registry", kind="opaque", content=b"")
    copy = ProjectSecret.objects.create(project=project, source=source, name="registry", kind="opaque", content=b"")
    path, delete = f"/projects/{project.pk}/secrets/", f"/projects/{project.pk}/secrets/{copy.pk}/delete/"

    content = page.get(path).content.decode()
    refused = page.post(delete, follow=True).content.decode()

    assert "shared with the project" in content
    assert delete not in content
    assert "change it where it is shared from" in refused
    assert ProjectSecret.objects.count() == 1
