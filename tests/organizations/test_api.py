import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from clusters.models import Cluster
from organizations.models import Department, Project, Quota
from organizations.quota_rows import ensure_quota_rows
from organizations.services import ensure_default_department
from tests.topology.test_api import check, send
from topology.models import NodePool


@pytest.fixture
def api(admin: User, client_of: Any) -> Client:
    client = client_of(admin)
    client.defaults["HTTP_IF_MATCH"] = "*"  # If-Match has tests of its own in tests/api
    return client


def body(cluster: Cluster, **more: Any) -> dict[str, Any]:
    return {"name": "team", "clusterId": str(cluster.pk), "resources": [], **more}


def gpus(pool: NodePool, **amounts: Any) -> dict[str, Any]:
    return {"nodePool": {"id": str(pool.pk), "name": pool.name}, "gpu": amounts}


def test_a_department_is_created_listed_changed_and_deleted(
    api: Client, cluster: Cluster, default_pool: NodePool
) -> None:
    resources = [{**gpus(default_pool, deserved=32, limit=None), "cpu": {"deserved": None}, "priority": "High"}]

    made = send(api, "post", "/api/v1/org-unit/departments", body(cluster, resources=resources))
    path = f"/api/v1/org-unit/departments/{made.json()['id']}"
    changed = send(api, "patch", f"{path}/resources", [gpus(default_pool, deserved=0.3, overQuotaWeight=0)])
    listed = api.get("/api/v1/org-unit/departments?filterBy=name==team").json()
    counted = api.get("/api/v1/org-unit/departments/count").json()
    deleted = api.delete(path)

    assert (made.status_code, changed.status_code, deleted.status_code, counted) == (201, 200, 204, {"count": 1})
    assert made.json()["resources"] == [
        {
            "nodePool": {"id": str(default_pool.pk), "name": "default"},
            "gpu": {"deserved": 32, "limit": None, "overQuotaWeight": 1},
            "cpu": {"deserved": None, "limit": None, "overQuotaWeight": 1},
            "memory": {"deserved": None, "limit": None, "overQuotaWeight": 1, "units": "MB"},
            "priority": "High",
        }
    ]
    assert changed.json()[0]["gpu"] == {"deserved": 0.3, "limit": None, "overQuotaWeight": 0}
    assert made.json()["totalResources"] == {"gpuQuota": 32, "cpuQuota": None, "memoryQuota": None}
    check("Department", made.json())
    check("DepartmentForList", listed["departments"][0])


def test_row_5_a_project_without_cpu_and_memory_goes_to_the_default_department(api: Client, cluster: Cluster) -> None:
    department = ensure_default_department(cluster)
    pool = NodePool.objects.get()

    made = send(api, "post", "/api/v1/org-unit/projects", body(cluster, resources=[gpus(pool, deserved=8)]))

    document = made.json()
    assert (made.status_code, document["parentId"], document["status"]["namespace"]) == (
        201, str(department.pk), "runai-team",
    )  # fmt: skip
    row = Quota.objects.get(project__name="team")
    assert (row.gpu_deserved, row.cpu_deserved, row.memory_limit) == (8, -1, -1)
    assert Project.objects.get().adopts_namespace is False
    check("Project", document)


def test_a_project_is_listed_changed_and_deleted(api: Client, project: Project, default_pool: NodePool) -> None:
    path = f"/api/v1/org-unit/projects/{project.pk}"
    resources = [gpus(default_pool, deserved=4)]

    changed = send(api, "put", path, {"description": "chat", "resources": resources})
    listed = api.get("/api/v1/org-unit/projects?search=assist&filterBy=parentName==research").json()
    deleted = api.delete(path)

    assert (changed.status_code, changed.json()["description"]) == (200, "chat")
    assert changed.json()["totalResources"]["gpuQuota"] == 4
    assert [p["name"] for p in listed["projects"]] == ["assistant"]
    assert (deleted.status_code, deleted.json()["code"]) == (202, 202)
    check("Project", listed["projects"][0])


