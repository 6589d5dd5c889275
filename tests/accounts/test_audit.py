"""The audit row belongs to the transaction of the change: both are written, or neither."""

from dataclasses import replace

import pytest
from django.db import transaction
from django.test import Client

from accounts import tokens
from accounts.audit import SECRET, Actor, record
from accounts.audit_wire import changes_text
from accounts.models import AuditEntry, ScopeType
from accounts.permissions import ADMINISTRATOR
from accounts.services import create_first_administrator
from controlplane.reconcilers import by_label
from core import leases
from core.reconciling import Outcome as Found
from core.reconciling import reconcile_claimed
from organizations.services import create_department
from tests.conftest import make_user
from topology.models import NodePool
from workloads.models import Workload


def test_a_change_and_its_audit_row_are_written_together(admin, actor, cluster, default_pool):
    department = create_department(actor(admin), cluster=cluster, name="audited")

    entry = AuditEntry.objects.get()
    assert (entry.subject, entry.source, entry.action) == ("admin@example.org", "page", "create")
    assert (entry.object_type, entry.object_id, entry.object_name) == (
        "organizations.Department",
        str(department.pk),
        "audited",
    )
    assert (entry.cluster_id, entry.address, entry.request_id) == (cluster.pk, "127.0.0.1", "test-request")
    assert entry.after["name"] == "audited"


def test_a_change_that_fails_leaves_no_audit_row(admin, actor, default_pool):
    with transaction.atomic():
        NodePool.objects.filter(pk=default_pool.pk).update(label_value="x")
        record(actor(admin), "update", default_pool, after={"label_value": "x"})
        transaction.set_rollback(True)

    assert AuditEntry.objects.count() == 0
    assert NodePool.objects.get(pk=default_pool.pk).label_value == ""


@pytest.mark.django_db(transaction=True)
def test_an_audit_row_outside_a_transaction_is_a_mistake(admin, actor, default_pool):
    with pytest.raises(RuntimeError, match="transaction of the change"):
        record(actor(admin), "update", default_pool)


def test_a_dry_run_leaves_no_audit_row_and_no_row(admin, client_of, cluster, default_pool):
    body = {"name": "maybe", "clusterId": str(cluster.pk), "resources": []}
    client = client_of(admin)

    answer = client.post("/api/v1/org-unit/departments?dryRun=true", body, content_type="application/json")

    assert answer.status_code == 201
    assert answer.json()["name"] == "maybe"
    assert AuditEntry.objects.count() == 0
    listed = client.get("/api/v1/org-unit/departments").json()["departments"]
    assert [d["name"] for d in listed] == []


def test_the_api_is_named_as_the_way_a_change_came(admin, client_of, cluster, default_pool):
    body = {"name": "by-api", "clusterId": str(cluster.pk), "resources": []}
    request_id = {"X-Request-ID": "ci-run-17"}

    answer = client_of(admin).post(
        "/api/v1/org-unit/departments", body, content_type="application/json", headers=request_id
    )

    assert answer.headers["X-Request-ID"] == "ci-run-17"
    entry = AuditEntry.objects.get()
    assert (entry.source, entry.request_id) == ("api", "ci-run-17")


def test_the_word_for_a_secret_is_not_a_secret():
    assert SECRET == "changed"


def noted(actor, pool, before, after) -> AuditEntry:
    with transaction.atomic():
        return record(actor, "update", pool, before=before, after=after)


def test_a_nested_change_is_told_by_the_path_of_its_field(admin, actor, default_pool):
    before = {"resources": {"default": {"gpu_deserved": "16", "gpu_limit": None}}, "levels": ["zone"], "enabled": True}
    after = {"resources": {"default": {"gpu_deserved": "32", "gpu_limit": None}}, "levels": ["zone", "rack"],
             "enabled": False}  # fmt: skip

    entry = noted(actor(admin), default_pool, before, after)

    assert changes_text(entry) == (
        "resources.default.gpu_deserved: 16 → 32; levels: zone → zone, rack; enabled: true → false"
    )


def test_objects_in_lists_are_counted_and_what_goes_is_a_dash(admin, actor, default_pool):
    entry = noted(actor(admin), default_pool, {"roles": [{"name": "decode"}], "note": "x"}, {"note": ""})

    assert changes_text(entry) == "roles[0].name: decode → –; note: x → –"


def test_long_values_are_shortened_in_the_list_and_whole_below_it(admin, actor, client_of, default_pool):
    source = "kind: Long\n" + "\n".join(f"line{number}: {number}" for number in range(40))
    noted(actor(admin), default_pool, None, {"source": source})

    shown = client_of(admin).get("/audit/").content.decode()

    assert "<summary><span>source: kind: Long line0: 0 line1: 1" in shown
    assert f"<dd>{source}</dd>" in shown
    assert "{&#x27;" not in shown


def test_an_impact_in_an_entry_is_told_in_its_sentence(admin, actor, default_pool):
    hit = {"name": "llama-70b", "project": "assistant", "pool": "default", "effect": "stops-fitting", "gpus": 8,
           "pods": 2, "running": True}  # fmt: skip
    impact = {"isEmpty": False, "workloads": [hit], "moreWorkloads": 0, "queues": [], "unchecked": 0, "unknown": []}

    entry = noted(actor(admin), default_pool, {"networkTopology": "dc"}, {"networkTopology": None, "impact": impact})

    assert changes_text(entry) == (
        "networkTopology: dc → –; "
        "impact: 1 workload could not be started any more: 8 GPUs – llama-70b of assistant, 8 GPUs"
    )


