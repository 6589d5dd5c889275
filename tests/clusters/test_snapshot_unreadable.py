"""Objects that KAI's typed clients cannot decode are named; the rest of a shard is read."""

from typing import Any

import msgspec
import pytest

from clusters.kinds import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
    Kind,
)
from clusters.models import Cluster
from clusters.snapshot import pools_of, shard_snapshot
from scheduling.objects import UnreadableObject, shard_config
from scheduling.structs import QueueResource, SchedulerConfig
from tests.clusters.snapshots import CONSTRUCTED, METADATA, NOW, comparable, listed, mirror, odd, seen_by_the_scheduler

pytestmark = pytest.mark.django_db


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
    shard = shard_snapshot(cluster, "5", now=NOW)
    assert shard.config == SchedulerConfig()
    assert shard.unreadable == ("SchedulingShard odd: placementStrategy is no object",)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"kValue": "x"}, "'x' is not a number"),
        ({"kValue": "0.5"}, "'0.5' is not a number"),
        ({"placementStrategy": {"gpu": 5}}, "Expected `str`, got `int`"),
        ({"placementStrategy": "binpack"}, "placementStrategy is no object"),
        ({"placementStrategy": []}, "placementStrategy is no object"),
        ({"minRuntime": "10m"}, "minRuntime is no object"),
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
    [text] = [text for text in seen.unreadable if text.startswith("SchedulingShard b: ")]
    assert said in text


def test_what_a_shard_sets_is_read() -> None:
    """Arguments of a plugin stand for all that the shard says of it elsewhere; days are understood there only."""
    spec = {
        "kValue": 0,
        "minRuntime": {"preemptMinRuntime": "1d", "reclaimMinRuntime": "-5m"},
        "args": {
            "max-consolidation-preemptees": "-1",
            "default-staleness-grace-period": "5m",
            "allow-consolidating-reclaim": "false",
        },
        "actions": {"preempt": {"enabled": False}, "reclaim": {"priority": 600}},
        "queueDepthPerAction": {"allocate": 5, "reclaim": 0},
    }
    read = SchedulerConfig(
        k_value=0.0,
        max_consolidation_preemptees=-1,
        staleness_grace=300.0,
        preempt_min_runtime=86_400.0,
        consolidating_reclaim=False,
        off=("preempt",),
        queue_depth={"allocate": 5},
    )
    assert shard_config({"metadata": {"name": "b"}, "spec": spec}) == read

    arguments = {"relcaimerSaturationMultiplier": "1.5"}
    plugins = {"proportion": {"arguments": arguments}, "minruntime": {"arguments": {"defaultReclaimMinRuntime": "2m"}}}
    replaced = msgspec.structs.replace(
        read, k_value=1.0, saturation_multiplier=1.5, preempt_min_runtime=0.0, reclaim_min_runtime=120.0
    )
    assert shard_config({"metadata": {"name": "b"}, "spec": {**spec, "plugins": plugins}}) == replaced


def test_a_shard_whose_spec_is_no_mapping_is_no_pool(cluster: Cluster) -> None:
    objects = listed("small", *CONSTRUCTED)
    next(shard for shard in objects[KAI_SCHEDULING_SHARD] if shard["metadata"]["name"] == "b")["spec"] = ["b"]

    assert "b" not in pools_of(mirror(cluster, objects))
