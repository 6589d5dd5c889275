from collections.abc import Callable

import pytest

from accounts.audit import Actor
from accounts.models import User
from clusters import kinds
from clusters.kube.fake import FakeGateway
from organizations.models import Project, ProjectSecret
from organizations.reconcile import sync_department, sync_project
from organizations.secrets import encrypt
from organizations.services import delete_secret, put_secret, rename_secret


@pytest.fixture
def me(admin: User, actor: Callable[[User], Actor]) -> Actor:
    return actor(admin)


def test_j1_the_token_is_written_under_both_names_and_leaves_with_the_secret(
    me: Actor, project: Project, gateway: FakeGateway
) -> None:
    secret = put_secret(me, project=project, kind="hugging-face", fields={"token": "hf_abc"})
    sync_department(project.department, gateway)
    sync_project(project, gateway)

    expected = {"HF_TOKEN": "aGZfYWJj", "token": "aGZfYWJj"}
    for name in ("hf-token", "hf-token-secret"):
        assert gateway.object(kinds.SECRET, name, "runai-assistant")["data"] == expected
    delete_secret(me, secret=secret)
    sync_project(project, gateway)
    assert gateway.names(kinds.SECRET, "runai-assistant") == []
    assert not project.former_secrets.exists()


def test_secrets_are_found_by_name_and_never_listed(me: Actor, project: Project, gateway: FakeGateway) -> None:
    """Whoever may list secrets may read them all: the printed role has no such right."""
    secret = ProjectSecret.objects.create(project=project, name="a", kind="opaque", content=encrypt({"k": "v"}))
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    gateway.put(kinds.SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": _place("theirs")})

    rename_secret(me, secret=secret, name="b")
    sync_project(project, gateway)
    assert gateway.names(kinds.SECRET, "runai-assistant") == ["b", "theirs"]
    rename_secret(me, secret=secret, name="theirs")
    rename_secret(me, secret=secret, name="a")
    sync_project(project, gateway)

    assert gateway.names(kinds.SECRET, "runai-assistant") == ["a", "theirs"]
    assert not project.former_secrets.exists()
    assert not [call for call in gateway.calls if (call.verb, call.kind) == ("list", "Secret")]


def test_a_former_secret_that_is_wanted_again_stays(me: Actor, project: Project, gateway: FakeGateway) -> None:
    secret = ProjectSecret.objects.create(project=project, name="a", kind="opaque", content=encrypt({"k": "v"}))
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    uid = gateway.object(kinds.SECRET, "a", "runai-assistant")["metadata"]["uid"]

    delete_secret(me, secret=secret)
    put_secret(me, project=project, kind="opaque", name="a", fields={"k": "v"})
    sync_project(project, gateway)

    assert gateway.object(kinds.SECRET, "a", "runai-assistant")["metadata"]["uid"] == uid
    assert not project.former_secrets.exists()


def _place(name: str) -> dict[str, str]:
    return {"name": name, "namespace": "runai-assistant"}