@pytest.mark.parametrize(
    ("resources", "field"),
    [
        ({"gpu": {"deserved": -2}}, "resources[0].gpu.deserved"),
        ({"gpu": {"deserved": None}}, "resources[0].gpu.deserved"),
        ({"gpu": {"limit": "-1.0"}}, "resources[0].gpu.limit"),
        ({"gpu": {"overQuotaWeight": -1}}, "resources[0].gpu.overQuotaWeight"),
        ({"memory": {"deserved": 1, "units": "GiB"}}, "resources[0].memory.units"),
        ({"gpu": []}, "resources[0].gpu"),
        ({"nodePool": {"id": "999"}}, "resources[0].nodePool.id"),
        ({"nodePool": {"id": 0}}, "resources[0].nodePool.id"),
        ({"priority": "Urgent"}, "resources[0].priority"),
        ({"disk": {}}, "resources[0].disk"),
        ({"gpu": {"quota": 4}}, "resources[0].gpu.quota"),
        ({"cpu": {"deserved": 1, "units": "GB"}}, "resources[0].cpu.units"),
        ({"nodePool": {"name": "elsewhere"}}, "resources[0].nodePool.name"),
    ],
)
def test_row_3_bad_amounts_are_400_naming_the_field(api: Client, project: Project, resources: Any, field: str) -> None:
    path = f"/api/v1/org-unit/projects/{project.pk}/resources"

    answer = send(api, "patch", path, [resources])

    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["faults"]] == [field]
    assert AuditEntry.objects.count() == 0


def test_row_3_minus_one_and_null_are_no_limit_and_zero_is_a_bound(
    api: Client, project: Project, default_pool: NodePool
) -> None:
    path = f"/api/v1/org-unit/projects/{project.pk}/resources"
    send(api, "patch", path, [gpus(default_pool, deserved=4, limit=0)])
    row = Quota.objects.get(project=project)
    assert (row.gpu_limit, row.gpu_deserved) == (0, 4)

    answer = send(api, "patch", path, [gpus(default_pool, limit=-1)])

    assert answer.json()[0]["gpu"] == {"deserved": 4, "limit": None, "overQuotaWeight": 1}
    assert Quota.objects.get(project=project).gpu_limit == -1


def test_a_pool_that_is_given_by_id_and_another_name_is_told_by_its_name(
    api: Client, project: Project, default_pool: NodePool
) -> None:
    pool = {"id": str(default_pool.pk), "name": "elsewhere"}

    answer = send(api, "patch", f"/api/v1/org-unit/projects/{project.pk}/resources", [{"nodePool": pool}])

    fault = answer.json()["faults"][0]
    assert (answer.status_code, fault["field"], fault["allowed"]) == (400, "resources[0].nodePool.name", "default")


def test_memory_is_converted_from_its_unit(api: Client, project: Project) -> None:
    path = f"/api/v1/org-unit/projects/{project.pk}/resources"

    for amount, units, expected in ((2, "GB", 2000), (1000, "Mib", 1048.576), (5, "MB", 5), (-1, "GB", None)):
        answer = send(api, "put", path, [{"memory": {"deserved": amount, "units": units}}])
        assert answer.json()[0]["memory"]["deserved"] == expected


def test_what_kai_has_no_counterpart_of_is_refused_and_empty_parts_are_taken(api: Client, cluster: Cluster) -> None:
    inert = {"schedulingRules": {"trainingJobTimeLimitSeconds": None}, "defaultNodePools": [], "nodeTypes": {}}

    taken = send(api, "post", "/api/v1/org-unit/departments?dryRun=true", body(cluster, **inert))
    refused = send(api, "post", "/api/v1/org-unit/departments", body(cluster, defaultNodePools=["h200"]))

    assert (taken.status_code, Department.objects.count()) == (201, 0)
    assert (refused.status_code, refused.json()["faults"][0]["field"]) == (400, "defaultNodePools")


