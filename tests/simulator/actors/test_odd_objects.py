"""Objects of custom kinds whose fields are of another type than the struct's: a CRD without a schema lets them in."""

import asyncio
import logging

import pytest

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
    POD,
    Kind,
)
from clusters.operators.objects import annotations_of, labels_of, spec_of, status_of
from scheduling.structs import Resources
from simulator.actors.event_expiry import last_seen
from simulator.actors.exporters.kai_metrics import fair_share_metrics
from simulator.actors.informer import Informer
from simulator.actors.scheduler.accounts import queue_status
from tests.simulator.actors.graphs import bare_graph, worker

ODD_SPECS = (["a", "b"], "text", 7, None, {}, [None])
SCHEDULERS_OWN = (KAI_QUEUE, KAI_POD_GROUP, KAI_TOPOLOGY)
"""What KAI's typed clients read: an object of them that cannot be decoded stops the real scheduler as well."""
OTHERS = (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_CLUSTER_TOPOLOGY_BINDING,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_SCHEDULING_SHARD,
)
ODD_FIELDS: dict[Kind, list[object]] = {
    KAI_QUEUE: [{"parentQueue": ["team"], "resources": "lots"}, {"parentQueue": {"a": "b"}, "displayName": ["x"]}],
    KAI_POD_GROUP: [{"queue": ["team"], "priorityClassName": {"a": 1}, "subGroups": [None]}],
    KAI_TOPOLOGY: [{"levels": "zone"}, {"levels": [None]}],
    KAI_SCHEDULING_SHARD: [{"partitionLabelValue": ["x"]}, {"partitionLabelValue": {"a": 1}, "kValue": "x"}],
    GROVE_CLUSTER_TOPOLOGY_BINDING: [{"levels": [None, "zone"]}, {"levels": 5}],
    GROVE_POD_CLIQUE_SET: [{"template": "x"}, {"template": {"cliques": [None]}}],
    GROVE_POD_GANG: [{"podgroups": [None, "x"]}],
    DYNAMO_GRAPH_DEPLOYMENT: [{"components": [None]}, {"components": "x"}, {"components": {"a": {"b": "c"}}}],
}
ODD_STATUSES = (["a"], "fine", 5, {"conditions": {"a": "b"}}, {"conditions": [None]}, {"resourcesStatus": "x"})


def odd_objects(kind: Kind) -> list[dict]:
    specs = [*ODD_SPECS, *ODD_FIELDS.get(kind, [])]
    bodies = [{"spec": spec} for spec in specs] + [{"spec": {}, "status": status} for status in ODD_STATUSES]
    parts = {"grove.io/podgang": "base", "app.kubernetes.io/managed-by": "grove-operator"}
    found = []
    for number, body in enumerate(bodies):
        metadata = {"name": f"odd-{number}", "labels": parts if number % 2 else {}}
        found.append({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **body})
    return found


def put_odd(cluster, kinds) -> None:
    for kind in kinds:
        namespace = "team" if kind.namespaced else ""
        for number, body in enumerate(odd_objects(kind)):
            metadata = {**body["metadata"], "uid": f"{kind.plural}-{number}"}
            if namespace:
                metadata["namespace"] = namespace
            key = (namespace, metadata["name"])
            cluster.server.store.put((kind.group, kind.plural), key, {**body, "metadata": metadata})


def test_what_is_no_mapping_is_read_as_an_empty_one():
    odd = {"spec": ["a"], "status": "fine", "metadata": {"name": "odd", "labels": ["x"], "annotations": "y"}}

    assert (spec_of(odd), status_of(odd), labels_of(odd), annotations_of(odd)) == ({}, {}, {}, {})


@pytest.mark.parametrize("there_first", [True, False])
def test_odd_objects_of_every_other_kind_keep_no_graph_from_running(play, there_first):
    async def scenario(cluster):
        if not there_first:
            await cluster.submit(bare_graph(worker("decode", 1, 4), name="before"))
            await cluster.running(4)
        put_odd(cluster, OTHERS)
        await cluster.add_binding()
        await cluster.submit(bare_graph(worker("decode", 1, 4)))

        await cluster.running(4 if there_first else 8)

    play(scenario, fleet="small")


