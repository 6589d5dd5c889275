"""Roles, access rules and the audit log by REST, in Run:ai's shapes."""

import csv
import io
import json
from datetime import timedelta
from urllib.parse import quote
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import AccessRule, AuditEntry, Role, ScopeType
from accounts.permissions import VIEWER, has_right
from organizations.models import Department, Project
from tests.conftest import make_user

RULES = "/v1/authorization/access-rules"


def call(client, method, path, **body):
    data = json.dumps(body) if body else None
    return getattr(client, method)(f"/api{path}", data=data, content_type="application/json")


@pytest.fixture
def api(admin, client_of):
    return client_of(admin)


@pytest.fixture
def other(cluster, default_pool):
    """Another department with one project."""
    department = Department.objects.create(cluster=cluster, name="payments", phase="Ready")
    return Project.objects.create(
        cluster=cluster, department=department, name="fraud", namespace="runai-fraud", phase="Ready"
    )


def rule(person, scope_type, scope_id, role=5):
    subject = {"subjectId": person.email, "subjectType": "user"}
    return {**subject, "roleId": role, "scopeType": scope_type, "scopeId": str(scope_id)}


def test_a_rule_is_given_shown_counted_and_taken(api, project):
    person = make_user("lin")

    made = call(api, "post", RULES, **rule(person, "project", project.pk, 7))

    assert made.status_code == 201
    body = made.json()
    assert (body["subjectId"], body["roleName"], body["scopeName"], body["clusterId"], body["tenantId"]) == (
        "lin@example.org",
        "L1 researcher",
        "assistant",
        str(project.cluster_id),
        1,
    )
    assert has_right(person, "workloads:create", project.scope)
    one = f"{RULES}/{body['id']}"
    assert call(api, "get", one).json()["scopePath"] == "assistant"
    assert call(api, "get", f"{RULES}/count?filterBy=roleName==L1 researcher").json() == {"count": 1}
    assert call(api, "delete", one).status_code == 204
    assert call(api, "get", one).status_code == 404


def test_a_rule_for_a_group_holds_for_its_people(api, project):
    person = make_user("lin")
    person.is_local, person.groups = False, ["ml-platform"]
    person.save()
    body = {"subjectId": "ml-platform", "subjectType": "group", "roleId": 7}

    made = call(api, "post", RULES, **body, scopeType="project", scopeId=str(project.pk))

    assert made.json()["subjectType"] == "group"
    person.__dict__.pop("_cached_access_rules", None)
    assert has_right(person, "workloads:create", project.scope)
    assert call(api, "get", f"{RULES}?subjectType=group").json()["totalRecords"] == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"roleId": 99}, "roleId"),
        ({"roleId": "5"}, "roleId"),
        ({"scopeType": "galaxy"}, "scopeType"),
        ({"scopeId": "987654"}, "scopeId"),
        ({"scopeId": "x"}, "scopeId"),
        ({"scopeType": "tenant", "scopeId": "7"}, "scopeId"),
        ({"scopeType": "tenant", "scopeId": "1", "clusterId": str(UUID(int=7))}, "clusterId"),
        ({"clusterId": str(UUID(int=7))}, "clusterId"),
        ({"clusterId": "x"}, "clusterId"),
        ({"subjectId": "nobody@example.org"}, "subjectId"),
        ({"subjectType": "alien"}, "subjectType"),
        ({"createdBy": "me"}, "createdBy"),
    ],
)
def test_what_is_wrong_with_a_rule_is_named(api, project, change, field):
    body = rule(make_user("lin"), "project", project.pk) | change

    refused = call(api, "post", RULES, **body)

    assert (refused.status_code, refused.json()["faults"][0]["field"]) == (400, field)
    assert AccessRule.objects.filter(user__email="lin@example.org").count() == 0


def test_nobody_gives_more_than_they_have(department_admin, client_of, project, department):
    page, person = client_of(department_admin), make_user("lin")

    higher = call(page, "post", RULES, **rule(person, "department", department.pk, 1))
    wider = call(page, "post", RULES, **rule(person, "tenant", 1, 5))
    same = call(page, "post", RULES, **rule(person, "project", project.pk, 7))

    assert [answer.status_code for answer in (higher, wider, same)] == [403, 403, 201]


