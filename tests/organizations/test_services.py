from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal as D
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import Actor
from accounts.models import AuditEntry, User
from clusters.models import Cluster, ClusterObject
from core.errors import Conflict, InvalidInput, NotFound, NotPermitted
from organizations import services
from organizations.models import Department, Project, ProjectSecret, Quota
from organizations.secrets import decrypt
from organizations.services import ProjectInput, QuotaInput
from topology.models import NodePool
from topology.services import create_node_pool, delete_node_pool

Act = Callable[[User], Actor]


@pytest.fixture
def me(admin: User, actor: Act) -> Actor:
    return actor(admin)


def quota_of(owner: Department | Project, pool: NodePool) -> Quota:
    return owner.quotas.get(node_pool=pool)


def test_a_department_gets_a_quota_row_on_every_pool(me: Actor, cluster: Cluster, default_pool: NodePool) -> None:
    other = NodePool.objects.create(cluster=cluster, name="h200", label_key="p", label_value="h200")

    department = services.create_department(
        me, cluster=cluster, name="research", quotas=[QuotaInput(default_pool, {"gpu_deserved": D(32)}, priority=120)]
    )

    assert list(department.quotas.order_by("queue_name").values_list("queue_name", "gpu_deserved", "priority")) == [
        ("research", D(32), 120), ("research-h200", D(0), 100),
    ]  # fmt: skip
    assert quota_of(department, other).cpu_deserved == D(-1)
    assert AuditEntry.objects.get().after["resources"] == {"default": {"gpu_deserved": "32", "priority": 120}}


def test_row_5_a_project_without_cpu_and_memory_is_made_and_both_are_unlimited(
    me: Actor, department: Department, default_pool: NodePool
) -> None:
    project = services.create_project(
        me,
        department=department,
        given=ProjectInput("assistant", quotas=[QuotaInput(default_pool, {"gpu_deserved": D("0.3")})]),
    )

    row = quota_of(project, default_pool)
    assert (project.namespace, project.adopts_namespace) == ("runai-assistant", False)
    assert (row.gpu_deserved, row.gpu_limit, row.gpu_weight) == (D("0.3"), D(-1), D(1))
    assert (row.cpu_deserved, row.memory_deserved, row.memory_limit) == (D(-1), D(-1), D(-1))


def test_queue_names_of_department_and_project_of_one_name_stay_apart(me: Actor, cluster: Cluster) -> None:
    department = services.create_department(me, cluster=cluster, name="research")
    project = services.create_project(me, department=department, given=ProjectInput("research"))

    names = [department.quotas.get().queue_name, project.quotas.get().queue_name]
    assert names[0] == "research"
    assert names[1].startswith("research-")


def test_a_queue_that_somebody_made_keeps_its_name(me: Actor, cluster: Cluster, default_pool: NodePool) -> None:
    ClusterObject.objects.create(
        cluster=cluster, uid="1", name="research", resource_version="1", created_at=timezone.now(),
        group="scheduling.run.ai", plural="queues", manifest={}, made_by="helm",
    )  # fmt: skip

    department = services.create_department(me, cluster=cluster, name="research")

    assert department.quotas.get().queue_name.startswith("research-")


