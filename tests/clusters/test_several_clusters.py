"""Several clusters in one Muster: two live API servers on loopback, of which one is down, slow or answers nonsense."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from clusters import connections
from clusters.kinds import KAI_SCHEDULING_SHARD, NODE
from clusters.models import Cluster, Node
from clusters.selectors import watch_state
from clusters.watcher import cluster_watch, store, stream
from clusters.watcher.cluster_watch import ClusterWatch
from controlplane import jobs, tasks
from core import leases
from simulator.api.bootstrap import bootstrap
from tests.clusters.conftest import ApiServer, serving
from tests.clusters.objects import node
from tests.clusters.test_stream import until
from tests.clusters.test_watcher import ME, bare
from topology.models import NodePool

TIMEOUT = 1.5
TROUBLES = {
    "down": ("api-down", {}),
    "slow": ("api-slow", {"delay": 2 * TIMEOUT}),
    "dropping": ("connection-dropped", {}),
    "failing": ("internal-error", {}),
}


@dataclass
class Side:
    """A cluster of Muster's, the API server behind it, and its watch."""

    row: Cluster
    api: ApiServer
    watch: ClusterWatch

    def add_node(self, name: str) -> None:
        self.api.client().create(NODE, bare(node(name, labels={"pool": "batch"})))

    def add_pool(self, name: str) -> NodePool:
        return NodePool.objects.create(cluster=self.row, name=name, label_key="pool", label_value="batch")

    def nodes(self) -> list[str]:
        return sorted(Node.objects.filter(cluster=self.row).values_list("name", flat=True))

    def shards(self) -> list[str]:
        return [shard["metadata"]["name"] for shard in self.api.client().list(KAI_SCHEDULING_SHARD).items]


@pytest.fixture
def sides(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Side, Side]]:
    """`near`, which stays well, and `far`, which is soon given up; the reading threads run, the test writes with
    `flush`."""
    servers: dict[str, ApiServer] = {}

    def connect(cluster: Cluster) -> Any:
        short = {"connect": TIMEOUT, "read": TIMEOUT, "watch_read": TIMEOUT + 0.5} if cluster.name == "far" else {}
        return servers[cluster.name].connection(**short)

    monkeypatch.setattr(cluster_watch, "connection_of", connect)
    monkeypatch.setattr(connections, "connection_of", connect)
    monkeypatch.setattr(stream, "BACKOFF_LAST", 1.0)
    with ExitStack() as stack:
        found = []
        for name in ("near", "far"):
            servers[name] = api = stack.enter_context(serving())
            api.call(bootstrap, api.server)
            row = Cluster.objects.create(name=name, server=api.url, credential=b"")
            assert store.claim(row.pk, ME)
            watch = ClusterWatch(row, ME)
            watch.start_reading()
            stack.callback(watch.stop)
            stack.callback(connections.open_gateway(row).close)
            found.append(Side(row, api, watch))
        yield found[0], found[1]
        found[1].api.heal()


def flushed(sides: tuple[Side, ...], condition: Callable[[], bool]) -> None:
    def once() -> bool:
        for side in sides:
            side.watch.flush()
        return condition()

    until(once, 20)


def reconciled(side: Side) -> int:
    """One run of the cluster's task, with all of its rows due."""
    leases.poke(Cluster, [side.row.pk])
    leases.poke(NodePool, side.row.node_pools.values_list("pk", flat=True))
    return tasks.reconcile_cluster(str(side.row.pk))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_cluster_in_trouble_slows_and_hides_nothing_of_the_other(
    sides: tuple[Side, Side], trouble: str, admin: User, client: Client
) -> None:
    near, far = sides
    for side in sides:
        side.add_node(f"{side.row.name}-1")
    flushed(sides, lambda: near.nodes() == ["near-1"] and far.nodes() == ["far-1"])
    for side in sides:
        reconciled(side)
        side.watch.heartbeat()
    assert set(Cluster.objects.values_list("phase", flat=True)) == {"MissingPrerequisites"}

    fault, parameters = TROUBLES[trouble]
    far.api.fault(fault, **parameters)
    for side in sides:
        side.add_node(f"{side.row.name}-2")
        side.add_pool(f"{side.row.name}-pool")

    # The far cluster's turn comes first and ends soon; then everything of the near one is done.
    began = time.monotonic()
    reconciled(far)
    assert time.monotonic() - began < 10 * TIMEOUT
    assert reconciled(near) == 2
    assert near.shards() == ["near-pool"]
    assert NodePool.objects.get(name="near-pool").phase == "Ready"
    flushed(sides, lambda: near.nodes() == ["near-1", "near-2"])
    until(lambda: all(s.state.error for s in far.watch.streams if s.kind.name in ("nodes", "pods")), 20)
    for side in sides:
        side.watch.heartbeat()

    # Nothing of the far one is lost or hidden: its rows are kept, and said to be old and why.
    assert "far-1" in far.nodes()
    assert Cluster.objects.get(name="far").phase == "Disconnected"
    assert Cluster.objects.get(name="near").phase == "MissingPrerequisites"
    pages = all_pages(client, admin)
    assert all(name in pages["clusters:cluster-list"] for name in ("near", "far"))
    assert all(name in pages["clusters:node-list"] for name in ("near-1", "near-2", "far-1"))
    assert all(name in pages["topology:node-pool-list"] for name in ("near-pool", "far-pool"))

    far.api.heal()
    flushed(sides, lambda: far.nodes() == ["far-1", "far-2"])

    def is_whole() -> bool:
        """Its short times may end once more on a busy machine."""
        done = reconciled(far) > 0 and far.shards() == ["far-pool"]
        return done and Cluster.objects.get(name="far").phase == "MissingPrerequisites"

    until(is_whole, 20)


