"""The shard that rows give is the one that the simulated scheduler builds from the same API."""

import asyncio
import datetime as dt
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.kinds import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
    Kind,
)
from clusters.models import Cluster, Pod
from clusters.snapshot import OTHER_PODS, POD_LABELS, SCHEDULER_FLAGS, STALE, pools_of, shard_snapshot
from clusters.snapshot_rows import known_pod_labels
from clusters.watcher import store
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Batch
from clusters.watcher.scheduling import DEFAULT_TOLERATIONS, REQUIRED
from scheduling.objects import UnreadableObject, shard_config
from scheduling.structs import QueueResource, SchedulerConfig, Snapshot
from simulator.actors.informer import InformerSet
from simulator.actors.scheduler.cache import KINDS, SchedulerCache
from simulator.api.bootstrap import bootstrap
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from simulator.fleets.load import load_fleet

pytestmark = pytest.mark.django_db

NOW = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
ME = "watcher-1"
STREAMS = {kind.name: kind for kind in OBSERVED}
GPU = "nvidia.com/gpu"
ALL = (*KINDS, KAI_SCHEDULING_SHARD)

Entry = tuple[Kind, dict[str, Any]]
Listed = dict[Kind, list[dict[str, Any]]]


def listed(fleet: str, *more: Entry) -> Listed:
    """The objects of a fleet, and these, as the simulated API server lists them."""

    async def run() -> Listed:
        server = Server()
        bootstrap(server)
        client = InProcessClient(server)
        await load_fleet(client, fleet)
        for kind, given in more:
            manifest, namespace = dict(given), given["metadata"].get("namespace")
            status = manifest.pop("status", None)
            await client.create(kind, manifest, namespace)
            if status:
                name = manifest["metadata"]["name"]
                await client.patch(kind, name, namespace, {"status": status}, subresource="status")
        found = {kind: (await client.list(kind)).items for kind in ALL}
        server.close()
        return found

    return asyncio.run(run())


def seen_by_the_scheduler(objects: Listed, pool: str = "") -> Snapshot:
    informers = InformerSet(None)  # type: ignore[arg-type]
    cache = SchedulerCache(informers)
    for kind in KINDS:
        for item in objects[kind]:
            informers.of(kind).store(item)
    return cache.snapshot(pool, NOW.timestamp())


def mirror(cluster: Cluster, objects: Listed) -> Cluster:
    """Write the objects into rows as the watcher does."""
    assert store.claim(cluster.pk, ME)
    for kind, items in objects.items():
        stream = STREAMS[kind.plural]
        decoded = [msgspec.convert(item, stream.struct) for item in items]
        kept = [item for item in decoded if stream.keep(item)]
        uids = [i.metadata["uid"] if isinstance(i.metadata, dict) else i.metadata.uid for i in kept]
        store.write_batch(cluster.pk, ME, stream, Batch(dict(zip(uids, kept, strict=True))))
    cluster.refresh_from_db()
    return cluster


METADATA = {"name": "odd", "namespace": "sandbox", "uid": "odd", "resourceVersion": "1"}


