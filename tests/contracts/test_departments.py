"""Two departments of one cluster: neither finds an id, a name or a count of the other, anywhere."""

import json
import re
import uuid

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit import record
from accounts.models import AccessRule, Role, ScopeType, User
from accounts.permissions import DEPARTMENT_ADMINISTRATOR, VIEWER
from accounts.scopes import Target
from accounts.services import grant
from clusters.models import ClusterEvent
from organizations.models import Department, Project, Quota
from tests.conftest import make_user
from tests.contracts.matrix import QUERIES
from tests.contracts.urlconf import PUBLIC, path_of, routes
from topology.models import NodePool
from workloads import document as documents
from workloads.blueprints import blueprint
from workloads.models import Workload

SPAN = "?start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z"
# Words that occur nowhere else.
NAMES = ("zebrafinch", "yellowhammer", "waxwing", "vireo-person")


@pytest.fixture
def hidden(cluster, default_pool, admin, actor):
    """Another department with a project, a workload, quota, people, and a history of its own."""
    department = Department.objects.create(cluster=cluster, name="zebrafinch", phase="Ready")
    project = Project.objects.create(
        cluster=cluster, department=department, name="yellowhammer", namespace="runai-yellowhammer", phase="Ready"
    )
    for owner in ({"department": department}, {"project": project}):
        name = "zebrafinch" if "department" in owner else "yellowhammer"
        Quota.objects.create(**owner, cluster=cluster, node_pool=default_pool, queue_name=name, gpu_deserved=8)
    workload = Workload.objects.create(
        project=project,
        cluster=cluster,
        node_pool=default_pool,
        name="waxwing",
        source=blueprint("vllm-aggregated"),
        manifest=documents.load(blueprint("vllm-aggregated")),
        phase="Pending",
        created_at=timezone.now(),
    )
    person = make_user("vireo-person")
    target = Target(ScopeType.PROJECT, str(project.pk), project.scope, project.name)
    rule = grant(actor(admin), subject=person, role="L1 researcher", target=target)
    return {
        "departments": department,
        "projects": project,
        "workloads": workload,
        "access-rules": rule,
        "users": person,
    }


@pytest.fixture
def insider(department, project, cast):
    """The administrator of the department that the cast belongs to."""
    return make_user("insider", DEPARTMENT_ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, department.cluster)


