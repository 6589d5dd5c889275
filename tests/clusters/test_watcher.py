"""The watcher against the simulated API server, and what it writes."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters import credentials, wire
from clusters.kinds import KAI_TOPOLOGY, NAMESPACE, NODE, POD, PRIORITY_CLASS
from clusters.models import Cluster, ClusterObject, Node, Pod
from clusters.watcher import cluster_watch, store
from clusters.watcher.changes import Change
from clusters.watcher.cluster_watch import ClusterWatch
from clusters.watcher.observed import OBSERVED, ObservedKind
from clusters.watcher.pending import Batch
from clusters.watcher.process import Watcher
from tests.clusters.conftest import ApiServer
from tests.clusters.objects import node, pod
from tests.clusters.test_stream import until

KINDS: dict[str, ObservedKind] = {kind.name: kind for kind in OBSERVED}
ME = "watcher-1"


def bare(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest as somebody would create it."""
    metadata = {k: v for k, v in manifest["metadata"].items() if k in ("name", "namespace", "labels")}
    return manifest | {"metadata": metadata}


def decoded(manifest: dict[str, Any], struct: Any) -> Any:
    return msgspec.convert(manifest, struct)


def batch_of(*items: Any, deletes: frozenset[str] = frozenset()) -> Batch:
    return Batch({item.metadata.uid: item for item in items}, deletes)


@pytest.fixture
def mine(cluster: Cluster) -> Cluster:
    assert store.claim(cluster.pk, ME)
    return cluster


@pytest.fixture
def heard() -> list[Change]:
    return []


@pytest.fixture
def watching(
    api_server: ApiServer, mine: Cluster, heard: list[Change], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., ClusterWatch]]:
    """Starts reading; the test writes with `flush`, in its own thread and transaction."""
    monkeypatch.setattr(cluster_watch, "connection_of", lambda cluster: api_server.connection())
    started: list[ClusterWatch] = []

    def start(*names: str) -> ClusterWatch:
        kinds = tuple(KINDS[name] for name in names)
        watch = ClusterWatch(mine, ME, (lambda cluster, changes: heard.extend(changes),), kinds)
        watch.start_reading()
        started.append(watch)
        return watch

    yield start
    for watch in started:
        watch.stop()


def flushed(watch: ClusterWatch, condition: Callable[[], bool]) -> None:
    def once() -> bool:
        watch.flush()
        return condition()

    until(once, 10)


def test_nodes_and_pods_of_a_cluster_appear_change_and_go(
    api_server: ApiServer, watching: Callable[..., ClusterWatch], heard: list[Change]
) -> None:
    kubectl = api_server.client()
    kubectl.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
    kubectl.create(NODE, bare(node("n1", labels={"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.memory": "81559"})))
    kubectl.create(POD, bare(pod("p1", gpus=2)))
    kubectl.create(POD, bare(pod("plain", gpus=0)))

    watch = watching("nodes", "pods")
    flushed(watch, lambda: Node.objects.exists() and Pod.objects.exists())

    row = Node.objects.get()
    assert (row.name, row.gpu_capacity, row.gpu_allocatable, row.gpu_type) == ("n1", 8, 8, "H100")
    assert (row.gpu_memory_mib, row.cpu_millicores, row.memory_bytes) == (81559, 64000, 512 * 2**30)
    assert [(p.name, p.gpus) for p in Pod.objects.all()] == [("p1", 2)]

    kubectl.patch(NODE, "n1", None, {"spec": {"unschedulable": True}})
    flushed(watch, lambda: Node.objects.filter(cordoned=True).exists())
    kubectl.delete(POD, "p1", "team-a", grace_period_seconds=0)
    flushed(watch, lambda: not Pod.objects.exists())

    assert [(c.kind.kind, c.type, c.name) for c in heard if c.kind == POD] == [
        ("Pod", "added", "p1"),
        ("Pod", "deleted", "p1"),
    ]
    assert watch.streams[0].state.watches <= 2


def test_what_was_deleted_while_nobody_watched_is_gone_after_the_list(
    api_server: ApiServer, watching: Callable[..., ClusterWatch], mine: Cluster
) -> None:
    kubectl = api_server.client()
    kubectl.create(NODE, bare(node("n1")))
    ghost = decoded(node("ghost"), wire.NodeObject)
    store.write_batch(mine.pk, ME, KINDS["nodes"], batch_of(ghost))

    watch = watching("nodes")
    flushed(watch, lambda: set(Node.objects.values_list("name", flat=True)) == {"n1"})


