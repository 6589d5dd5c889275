"""Secrets of a department, a cluster or the installation: the projects there have them, nearer ones first."""

from collections.abc import Callable

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.audit import Actor
from accounts.models import AuditEntry, User
from clusters import kinds
from clusters.kube.fake import FakeGateway
from core.errors import Conflict, NotFound
from organizations import services
from organizations.models import Department, Project, ProjectSecret, SharedSecret
from organizations.reconcile import sync_department, sync_project
from organizations.secrets import decrypt
from organizations.services import Place, ProjectInput


@pytest.fixture
def me(admin: User, actor: Callable[[User], Actor]) -> Actor:
    return actor(admin)


def share(me: Actor, place: Place, value: str = "v", name: str = "registry") -> SharedSecret:
    return services.share_secret(me, place=place, kind="opaque", name=name, fields={"k": value})


def values_of(project: Project) -> dict[str, str]:
    return {secret.name: decrypt(secret.content)["k"] for secret in project.secrets.all()}


def second_of(department: Department, me: Actor) -> Project:
    return services.create_project(me, department=department, given=ProjectInput(name="second"))


@pytest.mark.parametrize("kind", ["department", "cluster", "tenant"])
def test_the_projects_of_the_scope_have_it_and_so_do_those_that_come_later(
    me: Actor, project: Project, kind: str
) -> None:
    department = project.department
    place = {"department": Place(department=department), "cluster": Place(cluster=project.cluster), "tenant": Place()}
    share(me, place[kind])
    elsewhere = services.create_department(me, cluster=project.cluster, name="elsewhere", description="", quotas=[])

    assert values_of(project) == {"registry": "v"}
    assert values_of(second_of(department, me)) == {"registry": "v"}
    outside = services.create_project(me, department=elsewhere, given=ProjectInput(name="outside"))
    assert values_of(outside) == ({} if kind == "department" else {"registry": "v"})


def test_the_nearest_is_the_one_that_a_project_has(me: Actor, project: Project) -> None:
    share(me, Place(), "tenant")
    share(me, Place(cluster=project.cluster), "cluster")
    near = share(me, Place(department=project.department), "department")
    assert values_of(project) == {"registry": "department"}

    own = services.put_secret(me, project=project, kind="opaque", name="registry", fields={"k": "own"})
    assert values_of(project) == {"registry": "own"}
    services.delete_secret(me, secret=own)
    assert values_of(project) == {"registry": "department"}
    services.delete_shared_secret(me, secret=near)
    assert values_of(project) == {"registry": "cluster"}


def test_a_change_reaches_every_copy_and_the_cluster(me: Actor, project: Project, gateway: FakeGateway) -> None:
    secret = share(me, Place(department=project.department))
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    assert gateway.object(kinds.SECRET, "registry", "runai-assistant")["data"] == {"k": "dg=="}

    changed = services.change_shared_secret(me, secret=secret, name="other", content=("opaque", {"k": "w"}))
    sync_project(project, gateway)
    assert gateway.names(kinds.SECRET, "runai-assistant") == ["other"]
    assert gateway.object(kinds.SECRET, "other", "runai-assistant")["data"] == {"k": "dw=="}

    services.delete_shared_secret(me, secret=changed)
    sync_project(project, gateway)
    assert gateway.names(kinds.SECRET, "runai-assistant") == []
    assert not project.former_secrets.exists()


def test_a_rename_keeps_the_content_that_somebody_else_gave_it_meanwhile(me: Actor, project: Project) -> None:
    share(me, Place(), "old")
    read_before = SharedSecret.objects.get()
    services.change_shared_secret(
        me, secret=SharedSecret.objects.get(), name="registry", content=("opaque", {"k": "new"})
    )

    services.change_shared_secret(me, secret=read_before, name="other", content=None)

    assert values_of(project) == {"other": "new"}


def test_a_change_does_not_bring_back_what_somebody_else_deleted_meanwhile(me: Actor, project: Project) -> None:
    share(me, Place())
    read_before = SharedSecret.objects.get()
    services.delete_shared_secret(me, secret=SharedSecret.objects.get())

    with pytest.raises(NotFound):
        services.change_shared_secret(me, secret=read_before, name="registry", content=("opaque", {"k": "w"}))

    assert values_of(project) == {}
    assert not SharedSecret.objects.exists()


def test_a_copy_is_not_changed_by_itself(me: Actor, project: Project) -> None:
    share(me, Place())
    copy = ProjectSecret.objects.get()

    with pytest.raises(Conflict, match="shared with the project"):
        services.delete_secret(me, secret=copy)
    with pytest.raises(Conflict, match="shared with the project"):
        services.rename_secret(me, secret=copy, name="mine")


def test_what_a_project_has_itself_yields_nothing_and_makes_room_when_it_is_renamed(
    me: Actor, project: Project
) -> None:
    own = services.put_secret(me, project=project, kind="opaque", name="registry", fields={"k": "own"})
    share(me, Place(cluster=project.cluster))
    assert values_of(project) == {"registry": "own"}

    services.rename_secret(me, secret=own, name="mine")
    assert values_of(project) == {"mine": "own", "registry": "v"}


def test_a_name_is_taken_once_in_a_place(me: Actor, project: Project) -> None:
    share(me, Place())
    share(me, Place(cluster=project.cluster))
    with pytest.raises(Conflict):
        share(me, Place())


def test_who_shared_what_is_audited_where_it_lies(me: Actor, project: Project) -> None:
    share(me, Place(department=project.department), "canary")

    entry = AuditEntry.objects.get(object_type="organizations.SharedSecret")
    assert (entry.department_id, entry.object_name, entry.after["content"]) == (
        project.department_id, "registry", "changed",
    )  # fmt: skip


def test_many_projects_cost_few_statements(
    me: Actor, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        Project.objects.create(
            cluster=project.cluster, department=project.department, name=f"p{number}", namespace=f"p{number}"
        )
    with django_assert_max_num_queries(25):
        share(me, Place())
    assert ProjectSecret.objects.count() == 31
