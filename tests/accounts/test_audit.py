"""The audit row belongs to the transaction of the change: both are written, or neither."""

import pytest
from django.db import transaction

from accounts.audit import SECRET, record
from accounts.audit_wire import changes_text
from accounts.models import AuditEntry
from organizations.services import create_department
from topology.models import NodePool


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