def test_what_is_refused_within_a_batch_is_on_record_by_its_object(
    client_of, department_admin, viewer, cluster, project, default_pool
):
    """The answer to a batch says success as a whole: each act that was not permitted has its own entry."""
    boss = make_user("boss", ADMINISTRATOR, ScopeType.DEPARTMENT, project.department_id, cluster)
    rule = boss.access_rules.get()
    workload = Workload.objects.create(
        project=project, cluster=cluster, node_pool=default_pool, name="qwen", source="", manifest={}
    )
    clerk, looker = client_of(department_admin), client_of(viewer)
    subjects = [{"subjectId": "viewer@example.org", "subjectType": "user"}]
    payload = {"roleId": 1, "subjects": subjects, "scopes": [{"scopeType": "project", "scopeId": str(project.pk)}]}

    def post(client, path, body):
        return client.post(f"/api/v1/{path}", body, content_type="application/json").status_code

    statuses = [
        post(clerk, "authorization/access-rules/batch", {"ids": [str(rule.pk)], "action": "delete"}),
        post(clerk, "authorization/access-rules/batch-create", {"payload": payload}),
        post(looker, "workloads/batch", {"ids": [str(workload.pk)], "action": "suspend"}),
    ]

    assert statuses == [200, 200, 200]
    found = AuditEntry.objects.order_by("pk").values_list("subject", "action", "outcome", "object_name", "project_id")
    assert list(found) == [
        ("department-admin@example.org", "delete", "Failed", "", None),
        ("department-admin@example.org", "create", "Failed", "", None),
        ("viewer@example.org", "suspend", "Failed", "qwen", project.pk),
    ]
    assert AuditEntry.objects.order_by("pk").last().reason == "You do not have the right workloads:update."
    assert post(looker, "workloads/batch", {"ids": ["987654"], "action": "suspend"}) == 200
    assert AuditEntry.objects.count() == 3  # what is not there was not refused


def test_refusals_by_a_token_are_on_record_with_who_sent_it(viewer, cluster):
    client = Client(headers={"Authorization": f"Bearer {tokens.issue(viewer).access}"}, REMOTE_ADDR="192.0.2.7")

    assert client.delete(f"/api/v1/clusters/{cluster.pk}").status_code == 403

    entry = AuditEntry.objects.get()
    assert (entry.outcome, entry.subject, entry.source, entry.address) == (
        "Failed", "viewer@example.org", "api", "192.0.2.7",
    )  # fmt: skip
    assert entry.reason == "You do not have the right cluster:delete."


def test_a_change_by_rest_is_on_record_as_such_on_paths_outside_api_too(admin, client_of):
    body = '{"key": "api.require-if-match", "value": false}'

    assert client_of(admin).put("/v1/k8s/setting", body, content_type="application/json").status_code == 200

    entry = AuditEntry.objects.get()
    assert (entry.source, entry.path) == ("api", "/v1/k8s/setting")


@pytest.mark.parametrize(
    "came",
    [
        ("command", "", "", "", ""),
        ("reconcile", "", "", "", ""),
        ("page", "2001:db8::7", "ci-run-17", "POST", "/projects/new"),
        ("api", "192.0.2.7", "0f6d3f4e000040008000000000000007", "POST", "/projects/new"),
    ],
)
def test_the_log_tells_entries_of_every_source(admin, client_of, default_pool, came):
    source, address, _request_id, method, _path = came
    with transaction.atomic():
        record(Actor(admin, *came), "update", default_pool, after={"x": "y"})
    client = client_of(admin)

    answer = client.get("/api/v1/audit/log?start=2020-01-01T00:00:00Z&end=2100-01-01T00:00:00Z")

    assert answer.status_code == 200
    entry = answer.json()["audit_logs"][0]
    told = (entry.get("source_ip", entry["metadata"].get("source_ip", "")), entry.get("http_method", ""))
    assert told == (address, method)
    assert entry["metadata"]["source"] == source
    assert client.get("/audit/").status_code == 200


def test_the_first_administrator_is_on_record(db):
    create_first_administrator("root@example.org", "correct horse battery")

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.source, entry.object_name) == ("create", "command", "root@example.org")
    assert entry.after == {"email": "root@example.org", "role": "System administrator"}


def test_the_end_of_a_row_is_the_act_of_its_reconcile(default_pool):
    """Somebody asks for a deletion; the row goes when its objects are gone, and that is on record with the delete."""
    reconciler = replace(by_label("topology.NodePool"), reconcile=lambda row: Found(gone=True))
    taken = leases.claim(NodePool, default_pool.pk)

    assert reconcile_claimed(reconciler, default_pool.pk, taken)

    entry = AuditEntry.objects.get()
    assert (entry.subject, entry.source, entry.action, entry.outcome) == ("muster", "reconcile", "delete", "Succeeded")
    assert (entry.object_type, entry.object_id, entry.cluster_id) == (
        "topology.NodePool", str(default_pool.pk), default_pool.cluster_id,
    )  # fmt: skip
    assert not NodePool.objects.exists()


def test_a_row_whose_lease_was_lost_leaves_no_entry_of_its_end(default_pool):
    reconciler = replace(by_label("topology.NodePool"), reconcile=lambda row: Found(gone=True))
    lost = leases.claim(NodePool, default_pool.pk)
    leases.break_all(NodePool)

    assert not reconcile_claimed(reconciler, default_pool.pk, lost)
    assert (NodePool.objects.count(), AuditEntry.objects.count()) == (1, 0)
