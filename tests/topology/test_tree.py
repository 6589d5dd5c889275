import time
from dataclasses import replace
from decimal import Decimal

from tests.topology.fleets import HOST, RACK, ZONE, drawn_fleet
from topology.findings import find
from topology.suggestions import NodeFacts, candidate_keys
from topology.tree import domain_tree


def test_the_tree_of_the_fleet_has_two_zones_six_racks_and_seventeen_hosts() -> None:
    tree = domain_tree([ZONE, RACK, HOST], drawn_fleet())

    assert tree.counts == (2, 6, 17)
    assert tree.covered == (18, 17, 18)
    assert (tree.total_nodes, tree.nodes_inside) == (18, 17)
    assert [(z.value, z.gpus.total) for z in tree.root.ordered()] == [("z1", 64), ("z2", 72)]
    assert [o.node.name for o in tree.outside] == ["gpu-09"]


def test_gpus_of_a_domain_add_up() -> None:
    nodes = [
        NodeFacts("a", {ZONE: "z"}, gpus=8, allocated=Decimal("3.5"), unhealthy=1),
        NodeFacts("b", {ZONE: "z"}, gpus=8, allocated=Decimal(2), usable=False),
    ]

    gpus = domain_tree([ZONE], nodes).root.children["z"].gpus

    assert (gpus.total, gpus.allocated, gpus.free) == (16, Decimal("5.5"), Decimal("3.5"))
    assert (gpus.cordoned, gpus.unhealthy) == (6, 1)
    assert gpus.total == gpus.allocated + gpus.free + gpus.cordoned + gpus.unhealthy


def test_row_14_more_allocated_than_there_is_shows_the_excess_and_no_negative_free() -> None:
    gpus = domain_tree([ZONE], [NodeFacts("a", {ZONE: "z"}, gpus=4, allocated=Decimal(6))]).root.gpus

    assert (gpus.free, gpus.excess, gpus.allocated) == (0, 2, 6)


def test_equal_rack_names_in_two_zones_are_two_domains_with_kais_ids() -> None:
    nodes = [NodeFacts(f"n{z}", {ZONE: f"z{z}", RACK: "r1"}, gpus=8) for z in (1, 2)]

    tree = domain_tree([ZONE, RACK], nodes)

    assert [d.id for d in tree.root.walk()] == ["", "z1", "z1.r1", "z2", "z2.r1"]


def test_row_40_five_thousand_nodes_are_read_in_a_moment() -> None:
    fleet = drawn_fleet()
    nodes = [
        replace(fleet[0], name=f"n-{i}", labels={ZONE: f"z{i // 1250}", RACK: f"r{i // 18}", HOST: f"n-{i}"})
        for i in range(5000)
    ]

    start = time.perf_counter()
    tree = domain_tree([ZONE, RACK, HOST], nodes)
    find([ZONE, RACK, HOST], nodes)
    candidate_keys(nodes)

    assert tree.counts[2] == 5000
    assert time.perf_counter() - start < 10
