"""The stream of live topics, over a real broker: who hears what, what is dropped, what ends a stream."""

import asyncio
import json
import uuid
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from redis import Redis

from accounts.models import AccessRule, User
from controlplane import live
from controlplane.live import ALIVE, POLL, Page, hub, stream
from controlplane.live_views import _may_hear, _state
from core.live import CHANNEL


def page(*topics):
    return Page(frozenset(topics), "accounts.User.me")


def tell(url, *topics):
    Redis.from_url(url).publish(CHANNEL, json.dumps(topics))


async def answer(state):
    return state


def run(scenario):
    async def bounded():
        async with asyncio.timeout(15):
            return await scenario()

    return asyncio.run(bounded())


def test_a_page_hears_its_topics_and_nothing_else_that_changed(broker_url):
    async def scenario():
        events = stream(page("workloads.Workload"), lambda: answer({}))
        assert await anext(events) == "event: state\ndata: {}\n\n"
        tell(broker_url, "topology.NodePool", "workloads.Workload.secret-id", "workloads.WorkloadX")
        message = await anext(events)
        await events.aclose()
        return message

    assert run(scenario) == 'data: ["workloads.Workload"]\n\n'


def test_one_subscription_serves_every_page_of_the_process(broker_url):
    async def scenario():
        streams = [stream(page("a.B"), lambda: answer({})) for _ in range(20)]
        for events in streams:
            await anext(events)
        subscribers = Redis.from_url(broker_url).pubsub_numsub(CHANNEL)
        tell(broker_url, "a.B")
        messages = [await anext(events) for events in streams]
        for events in streams:
            await events.aclose()
        return subscribers, messages, len(hub())

    subscribers, messages, left = run(scenario)

    assert subscribers == [(CHANNEL.encode(), 1)]
    assert messages == ['data: ["a.B"]\n\n'] * 20
    assert left == 0


def test_what_waits_for_a_slow_page_never_exceeds_its_own_topics():
    topics = [f"a.B.{i}" for i in range(50)]
    slow = page(*topics)

    for i in range(1000):
        slow.tell([f"a.B.{i % 70}", f"c.D.{i}"])

    assert set(slow.pending) == set(topics)


def test_equal_topics_are_told_once():
    slow = page("a.B")
    slow.tell(["a.B.1", "a.B.2", "a.B@c"])

    assert slow.take() == 'data: ["a.B"]\n\n'
    assert slow.take() == ""