@pytest.mark.parametrize("fault", ["gone", "watch-gone", "connection-dropped"])
def test_a_fault_of_the_server_is_overcome_and_nothing_is_lost(
    api_server: ApiServer, watching: Callable[..., ClusterWatch], fault: str
) -> None:
    kubectl = api_server.client()
    kubectl.create(NODE, bare(node("n1")))
    watch = watching("nodes")
    flushed(watch, lambda: Node.objects.count() == 1)

    api_server.fault(fault)
    until(lambda: watch.streams[0].state.error != "", 10)
    kubectl.create(NODE, bare(node("n2")))
    kubectl.delete(NODE, "n1")
    assert Node.objects.count() == 1  # stale, and the state says so; not empty
    api_server.heal()

    flushed(watch, lambda: set(Node.objects.values_list("name", flat=True)) == {"n2"})
    until(lambda: watch.streams[0].state.error == "", 10)


def test_a_list_of_many_pages_is_read_whole(api_server: ApiServer, watching: Callable[..., ClusterWatch]) -> None:
    kubectl = api_server.client()
    for number in range(1100):
        kubectl.create(PRIORITY_CLASS, _priority_class(f"class-{number}"))

    watch = watching("priorityclasses")
    flushed(watch, lambda: ClusterObject.objects.filter(name__startswith="class-").count() == 1100)

    row = ClusterObject.objects.get(name="class-7")
    assert row.manifest["kind"] == "PriorityClass"
    assert row.manifest["value"] == 7
    assert "managedFields" not in row.manifest["metadata"]
    assert row.made_by == "kubectl"


def _priority_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 7,
    }


def test_a_kind_whose_crd_is_missing_is_said_to_be_not_served(
    api_server: ApiServer, watching: Callable[..., ClusterWatch]
) -> None:
    watch = watching("topologies")

    until(lambda: watch.streams[0].state.reason == "NotServed")

    assert watch.streams[0].state.as_dict()["served"] is False
    assert KAI_TOPOLOGY.plural == "topologies"


@pytest.mark.parametrize("count", [10, 2000])
def test_p4_a_quiet_resync_writes_nothing_in_few_statements_whatever_the_size(
    mine: Cluster, watching: Callable[..., ClusterWatch], api_server: ApiServer, count: int
) -> None:
    kubectl = api_server.client()
    for number in range(count):
        kubectl.create(PRIORITY_CLASS, _priority_class(f"class-{number}"))
    first = watching("priorityclasses")
    flushed(first, lambda: ClusterObject.objects.count() >= count)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        second = watching("priorityclasses")
        until(lambda: second.streams[0].state.lists == 1, 20)
        second.flush()

    assert len(queries) == 1
    assert queries[0]["sql"].startswith("SELECT")


def test_a_batch_is_one_transaction_and_changes_only_what_it_holds(mine: Cluster) -> None:
    nodes = KINDS["nodes"]
    many = [decoded(node(f"n{number}"), wire.NodeObject) for number in range(1200)]
    store.write_batch(mine.pk, ME, nodes, batch_of(*many))
    one = decoded(node("n7", gpus=4, version=9), wire.NodeObject)

    with CaptureQueriesContext(connection) as queries:
        changes = store.write_batch(mine.pk, ME, nodes, batch_of(one, deletes=frozenset({"uid-n8"})))

    assert [(c.type, c.name) for c in changes] == [("deleted", "n8"), ("modified", "n7")]
    assert Node.objects.count() == 1199
    assert Node.objects.get(name="n7").gpu_capacity == 4
    assert len([q for q in queries if q["sql"].startswith("SAVEPOINT")]) == 1
    assert len(queries) <= 8


def test_field_report_50_a_number_of_gpus_that_flaps_is_noted(mine: Cluster) -> None:
    from clusters.node_presenting import node_problems

    for version, count in enumerate((4, 3, 4, 3, 3), start=1):
        item = decoded(node("n", gpus=count, usable=count, version=version), wire.NodeObject)
        store.write_batch(mine.pk, ME, KINDS["nodes"], batch_of(item))

    row = Node.objects.get()
    assert len(row.gpu_changes) == 3
    assert "changed 3 times in the last 15 minutes" in node_problems(row)[0]["text"]


def test_a_new_object_of_an_old_name_is_a_new_row(mine: Cluster) -> None:
    pods = KINDS["pods"]
    store.write_batch(mine.pk, ME, pods, batch_of(decoded(pod("p", uid="u1"), wire.PodObject)))
    again = decoded(pod("p", uid="u2", version=5), wire.PodObject)

    store.write_batch(mine.pk, ME, pods, batch_of(again, deletes=frozenset({"u1"})))

    assert [(p.uid, p.name) for p in Pod.objects.all()] == [("u2", "p")]


def test_a_watcher_that_lost_its_lease_writes_nothing(mine: Cluster) -> None:
    Cluster.objects.update(watcher="watcher-2", watcher_until=timezone.now() + store.LEASE)

    with pytest.raises(store.LeaseLost):
        store.write_batch(mine.pk, ME, KINDS["nodes"], batch_of(decoded(node("n1"), wire.NodeObject)))

    assert not Node.objects.exists()


