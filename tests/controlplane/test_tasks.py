"""The workers' tasks on rows: what is due is done once, in few tasks, and one cluster holds up no other."""

import uuid
from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.audit import record
from accounts.models import AuditEntry
from clusters.kube.errors import Unavailable
from clusters.models import Cluster, ClusterEvent
from controlplane import jobs, reconcilers, retention, tasks
from controlplane.models import Heartbeat
from core.reconciling import Outcome, Reconciler
from organizations.models import Department
from topology.models import NodePool


class Reconciles:
    """Stands for a package's reconcile function: counts, and does what it is told."""

    def __init__(self):
        self.seen = []
        self.then = lambda row: Outcome("Ready")

    def __call__(self, row):
        self.seen.append(row.name)
        return self.then(row)


@pytest.fixture
def reconciles(monkeypatch):
    reconciles = Reconciles()
    known = (Reconciler(NodePool, reconciles),)
    monkeypatch.setattr(tasks, "RECONCILERS", known)
    monkeypatch.setattr(reconcilers, "RECONCILERS", known)
    reconcilers.by_label.cache_clear()
    yield reconciles
    reconcilers.by_label.cache_clear()


@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr(tasks.reconcile_cluster, "apply_async", lambda args, **_: sent.append(args[0]))
    return sent


def other_cluster(name):
    return Cluster.objects.create(name=name, server="http://127.0.0.1:1", credential=b"")


def pools(cluster, count):
    return [
        NodePool.objects.create(cluster=cluster, name=f"{cluster.name}-{i}", label_value=str(i)) for i in range(count)
    ]


def test_a_hint_reconciles_its_row_once_however_often_it_arrives(reconciles, default_pool):
    assert tasks.reconcile_row("topology.NodePool", str(default_pool.pk)) is True
    assert tasks.reconcile_row("topology.NodePool", str(default_pool.pk)) is False
    assert reconciles.seen == ["default"]


def test_a_hint_for_a_row_or_kind_that_is_gone_does_nothing(reconciles, db):
    assert tasks.reconcile_row("topology.NodePool", "404") is False
    assert tasks.reconcile_row("gone.Model", "1") is False


def test_a_tick_sends_one_task_per_cluster_with_due_rows_in_one_query_per_kind(
    reconciles, sent, cluster, django_assert_num_queries
):
    pools(cluster, 30)
    second = other_cluster("b")
    pools(second, 30)
    other_cluster("idle")

    # The job's lease (look, look, savepoint, insert, release, free), the due rows of one kind, and who is busy.
    with django_assert_num_queries(8):
        tasks.reconcile_tick()

    assert sorted(sent) == sorted([str(cluster.pk), str(second.pk)])


def test_a_tick_leaves_out_clusters_that_are_being_worked_on(reconciles, sent, cluster):
    pools(cluster, 1)
    with jobs.lease(f"{tasks.CLUSTER_JOB}{cluster.pk}", at_most=timedelta(minutes=1)):
        assert tasks.reconcile_tick() == 0


def test_a_second_tick_within_the_interval_does_nothing(reconciles, sent, cluster):
    pools(cluster, 1)
    tasks.reconcile_tick()
    tasks.reconcile_tick()

    assert len(sent) == 1


def test_a_clusters_task_does_all_its_due_rows_and_no_others(reconciles, cluster):
    pools(cluster, 120)
    pools(other_cluster("b"), 3)

    assert tasks.reconcile_cluster(str(cluster.pk)) == 120
    assert all(name.startswith("cluster-a-") for name in reconciles.seen)
    assert len(set(reconciles.seen)) == 120


def test_a_row_that_became_due_meanwhile_is_done_in_the_same_task(reconciles, cluster):
    first, second = pools(cluster, 2)
    NodePool.objects.filter(pk=second.pk).update(next_check_at=timezone.now() + timedelta(hours=1))

    def poke_second(row):
        if row.pk == first.pk:
            NodePool.objects.filter(pk=second.pk).update(next_check_at=timezone.now())
        return Outcome("Ready")

    reconciles.then = poke_second

    assert tasks.reconcile_cluster(str(cluster.pk)) == 2


def test_a_slow_cluster_is_left_after_one_row_and_its_other_rows_stay_due(reconciles, cluster, monkeypatch):
    pools(cluster, 5)
    monkeypatch.setattr(tasks, "SLOW_SECONDS", -1)

    def fails(row):
        raise Unavailable("timed out")

    reconciles.then = fails

    assert tasks.reconcile_cluster(str(cluster.pk)) == 1
    assert NodePool.objects.filter(lease_token=None, next_check_at__lte=timezone.now()).count() == 4
    assert jobs.taken(tasks.CLUSTER_JOB) == frozenset()


