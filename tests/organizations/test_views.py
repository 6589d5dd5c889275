from decimal import Decimal as D
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit import Actor
from accounts.audit_changes import changes_of
from accounts.models import AccessRule, AuditEntry, User
from clusters.models import Cluster, ClusterObject
from organizations import services
from organizations.models import Department, Project, Quota
from organizations.quota import COLUMNS
from organizations.quota_rows import ensure_quota_rows
from topology.models import NodePool

PAGES = [
    "/departments/",
    "/departments/new/",
    "/departments/{department}/",
    "/departments/{department}/events/",
    "/departments/{department}/fair-share/",
    "/departments/{department}/yaml/",
    "/departments/{department}/edit/",
    "/departments/{department}/delete/",
    "/projects/",
    "/projects/new/",
    "/projects/{project}/",
    "/projects/{project}/secrets/",
    "/projects/{project}/events/",
    "/projects/{project}/fair-share/",
    "/projects/{project}/yaml/",
    "/projects/{project}/edit/",
    "/projects/{project}/delete/",
    "/node-pools/{pool}/quotas/",
]
# Pages that reading departments and projects is not enough for.
WRITES = [path for path in PAGES if path.endswith(("/new/", "/edit/", "/delete/", "/secrets/"))]


def url(path: str, project: Project, pool: NodePool) -> str:
    return path.format(department=project.department_id, project=project.pk, pool=pool.pk)


@pytest.mark.usefixtures("quotas")
@pytest.mark.parametrize("path", PAGES)
def test_pages_answer_each_person_as_their_rights_say(
    path: str, request: pytest.FixtureRequest, client_of: Any, project: Project, default_pool: NodePool
) -> None:
    def answer(who: str) -> int:
        status: int = client_of(request.getfixturevalue(who)).get(url(path, project, default_pool)).status_code
        return status

    assert answer("admin") == 200
    assert answer("viewer") == (403 if path in WRITES else 200)
    assert answer("outsider") == (404 if "{" in path else 200)
    assert Client().get(url(path, project, default_pool)).status_code == 302


@pytest.mark.parametrize("path", PAGES)
def test_pages_render_before_any_quota_row_exists(
    path: str, page: Client, project: Project, default_pool: NodePool
) -> None:
    assert page.get(url(path, project, default_pool)).status_code == 200


@pytest.mark.parametrize("path", ["/departments/", "/departments/new/", "/projects/", "/projects/new/"])
def test_pages_render_without_a_cluster(path: str, page: Client, db: None) -> None:
    assert page.get(path).status_code == 200


def form_of(project: Project, **changes: str) -> dict[str, str]:
    """The matrix as the edit page shows it, with changes by column."""
    fields = {"description": "", "generation": str(project.generation)}
    for quota in project.quotas.all():
        prefix = f"{quota.node_pool_id}-"
        fields |= {prefix + f"{r}_{b}": "unlimited" for r in ("gpu", "cpu", "memory") for b in ("deserved", "limit")}
        fields |= {prefix + f"{r}_weight": "1" for r in ("gpu", "cpu", "memory")}
        fields |= {prefix + "gpu_deserved": "0", prefix + "priority": "100"}
        fields |= {prefix + name: value for name, value in changes.items()}
    return fields


@pytest.mark.usefixtures("quotas")
def test_quota_is_edited_in_the_units_of_people(page: Client, project: Project) -> None:
    Quota.objects.filter(department=project.department).update(gpu_deserved=8)
    fields = form_of(project, gpu_deserved="0.3", cpu_deserved="288", memory_limit="1.5", priority="120")

    answer = page.post(f"/projects/{project.pk}/edit/", fields)

    row = project.quotas.get()
    assert answer.status_code == 302
    assert (row.gpu_deserved, row.cpu_deserved, row.memory_limit, row.priority) == (D("0.3"), 288000, 1500, 120)
    content = page.get(f"/projects/{project.pk}/edit/").content.decode()
    assert 'value="0.3"' in content
    assert 'value="288"' in content