def test_a_lease_is_taken_once_kept_by_its_holder_and_free_after_its_end(mine: Cluster) -> None:
    assert store.claim(mine.pk, ME)
    assert not store.claim(mine.pk, "watcher-2")
    Cluster.objects.update(watcher_until=timezone.now() - dt.timedelta(seconds=1))
    assert store.claim(mine.pk, "watcher-2")
    assert not store.claim(mine.pk, ME)
    store.release(mine.pk, "watcher-2")
    assert store.claim(mine.pk, ME)


def test_two_watchers_share_the_clusters_and_leave_a_removed_one(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterWatch, "start", lambda self: None)
    second = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:1", credential=b"")
    first_watcher, second_watcher = Watcher(name="w1"), Watcher(name="w2")

    first_watcher.tick()
    second_watcher.tick()
    first_watcher.tick()

    assert list(first_watcher.watches) + list(second_watcher.watches) == [cluster.pk, second.pk]
    Cluster.objects.filter(pk=cluster.pk).update(deletion_requested_at=timezone.now())
    first_watcher.tick()
    assert not first_watcher.watches


def test_one_unreadable_credential_keeps_no_other_cluster_from_being_watched(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Cluster.objects.create(
        name="z",
        server="http://127.0.0.1:1",
        credential=credentials.encrypt(credentials.Credential(token="t")),
    )
    watcher = Watcher(name="w1")
    monkeypatch.setattr(cluster_watch.ClusterWatch, "_spawn", lambda *_: None)
    monkeypatch.setattr(cluster_watch.ClusterWatch, "_write_until_stopped", lambda *_: None)

    watcher.tick()

    assert list(watcher.watches) == [good.pk]
    watcher.watches[good.pk].stop()


def test_the_state_of_the_streams_is_stored_with_the_lease(
    watching: Callable[..., ClusterWatch], mine: Cluster
) -> None:
    watch = watching("nodes", "topologies")
    until(lambda: watch.streams[0].state.lists == 1 and watch.streams[1].state.reason != "")

    watch.heartbeat()

    mine.refresh_from_db()
    assert mine.streams["nodes"]["error"] == ""
    assert mine.streams["nodes"]["listedAt"] is not None
    assert mine.streams["topologies"]["reason"] == "NotServed"
    assert mine.last_contact_at is not None
    assert mine.watcher_until is not None
    assert mine.watcher_until > timezone.now()


def test_an_object_that_cannot_be_stored_is_left_out_and_stops_no_other(mine: Cluster) -> None:
    watch = ClusterWatch(mine, ME, (), (KINDS["queues"],))
    good = [decoded({"metadata": {"uid": n, "name": n, "resourceVersion": "1"}}, wire.AnyObject) for n in ("a", "b")]
    odd = decoded({"metadata": {"uid": "odd", "resourceVersion": "1"}}, wire.AnyObject)  # has no name

    changes = watch._write(KINDS["queues"], Batch({"a": good[0], "odd": odd, "b": good[1]}))

    assert [change.name for change in changes] == ["a", "b"]
    assert set(ClusterObject.objects.values_list("name", flat=True)) == {"a", "b"}


def test_a_poke_that_fails_keeps_no_other_from_being_told(mine: Cluster) -> None:
    from core.errors import Conflict

    told: list[str] = []

    def broken(cluster: Cluster, changes: object) -> None:
        raise Conflict("no")

    watch = ClusterWatch(mine, ME, (broken, lambda cluster, changes: told.append(changes[0].name)), (KINDS["nodes"],))
    watch._tell([Change(NODE, "added", "n1")])

    assert told == ["n1"]


def test_pod_resources_count_init_containers_and_sidecars_as_the_scheduler_does() -> None:
    from clusters.watcher.rows import pod_row

    manifest = pod("p", gpus=2)
    asks = {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    manifest["spec"]["containers"].append({"name": "side", **asks})
    manifest["spec"]["initContainers"] = [
        {"name": "mesh", "restartPolicy": "Always", **asks},
        {"name": "pull", "resources": {"requests": {"cpu": "4", "memory": "1Mi"}}},
    ]

    row = pod_row(decoded(manifest, wire.PodObject))

    # init: mesh 0.5 + pull 4 = 4.5 cores; running: side 0.5 + mesh 0.5 = 1 core, 2 GiB
    assert (row.gpus, row.cpu_millicores, row.memory_bytes) == (2, 4500, 2 * 2**30)


def test_each_batch_of_nodes_or_pods_raises_the_version_by_which_pages_keep_what_they_computed(mine: Cluster) -> None:
    store.write_batch(mine.pk, ME, KINDS["nodes"], batch_of(decoded(node("n1"), wire.NodeObject)))
    store.write_batch(mine.pk, ME, KINDS["pods"], Batch())

    mine.refresh_from_db()

    assert (mine.nodes_version, mine.pods_version) == (1, 0)