def test_row_28_a_department_with_projects_is_409_and_names_them(api: Client, project: Project) -> None:
    answer = api.delete(f"/api/v1/org-unit/departments/{project.department_id}")

    assert (answer.status_code, "assistant" in answer.json()["message"]) == (409, True)


def test_row_86_unknown_malformed_and_invisible_ids_are_one_404(
    api: Client, outsider: User, client_of: Any, project: Project
) -> None:
    foreign = client_of(outsider)
    answers = [
        api.get("/api/v1/org-unit/projects/999"),
        api.get("/api/v1/org-unit/projects/%00"),
        api.get("/api/v1/org-unit/departments/a-b"),
        foreign.get(f"/api/v1/org-unit/projects/{project.pk}"),
        foreign.delete(f"/api/v1/org-unit/projects/{project.pk}"),
        send(foreign, "patch", f"/api/v1/org-unit/departments/{project.department_id}/resources", []),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_people_see_their_own_part_and_viewers_may_not_write(
    viewer: User, researcher: User, outsider: User, client_of: Any, project: Project
) -> None:
    other = Department.objects.create(cluster=project.cluster, name="other")
    Project.objects.create(cluster=project.cluster, department=other, name="theirs", namespace="theirs")

    def names(user: User) -> list[str]:
        return [p["name"] for p in client_of(user).get("/api/v1/org-unit/projects").json()["projects"]]

    assert names(viewer) == ["assistant", "theirs"]
    assert names(researcher) == ["assistant"]
    assert names(outsider) == []
    denied = client_of(viewer).delete(f"/api/v1/org-unit/projects/{project.pk}")
    assert (denied.status_code, "project:delete" in denied.json()["message"]) == (403, True)


def test_usage_that_is_not_known_is_absent_and_never_zero(
    api: Client, project: Project, default_pool: NodePool
) -> None:
    send(api, "put", f"/api/v1/org-unit/projects/{project.pk}/resources", [gpus(default_pool, deserved=1)])
    before = api.get(f"/api/v1/org-unit/projects/{project.pk}").json()["status"]
    Quota.objects.update(usage={"allocated": {"gpu": "0.3", "cpu": "0", "memory": "0"}})
    after = api.get(f"/api/v1/org-unit/projects/{project.pk}").json()

    assert before["quotaStatus"] == {}
    assert after["status"]["quotaStatus"]["allocated"] == {"gpu": 0.3, "cpu": 0, "memory": 0}
    check("Project", after)


def test_priorities_are_listed(api: Client) -> None:
    found = api.get("/api/v1/org-unit/priorities").json()["priorities"]

    assert [(p["name"], p["value"]) for p in found if p["isDefault"]] == [("Normal", 100)]


def test_listing_projects_takes_a_fixed_number_of_queries(
    api: Client, department: Department, django_assert_num_queries: Any
) -> None:
    for n in range(20):
        ensure_quota_rows(
            Project.objects.create(cluster=department.cluster, department=department, name=f"p{n}", namespace=f"p{n}")
        )

    with django_assert_num_queries(5):  # session, user, access rules, projects with departments, quotas with pools
        answer = api.get("/api/v1/org-unit/projects?limit=10")

    assert (len(answer.json()["projects"]), answer.json()["next"]) == (10, 10)
    assert json.loads(answer.content)["projects"][0]["name"] == "p0"


@pytest.mark.parametrize(
    ("query", "told"),
    [("", False), ("?verbosity=brief", False), ("?verbosity=meta", False), ("?verbosity=verbose", True)],
)
def test_departments_are_listed_with_their_status_where_that_is_asked_for(
    api: Client, department: Department, query: str, told: bool
) -> None:
    (listed,) = api.get(f"/api/v1/org-unit/departments{query}").json()["departments"]

    assert ("status" in listed) is told
    assert (
        api.get("/api/v1/org-unit/departments?verbosity=all").json()["faults"][0]["allowed"] == "brief, meta, verbose"
    )