def test_a_department_sees_nothing_of_anothers_rules(department_admin, client_of, project, other, api):
    theirs = call(api, "post", RULES, **rule(make_user("mei"), "project", other.pk)).json()
    ours = call(api, "post", RULES, **rule(make_user("lin"), "project", project.pk)).json()
    page = client_of(department_admin)

    listed = call(page, "get", RULES)

    assert ours["id"] in [each["id"] for each in listed.json()["accessRules"]]
    assert "mei" not in listed.content.decode()
    assert listed.json()["totalRecords"] == call(page, "get", f"{RULES}/count").json()["count"] == 2
    absent = call(page, "get", f"{RULES}/987654")
    hidden = call(page, "get", f"{RULES}/{theirs['id']}")
    assert (hidden.status_code, hidden.json()) == (absent.status_code, absent.json()) == (404, absent.json())
    foreign = call(page, "post", RULES, **rule(make_user("bo"), "project", other.pk))
    nowhere = call(page, "post", RULES, **rule(make_user("al"), "project", 987654))
    assert foreign.json() == nowhere.json()


def test_batches_succeed_in_parts(api, project):
    rules = [call(api, "post", RULES, **rule(make_user(n), "project", project.pk)).json()["id"] for n in ("a", "b")]

    checked = call(api, "post", f"{RULES}/batch", ids=[str(rules[0])], action="validate_delete").json()
    assert checked["succeeded"] == [str(rules[0])]
    assert AccessRule.objects.filter(pk=rules[0]).exists()

    done = call(api, "post", f"{RULES}/batch", ids=[str(rules[0]), "987654"], action="delete").json()
    assert done["succeeded"] == [str(rules[0])]
    assert [(each["id"], each["code"]) for each in done["failed"]] == [("987654", 404)]
    assert not AccessRule.objects.filter(pk=rules[0]).exists()

    subjects = [{"subjectId": n, "subjectType": "user"} for n in ("a@example.org", "nobody@example.org")]
    payload = {"roleId": 7, "subjects": subjects, "scopes": [{"scopeType": "project", "scopeId": str(project.pk)}]}
    given = call(api, "post", f"{RULES}/batch-create", payload=payload).json()
    assert [each["subjectId"] for each in given["succeeded"]] == ["a@example.org"]
    assert [each["payload"]["subjectId"] for each in given["failed"]] == ["nobody@example.org"]


def test_a_rule_may_name_the_cluster_of_its_scope_and_no_other(api, project):
    subject = {"subjectId": make_user("lin").email, "subjectType": "user"}
    scopes = [{"scopeType": "tenant", "scopeId": "1"}, {"scopeType": "project", "scopeId": str(project.pk)}]
    payload = {"roleId": 7, "clusterId": str(project.cluster_id), "subjects": [subject], "scopes": scopes}

    given = call(api, "post", f"{RULES}/batch-create", payload=payload).json()

    assert [each["scopeType"] for each in given["succeeded"]] == ["project"]
    assert [each["payload"]["scopeType"] for each in given["failed"]] == ["tenant"]
    assert list(AccessRule.objects.filter(user__email="lin@example.org").values_list("scope_type")) == [("project",)]


def test_what_i_may_do_is_told(researcher, client_of, project):
    page = client_of(researcher)

    permissions = {
        each["resourceType"]: each["actions"] for each in call(page, "get", "/v1/authorization/permissions").json()
    }
    scopes = call(page, "post", "/v1/authorization/permitted-scopes", resourceType="workloads").json()
    own = call(page, "get", "/v1/authorization/me/access-rules").json()["accessRules"]

    assert permissions["workloads"] == ["create", "read", "update", "delete"]
    assert permissions["nodes"] == ["read"]
    assert scopes["create"] == {
        "system": False, "tenants": [], "clusters": [], "departments": [], "projects": [str(project.pk)],
    }  # fmt: skip
    assert [(each["roleName"], each["scopeName"]) for each in own["accessRules"]] == [("L1 researcher", "assistant")]
    assert call(page, "get", "/v1/authorization/me/access-rules/count").json() == {"count": 1}


def test_a_custom_role_is_made_given_changed_at_once_and_kept_while_it_is_given(api, project):
    permissions = [{"resourceType": "workloads", "actions": ["read", "create"]}]
    made = call(
        api, "post", "/v2/authorization/roles", name="Submitter", description="Submits", permissions=permissions
    )
    assert made.status_code == 201
    role, person = made.json(), make_user("lin")
    assert (role["custom"], role["permissions"][0]["actions"]) == (True, ["create", "read"])
    call(api, "post", RULES, **rule(person, "project", project.pk, role["id"]))
    assert has_right(person, "workloads:create", project.scope)

    one = f"/v2/authorization/roles/{role['id']}"
    assert call(api, "delete", one).status_code == 409
    changed = call(api, "put", one, name="Reader", description="", permissions=[permissions[0] | {"actions": ["read"]}])
    assert changed.json()["name"] == "Reader"
    person.__dict__.pop("_cached_access_rules", None)
    assert not has_right(person, "workloads:create", project.scope)
    assert call(api, "get", f"/v1/authorization/roles/{role['id']}").json()["name"] == "Reader"
    assert call(api, "get", f"{RULES}?roleId={role['id']}").json()["accessRules"][0]["roleName"] == "Reader"