def test_what_waits_for_a_kind_is_done_at_once_when_the_kind_is_served_again(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    _near, far = sides
    told: list[str] = []
    monkeypatch.setattr(cluster_watch, "hint_recovered", lambda label, pk: told.append(str(pk)))
    far.add_node("far-1")
    flushed(sides, lambda: far.nodes() == ["far-1"])
    reconciled(far)
    far.api.fault("version-not-served", group="kai.scheduler", version="v1")
    far.add_pool("far-pool")
    reconciled(far)
    NodePool.objects.filter(name="far-pool").update(next_check_at=timezone.now() + timedelta(minutes=1))
    assert NodePool.objects.get(name="far-pool").failures == 0
    until(lambda: far.watch.note_recovery() is None and "schedulingshards" in far.watch.unserved, 20)
    told.clear()  # of kinds that were asked for while the fault came

    far.api.heal()
    until(lambda: far.watch.note_recovery() is None and told == [str(far.row.pk)], 20)
    assert tasks.recovered(told[0]) == 1
    tasks.reconcile_cluster(str(far.row.pk))

    assert far.shards() == ["far-pool"]
    assert NodePool.objects.get(name="far-pool").phase == "Ready"


def test_a_cluster_that_answers_no_stream_any_more_is_looked_at_at_once(sides: tuple[Side, Side]) -> None:
    near, far = sides
    flushed(sides, lambda: all(stream.state.listed_at for side in sides for stream in side.watch.streams))
    later = timezone.now() + timedelta(seconds=30)
    Cluster.objects.update(phase="Connected", last_contact_at=timezone.now(), next_check_at=later)
    far.api.fault("api-down")

    until(lambda: [side.watch.note_recovery() for side in sides] and far.watch.is_cut_off, 20)

    row = Cluster.objects.get(pk=far.row.pk)
    assert row.next_check_at < later
    assert watch_state(row).stale
    tasks.reconcile_cluster(str(far.row.pk))
    assert Cluster.objects.get(pk=far.row.pk).phase == "Disconnected"
    assert Cluster.objects.get(pk=near.row.pk).next_check_at == later


def test_what_failed_in_an_outage_is_done_at_once_when_the_cluster_answers_again(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = sides
    told: list[str] = []
    monkeypatch.setattr(cluster_watch, "hint_recovered", lambda label, pk: told.append(str(pk)))
    far.add_node("far-1")
    flushed(sides, lambda: far.nodes() == ["far-1"])
    reconciled(far)
    far.api.fault("api-down")
    far.add_pool("far-pool")
    near.add_pool("near-pool")
    tasks.reconcile_cluster(str(far.row.pk))
    # As after many tries: the next one is minutes away.
    NodePool.objects.filter(name="far-pool").update(failures=9, next_check_at=timezone.now() + timedelta(minutes=5))
    until(lambda: [side.watch.note_recovery() for side in sides] and far.watch.is_cut_off, 20)
    assert told == []

    far.api.heal()
    until(lambda: [side.watch.note_recovery() for side in sides] and told == [str(far.row.pk)], 20)
    assert tasks.recovered(told[0]) == 1
    tasks.reconcile_cluster(str(far.row.pk))

    assert far.shards() == ["far-pool"]
    row = NodePool.objects.get(name="far-pool")
    assert (row.phase, row.failures) == ("Ready", 0)


def test_a_cluster_row_that_finds_its_cluster_back_wakes_what_failed_meanwhile(sides: tuple[Side, Side]) -> None:
    _near, far = sides
    far.api.fault("api-down")
    far.add_pool("far-pool")
    reconciled(far)
    failed = NodePool.objects.get(name="far-pool")
    assert failed.failures == 1
    NodePool.objects.update(failures=9, next_check_at=timezone.now() + timedelta(minutes=5))

    far.api.heal()
    leases.poke(Cluster, [far.row.pk])
    tasks.reconcile_cluster(str(far.row.pk))

    assert far.shards() == ["far-pool"]
    assert NodePool.objects.get(name="far-pool").failures == 0


def test_while_one_clusters_task_hangs_the_others_is_sent(
    sides: tuple[Side, Side], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = sides
    sent: list[str] = []
    monkeypatch.setattr(tasks.reconcile_cluster, "apply_async", lambda args, **_: sent.append(args[0]))
    Cluster.objects.update(next_check_at=timezone.now())

    with jobs.lease(f"{tasks.CLUSTER_JOB}{far.row.pk}", at_most=timedelta(minutes=1)):
        tasks.reconcile_tick()

    assert sent == [str(near.row.pk)]


def all_pages(client: Client, admin: User) -> dict[str, str]:
    client.force_login(admin)
    names = ("clusters:cluster-list", "clusters:node-list", "topology:node-pool-list", "overview")
    pages = {}
    for name in names:
        answer = client.get(reverse(name))
        assert answer.status_code == 200
        pages[name] = answer.content.decode()
    return pages
