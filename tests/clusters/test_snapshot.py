"""The shard that rows give is the one that the simulated scheduler builds from the same API."""

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.kinds import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    NAMESPACE,
    NODE,
)
from clusters.models import Cluster, Node, Pod
from clusters.snapshot import OTHER_PODS, POD_LABELS, SCHEDULER_FLAGS, STALE, pools_of, shard_snapshot
from scheduling.objects import shard_config
from scheduling.shards import of_pool
from scheduling.structs import SchedulerConfig
from tests.clusters.snapshots import (
    CONSTRUCTED,
    GPU,
    NOW,
    READY,
    Entry,
    comparable,
    listed,
    mirror,
    named,
    pod,
    seen_by_the_scheduler,
)

pytestmark = pytest.mark.django_db


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


def test_what_carries_the_pool_label_with_an_empty_value_is_of_no_shard(cluster: Cluster) -> None:
    """The default shard takes what does not carry the label at all (reference kai-scheduler.md, trap 10)."""
    empty = {"labels": {"kai.scheduler/node-pool": ""}}
    objects = listed(
        "small",
        named(NODE, "odd-1", metadata=empty, spec={}, status={"capacity": {GPU: "8"}, "conditions": [READY]}),
        named(KAI_QUEUE, "odd", metadata=empty, spec={"resources": {}}),
        named(NAMESPACE, "team"),
        named(KAI_POD_GROUP, "g", "team", metadata=empty, spec={"queue": "odd", "minMember": 1}),
    )

    shard = shard_snapshot(mirror(cluster, objects), "", now=NOW).snapshot

    assert comparable(shard) == comparable(seen_by_the_scheduler(objects))
    assert comparable(shard) == comparable(of_pool(shard, ""))
    assert "odd-1" not in {node.name for node in shard.nodes}
    assert "odd" not in {queue.name for queue in shard.queues}
    assert "team/g" not in {group.key for group in shard.podgroups}
    assert Node.objects.get(cluster=cluster, name="odd-1").node_pool != ""