def odd(kind: Kind, spec: Any) -> dict[str, Any]:
    """An object that a CRD without a schema lets in."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": METADATA, "spec": spec}


def comparable(snapshot: Snapshot) -> Any:
    """Lists sorted by name; pods that the mirror says it does not know are left out, as are labels and the tolerations
    of every pod, which it does not keep."""
    pods = []
    for pod in snapshot.pods:
        if not pod.podgroup and not pod.requests.gpu and not pod.gpu_fraction:
            continue
        kept = {key: value for key, value in pod.labels.items() if key in known_pod_labels()}
        spread = pod.anti_affinity or pod.pod_affinity
        tolerations = tuple(entry for entry in pod.tolerations if entry.key not in DEFAULT_TOLERATIONS)
        pods.append(msgspec.structs.replace(pod, labels=pod.labels if spread else kept, tolerations=tolerations))
    return msgspec.to_builtins(
        msgspec.structs.replace(
            snapshot,
            nodes=tuple(sorted(snapshot.nodes, key=lambda node: node.name)),
            queues=tuple(sorted(snapshot.queues, key=lambda queue: queue.name)),
            podgroups=tuple(sorted(snapshot.podgroups, key=lambda group: group.key)),
            pods=tuple(sorted(pods, key=lambda pod: pod.key)),
            topologies=tuple(sorted(snapshot.topologies, key=lambda topology: topology.name)),
        )
    )


def pod(name: str, **more: Any) -> Entry:
    """A pod of gang `g` that has one of everything that the scheduler heeds, as far as `more` does not say less."""
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [
            {
                "name": "main",
                "image": "x",
                "resources": {
                    "requests": {"cpu": "1500m", "memory": "1.5Gi"},
                    "limits": {GPU: more.pop("gpus", "2")},
                },
            }
        ],
    }
    metadata = {"name": name, "namespace": "team", "annotations": {"pod-group-name": "g"}}
    metadata["annotations"] |= more.pop("annotations", {})
    metadata["labels"] = {"kai.scheduler/queue": "team", **more.pop("labels", {})}
    return POD, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | more}


def named(kind: Kind, name: str, namespace: str = "", **more: Any) -> Entry:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **more}


RESOURCE = {"quota": 2, "limit": -1, "overQuotaWeight": 3}
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "spread"}}}
IN_ZONE_A = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}
READY = {"type": "Ready", "status": "True"}
CONSTRUCTED: tuple[Entry, ...] = (
    named(NAMESPACE, "team"),
    named(PRIORITY_CLASS, "usual", value=60, globalDefault=True),
    named(
        KAI_QUEUE,
        "team",
        spec={
            "parentQueue": "default-parent-queue",
            "priority": 7,
            "preemptMinRuntime": "1h30m",
            "resources": {"gpu": RESOURCE, "cpu": {**RESOURCE, "limit": 64000}, "memory": {**RESOURCE, "limit": 900}},
        },
    ),
    named(KAI_QUEUE, "pooled", metadata={"labels": {"kai.scheduler/node-pool": "b"}}, spec={"resources": {}}),
    named(
        KAI_POD_GROUP,
        "g",
        "team",
        metadata={"annotations": {"kai.scheduler/last-start-timestamp": "2026-11-29T11:00:00Z"}},
        spec={
            "queue": "team",
            "minMember": 3,
            "priorityClassName": "inference",
            "preemptibility": "preemptible",
            "stalenessGracePeriod": "5m",
            "topologyConstraint": {"topology": "by-hand", "preferredTopologyLevel": "topology.kubernetes.io/rack"},
            "subGroups": [{"name": "lead", "minMember": 1}, {"name": "work", "minMember": 2}],
        },
    ),
    named(KAI_POD_GROUP, "plain", "team", spec={"queue": "team", "minMember": 1}),
    named(
        KAI_SCHEDULING_SHARD,
        "b",
        spec={
            "partitionLabelValue": "b",
            "placementStrategy": {"gpu": "spread", "cpu": "spread"},
            "minRuntime": {"reclaimMinRuntime": "10m"},
            "kValue": 0.5,
        },
    ),
    named(NODE, "pooled-1", metadata={"labels": {"kai.scheduler/node-pool": "b"}}, spec={},
          status={"capacity": {GPU: "4", "cpu": "8", "memory": "32Gi", "pods": "20"},
                  "allocatable": {GPU: "3", "cpu": "7500m", "memory": "30Gi", "pods": "20"},
                  "conditions": [READY, {"type": "MemoryPressure", "status": "Unknown"}]}),
    pod("lead-0", labels={"kai.scheduler/subgroup-name": "lead", "kai.scheduler/task-priority": "9"}),
    pod("work-0", labels={"kai.scheduler/subgroup-name": "work"}, nodeSelector={"team.example.com/pool": "training"},
        tolerations=[{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]),
    pod("work-1", labels={"kai.scheduler/subgroup-name": "work", "app": "spread"}, schedulingGates=[{"name": "later"}],
        affinity={
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [IN_ZONE_A]}]}},
            "podAntiAffinity": {REQUIRED: [TERM]}}),
    pod("half", gpus="0", annotations={"gpu-fraction": "0.5", "pod-group-name": "plain"}, nodeName="gpu-a1-1"),
    pod("foreign", schedulerName="default-scheduler", nodeName="gpu-a1-2"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fleet", "more", "pool"), [("small", (), ""), ("small", CONSTRUCTED, ""), ("small", CONSTRUCTED, "b")]
)
def test_rows_give_the_snapshot_that_the_scheduler_has(
    cluster: Cluster, fleet: str, more: tuple[Entry, ...], pool: str
) -> None:
    objects = listed(fleet, *more)

    shard = shard_snapshot(mirror(cluster, objects), pool, now=NOW)

    assert comparable(shard.snapshot) == comparable(seen_by_the_scheduler(objects, pool))
    assert len(shard.snapshot.nodes) == (1 if pool else 18)


def test_the_shards_own_settings_are_read(cluster: Cluster) -> None:
    objects = listed("small", *CONSTRUCTED)
    mirror(cluster, objects)

    assert shard_snapshot(cluster, "", now=NOW).config == SchedulerConfig()
    pooled = shard_snapshot(cluster, "b", now=NOW).config
    assert (pooled.gpu_placement, pooled.reclaim_min_runtime, pooled.k_value) == ("spread", 600.0, 0.5)
    assert pooled == shard_config(next(s for s in objects[KAI_SCHEDULING_SHARD] if s["metadata"]["name"] == "b"))
    assert pools_of(cluster) == ("", "b")
    assert shard_snapshot(cluster, "nowhere", now=NOW).snapshot.nodes == ()


def test_what_changes_is_read_again_and_nothing_else(cluster: Cluster) -> None:
    objects = listed("small", *CONSTRUCTED)
    before = shard_snapshot(mirror(cluster, objects), "", now=NOW).snapshot
    with CaptureQueriesContext(
        connection,
    ) as idle:
        again = shard_snapshot(cluster, "", now=NOW).snapshot
    assert len(idle) == 1
    assert {id(node) for node in again.nodes} == {id(node) for node in before.nodes}

    node = next(n for n in objects[NODE] if n["metadata"]["name"] == "gpu-a1-1")
    node["spec"]["unschedulable"] = True
    node["metadata"]["resourceVersion"] = "999999"
    mirror(cluster, {NODE: [node]})
    after = shard_snapshot(cluster, "", now=NOW).snapshot

    assert [n.name for n in after.nodes if n.unschedulable] == ["gpu-a1-1", "gpu-b1-3"]
    assert len({id(n) for n in after.nodes} & {id(n) for n in before.nodes}) == 17


def test_a_plain_pod_keeps_nothing_beside_its_columns(cluster: Cluster) -> None:
    mirror(cluster, listed("small", *CONSTRUCTED, pod("plain-0", annotations={"pod-group-name": "plain"})))

    kept = {row.name: row.scheduling for row in Pod.objects.all()}
    assert kept["plain-0"] == {}
    assert kept["lead-0"] == {"subgroup": "lead", "taskPriority": "9"}
    assert kept["foreign"] == {"scheduler": "default-scheduler"}


def test_the_default_tolerations_of_every_pod_are_not_kept(cluster: Cluster) -> None:
    default = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    annotations = {"pod-group-name": "plain"}
    mirror(cluster, listed("small", *CONSTRUCTED, pod("p", annotations=annotations, tolerations=default)))

    assert Pod.objects.get(name="p").scheduling == {}


def test_what_rows_cannot_know_is_named(cluster: Cluster) -> None:
    mirror(cluster, listed("small", *CONSTRUCTED))
    unheard = shard_snapshot(cluster, "", now=NOW)

    assert {OTHER_PODS, SCHEDULER_FLAGS, STALE, "notRead:nodes"} <= set(unheard.unknown)
    assert unheard.observed_at is None

    at = NOW - dt.timedelta(seconds=20)
    stream = {"listedAt": at.isoformat(), "eventAt": at.isoformat(), "error": "", "served": True}
    Cluster.objects.filter(pk=cluster.pk).update(
        watcher_until=NOW + dt.timedelta(seconds=30),
        streams=dict.fromkeys(("nodes", "pods", "queues", "podgroups", "topologies"), stream),
    )
    cluster.refresh_from_db()
    heard = shard_snapshot(cluster, "", now=NOW)

    assert heard.unknown == (OTHER_PODS, SCHEDULER_FLAGS, POD_LABELS)
    assert heard.observed_at == at


def test_a_duration_that_blinds_the_scheduler_is_named_and_the_rest_is_read(cluster: Cluster) -> None:
    objects = listed("small", *CONSTRUCTED)
    team = next(queue for queue in objects[KAI_QUEUE] if queue["metadata"]["name"] == "team")
    team["spec"]["preemptMinRuntime"] = "1d"

    shard = shard_snapshot(mirror(cluster, objects), "", now=NOW)

    assert shard.unreadable == ('Queue team: time: invalid duration "1d"',)
    assert "team" not in {queue.name for queue in shard.snapshot.queues}
    assert {topology.name for topology in shard.snapshot.topologies} == {"by-hand"}
    assert KAI_TOPOLOGY in objects


@pytest.mark.parametrize(
    ("kind", "spec", "unreadable"),
    [
        (KAI_QUEUE, {"parentQueue": 5, "resources": {}}, "Queue odd: Expected `str`, got `int` - at `$.parent`"),
        (KAI_QUEUE, {"priority": "high"}, "Queue odd: Expected `int`, got `str` - at `$.priority`"),
        (
            KAI_TOPOLOGY,
            {"levels": [{"nodeLabel": 5}]},
            "Topology odd: Expected `str`, got `int` - at `$.levels[0].label`",
        ),
        (KAI_TOPOLOGY, {"levels": [{}]}, "Topology odd: 'nodeLabel'"),
        (KAI_POD_GROUP, {"minMember": "3"}, "PodGroup odd: Expected `int | null`, got `str` - at `$.min_member`"),
    ],
)  # fmt: skip
def test_an_object_with_a_field_of_another_type_is_named_and_the_rest_is_read(
    cluster: Cluster, kind: Kind, spec: dict[str, Any], unreadable: str
) -> None:
    whole = listed("small")
    objects = {**whole, kind: [*whole[kind], odd(kind, spec)]}

    shard = shard_snapshot(mirror(cluster, objects), "", now=NOW)

    assert shard.unreadable == (unreadable,)
    assert comparable(shard.snapshot) == comparable(seen_by_the_scheduler(whole))


@pytest.mark.parametrize(
    "spec", [None, [], "x", {"resources": None}, {"resources": {"gpu": "8k", "cpu": {"quota": None}}}]
)
def test_a_queue_whose_parts_are_of_another_type_is_read_without_them(cluster: Cluster, spec: Any) -> None:
    objects = listed("small")
    objects[KAI_QUEUE].append(odd(KAI_QUEUE, spec))

    shard = shard_snapshot(mirror(cluster, objects), "", now=NOW)

    (found,) = (queue for queue in shard.snapshot.queues if queue.name == "odd")
    assert (found.parent, found.priority, found.gpu, found.cpu) == ("", 100, QueueResource(), QueueResource())
    assert shard.unreadable == ()


@pytest.mark.parametrize("spec", [5, [], {"levels": None}, {"levels": "zone"}, {"levels": [None, "zone", 5]}])
def test_a_topology_without_levels_that_are_objects_has_none(cluster: Cluster, spec: Any) -> None:
    objects = listed("small")
    objects[KAI_TOPOLOGY].append(odd(KAI_TOPOLOGY, spec))

    shard = shard_snapshot(mirror(cluster, objects), "", now=NOW)

    assert {found.name: found.levels for found in shard.snapshot.topologies}["odd"] == ()


def test_a_shard_whose_pool_is_a_number_stops_no_other(cluster: Cluster) -> None:
    objects = listed("small")
    objects[KAI_SCHEDULING_SHARD] += [
        odd(KAI_SCHEDULING_SHARD, {"partitionLabelValue": 5, "placementStrategy": "bin", "minRuntime": []}),
        odd(KAI_SCHEDULING_SHARD, {"partitionLabelValue": "b"}) | {"metadata": METADATA | {"name": "b", "uid": "b"}},
    ]

    assert pools_of(mirror(cluster, objects)) == ("", "5", "b")
    assert shard_snapshot(cluster, "5", now=NOW).config == SchedulerConfig()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"kValue": "x"}, "'x' is not a number"),
        ({"kValue": "0.5"}, "'0.5' is not a number"),
        ({"placementStrategy": {"gpu": 5}}, "Expected `str`, got `int`"),
        ({"minRuntime": {"preemptMinRuntime": 7}}, ""),
    ],
)
def test_a_shard_that_cannot_be_read_is_named_and_its_pool_has_kais_own_settings(
    cluster: Cluster, spec: dict[str, Any], said: str
) -> None:
    objects = listed("small", *CONSTRUCTED)
    [shard] = [shard for shard in objects[KAI_SCHEDULING_SHARD] if shard["metadata"]["name"] == "b"]
    shard["spec"] = {**spec, "partitionLabelValue": "b"}
    with pytest.raises(UnreadableObject, match=f"SchedulingShard b: .*{said}"):
        shard_config(shard)

    seen = shard_snapshot(mirror(cluster, objects), "b", now=NOW)

    assert seen.config == SchedulerConfig()
    assert [text for text in seen.unreadable if text.startswith("SchedulingShard b: ")]


def test_a_shard_whose_spec_is_no_mapping_is_no_pool(cluster: Cluster) -> None:
    objects = listed("small", *CONSTRUCTED)
    next(shard for shard in objects[KAI_SCHEDULING_SHARD] if shard["metadata"]["name"] == "b")["spec"] = ["b"]

    assert "b" not in pools_of(mirror(cluster, objects))
