"""Large clusters: the same answers, by the pass over arrays that makes them quick."""

import msgspec

from scheduling.cycle import needs_cycle, run_cycle
from scheduling.structs import SchedulerConfig
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


def test_a_calm_large_cluster_needs_no_cycle() -> None:
    cluster = fleet(200)
    for index in range(200):
        cluster.gang(f"r{index}", *[1] * 8, on=(f"n{index:04d}",) * 8)

    assert not needs_cycle(cluster.snapshot())
    assert run_cycle(cluster.snapshot()).conditions == {}
