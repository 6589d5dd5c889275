"""Rounds over the simulator's exporters through the API's proxy path, when there are more than time for them."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from clusters.kube.client import KubeGateway
from clusters.models import Node
from metrics import selectors
from metrics.models import MetricSource
from metrics.recording import LONGEST, interval_of, record, take_turn
from simulator.actors.options import ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.bootstrap import bootstrap
from simulator.api.inprocess import InProcessClient
from simulator.fleets.load import FLEETS, restore_fleet
from tests.bench.cluster import first_nodes
from tests.clusters.conftest import ApiServer, serving
from tests.clusters.test_stream import until

NODES = 120
SHORTEST = timedelta(seconds=12)


@pytest.fixture
def exporters(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """An API server with a node and a dcgm-exporter each, which answer."""
    with serving() as api:
        api.call(bootstrap, api.server)
        monkeypatch.setitem(FLEETS, "many", partial(first_nodes, NODES))

        async def fill() -> None:
            client = InProcessClient(api.server)
            for kind, manifest in restore_fleet(api.server.store, "many"):
                await client.create(kind, manifest, manifest["metadata"].get("namespace"))

        asyncio.run_coroutine_threadsafe(fill(), api.loop).result(30)
        options = ActorOptions(actors=frozenset({"exporters"}))
        actors = run_actors(InProcessClient(api.server), api.server.hooks, options)
        acting = asyncio.run_coroutine_threadsafe(actors, api.loop)
        until(lambda: sum(key[0] == "pods" and key[3] == 9400 for key in api.server.hooks.proxies) == NODES, 20)
        yield api
        acting.cancel()


@pytest.fixture
def source_gateway(exporters: ApiServer) -> Iterator[KubeGateway]:
    found = KubeGateway(exporters.connection(read=10.0))
    yield found
    found.close()


def a_round(cluster: Any, gateway: KubeGateway, seconds: float = 60.0) -> MetricSource:
    MetricSource.objects.update(started_at=None)
    source = take_turn(cluster, not_sooner_than=timedelta(0))
    assert source is not None
    record(source, gateway, seconds=seconds)
    return MetricSource.objects.get()


def measured(cluster: Any) -> int:
    layout = selectors.layout_of(cluster)
    moment = selectors.latest(cluster, layout)
    return 0 if moment is None else int(moment.present.sum()) // 8


def test_a_round_that_has_no_time_for_all_keeps_what_it_read_and_the_next_begins_with_the_others(
    cluster: Any, exporters: ApiServer, source_gateway: KubeGateway
) -> None:
    exporters.fault("api-slow", delay=0.3)

    first = a_round(cluster, source_gateway, seconds=3.0)
    read = NODES - len(first.waiting)
    assert 0 < read < NODES / 2 + 20
    assert (measured(cluster), first.error, first.failures) == (read, "", {})
    assert set(first.waiting.values()) == {""}
    second = a_round(cluster, source_gateway, seconds=1.8)

    # Those that had waited were read first; the figures of the others are older, which is known, and not lost.
    still = set(first.waiting) & set(second.waiting)
    assert len(still) < len(first.waiting)
    assert measured(cluster) == NODES - len(still)
    older = {node: moment for node, moment in second.waiting.items() if moment}
    assert set(older.values()) <= {first.read_at.isoformat()} if first.read_at else not older
    known = selectors.freshness(cluster)
    assert (known.state, known.read_at, known.waiting) == ("fresh", second.read_at, len(second.waiting))
    if older:
        assert known.oldest_at == first.read_at

    exporters.heal()
    third = a_round(cluster, source_gateway)
    assert (third.waiting, third.failures, measured(cluster)) == ({}, {}, NODES)


def test_the_page_of_a_node_says_how_old_its_own_figures_are(
    cluster: Any, exporters: ApiServer, source_gateway: KubeGateway, client_of: Any, viewer: Any
) -> None:
    a_round(cluster, source_gateway)
    name = selectors.layout_of(cluster).nodes[0]
    long_ago = timezone.now() - timedelta(minutes=7)
    MetricSource.objects.update(waiting={name: long_ago.isoformat()})

    known = selectors.freshness(cluster, node=name)
    assert (known.state, known.read_at) == ("stale", long_ago)
    assert selectors.freshness(cluster, node=selectors.layout_of(cluster).nodes[1]).state == "fresh"
    node = Node.objects.create(
        cluster=cluster, uid="u", name=name, resource_version="1", created_at=long_ago, gpu_capacity=8
    )
    text = client_of(viewer).get(reverse("metrics:node-gpus", args=[node.pk])).content.decode()
    assert "stale: last read" in text


def test_the_interval_grows_with_what_a_round_takes_and_is_bounded(cluster: Any) -> None:
    source = MetricSource(cluster=cluster)

    for took, seconds in ((0.0, 12), (4.9, 12), (5.5, 12), (20.0, 40), (61.0, 122), (4000.0, LONGEST.total_seconds())):
        source.round_seconds = took
        assert interval_of(source, SHORTEST).total_seconds() == seconds


def test_after_a_long_round_the_next_turn_comes_later(cluster: Any) -> None:
    assert take_turn(cluster, not_sooner_than=SHORTEST) is not None
    now = timezone.now()
    MetricSource.objects.update(busy_until=None, round_seconds=60.0, started_at=now - timedelta(seconds=100))
    assert take_turn(cluster, not_sooner_than=SHORTEST) is None
    MetricSource.objects.update(started_at=now - timedelta(seconds=121))
    assert take_turn(cluster, not_sooner_than=SHORTEST) is not None
