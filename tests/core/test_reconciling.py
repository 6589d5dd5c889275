"""One reconcile of one row: what each kind of outcome and failure leaves behind."""

import pytest
from django.utils import timezone

from clusters.kube.errors import Rejected, Unavailable
from core import leases
from core.conditions import Condition, find
from core.reconciling import BACKOFF_FIRST, BACKOFF_LAST, RESYNC, Outcome, Reconciler, backoff, reconcile_claimed
from topology.models import NodePool


def run(pool, reconcile):
    reconciler = Reconciler(NodePool, reconcile)
    taken = leases.claim(NodePool, pool.pk)
    assert taken is not None
    written = reconcile_claimed(reconciler, pool.pk, taken)
    return written, NodePool.objects.filter(pk=pool.pk).first()


def fails(error):
    def reconcile(row):
        raise error

    return reconcile


def test_an_outcome_becomes_the_status_of_the_generation_that_was_seen(default_pool):
    outcome = Outcome("Empty", (Condition("Synced", "True", "Applied"),))

    written, row = run(default_pool, lambda row: outcome)

    assert written is True
    assert (row.phase, row.observed_generation, row.failures, row.lease_token) == ("Empty", 1, 0, None)
    assert find(row.conditions, "Synced")["observedGeneration"] == 1
    assert row.next_check_at - timezone.now() <= RESYNC


def test_a_transient_failure_keeps_phase_and_spec_and_is_tried_again_soon(default_pool):
    written, row = run(default_pool, fails(Unavailable("connection refused", cluster="cluster-a")))

    assert written is True
    assert (row.phase, row.failures, row.observed_generation) == ("Ready", 1, 0)
    synced = find(row.conditions, "Synced")
    assert (synced["status"], synced["reason"]) == ("False", "Unavailable")
    assert synced["message"] == "connection refused"
    assert synced["arguments"] == {"retry": "yes"}
    wait = row.next_check_at - timezone.now()
    assert wait <= BACKOFF_FIRST * 1.2


def test_a_permanent_failure_says_so_and_waits_for_the_resync(default_pool):
    _, row = run(default_pool, fails(Rejected("spec.levels: too many")))

    assert find(row.conditions, "Synced")["arguments"] == {"retry": "no"}
    assert row.next_check_at - timezone.now() > RESYNC * 0.9


def test_failures_keep_what_was_known_and_the_time_since_which_they_last(default_pool):
    run(default_pool, lambda row: Outcome("Ready", (Condition("Ready", "True", "Nodes"),)))
    leases.poke(NodePool, [default_pool.pk])
    _, first = run(default_pool, fails(Unavailable("refused")))
    NodePool.objects.update(conditions=[c | {"lastTransitionTime": "2026-01-01T00:00:00Z"} for c in first.conditions])
    leases.poke(NodePool, [default_pool.pk])

    _, row = run(default_pool, fails(Unavailable("timed out")))

    assert find(row.conditions, "Ready")["status"] == "True"
    synced = find(row.conditions, "Synced")
    assert (synced["message"], synced["lastTransitionTime"]) == ("timed out", "2026-01-01T00:00:00Z")
    assert row.failures == 2


def test_a_row_whose_objects_are_gone_is_deleted(default_pool):
    written, row = run(default_pool, lambda row: Outcome(gone=True))

    assert written is True
    assert row is None


def test_a_row_that_was_deleted_meanwhile_is_left_alone(default_pool):
    taken = leases.claim(NodePool, default_pool.pk)
    NodePool.objects.all().delete()

    assert reconcile_claimed(Reconciler(NodePool, lambda row: Outcome("Ready")), default_pool.pk, taken) is False


def test_success_resets_the_failures(default_pool):
    run(default_pool, fails(Unavailable("refused")))
    leases.poke(NodePool, [default_pool.pk])

    _, row = run(default_pool, lambda row: Outcome("Ready"))

    assert row.failures == 0


def test_a_programming_error_is_not_mistaken_for_a_state_of_the_cluster(default_pool):
    with pytest.raises(KeyError):
        run(default_pool, fails(KeyError("levels")))


@pytest.mark.parametrize(("failures", "seconds"), [(1, 2), (2, 4), (5, 32), (8, 256), (9, 300), (200, 300)])
def test_backoff_doubles_within_bounds(failures, seconds):
    waits = [backoff(failures).total_seconds() for _ in range(50)]

    assert min(waits) >= seconds * 0.8
    assert max(waits) <= seconds * 1.2
    assert max(waits) <= BACKOFF_LAST.total_seconds() * 1.2