@pytest.mark.usefixtures("quotas")
@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("gpu_deserved", "-2"),
        ("gpu_deserved", ""),
        ("gpu_limit", "-1.0"),
        ("gpu_weight", "unlimited"),
        ("priority", "-1"),
        ("priority", "1000001"),
        ("gpu_limit", "1_000"),
        # Kept in millicores and MB, of which a column holds less than 10^12.
        ("cpu_limit", "1000000000"),
        ("memory_deserved", "999999999999"),
    ],
)
def test_row_3_amounts_that_are_none_are_marked_and_what_was_typed_stays(
    page: Client, project: Project, column: str, text: str
) -> None:
    answer = page.post(f"/projects/{project.pk}/edit/", form_of(project, **{column: text}))

    name = f"{project.quotas.get().node_pool_id}-{column}"
    matrix = answer.context["edit_matrix"]
    cells = [cell for row in matrix.pools[0].rows for cell in row.cells] + [matrix.pools[0].priority]
    assert answer.status_code == 422
    assert [(cell.name, cell.value) for cell in cells if cell.error] == [(name, text)]
    assert project.quotas.get().gpu_deserved == 0


@pytest.mark.usefixtures("quotas")
def test_row_3_lowering_below_what_is_held_is_shown_before_it_is_saved(page: Client, project: Project) -> None:
    Quota.objects.filter(department=project.department).update(gpu_deserved=8)
    Quota.objects.filter(project=project).update(
        gpu_deserved=8, gpu_limit=8, usage={"allocated": {"gpu": "6", "cpu": "0", "memory": "0"}}
    )
    fields = form_of(project, gpu_deserved="2", gpu_limit="2")

    asked = page.post(f"/projects/{project.pk}/edit/", fields)
    before = project.quotas.get().gpu_limit
    saved = page.post(f"/projects/{project.pk}/edit/", {**fields, "confirmed": "1"})

    assert asked.status_code == 422
    assert "default: the limit goes to 2 GPUs while 6 are held." in asked.content.decode()
    assert (before, saved.status_code, project.quotas.get().gpu_limit) == (8, 302, 2)


@pytest.mark.usefixtures("quotas")
def test_row_2_projects_above_their_department_are_warned_of_and_unlimited_never_counts_as_a_number(
    page: Client, project: Project
) -> None:
    Quota.objects.filter(department=project.department).update(gpu_deserved=8)
    other = Project.objects.create(
        cluster=project.cluster, department=project.department, name="other", namespace="other"
    )
    ensure_quota_rows(other)
    Quota.objects.filter(project=other).update(gpu_deserved=-1)

    fits = page.post(f"/projects/{project.pk}/edit/", form_of(project, gpu_deserved="8"))
    exceeds = page.post(f"/projects/{project.pk}/edit/", form_of(Project.objects.get(pk=project.pk), gpu_deserved="9"))

    assert fits.status_code == 302
    assert "the projects would deserve 9 GPUs, their department 8" in exceeds.content.decode()


@pytest.mark.usefixtures("quotas")
def test_row_2_unlimited_is_a_word_in_lists_and_csv_and_sorts_last(page: Client, project: Project) -> None:
    other = Project.objects.create(
        cluster=project.cluster, department=project.department, name="endless", namespace="endless"
    )
    ensure_quota_rows(other)
    Quota.objects.filter(project=other).update(gpu_deserved=-1)
    Quota.objects.filter(project=project).update(gpu_deserved=D("0.3"))

    listed = page.get("/projects/?sort=deserved")
    csv = b"".join(page.get("/projects/?format=csv&sort=deserved")).decode()  # type: ignore[call-overload]

    assert [row.row.name for row in listed.context["table"].rows] == ["assistant", "endless"]
    assert "unlimited" in listed.content.decode()
    assert "-1" not in csv
    assert [line.split(",")[5] for line in csv.splitlines()[1:3]] == ["0.3", "unlimited"]


@pytest.mark.usefixtures("quotas")
def test_rows_4_11_14_and_16_and_trap_t1_zero_prints_zero_and_borrowing_is_shown(
    page: Client, project: Project
) -> None:
    zero = dict.fromkeys(("gpu", "cpu", "memory"), "0")
    Quota.objects.filter(project=project).update(gpu_weight=0, usage={"allocated": zero, "requested": zero})
    idle = page.get(f"/projects/{project.pk}/")
    Quota.objects.filter(project=project).update(
        gpu_deserved=12, usage={"allocated": {**zero, "gpu": "17"}, "requested": {**zero, "gpu": "21"}}
    )
    busy = page.get(f"/projects/{project.pk}/")
    line = idle.context["matrix"][0].lines[0]
    assert (line.held, line.deserved, line.weight, line.unused) == (0, 0, 0, 0)
    assert "not measured" not in idle.content.decode()
    line = busy.context["matrix"][0].lines[0]
    assert (line.borrowed, line.waiting, line.unused) == (5, 4, 0)
    told = ("borrows 5 GPUs on default", "17 held, 12 deserved", "0 held, unlimited deserved")
    assert [words for words in told if words not in busy.content.decode()] == []