def test_predefined_roles_are_runais_and_cannot_be_changed(api):
    roles = call(api, "get", "/v1/authorization/roles").json()

    names = {role["name"] for role in roles}
    assert {
        "System administrator", "Department administrator", "Department viewer", "Editor", "Viewer",
        "Research manager", "L1 researcher", "L2 researcher", "ML engineer", "Environment administrator",
        "Data source administrator", "Data volume administrator", "Compute resource administrator",
        "Template administrator", "Credentials administrator",
    } == names  # fmt: skip
    assert call(api, "put", "/v2/authorization/roles/1", name="x", permissions=[]).status_code == 409


def test_a_role_of_rights_that_its_maker_lacks_cannot_be_made(client_of, cluster):
    maker = make_user("maker", VIEWER)
    role = Role.objects.create(name="Role maker", rights=["roles:create", "roles:read"])
    AccessRule.objects.create(user=maker, role=role.name, custom_role=role, scope_type=ScopeType.TENANT)
    wanted = [{"resourceType": "cluster", "actions": ["delete"]}]

    refused = call(client_of(maker), "post", "/v2/authorization/roles", name="More", permissions=wanted)

    assert (refused.status_code, refused.json()["message"]) == (403, "You do not have the right cluster:delete.")


def span(**extra):
    now = timezone.now()
    times = {"start": now - timedelta(hours=1), "end": now + timedelta(hours=1)}
    query = {name: at.isoformat() for name, at in times.items()} | extra
    return "&".join(f"{name}={quote(str(value))}" for name, value in query.items())


def test_the_log_is_told_in_runais_shape(api, project):
    call(api, "post", RULES, **rule(make_user("lin"), "project", project.pk))

    body = call(api, "get", f"/v1/audit/log?{span()}").json()

    assert body["total"] == 1
    entry = body["audit_logs"][0]
    assert {name: entry[name] for name in ("subject", "subject_type", "action", "http_method", "url", "result")} == {
        "subject": "admin@example.org",
        "subject_type": "User",
        "action": "create",
        "http_method": "POST",
        "url": "http://testserver/api/v1/authorization/access-rules",
        "result": "Succeeded",
    }
    assert (entry["entity_type"], entry["source_ip"], entry["cluster_id"]) == (
        "AccessRule", "127.0.0.1", str(project.cluster_id),
    )  # fmt: skip
    assert entry["metadata"]["role"] == "Viewer"


def test_the_log_is_filtered_and_needs_its_span(api):
    call(api, "post", "/v1/users", email="lin@example.org")
    call(api, "post", "/v1/service-accounts", name="bot")

    found = call(api, "get", f"/v1/audit/log?{span(filterBy='entity_name==lin@example.org,action==create')}").json()
    missing = call(api, "get", "/v1/audit/log")
    unknown = call(api, "get", f"/v1/audit/log?{span(filterBy='colour==red')}")

    assert [entry["entity_name"] for entry in found["audit_logs"]] == ["lin@example.org"]
    assert [fault["field"] for fault in missing.json()["faults"]] == ["start", "end"]
    assert unknown.status_code == 400


@pytest.mark.parametrize("subject", ["=cmd|calc", "plain"])
def test_the_log_is_a_file_too(api, admin, subject):
    call(api, "post", "/v1/users", email="lin@example.org")
    AuditEntry.objects.update(subject=subject)

    as_csv = call(api, "get", f"/v1/audit/log/file?{span()}")
    as_json = call(api, "get", f"/v1/audit/log/file?{span(file_type='JSON')}")
    for_the_client = call(api, "get", f"/v1/audit/log/file?{span(fileType='JSON')}")

    row = next(csv.DictReader(io.StringIO(as_csv.content.decode())))
    assert row["subject"] == (f"'{subject}" if subject.startswith("=") else subject)
    assert json.loads(as_json.content)[0]["subject"] == json.loads(for_the_client.content)[0]["subject"] == subject


def test_a_department_reads_its_own_history_only(department_admin, client_of, api, project, other):
    call(api, "post", RULES, **rule(make_user("lin"), "project", project.pk))
    call(api, "post", RULES, **rule(make_user("mei"), "project", other.pk))
    call(api, "post", "/v1/users", email="al@example.org")

    answer = call(client_of(department_admin), "get", f"/v1/audit/log?{span()}")

    assert answer.json()["total"] == 1
    assert "mei" not in answer.content.decode()
    assert "al@example.org" not in answer.content.decode()
