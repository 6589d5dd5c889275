"""Who holds a row makes others wait, on a database whose transactions run side by side."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction

from core.desired import hold, request_deletion
from topology.models import NodePool

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="only on PostgreSQL"),
]
PATIENCE = 30.0


def waiting() -> int:
    """How many sessions wait for a lock of another."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        (found,) = cursor.fetchone()
    return int(found)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def in_transaction(act: Callable[[], Any]) -> Any:
    """`act` in a transaction of this thread's own connection."""
    try:
        with transaction.atomic():
            return act()
    finally:
        connection.close()


@pytest.mark.parametrize(("ends", "holds"), [(True, False), (False, True)])
def test_the_second_holder_waits_for_the_first_and_sees_what_that_did(
    default_pool: NodePool, *, ends: bool, holds: bool
) -> None:
    held, waited = Event(), Event()

    def first() -> bool:
        found = hold(default_pool)
        held.set()
        assert waited.wait(PATIENCE)
        if ends:
            request_deletion(NodePool.objects.get(pk=default_pool.pk))
        return found

    def second() -> bool:
        assert held.wait(PATIENCE)
        return hold(default_pool)

    with ThreadPoolExecutor(2) as pool:
        earlier: Future[bool] = pool.submit(in_transaction, first)
        later: Future[bool] = pool.submit(in_transaction, second)
        try:
            until(lambda: waiting() >= 1)
            assert not later.done()
        finally:
            waited.set()
        assert (earlier.result(PATIENCE), later.result(PATIENCE)) == (True, holds)


def test_holders_of_two_rows_do_not_wait_for_each_other(cluster: Any, default_pool: NodePool) -> None:
    other = NodePool.objects.create(cluster=cluster, name="other", label_key="gpu", label_value="other")
    held, done = Event(), Event()

    def first() -> bool:
        found = hold(default_pool)
        held.set()
        assert done.wait(PATIENCE)
        return found

    def second() -> bool:
        assert held.wait(PATIENCE)
        return hold(other)

    with ThreadPoolExecutor(2) as pool:
        earlier: Future[bool] = pool.submit(in_transaction, first)
        try:
            assert pool.submit(in_transaction, second).result(PATIENCE)
        finally:
            done.set()
        assert earlier.result(PATIENCE)