def test_odd_objects_of_the_scheduler_hold_it_up_until_they_are_gone_and_end_nothing(play):
    async def scenario(cluster):
        put_odd(cluster, SCHEDULERS_OWN)
        await cluster.submit(bare_graph(worker("decode", 1, 4)))

        async def grouped():
            return [
                g for g in await cluster.objects(KAI_POD_GROUP, "team") if not g["metadata"]["name"].startswith("odd")
            ]

        await cluster.wait_for(grouped, "the pod group of the graph")
        for kind in SCHEDULERS_OWN:
            namespace = "team" if kind.namespaced else ""
            for body in odd_objects(kind):
                cluster.server.store.remove((kind.group, kind.plural), (namespace, body["metadata"]["name"]))

        await cluster.running(4)

    play(scenario, fleet="small")


def test_an_event_whose_times_nobody_can_read_is_as_old_as_its_object():
    made = {"creationTimestamp": "2026-11-30T07:00:00Z"}

    for odd in ("soon", 5, None, ["x"]):
        assert last_seen({"metadata": made, "lastTimestamp": odd, "eventTime": odd}) == 1_796_022_000.0


def test_a_display_name_of_any_kind_is_one_label_value_of_kais_metrics():
    names = {"a": ["x"], "b": 'say "hi"\\', "c": None}
    queues = [{"metadata": {"name": name}, "spec": {"displayName": shown}} for name, shown in names.items()]

    text = fair_share_metrics(
        dict.fromkeys(names, Resources(gpu=1.0)), [*queues, {"metadata": {"name": "d"}, "spec": 5}]
    )

    shown = [line for line in text.splitlines() if line.startswith("kai_queue_fair_share_gpu{")]
    assert [line.partition("queue_display_name=")[2] for line in shown] == [
        """"['x']"} 1""",
        r""""say \"hi\"\\"} 1""",
        '""} 1',
    ]


def test_what_another_kind_of_amount_says_is_left_out_of_a_queues_sums():
    groups = [
        {"metadata": {}, "status": {"resourcesStatus": {"allocated": {"nvidia.com/gpu": "2", "cpu": "lots"}}}},
        {"metadata": {}, "status": {"resourcesStatus": "x"}},
        {"metadata": {}, "status": ["x"]},
    ]
    children = [{"metadata": {"name": "child"}, "status": {"allocated": ["x"]}}]

    assert queue_status(groups, children)["allocated"] == {"nvidia.com/gpu": "2"}


def test_an_index_that_cannot_read_an_object_leaves_it_out_and_says_so_once(play, caplog):
    async def scenario(cluster):
        informer = Informer(cluster.client, POD, resync_s=0.02)
        informer.add_index("odd", lambda pod: pod["metadata"]["labels"]["wanted"])
        running = asyncio.create_task(informer.run())
        body = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        for name, labels in (("plain", {}), ("right", {"wanted": "a"})):
            metadata = {"name": name, "namespace": "team", "labels": labels}
            await cluster.client.create(POD, {**body, "metadata": metadata}, "team")

        async def indexed():
            return [pod["metadata"]["name"] for pod in informer.by_index("odd", "a")] == ["right"]

        await cluster.wait_for(indexed, "the pod that can be indexed")
        for moment in range(3):
            await cluster.client.patch(POD, "plain", "team", {"metadata": {"annotations": {"n": str(moment)}}})

            async def seen(wanted=str(moment)):
                pod = informer.get(("team", "plain"))
                return pod is not None and pod["metadata"].get("annotations", {}).get("n") == wanted

            await cluster.wait_for(seen, "the change")
        assert not running.done()
        running.cancel()

    with caplog.at_level(logging.ERROR):
        play(scenario, actors=frozenset())
    told = [record for record in caplog.records if "plain" in record.getMessage()]
    assert len(told) == 1


def test_a_shard_that_cannot_be_read_leaves_its_scheduler_as_it_was(play):
    async def scenario(cluster):
        body = {"apiVersion": KAI_SCHEDULING_SHARD.api_version, "kind": KAI_SCHEDULING_SHARD.kind}
        metadata = {"name": "default", "uid": "odd"}
        key = (KAI_SCHEDULING_SHARD.group, KAI_SCHEDULING_SHARD.plural)
        cluster.server.store.put(key, ("", "default"), {**body, "metadata": metadata, "spec": {"kValue": "x"}})
        await cluster.submit(bare_graph(worker("decode", 1, 4)))

        await cluster.running(4)

    play(scenario, fleet="small")