def content_of(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.long
def test_no_name_of_another_department_is_on_any_page_list_export_or_search(cast, hidden, insider, client_of):
    client, found = client_of(insider), {}
    for route in routes():
        if route.name in PUBLIC:
            continue
        path = path_of(route, cast) + QUERIES.get(route.name, "")
        for url in (path, f"{path}?format=csv", f"{path}?q=zebra", f"{path}?search=zebra"):
            text = content_of(client.get(url)).decode(errors="replace")
            names = [name for name in NAMES if name in text]
            if names:
                found[url] = names

    assert found == {}


def test_every_id_of_another_department_is_answered_like_an_absent_one(cast, hidden, insider, client_of):
    client, wrong = client_of(insider), {}
    for route in routes():
        if route.kind not in hidden or route.name in PUBLIC:
            continue
        theirs = hidden[route.kind].pk
        absent = uuid.uuid4() if isinstance(theirs, uuid.UUID) else 987654321
        for method in ("get", "post", "put", "patch", "delete") if route.is_api else ("get", "post"):
            one, other = (ask(client, method, route.path(pk)) for pk in (theirs, absent))
            if one != other:
                wrong[f"{method} {route.name}"] = (one, other)

    assert wrong == {}


def ask(client, method, path):
    """(status, body without the ids asked for, number of queries)."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        if method == "get" or not path.startswith("/api/"):
            answer = getattr(client, method)(path)
        else:
            answer = getattr(client, method)(path, data=json.dumps({}), content_type="application/json")
    body = content_of(answer).decode(errors="replace")
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    return answer.status_code, json.loads(body) if is_json and body else answer.status_code, len(queries)


def test_counts_leave_out_another_department(cast, hidden, insider, client_of):
    client = client_of(insider)
    counts = {
        path: client.get(f"/api/v1/{path}").json()["count"]
        for path in ("org-unit/departments/count", "org-unit/projects/count", "workloads/count")
    }

    assert set(counts.values()) == {1}


def test_ids_of_another_department_in_bodies_are_answered_like_absent_ones(cast, hidden, insider, client_of):
    client = client_of(insider)
    for path, field, theirs, absent in (
        ("org-unit/projects", "parentId", str(hidden["departments"].pk), "987654321"),
        ("authorization/access-rules", "scopeId", str(hidden["projects"].pk), "987654321"),
    ):
        bodies = []
        for value in (theirs, absent):
            body = {
                "org-unit/projects": {"name": "new", "clusterId": str(cast["clusters"].pk), "resources": []},
                "authorization/access-rules": {
                    "subjectId": "insider@example.org", "subjectType": "user", "roleId": 5, "scopeType": "project",
                },
            }[path]  # fmt: skip
            answer = client.post(f"/api/v1/{path}", json.dumps(body | {field: value}), content_type="application/json")
            said = {name: part for name, part in answer.json().items() if name != "code"}
            bodies.append((answer.status_code, re.sub(rf"\b{value}\b", "ID", json.dumps(said))))
        assert bodies[0] == bodies[1], path
        assert bodies[0][0] in (400, 404)


def test_the_cast_is_seen_by_its_own_department(cast, insider, client_of):
    client = client_of(insider)

    assert "assistant" in client.get("/projects/").content.decode()
    assert "qwen" in client.get("/workloads/").content.decode()
    assert User.objects.filter(pk=insider.pk).exists()


RECLAIMED = (
    "Pod runai-assistant/qwen-0 was preempted by workload runai-yellowhammer/pg-waxwing-0.{0}"
    "research uses <GPU: 8, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 4, CPU: 0, memory: 0>, fair-share of "
    "<GPU: 4, CPU: 0, memory: 0> and queue priority of <100>.{0}"
    "zebrafinch uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 8, CPU: 0, memory: 0>, fair-share "
    "of <GPU: 8, CPU: 0, memory: 0> and queue priority of <100>."
)
PREEMPTED = "Pod runai-assistant/qwen-1 was preempted by higher priority workload runai-{0}/pg-{1}-0"


def test_events_of_ones_own_workload_do_not_name_for_whom_a_pod_had_to_go(
    cast, hidden, insider, admin, client_of, default_pool
):
    """KAI writes names and quota of the other one into its event (`scheduling.verdicts`): so does every version."""
    workload = cast["workloads"]
    own = {"cluster": workload.cluster, "node_pool": default_pool, "gpu_deserved": 4}
    Quota.objects.create(**own, department=cast["departments"], queue_name="research")
    told = [
        RECLAIMED.format("\n"), RECLAIMED.format("\\n"), PREEMPTED.format("yellowhammer", "waxwing"),
        PREEMPTED.format("assistant", "other"),
    ]  # fmt: skip
    for number, message in enumerate(told):
        ClusterEvent.objects.create(
            cluster=workload.cluster, uid=f"e{number}", name=f"{workload.name}.{number}", resource_version="1",
            created_at=timezone.now(), namespace=workload.project.namespace, type="Warning", reason="Evict",
            message=message, involved_kind="PodGroup", involved_name=f"pg-{workload.name}-{number}",
        )  # fmt: skip
    paths = [
        f"/workloads/{workload.pk}/", f"/workloads/{workload.pk}/events/", f"/api/v1/workloads/{workload.pk}/events",
        f"/api/v1/workloads/{workload.pk}/history",
    ]  # fmt: skip

    for path in paths:
        text = content_of(client_of(insider).get(path)).decode()
        assert [name for name in NAMES if name in text] == [], path
        assert "preempted by workload of another project" in text
        assert "higher priority workload of another project" in text
        assert "workload runai-assistant/pg-other-0" in text
        assert "research uses" in text
        assert "another project uses" in text
        assert "runai-yellowhammer/pg-waxwing-0" in content_of(client_of(admin).get(path)).decode()


def test_what_stands_in_the_way_of_a_deletion_is_counted_for_who_may_not_see_it(cast, hidden, client_of):
    """Custom roles may delete what holds things that they do not let see."""
    rights = ["department:read", "department:delete", "nodepools:read", "nodepools:delete"]
    role, keeper, cluster = Role.objects.create(name="Keeper", rights=rights), make_user("keeper"), cast["clusters"]
    AccessRule.objects.create(
        user=keeper, role="Keeper", custom_role=role, scope_type=ScopeType.CLUSTER, scope_id=str(cluster.pk),
        cluster_id=cluster.pk,
    )  # fmt: skip
    pool = NodePool.objects.create(cluster=cluster, name="h200", label_key="gpu", label_value="h200", phase="Ready")
    Workload.objects.update(node_pool=pool)
    client = client_of(keeper)

    for path, page, what in (
        (f"org-unit/departments/{hidden['departments'].pk}", f"departments/{hidden['departments'].pk}", "projects: 1"),
        (f"node-pools/{pool.pk}", f"node-pools/{pool.pk}", "used by: 2"),
    ):
        refused = client.delete(f"/api/v1/{path}", headers={"If-Match": "*"})
        assert refused.status_code == 409
        assert f"{what} that you may not see" in refused.json()["message"]
        asked = client.get(f"/{page}/delete/").content.decode()
        assert "that you may not see" in asked
        for text in (asked, json.dumps(refused.json())):
            assert [name for name in ("yellowhammer", "waxwing", "qwen") if name in text] == []


def test_a_name_that_is_taken_by_another_department_does_not_say_where(cast, hidden, insider, client_of):
    source = blueprint("vllm-aggregated").replace("name: vllm-agg", "name: waxwing")
    body = {"metadata": {"projectId": str(cast["projects"].pk)}, "manifest": documents.load(source)}

    for path in ("/api/v2/workloads", "/api/v2/workloads?dryRun=true", "/api/v1/workloads/preview"):
        answer = client_of(insider).post(path, json.dumps(body), content_type="application/json")
        assert "yellowhammer" not in answer.content.decode()
        assert path.endswith("preview") or answer.status_code == 409
    form = {"project": str(cast["projects"].pk), "source": source, "view": "yaml", "submit": "1"}
    page = client_of(insider).post("/workloads/new/", form).content.decode()
    assert "a graph of this name exists in the cluster" in page
    assert "yellowhammer" not in page


def test_members_are_told_to_who_may_read_access_rules(cast, insider, client_of):
    reader = make_user("reader-of-department", VIEWER, ScopeType.DEPARTMENT, cast["departments"].pk, cast["clusters"])
    pages = [f"/departments/{cast['departments'].pk}/", f"/projects/{cast['projects'].pk}/"]

    for path in pages:
        assert insider.email in client_of(insider).get(path).content.decode()
        answer = client_of(reader).get(path)
        assert (answer.status_code, insider.email in answer.content.decode()) == (200, False)


def test_the_audit_log_hides_names_that_its_reader_may_not_know(cast, hidden, insider, admin, actor, client_of):
    """An administrator of all was shown whom an edit of this department would hit, the other one's people too."""

    def hit(name, project, other):
        return {"name": name, "project": project, "pool": "default", "effect": "reclaimed", "gpus": 8, "pods": 2,
                "running": True, "for": other}  # fmt: skip

    def queue(name):
        return {"name": name, "pool": "default", "held": 8, "fairShareBefore": 8, "fairShareAfter": 4,
                "before": "within", "after": "over"}  # fmt: skip

    theirs, ours = {"name": "waxwing", "project": "yellowhammer"}, {"name": "qwen", "project": "assistant"}
    impact = {
        "isEmpty": False, "moreWorkloads": 0, "unchecked": 0, "unknown": [],
        "workloads": [hit("waxwing", "yellowhammer", ours), hit("qwen", "assistant", theirs)],
        "queues": [queue("zebrafinch"), queue("assistant")],
    }  # fmt: skip
    with transaction.atomic():
        record(actor(admin), "update", cast["departments"], before={"gpu": "8"}, after={"gpu": "16", "impact": impact})
    client = client_of(insider)

    said = {
        path: content_of(client.get(path)).decode()
        for path in (
            "/audit/", "/audit/?format=csv", f"/api/v1/audit/log{SPAN}", f"/api/v1/audit/log/file{SPAN}",
            f"/api/v1/audit/log/file{SPAN}&file_type=JSON",
        )
    }  # fmt: skip

    assert {path: [name for name in NAMES if name in text] for path, text in said.items()} == {
        path: [] for path in said
    }
    for text in said.values():
        assert "another project" in text
        assert "qwen" in text
    assert "waxwing of yellowhammer" in client_of(admin).get("/audit/").content.decode()


def test_the_audit_log_of_another_department_is_found_by_no_filter_and_in_no_count(cast, hidden, insider, client_of):
    client = client_of(insider)
    for query in ("filterBy=entity_name=@vireo", "filterBy=subject==admin@example.org", "sortBy=entity_name"):
        answer = client.get(f"/api/v1/audit/log{SPAN}&{query}").json()
        assert (answer["total"], answer["audit_logs"]) == (0, [])


def test_the_audit_log_names_what_no_project_has_to_whoever_reads_all_work(cast, admin, actor, client_of):
    """A namespace or queue of somebody else, and whatever has been deleted since, are no other people's projects."""
    hit = {"name": "batch", "project": "spark-jobs", "pool": "default", "effect": "reclaimed", "gpus": 8, "pods": 2,
           "running": True}  # fmt: skip
    queue = {"name": "spark-queue", "pool": "default", "held": 8, "fairShareBefore": 8, "fairShareAfter": 4,
             "before": "within", "after": "over"}  # fmt: skip
    impact = {"isEmpty": False, "moreWorkloads": 0, "unchecked": 0, "unknown": [], "workloads": [hit],
              "queues": [queue]}  # fmt: skip
    cluster = cast["clusters"]
    for target in (cast["departments"], admin):  # the second one belongs to no cluster
        with transaction.atomic():
            record(actor(admin), "update", target, before={"gpu": "8"}, after={"gpu": "16", "impact": impact})
    of_cluster = make_user("reader-of-cluster", VIEWER, ScopeType.CLUSTER, cluster.pk, cluster)
    role = Role.objects.create(name="Log", rights=["events-history:read"])
    AccessRule.objects.create(
        user=of_cluster, role="Log", custom_role=role, scope_type=ScopeType.CLUSTER, scope_id=str(cluster.pk)
    )

    for reader in (admin, of_cluster):
        said = content_of(client_of(reader).get(f"/api/v1/audit/log{SPAN}")).decode()
        assert "spark-jobs" in said
        assert "spark-queue" in said
        assert "another project" not in said
