"""The audit row belongs to the transaction of the change: both are written, or neither."""

import pytest
from django.db import transaction

from accounts.audit import SECRET, record
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