def test_where_tasks_end_early_the_row_that_waits_longest_is_first_whatever_its_kind(cluster, monkeypatch):
    """Else workloads would wait behind the resyncs of all other kinds, which come again every minute."""
    seen = Reconciles()
    kinds = (Cluster, NodePool, Department)
    monkeypatch.setattr(
        tasks, "RECONCILERS", tuple(Reconciler(k, seen, "pk" if k is Cluster else "cluster") for k in kinds)
    )
    monkeypatch.setattr(tasks, "SLOW_SECONDS", -1)
    now = timezone.now()
    for minutes, row in ((1, cluster), (2, pools(cluster, 1)[0]), (3, Department(cluster=cluster, name="research"))):
        row.next_check_at = now - timedelta(minutes=minutes)
        row.save()

    assert [tasks.reconcile_cluster(str(cluster.pk)) for _ in kinds] == [1, 1, 1]
    assert seen.seen == [cluster.name, "research", f"{cluster.name}-0"]


def test_two_tasks_for_one_cluster_do_not_run_at_once(reconciles, cluster):
    pools(cluster, 2)
    again = []
    reconciles.then = lambda row: again.append(tasks.reconcile_cluster(str(cluster.pk))) or Outcome("Ready")

    tasks.reconcile_cluster(str(cluster.pk))

    assert again == [0, 0]
    assert len(reconciles.seen) == 2


def test_a_programming_error_on_one_row_is_noted_there_and_the_others_go_on(reconciles, cluster):
    broken, *_ = pools(cluster, 3)

    def breaks(row):
        if row.pk == broken.pk:
            raise KeyError("levels")
        return Outcome("Ready")

    reconciles.then = breaks

    assert tasks.reconcile_cluster(str(cluster.pk)) == 3
    row = NodePool.objects.get(pk=broken.pk)
    assert (row.phase, row.failures, row.lease_token) == ("Creating", 1, None)
    assert row.conditions[0]["reason"] == "InternalError"
    assert row.conditions[0]["message"] == "Muster failed on this object (KeyError); its log says where."
    assert NodePool.objects.filter(phase="Ready").count() == 2


def test_five_thousand_failed_rows_wake_in_one_update_a_kind_and_make_one_task(
    reconciles, sent, cluster, django_assert_num_queries
):
    later = timezone.now() + timedelta(minutes=5)
    second = other_cluster("b")
    for of, failures in ((cluster, 9), (second, 9)):
        NodePool.objects.bulk_create(
            NodePool(cluster=of, name=f"{of.name}-{i}", label_value=str(i), failures=failures, next_check_at=later)
            for i in range(5000)
        )
    resting = NodePool.objects.create(cluster=cluster, name="fine", label_value="fine", next_check_at=later)

    # For the one kind of this test an UPDATE and a look at what lacks a kind, and the cluster’s own row.
    with django_assert_num_queries(3):
        assert tasks.recovered(str(cluster.pk)) == 5000

    assert NodePool.objects.filter(cluster=cluster, next_check_at__lte=timezone.now()).count() == 5000
    assert NodePool.objects.get(pk=resting.pk).next_check_at == later
    assert not NodePool.objects.filter(cluster=second, next_check_at__lte=timezone.now()).exists()
    tasks.reconcile_tick()
    assert sent == [str(cluster.pk)]


def test_rows_that_were_woken_wait_longer_and_longer_again_where_the_cluster_goes_at_once(reconciles, cluster):
    later = timezone.now() + timedelta(minutes=5)
    (row,) = pools(cluster, 1)
    NodePool.objects.filter(pk=row.pk).update(failures=9, next_check_at=later)

    def fails(row):
        raise Unavailable("timed out")

    reconciles.then = fails
    tasks.recovered(str(cluster.pk))
    tasks.reconcile_cluster(str(cluster.pk))

    row.refresh_from_db()
    assert row.failures == 10
    assert row.next_check_at > timezone.now() + timedelta(minutes=3)


def test_retention_deletes_what_is_old_and_nothing_else(cluster, admin, actor, default_pool):
    now = timezone.now()
    event = {"cluster": cluster, "resource_version": "1", "created_at": now, "type": "Normal", "reason": "R"}
    event |= {"involved_kind": "Pod", "last_seen_at": now + timedelta(days=9999)}
    days_ago = {days: now - timedelta(hours=24 * days) for days in (0.9, 1.1)}
    for name, times in (
        ("old", {"last_seen_at": days_ago[1.1]}),
        ("new", {"last_seen_at": days_ago[0.9]}),
        ("old, by a clock that is ahead", {"created_at": days_ago[1.1]}),
        ("new, by a clock that is ahead", {"created_at": days_ago[0.9]}),
    ):
        ClusterEvent.objects.create(**(event | times), uid=str(uuid.uuid4()), name=name)
    for days in (91, 89):
        with time_machine.travel(now - timedelta(days=days)):
            record(actor(admin), "update", default_pool)
    Heartbeat.objects.create(process="worker/gone", kind="worker", at=now - timedelta(days=2))
    Heartbeat.objects.create(process="worker/here", kind="worker", at=now)

    deleted = retention.delete_outdated(now)

    assert {name: count for name, count in deleted.items() if count} == {"events": 2, "audit": 1, "heartbeats": 1}
    assert {e.name for e in ClusterEvent.objects.all()} == {"new", "new, by a clock that is ahead"}
    assert AuditEntry.objects.count() == 1