@pytest.mark.usefixtures("quotas")
def test_usage_that_nobody_reported_is_not_measured_and_never_zero(page: Client, project: Project) -> None:
    content = page.get(f"/projects/{project.pk}/").content.decode()

    assert "not measured" in content


def test_a_department_and_a_project_are_made(page: Client, cluster: Cluster, default_pool: NodePool) -> None:
    pk = default_pool.pk
    matrix = {f"{pk}-{r}_{b}": "unlimited" for r in ("cpu", "memory") for b in ("deserved", "limit")}
    matrix |= {f"{pk}-{r}_weight": "1" for r in ("gpu", "cpu", "memory")}
    matrix |= {f"{pk}-gpu_deserved": "32", f"{pk}-gpu_limit": "unlimited", f"{pk}-priority": "100"}

    page.post("/departments/new/", {"cluster": "cluster-a", "name": "research", **matrix})
    department = Department.objects.get(name="research")
    refused = page.post("/projects/new/", {"department": department.pk, "name": "Bad Name", **matrix})
    page.post("/projects/new/", {"department": department.pk, "name": "assistant", **matrix})

    project = Project.objects.get()
    assert (department.quotas.get().gpu_deserved, project.quotas.get().gpu_deserved) == (32, 32)
    assert (refused.status_code, "name" in refused.context["form"].errors) == (422, True)
    assert (project.department, project.namespace) == (department, "runai-assistant")


def test_a_stale_form_is_refused(page: Client, project: Project) -> None:
    ensure_quota_rows(project)
    fields = form_of(project, gpu_deserved="1")
    Project.objects.update(generation=7)

    answer = page.post(f"/projects/{project.pk}/edit/", {**fields, "description": "x", "confirmed": "1"})

    assert (answer.status_code, "changed by somebody else" in answer.content.decode()) == (422, True)
    assert project.quotas.get().gpu_deserved == 0


def observe(cluster: Cluster, name: str, **spec: Any) -> None:
    ClusterObject.objects.create(
        cluster=cluster, uid=name, name=name, resource_version="1", created_at=timezone.now(),
        group="scheduling.run.ai", plural="queues", made_by="kubectl-create",
        manifest={"metadata": {"name": name}, "spec": spec},
    )  # fmt: skip


def test_traps_33_and_34_dangerous_queues_of_others_are_named_on_the_lists(page: Client, cluster: Cluster) -> None:
    observe(cluster, "loop-a", parentQueue="loop-b")
    observe(cluster, "loop-b", parentQueue="loop-a")
    observe(cluster, "slow", preemptMinRuntime="1d")
    observe(cluster, "below", resources={"gpu": {"quota": -7, "limit": -2}})

    answer = page.get("/departments/")

    content = answer.content.decode()
    assert "Queues are each other’s parent: loop-a → loop-b → loop-a." in content
    assert "Queue slow has a duration that cannot be read, preemptMinRuntime: 1d." in content
    assert "Queue below has an amount below −1: gpu.quota: -7." in content
    assert "Queue below has an amount below −1: gpu.limit: -2." in content
    assert [queue.name for queue in answer.context["foreign"]] == ["below", "loop-a", "loop-b", "slow"]


@pytest.mark.usefixtures("quotas")
def test_people_of_one_project_see_neither_names_nor_links_of_the_others(
    researcher: User, client_of: Any, project: Project
) -> None:
    other = Project.objects.create(
        cluster=project.cluster, department=project.department, name="hidden-one", namespace="hidden"
    )
    ensure_quota_rows(other)
    Quota.objects.filter(project=other).update(gpu_deserved=4)
    mine = client_of(researcher)

    listed, detail = mine.get("/projects/").content.decode(), mine.get(f"/projects/{project.pk}/").content.decode()

    assert "hidden-one" not in listed + detail
    assert "other projects" in detail
    assert f"/departments/{project.department_id}/" not in listed + detail
    assert mine.get(f"/projects/{other.pk}/").status_code == 404
    assert mine.get(f"/projects/{project.pk}/edit/").status_code == 403
    assert mine.get(f"/projects/{project.pk}/secrets/").status_code == 200