@pytest.mark.parametrize("name", ["1a", "a-", "A", "", "a" * 41, "a_b", "a\n"])
def test_bad_names_are_refused(me: Actor, cluster: Cluster, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        services.create_department(me, cluster=cluster, name=name)
    assert Department.objects.count() == 0


@pytest.mark.parametrize(
    "namespace",
    ["kube-system", "default", "Team", "a" * 64, "a.b", "kube-x", "kai-resource-reservation", "grove-system"],
)
def test_bad_namespaces_are_refused(me: Actor, department: Department, namespace: str) -> None:
    with pytest.raises(InvalidInput, match="requestedNamespace"):
        services.create_project(me, department=department, given=ProjectInput("x", namespace=namespace))


def test_taken_names_and_namespaces_are_conflicts(me: Actor, project: Project) -> None:
    with pytest.raises(Conflict, match="already exists"):
        services.create_project(me, department=project.department, given=ProjectInput("assistant"))
    with pytest.raises(Conflict, match="belongs to another project"):
        services.create_project(me, department=project.department, given=ProjectInput("b", namespace="runai-assistant"))
    with pytest.raises(Conflict, match="already exists"):
        services.create_department(me, cluster=project.cluster, name="research")


def test_update_writes_what_differs_and_records_it(me: Actor, project: Project, default_pool: NodePool) -> None:
    changed = services.update_project(
        me, project=project, quotas=[QuotaInput(default_pool, {"gpu_deserved": D(4), "gpu_weight": D(0)})]
    )

    entry = AuditEntry.objects.get()
    assert (changed.generation, changed.phase) == (2, "Updating")
    assert entry.before == {"resources": {"default": {"gpu_deserved": "0", "gpu_weight": "1"}}}
    assert entry.after == {"resources": {"default": {"gpu_deserved": "4", "gpu_weight": "0"}}}
    same = services.update_project(me, project=changed, quotas=[QuotaInput(default_pool, {"gpu_deserved": D(4)})])
    assert (same.generation, AuditEntry.objects.count()) == (2, 1)


def test_quota_of_a_foreign_pool_or_twice_is_refused(me: Actor, project: Project, default_pool: NodePool) -> None:
    other = Cluster.objects.create(name="b", server="http://127.0.0.1:2", credential=b"")
    foreign = NodePool.objects.create(cluster=other, name="default")

    for quotas in ([QuotaInput(foreign)], [QuotaInput(default_pool), QuotaInput(default_pool)]):
        with pytest.raises(InvalidInput, match=r"resources\[.\].nodePool"):
            services.update_project(me, project=project, quotas=quotas)


def test_an_amount_that_the_column_cannot_hold_is_refused_by_name(
    me: Actor, project: Project, default_pool: NodePool
) -> None:
    """NUMERIC(18, 6) holds less than 10^12. What is beyond it could be written to SQLite and never be read again."""
    amounts = {"cpu_limit": D(10) ** 12 - D("0.000001"), "memory_limit": D(10) ** 12}

    with pytest.raises(InvalidInput) as caught:
        services.update_project(me, project=project, quotas=[QuotaInput(default_pool, amounts)])

    assert [fault.field for fault in caught.value.faults] == ["resources[0].memory_limit"]


def test_row_28_a_department_with_projects_is_not_deleted_and_they_are_named(me: Actor, project: Project) -> None:
    with pytest.raises(Conflict) as caught:
        services.delete_department(me, department=project.department)

    assert caught.value.objects == ("assistant",)
    project.department.refresh_from_db()
    assert not project.department.is_being_deleted


def test_row_28_names_can_be_used_again_after_deletion(me: Actor, project: Project) -> None:
    department = project.department
    deleted = services.delete_project(me, project=project)
    with pytest.raises(Conflict, match="still being deleted"):
        services.create_project(me, department=department, given=ProjectInput("assistant"))

    deleted.delete()  # what the runner does when nothing is left in the cluster

    again = services.create_project(me, department=department, given=ProjectInput("assistant"))
    assert (again.namespace, again.quotas.get().queue_name) == ("runai-assistant", "assistant")


def test_row_26_the_default_department_exists_once_and_cannot_be_deleted(me: Actor, cluster: Cluster) -> None:
    department = services.ensure_default_department(cluster)

    assert services.ensure_default_department(cluster) == department
    assert department.quotas.get().gpu_deserved == D(-1)
    with pytest.raises(Conflict, match="default"):
        services.delete_department(me, department=department)


def test_a_new_pool_gives_every_department_and_project_a_row_with_no_gpus(
    me: Actor, cluster: Cluster, project: Project
) -> None:
    pool = create_node_pool(me, cluster=cluster, name="h200", settings={"label_key": "p", "label_value": "h200"})

    rows = Quota.objects.filter(node_pool=pool).order_by("queue_name")
    assert [(r.queue_name, r.gpu_deserved, r.gpu_limit, r.cpu_deserved) for r in rows] == [
        ("assistant-h200", D(0), D(-1), D(-1)), ("research-h200", D(0), D(-1), D(-1)),
    ]  # fmt: skip


def test_deleting_a_pool_makes_its_owners_due(me: Actor, cluster: Cluster, project: Project) -> None:
    pool = create_node_pool(me, cluster=cluster, name="h200", settings={"label_key": "p", "label_value": "h200"})
    later = timezone.now() + timezone.timedelta(hours=1)
    Project.objects.update(next_check_at=later)

    delete_node_pool(me, pool=pool)

    project.refresh_from_db()
    assert project.next_check_at < later


@pytest.mark.parametrize("who", ["viewer", "researcher", "outsider"])
def test_rights_are_asked_for_and_nothing_is_written(
    who: str, request: pytest.FixtureRequest, actor: Act, project: Project
) -> None:
    someone = actor(request.getfixturevalue(who))
    department = project.department
    acts: list[tuple[str, Callable[[], Any]]] = [
        ("department:create", lambda: services.create_department(someone, cluster=project.cluster, name="x")),
        ("department:update", lambda: services.update_department(someone, department=department)),
        ("department:delete", lambda: services.delete_department(someone, department=department)),
        ("project:create", lambda: services.create_project(someone, department=department, given=ProjectInput("x"))),
        ("project:update", lambda: services.update_project(someone, project=project)),
        ("project:delete", lambda: services.delete_project(someone, project=project)),
    ]
    for right, act in acts:
        with pytest.raises(NotPermitted, match=right):
            act()
    assert AuditEntry.objects.count() == 0
    assert (Department.objects.count(), Project.objects.count()) == (1, 1)


def test_a_department_administrator_makes_projects_in_their_department_only(
    department_admin: User, actor: Act, department: Department
) -> None:
    mine = services.create_project(actor(department_admin), department=department, given=ProjectInput("mine"))
    other = Department.objects.create(cluster=department.cluster, name="other")

    assert mine.created_by == "department-admin@example.org"
    with pytest.raises(NotPermitted):
        services.create_project(actor(department_admin), department=other, given=ProjectInput("theirs"))


def test_j1_a_hugging_face_token_is_stored_encrypted_with_both_keys(me: Actor, project: Project) -> None:
    secret = services.put_secret(me, project=project, kind="hugging-face", fields={"token": " hf_abc "})

    assert (secret.name, secret.keys) == ("hf-token-secret", ["HF_TOKEN", "token"])
    assert b"hf_abc" not in bytes(ProjectSecret.objects.get().content)
    assert decrypt(ProjectSecret.objects.get().content) == {"HF_TOKEN": "hf_abc", "token": "hf_abc"}
    assert "hf_abc" not in str(list(AuditEntry.objects.values()))


def test_a_secret_wakes_its_project_and_is_no_change_of_it(me: Actor, project: Project) -> None:
    """Who opened the project before can still save or delete it: they are not told that somebody changed it."""
    later = timezone.now() + timedelta(hours=1)
    opened = Project.objects.get(pk=project.pk)

    def settled() -> Project:
        found = Project.objects.get(pk=project.pk)
        assert found.next_check_at < later
        Project.objects.filter(pk=project.pk).update(next_check_at=later)
        return found

    Project.objects.filter(pk=project.pk).update(next_check_at=later)
    secret = services.put_secret(me, project=project, kind="opaque", name="env", fields={"A": "1"})
    assert settled().generation == opened.generation
    services.rename_secret(me, secret=secret, name="other")
    assert settled().generation == opened.generation
    services.delete_secret(me, secret=secret)
    assert settled().generation == opened.generation

    assert services.delete_project(me, project=opened).is_being_deleted


def test_no_secret_is_written_into_a_project_that_goes(me: Actor, project: Project) -> None:
    """Whoever opened the project before its deletion holds a row that knows nothing of it."""
    secret = services.put_secret(me, project=project, kind="opaque", name="env", fields={"A": "1"})
    opened = Project.objects.get(pk=project.pk)
    services.delete_project(me, project=project)

    with pytest.raises(Conflict, match="is being deleted"):
        services.put_secret(me, project=opened, kind="opaque", name="late", fields={"A": "1"})
    with pytest.raises(Conflict, match="is being deleted"):
        services.rename_secret(me, secret=secret, name="late")
    assert [row.name for row in ProjectSecret.objects.all()] == ["env"]


def test_a_secret_that_somebody_deleted_meanwhile_is_not_found(me: Actor, project: Project) -> None:
    secret = services.put_secret(me, project=project, kind="opaque", name="env", fields={"A": "1"})
    opened = ProjectSecret.objects.select_related("project").get(pk=secret.pk)
    services.delete_secret(me, secret=secret)

    with pytest.raises(NotFound):
        services.rename_secret(me, secret=opened, name="other")
    with pytest.raises(NotFound):
        services.delete_secret(me, secret=opened)


def test_secrets_of_the_other_kinds(me: Actor, project: Project) -> None:
    login = {"server": "nvcr.io", "username": "$oauthtoken", "password": "p"}
    registry = services.put_secret(me, project=project, kind="registry", name="pull", fields=login)
    opaque = services.put_secret(me, project=project, kind="opaque", name="env", fields={"A": "1"})

    assert (registry.keys, opaque.keys) == ([".dockerconfigjson"], ["A"])
    assert '"auth": "JG9hdXRodG9rZW46cA=="' in decrypt(registry.content)[".dockerconfigjson"]


@pytest.mark.parametrize(
    ("kind", "name", "fields", "field"),
    [
        ("hugging-face", "", {"token": " "}, "token"),
        ("registry", "pull", {"server": "x"}, "username"),
        ("opaque", "Env", {"A": "1"}, "name"),
        ("opaque", "env", {}, "content"),
        ("opaque", "env", {"a b": "1"}, "content"),
        ("opaque", "env", {"a": "x" * 300_000}, "content"),
        ("ssh", "env", {"a": "1"}, "kind"),
    ],
)
def test_bad_secrets_are_refused(me: Actor, project: Project, kind: str, name: str, fields: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        services.put_secret(me, project=project, kind=kind, name=name, fields=fields)

    assert field in [fault.field for fault in caught.value.faults]
    assert ProjectSecret.objects.count() == 0


def test_two_secrets_cannot_write_one_object(me: Actor, project: Project) -> None:
    services.put_secret(me, project=project, kind="hugging-face", fields={"token": "x"})

    with pytest.raises(Conflict, match="same object"):
        services.put_secret(me, project=project, kind="opaque", name="hf-token", fields={"token": "y"})


def test_researchers_manage_secrets_of_their_project_and_others_do_not(
    researcher: User, viewer: User, actor: Act, project: Project
) -> None:
    secret = services.put_secret(actor(researcher), project=project, kind="hugging-face", fields={"token": "x"})

    with pytest.raises(NotPermitted, match="credentials:delete"):
        services.delete_secret(actor(viewer), secret=secret)
    services.delete_secret(actor(researcher), secret=secret)
    assert ProjectSecret.objects.count() == 0
