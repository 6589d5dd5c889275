"""Hints and live topics with a real broker, without one, and with one that hangs."""

import json
import socket
import time

import pytest
from django.db import transaction
from redis import Redis

from core import broker
from core.desired import change_spec
from core.hints import hint_reconcile
from core.live import CHANNEL, publish


@pytest.fixture
def deaf_broker(settings):
    """Accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        settings.REDIS_URL = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        broker.note_found()
        yield


@pytest.fixture
def heard(broker_url):
    subscription = Redis.from_url(broker_url).pubsub(ignore_subscribe_messages=True)
    subscription.subscribe(CHANNEL)
    subscription.get_message(timeout=5)
    yield lambda seconds=5: subscription.get_message(timeout=seconds)
    subscription.close()


def queued(broker_url):
    return [json.loads(raw) for raw in Redis.from_url(broker_url).lrange("reconcile", 0, -1)]


@pytest.mark.django_db(transaction=True)
def test_topics_are_told_after_the_commit_and_not_before(heard):
    with transaction.atomic():
        publish("topology.NodePool", "topology.NodePool.1")
        assert heard(0.05) is None

    assert json.loads(heard()["data"]) == ["topology.NodePool", "topology.NodePool.1"]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_change_is_never_told(heard):
    with transaction.atomic():
        publish("topology.NodePool")
        transaction.set_rollback(True)

    assert heard(0.1) is None


@pytest.mark.django_db(transaction=True)
def test_a_changed_spec_queues_one_hint_after_the_commit(broker_url, default_pool):
    with transaction.atomic():
        change_spec(default_pool, {"label_value": "x"})
        assert queued(broker_url) == []

    (message,) = queued(broker_url)
    assert [Redis.from_url(broker_url).llen(name) for name in ("metrics", "maintenance")] == [0, 0]
    assert message["headers"]["task"] == "reconcile.row"
    assert json.loads(message["headers"]["argsrepr"].replace("'", '"')) == ["topology.NodePool", str(default_pool.pk)]


@pytest.mark.django_db(transaction=True)
def test_a_spec_whose_change_was_undone_queues_no_hint(broker_url, default_pool):
    with transaction.atomic():
        change_spec(default_pool, {"label_value": "x"})
        transaction.set_rollback(True)

    assert queued(broker_url) == []


@pytest.mark.django_db(transaction=True)
def test_a_lost_broker_raises_nothing_and_loses_no_intent(default_pool, settings):
    broker.note_found()  # the next call finds out: nothing listens on that port

    with transaction.atomic():
        row = change_spec(default_pool, {"label_value": "x"})

    assert row.generation == 2
    assert broker.is_lost()


@pytest.mark.django_db(transaction=True)
def test_a_hanging_broker_costs_a_request_less_than_a_second_whatever_it_changes(default_pool, deaf_broker):
    started = time.monotonic()
    for _ in range(20):
        with transaction.atomic():
            hint_reconcile(default_pool)

    assert time.monotonic() - started < 1.0


def test_a_broker_that_came_back_is_used_again(broker_url):
    broker.note_lost(ConnectionError("gone"), "x")
    assert broker.publish(CHANNEL, "[]") is False

    assert broker.is_alive() is True
    assert broker.publish(CHANNEL, "[]") is True