@pytest.mark.usefixtures("quotas")
def test_who_may_not_read_credentials_does_not_learn_their_names(
    page: Client, viewer: User, client_of: Any, project: Project
) -> None:
    page.post(f"/projects/{project.pk}/secrets/", {"kind": "opaque", "name": "payroll-db", "content": "A=1"})

    content = client_of(viewer).get(f"/projects/{project.pk}/").content.decode()

    assert "payroll-db" in page.get(f"/projects/{project.pk}/").content.decode()
    assert "payroll-db" not in content
    assert "/secrets/" not in content


@pytest.mark.usefixtures("quotas")
def test_the_yaml_tab_has_queues_and_namespace_and_no_secret(page: Client, admin: User, project: Project) -> None:
    services.put_secret(Actor(admin, "page"), project=project, kind="hugging-face", fields={"token": "hf_abc"})

    applied = page.get(f"/projects/{project.pk}/yaml/").context["applied"]

    assert "kind: Namespace" in applied
    assert "parentQueue: research" in applied
    assert "kind: Secret" not in applied


@pytest.mark.usefixtures("quotas")
def test_members_come_with_where_their_role_is_from(
    page: Client, researcher: User, department_admin: User, project: Project
) -> None:
    assert AccessRule.objects.count() == 3

    members = page.get(f"/projects/{project.pk}/").context["members"]

    assert [(m.name, m.inherited) for m in members] == [
        ("department-admin@example.org", "department"), ("researcher@example.org", ""),
    ]  # fmt: skip


def test_lists_take_a_fixed_number_of_queries(
    page: Client, department: Department, django_assert_max_num_queries: Any
) -> None:
    for n in range(20):
        ensure_quota_rows(
            Project.objects.create(cluster=department.cluster, department=department, name=f"p{n}", namespace=f"p{n}")
        )

    with django_assert_max_num_queries(18):
        page.get("/projects/")
    with django_assert_max_num_queries(18):
        page.get("/departments/")


def test_a_new_department_tells_a_bad_name_and_a_bad_quota_at_once(page: Client, default_pool: NodePool) -> None:
    fields = {f"{default_pool.pk}-{column}": "1" for column in (*COLUMNS, "priority")}

    answer = page.post(
        "/departments/new/",
        {**fields, "name": "No name", "description": "a\u202eb", f"{default_pool.pk}-gpu_limit": "many"},
    )

    shown = answer.content.decode()
    assert answer.status_code == 422
    assert "“No name” cannot be a name" in shown
    assert "Character 2 is U+202E RIGHT-TO-LEFT OVERRIDE" in shown
    assert "&#x27;many&#x27; is not a number" in shown
    assert not Department.objects.filter(name="No name").exists()


def test_a_new_project_tells_a_bad_name_namespace_and_quota_at_once(
    page: Client, project: Project, default_pool: NodePool
) -> None:
    fields = {f"{default_pool.pk}-{column}": "1" for column in (*COLUMNS, "priority")}
    given = {"name": "No name", "namespace": "kube-system", "department": str(project.department_id)}

    answer = page.post("/projects/new/", {**fields, **given, f"{default_pool.pk}-gpu_limit": "-2"})

    shown = answer.content.decode()
    assert answer.status_code == 422
    assert "“No name” cannot be a name" in shown
    assert "The namespace kube-system is the cluster’s own" in shown
    assert "&#x27;-2&#x27; is negative" in shown


def test_the_audit_log_says_unlimited(page: Client, project: Project, default_pool: NodePool) -> None:
    ensure_quota_rows(project)
    for limit in ("9", "-1"):
        page.post(f"/projects/{project.pk}/edit/", form_of(project, gpu_limit=limit))
        project.refresh_from_db()

    newest, older = AuditEntry.objects.filter(object_type="organizations.Project", action="update")[:2]

    assert "resources.default.gpu_limit: 9 → unlimited" in [change.text() for change in changes_of(newest)]
    assert "resources.default.gpu_limit: unlimited → 9" in [change.text() for change in changes_of(older)]
