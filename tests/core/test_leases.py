"""Leases: who may claim, in which order, and what a lost lease can no longer write."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import leases
from topology.models import NodePool


@pytest.fixture
def pool(default_pool):
    return default_pool


def stored(row):
    return type(row).objects.get(pk=row.pk)


def make_due(row, *, ago=timedelta(seconds=1)):
    NodePool.objects.filter(pk=row.pk).update(next_check_at=timezone.now() - ago)


def test_a_due_row_can_be_claimed_once(pool):
    first = leases.claim(NodePool, pool.pk)
    second = leases.claim(NodePool, pool.pk)

    assert first is not None
    assert second is None
    assert stored(pool).lease_token == first.token


def test_a_claim_is_one_update_that_repeats_the_whole_condition(pool):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        leases.claim(NodePool, pool.pk)

    assert len(queries) == 1
    where = queries[0]["sql"].split("WHERE")[1]
    assert "next_check_at" in where
    assert "lease_token" in where
    assert "lease_expires_at" in where


def test_a_row_that_is_not_due_cannot_be_claimed(pool):
    make_due(pool, ago=-timedelta(seconds=60))

    assert leases.claim(NodePool, pool.pk) is None


def test_an_expired_lease_can_be_claimed_by_somebody_else(pool):
    leases.claim(NodePool, pool.pk)
    past = timezone.now() - timedelta(seconds=1)
    NodePool.objects.filter(pk=pool.pk).update(lease_expires_at=past, next_check_at=past)

    assert leases.claim(NodePool, pool.pk) is not None


def test_a_stale_token_writes_nothing_and_keeps_the_new_lease(pool):
    old = leases.claim(NodePool, pool.pk)
    past = timezone.now() - timedelta(seconds=1)
    NodePool.objects.filter(pk=pool.pk).update(lease_expires_at=past, next_check_at=past)
    new = leases.claim(NodePool, pool.pk)

    written = leases.finish(NodePool, pool.pk, old, seen=1, status={"phase": "Deleted"}, check_again_at=timezone.now())

    assert written is False
    assert leases.finish_gone(NodePool, pool.pk, old) is False
    row = stored(pool)
    assert (row.phase, row.lease_token) == ("Ready", new.token)


def test_finish_writes_status_frees_the_row_and_moves_the_next_check(pool):
    taken = leases.claim(NodePool, pool.pk)
    again = timezone.now() + timedelta(minutes=1)

    assert leases.finish(NodePool, pool.pk, taken, seen=1, status={"phase": "Empty"}, check_again_at=again)

    row = stored(pool)
    assert (row.phase, row.lease_token, row.lease_expires_at, row.next_check_at) == ("Empty", None, None, again)


def test_a_poke_during_a_lease_keeps_the_row_due_afterwards(pool):
    taken = leases.claim(NodePool, pool.pk)
    assert leases.poke(NodePool, [pool.pk]) == 1

    leases.finish(NodePool, pool.pk, taken, seen=1, status={}, check_again_at=timezone.now() + timedelta(minutes=1))

    assert leases.claim(NodePool, pool.pk) is not None


def test_an_edit_during_a_lease_keeps_the_row_due_afterwards(pool):
    taken = leases.claim(NodePool, pool.pk)
    NodePool.objects.filter(pk=pool.pk).update(generation=2)

    leases.finish(NodePool, pool.pk, taken, seen=1, status={}, check_again_at=timezone.now() + timedelta(minutes=1))

    row = stored(pool)
    assert row.next_check_at == taken.until


def test_due_rows_are_claimed_longest_overdue_first_and_up_to_the_limit(cluster):
    pools = [NodePool.objects.create(cluster=cluster, name=f"p{i}", label_value=str(i)) for i in range(4)]
    for pool, ago in zip(pools, (10, 40, 20, 30), strict=True):
        make_due(pool, ago=timedelta(seconds=ago))

    claimed = [pk for pk, _ in leases.claim_due(NodePool, limit=3)]

    assert claimed == [pools[1].pk, pools[3].pk, pools[2].pk]


def test_a_scope_leaves_other_rows_alone(pool):
    import uuid

    claimed = list(leases.claim_due(NodePool, limit=5, scope={"cluster_id": uuid.uuid4()}))

    assert claimed == []
    assert stored(pool).lease_token is None


def test_gone_rows_are_deleted_by_the_holder_of_the_lease(pool):
    taken = leases.claim(NodePool, pool.pk)

    assert leases.finish_gone(NodePool, pool.pk, taken) is True
    assert not NodePool.objects.filter(pk=pool.pk).exists()


def test_breaking_all_leases_makes_their_rows_due_and_leaves_free_rows_as_they_are(cluster, pool):
    leases.claim(NodePool, pool.pk)
    later = timezone.now() + timedelta(hours=1)
    free = NodePool.objects.create(cluster=cluster, name="free", label_value="f", next_check_at=later)

    assert leases.break_all(NodePool) == 1
    assert leases.claim(NodePool, pool.pk) is not None
    assert stored(free).next_check_at == later
