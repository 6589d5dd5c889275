"""Ids of another department in bodies, forms and queries, not only in paths: each is answered like one that is absent,
with the same body and the same number of SQL statements."""

import json
import re
import uuid

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AccessRule, ScopeType
from accounts.permissions import DEPARTMENT_ADMINISTRATOR
from organizations.models import Department, Project
from tests.conftest import make_user
from tests.contracts.test_departments import SPAN, content_of
from workloads import document as documents
from workloads.blueprints import blueprint
from workloads.models import Workload

DEPARTMENT, PROJECT, RULE = 870001, 870002, 870003
WORKLOAD = uuid.UUID("87000000-0000-4000-8000-000000000004")
# What there is not, of the same length and form.
ABSENT = {DEPARTMENT: 970001, PROJECT: 970002, RULE: 970003, WORKLOAD: uuid.UUID(str(WORKLOAD).replace("87", "97", 1))}
SUBJECT = {"subjectId": "insider@example.org", "subjectType": "user"}
MANIFEST = documents.load(blueprint("vllm-aggregated"))
V1, V2 = "/api/v1", "/api/v2"
# Tokens against forged requests, and the ids that batches have by themselves.
CHANGING = re.compile(r'\b[A-Za-z0-9]{64}\b|"id":"[0-9a-f-]{36}"')


def json_writes(cluster):
    """(path, the id, the body with it)."""
    rules = f"{V1}/authorization/access-rules"
    scopes = ((ScopeType.DEPARTMENT, DEPARTMENT), (ScopeType.PROJECT, PROJECT))
    yield from (
        (rules, pk, lambda i, k=k: {**SUBJECT, "roleId": 5, "scopeType": k, "scopeId": str(i)}) for k, pk in scopes
    )
    yield f"{rules}/batch", RULE, lambda i: {"ids": [str(i)], "action": "delete"}
    yield f"{rules}/batch", RULE, lambda i: {"ids": [str(i)], "action": "validate_delete"}
    yield (
        f"{rules}/batch-create",
        PROJECT,
        lambda i: {
            "payload": {"roleId": 5, "subjects": [SUBJECT], "scopes": [{"scopeType": "project", "scopeId": str(i)}]}
        },
    )
    yield f"{V1}/org-unit/projects", DEPARTMENT, lambda i: {
        "name": "new", "clusterId": str(cluster.pk), "parentId": str(i), "resources": [],
    }  # fmt: skip
    for action in ("delete", "suspend", "resume"):
        yield f"{V1}/workloads/batch", WORKLOAD, lambda i, action=action: {"ids": [str(i)], "action": action}
    for path in (f"{V2}/workloads", f"{V1}/workloads/preview"):
        yield path, PROJECT, lambda i: {"metadata": {"projectId": str(i)}, "manifest": MANIFEST}


def forms():
    """(path, the id, the form with it)."""
    for kind, pk in (("department", DEPARTMENT), ("project", PROJECT)):
        yield "/access/rules/new", pk, lambda i, kind=kind: {**SUBJECT, "role": "Viewer", "scope": f"{kind}:{i}"}
    yield "/workloads/bulk/suspend/", WORKLOAD, lambda i: {"pk": str(i)}
    yield "/projects/new", DEPARTMENT, lambda i: {"name": "new", "department": str(i)}
    yield "/workloads/new", PROJECT, lambda i: {"project": str(i), "source": blueprint("vllm-aggregated")}


def queries():
    """(path with `{}`, the id)."""
    yield f"{V1}/org-unit/projects?filterBy=departmentId=={{}}", DEPARTMENT
    yield f"{V1}/org-unit/projects/count?filterBy=parentId=={{}}", DEPARTMENT
    yield f"{V1}/org-unit/departments?filterBy=id=={{}}", DEPARTMENT
    yield f"{V1}/workloads?filterBy=projectId=={{}}", PROJECT
    yield f"{V1}/workloads/count?filterBy=departmentId=={{}}", DEPARTMENT
    yield f"{V1}/workloads/telemetry?telemetryType=WORKLOADS_COUNT&departmentId={{}}", DEPARTMENT
    yield f"{V1}/org-unit/projects/telemetry?telemetryType=GPU_QUOTA&departmentId={{}}", DEPARTMENT
    yield f"{V1}/asset/credentials?projectId={{}}", PROJECT
    yield f"{V1}/authorization/access-rules?scopeType=project&scopeId={{}}", PROJECT
    yield f"{V1}/audit/log{SPAN}&filterBy=entity_id=={{}}", PROJECT
    yield "/search?q={}", WORKLOAD
    yield "/account/rights?resource=project&action=read&scope=project:{}", PROJECT
    yield "/access/rules/new?scope=project:{}", PROJECT
    yield "/workloads/new?project={}", PROJECT
    yield "/projects/?department={}", DEPARTMENT
    yield "/workloads/?project={}", PROJECT


@pytest.fixture
def client(cast, cluster, department, default_pool, client_of):
    """Who administrates the cast's department; another department has a project, a workload and a rule."""
    there = Department.objects.create(pk=DEPARTMENT, cluster=cluster, name="zebrafinch", phase="Ready")
    project = Project.objects.create(
        pk=PROJECT, cluster=cluster, department=there, name="yellowhammer", namespace="runai-yellowhammer"
    )
    Workload.objects.create(
        pk=WORKLOAD, project=project, cluster=cluster, node_pool=default_pool, name="waxwing", manifest=MANIFEST
    )
    AccessRule.objects.create(
        pk=RULE, group="owls", role="Viewer", scope_type="project", scope_id=str(PROJECT), cluster_id=cluster.pk
    )
    insider = make_user("insider", DEPARTMENT_ADMINISTRATOR, ScopeType.DEPARTMENT, department.pk, cluster)
    return client_of(insider)


def compared(ask, pk):
    """Both answers: (status, body without the id and what differs in every answer, SQL statements)."""
    found = []
    with time_machine.travel(timezone.now(), tick=False):  # what is told as "3 s ago" is told so in both
        for given in (pk, ABSENT[pk], pk, ABSENT[pk]):
            with CaptureQueriesContext(connection) as sql:
                answer = ask(given)
                text = content_of(answer).decode(errors="replace")
            text = CHANGING.sub("", text.replace(str(given), "ID"))
            found.append((answer.status_code, answer.headers.get("Location"), text, len(sql)))
    return found[2:]  # the first of each kind may read what a process keeps


def test_in_bodies(client, cluster):
    wrong = {}
    for path, pk, body in json_writes(cluster):
        one, other = compared(lambda i: client.post(path, json.dumps(body(i)), content_type="application/json"), pk)  # noqa: B023 (called at once)
        if one != other or one[0] not in (200, 400, 403, 404):
            wrong[path, str(body(pk))[:80]] = (one, other)

    assert wrong == {}
    assert AccessRule.objects.filter(pk=RULE).exists()


def test_in_forms(client):
    wrong = {}
    for path, pk, form in forms():
        one, other = compared(lambda i: client.post(path, form(i)), pk)  # noqa: B023 (called at once)
        if one != other or one[0] >= 500:
            wrong[path, str(form(pk))[:80]] = (one, other)

    assert wrong == {}


def test_in_queries(client):
    wrong = {}
    for path, pk in queries():
        one, other = compared(lambda i: client.get(path.format(i)), pk)  # noqa: B023 (called at once)
        if one != other or one[0] >= 500:
            wrong[path] = (one, other)

    assert wrong == {}