def test_without_a_broker_the_page_is_told_to_poll_and_the_stream_stays_open(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    async def scenario():
        events = stream(page("a.B"), lambda: answer({}), every=0.05)
        got = [await anext(events) for _ in range(3)]
        await events.aclose()
        return got

    assert run(scenario) == [POLL, "event: state\ndata: {}\n\n", ALIVE]


def test_a_broker_that_comes_back_ends_the_stream_so_that_the_page_opens_it_anew(broker_url, monkeypatch):
    monkeypatch.setattr(live, "RECONNECT_SECONDS", 0.1)

    async def scenario():
        events = stream(page("a.B"), lambda: answer({}))
        await anext(events)
        Redis.from_url(broker_url).client_kill_filter(_type="pubsub")
        return [event async for event in events]

    assert run(scenario)[:1] in ([POLL], [])


def test_a_stream_ends_as_soon_as_the_rights_change(broker_url):
    states = [{}, None]

    async def scenario():
        events = stream(page("a.B"), lambda: answer(states.pop(0)), every=60)
        await anext(events)
        tell(broker_url, "accounts.User.me")
        return [event async for event in events]

    assert run(scenario) == []


def test_a_state_is_told_when_it_changes_and_otherwise_a_comment_keeps_the_stream_alive(broker_url):
    stale = {"stale": "watcher of a is down", "since": "2026-01-01T00:00:00+00:00"}
    states = [{}, {}, stale, stale]

    async def scenario():
        events = stream(page("a.B"), lambda: answer(states.pop(0)), every=0.05)
        got = [await anext(events) for _ in range(4)]
        await events.aclose()
        return got

    told = f"event: state\ndata: {json.dumps(stale)}\n\n"
    assert run(scenario) == ["event: state\ndata: {}\n\n", ALIVE, told, ALIVE]


def test_readers_hear_lists_and_their_own_rows_and_outsiders_nothing(researcher, outsider, default_pool, department):
    from organizations.models import Department

    foreign = Department.objects.create(cluster=department.cluster, name="other")
    own = researcher.access_rules.get().scope_id

    assert _may_hear(researcher, "topology.NodePool")
    assert _may_hear(researcher, f"topology.NodePool.{default_pool.pk}")
    assert _may_hear(researcher, f"clusters.Node@{default_pool.cluster_id}")
    assert _may_hear(researcher, f"organizations.Project.{own}")
    assert not _may_hear(researcher, f"organizations.Department.{foreign.pk}")
    for label in ("clusters.Node", "clusters.Pod", "metrics.MetricFrame"):
        assert _may_hear(researcher, f"{label}@{default_pool.cluster_id}")
        assert not _may_hear(researcher, f"{label}@{uuid.uuid4()}")  # another cluster, or none
    assert not _may_hear(outsider, f"topology.NodePool.{default_pool.pk}")
    for topic in ("", ".", "x.y", "topology.NodePool.x.y", "topology", "topology.NodePool.\x00", "é.ü"):
        assert topic == "topology.NodePool" or not _may_hear(outsider, topic)


@pytest.mark.parametrize("pk", ["zzz", "\x00", "-1", "9" * 40, "٣", "..", str(uuid.UUID(int=0))])
def test_a_topic_of_no_row_is_heard_by_nobody(admin, pk):
    for label in (
        "clusters.Cluster",
        "workloads.Workload",
        "topology.NetworkTopology",
        "topology.NodePool",
        "nope.Nope",
    ):
        assert not _may_hear(admin, f"{label}.{pk}")


def test_lists_of_what_a_cluster_had_are_told_when_it_is_removed(cluster):
    from controlplane.reconcilers import topics_of_all_on

    topics = (f"clusters.Node@{cluster.pk}", "clusters.Node", f"clusters.Pod@{cluster.pk}", "workloads.Workload")
    shown = page(*topics, f"clusters.Node@{uuid.UUID(int=0)}")

    shown.tell(topics_of_all_on(cluster))

    assert set(shown.pending) == set(topics)


def test_the_state_names_a_cluster_whose_watcher_is_silent_and_ends_with_the_session(admin, cluster, client_of):
    client = client_of(admin)
    key = client.session.session_key
    topics = frozenset({"topology.NodePool"})
    now = timezone.now()
    heard = {"eventAt": now.isoformat()}
    type(cluster).objects.update(watcher_until=now + timedelta(minutes=1), streams={"nodes": heard})
    assert _state(admin.pk, key, topics) == {}

    type(cluster).objects.update(watcher_until=now)
    assert _state(admin.pk, key, topics) == {"stale": "watcher of cluster-a is down", "since": now.isoformat()}

    AccessRule.objects.all().delete()
    assert _state(admin.pk, key, topics) is None
    User.objects.update(is_active=False)
    assert _state(admin.pk, key, frozenset()) is None


def test_the_state_names_each_cluster_that_is_not_current_and_since_when_the_oldest_is_not(admin, cluster, client_of):
    """Watched all the same: one says nothing more, of one the pods cannot be read, one was never heard, one is well."""
    now = timezone.now()
    long_ago, ago = now - timedelta(hours=3), now - timedelta(hours=1)
    well = {"eventAt": now.isoformat()}
    streams = {
        "cluster-a": {"nodes": {"eventAt": ago.isoformat()}},
        "cluster-b": {"nodes": well, "pods": {"eventAt": long_ago.isoformat(), "error": "forbidden"}},
        "cluster-c": {},
        "cluster-d": {"nodes": well},
    }
    cluster.delete()
    for name, found in streams.items():
        type(cluster).objects.create(
            name=name, server="http://127.0.0.1:1", credential=b"", phase="Connected", streams=found,
            watcher_until=None if name == "cluster-c" else now + timedelta(minutes=5),
        )  # fmt: skip

    assert _state(admin.pk, client_of(admin).session.session_key, frozenset()) == {
        "stale": "cluster-a, cluster-b (pods), cluster-c was never heard",
        "since": long_ago.isoformat(),
    }


def test_a_signed_out_session_hears_nothing_more(admin, client_of):
    client = client_of(admin)
    key = client.session.session_key
    client.post("/account/logout")

    assert _state(admin.pk, key, frozenset()) is None


def test_anonymous_people_get_no_stream(db, client):
    assert client.get("/live?topic=topology.NodePool").status_code == 302
    assert django_settings.LOGIN_URL == "accounts:login"


@pytest.mark.django_db(transaction=True)
def test_the_view_answers_an_event_stream_that_no_proxy_buffers(admin, client_of):
    answer = client_of(admin).get("/live?topic=topology.NodePool")

    assert answer.headers["Content-Type"] == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Accel-Buffering"] == "no"
    answer.close()
