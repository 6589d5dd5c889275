"""The fleets hold what they promise, through the API as well as straight into the store."""

import asyncio
from collections import Counter

import pytest

from clusters.kinds import DEPLOYMENT, DYNAMO_GRAPH_DEPLOYMENT, NODE, POD
from simulator.api.bootstrap import bootstrap
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from simulator.fleets.hardware import RACK, ZONE
from simulator.fleets.load import FLEETS, load_fleet, restore_fleet

GPU = "nvidia.com/gpu"


def nodes_of(fleet):
    return [body for kind, body in FLEETS[fleet]() if kind is NODE]


@pytest.mark.parametrize("fleet", ["small", "empty"])
def test_two_zones_of_three_racks_of_three_nodes_of_eight_gpus(fleet):
    nodes = nodes_of(fleet)
    labels = [node["metadata"]["labels"] for node in nodes]

    assert len({node["metadata"]["name"] for node in nodes}) == 18
    assert Counter(label[ZONE] for label in labels) == {"zone-a": 9, "zone-b": 9}
    assert {node["status"]["capacity"][GPU] for node in nodes} == {"8"}
    racks = Counter(label.get(RACK) for label in labels)
    missing = 1 if fleet == "small" else 0
    assert racks.get(None, 0) == missing
    assert sum(racks.values()) == 18
    assert sum(count == 3 for rack, count in racks.items() if rack) == 6 - missing


def test_the_small_fleet_has_one_of_each_oddity_and_the_empty_one_none():
    small, empty = nodes_of("small"), nodes_of("empty")

    assert [n["metadata"]["name"] for n in small if n["spec"].get("unschedulable")] == ["gpu-b1-3"]
    unhealthy = [n["metadata"]["name"] for n in small if n["status"]["allocatable"][GPU] == "7"]
    assert unhealthy == ["gpu-a3-2"]
    measured = {b["spec"]["nodeName"] for kind, b in FLEETS["small"]() if kind is POD}
    assert {n["metadata"]["name"] for n in small} - measured == {"gpu-b2-2"}
    [trial] = [body for kind, body in FLEETS["small"]() if kind is DYNAMO_GRAPH_DEPLOYMENT]
    idle = [c["name"] for c in trial["spec"]["components"] if "idle" in str(c["podTemplate"].get("metadata"))]
    assert idle == ["VllmWorker"]
    assert not any(n["spec"].get("unschedulable") for n in empty)
    assert {n["status"]["allocatable"][GPU] for n in empty} == {"8"}


def test_a_second_pool_can_be_made_by_label():
    labelled = [n for n in nodes_of("empty") if n["metadata"]["labels"].get("team-pool") == "training"]

    assert {n["metadata"]["labels"][RACK] for n in labelled} == {"rack-b3"}
    assert len(labelled) == 3


@pytest.mark.parametrize("fleet", ["small", "empty"])
def test_loading_twice_makes_everything_once(fleet):
    async def scenario():
        server = Server()
        bootstrap(server)
        client = InProcessClient(server)

        made = await load_fleet(client, fleet)
        again = await load_fleet(client, fleet)

        assert made == len(list(FLEETS[fleet]()))
        assert again == 0
        deployments = (await client.list(DEPLOYMENT)).items
        assert {d["status"]["readyReplicas"] for d in deployments} == {1}
        exporters = (await client.list(POD, "gpu-operator")).items
        assert {p["status"]["phase"] for p in exporters} == {"Running"}
        server.close()

    asyncio.run(scenario())


def test_the_large_fleet_has_the_promised_size():
    server = Server()
    rest = list(restore_fleet(server.store, "large"))

    nodes = server.store.collection(("", "nodes")).entries
    pods = server.store.collection(("", "pods")).entries
    assert len(nodes) == 5_000
    assert sum(int(entry.object["status"]["capacity"][GPU]) for entry in nodes.values()) == 40_000
    assert len(pods) == 50_000
    assert {entry.object["status"]["phase"] for entry in pods.values()} == {"Running"}
    per_node = Counter(entry.object["spec"]["nodeName"] for entry in pods.values())
    assert set(per_node.values()) == {10}
    assert len({entry.uid for entry in pods.values()}) == 50_000
    assert not any(kind in (NODE, POD) for kind, _ in rest)
