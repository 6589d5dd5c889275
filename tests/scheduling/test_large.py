"""Large clusters: the same answers, by the pass over arrays that makes them quick."""

import msgspec
import pytest

from scheduling.cycle import run_cycle
from scheduling.structs import SchedulerConfig, TopologyConstraint
from tests.scheduling.build import Cluster, node, nodes_used, within


def fleet(count: int) -> Cluster:
    """Racks of 16 nodes with 8 GPUs, zones of 50 racks."""
    return Cluster(*[node(f"n{index:04d}", 8, f"z{index // 800}.r{index // 16}") for index in range(count)])


def test_a_gang_of_512_pods_fills_a_zone_from_its_emptiest_racks() -> None:
    cluster = fleet(1600).gang("g", *[1] * 512, topology=within("zone", "rack"))

    used = nodes_used(run_cycle(cluster.snapshot()).bound)

    assert sum(used.values()) == 512
    assert set(used.values()) == {8}
    assert len({int(name[1:]) // 800 for name in used}) == 1


def test_filling_in_one_pass_equals_pod_by_pod() -> None:
    """One pod with a selector of its own makes the gang go pod by pod; the places must be the same."""
    snapshot = fleet(200).gang("x", *[3] * 20, on=tuple(f"n{index * 7:04d}" for index in range(20)))
    snapshot = snapshot.gang("g", *[1] * 40).snapshot()
    odd = msgspec.structs.replace(snapshot.pods[-1], node_selector={"zone": "z0"})
    one_by_one = msgspec.structs.replace(snapshot, pods=(*snapshot.pods[:-1], odd))

    assert nodes_used(run_cycle(snapshot).bound) == nodes_used(run_cycle(one_by_one).bound)


def test_a_full_cluster_ends_its_search_within_the_budget() -> None:
    cluster = fleet(100)
    for index in range(100):
        cluster.gang(f"r{index}", *[1] * 8, on=(f"n{index:04d}",) * 8, priority=50)
    cluster.gang("g", *[8] * 101, priority=75)

    result = run_cycle(cluster.snapshot(), SchedulerConfig(search_budget=500))

    assert result.bound == {}
    assert result.evicted == ()
    assert "default/g" in result.conditions


def test_nothing_is_said_of_a_calm_large_cluster() -> None:
    cluster = fleet(200)
    for index in range(200):
        cluster.gang(f"r{index}", *[1] * 8, on=(f"n{index:04d}",) * 8)

    assert run_cycle(cluster.snapshot()).conditions == {}


@pytest.mark.parametrize("level", ["", "rack"])
def test_a_gang_of_higher_priority_finds_its_victims_among_many(level: str) -> None:
    """The node by node search alone would use up the whole budget."""
    cluster = fleet(320)
    for index in range(320):
        cluster.gang(f"r{index}", *[1] * 8, on=(f"n{index:04d}",) * 8)
    topology = within(level) if level else TopologyConstraint()
    cluster.gang("g", *[8] * 16, priority=75, topology=topology)

    result = run_cycle(cluster.snapshot())

    assert len(result.evicted) == 128
    assert len(result.pipelined) == 16


def test_every_waiting_pod_of_a_full_cluster_gets_its_reason() -> None:
    cluster = fleet(300)
    for index in range(300):
        cluster.gang(f"r{index}", *[1] * 8, on=(f"n{index:04d}",) * 8)
    for index in range(200):
        cluster.gang(f"w{index}", 1)

    conditions = run_cycle(cluster.snapshot()).conditions

    assert len(conditions) == 200
    assert all("300 node(s) didn't have enough resources: GPUs" in each.message for each in conditions.values())
