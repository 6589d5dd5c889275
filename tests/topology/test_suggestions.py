from dataclasses import replace

from tests.topology.fleets import HOST, RACK, ZONE, drawn_fleet
from topology.suggestions import (
    KeyUse,
    NodeFacts,
    Order,
    candidate_keys,
    is_surely_near_to_far,
    natural,
    order_of,
    propose_levels,
    read_pasted_levels,
)


def test_proposes_zone_rack_hostname_from_the_labels_of_the_fleet() -> None:
    assert propose_levels(drawn_fleet()) == (ZONE, RACK, HOST)


def test_candidates_have_coverage_values_and_what_they_lie_in() -> None:
    found = {c.key: c for c in candidate_keys(drawn_fleet(), pool_keys=["node-pool"])}

    assert (found[RACK].nodes, found[RACK].total, found[RACK].values, found[RACK].inside) == (17, 18, 6, ZONE)
    assert found[RACK].examples == ("z1-r1", "z1-r2", "z1-r3")
    assert (found[HOST].nodes, found[HOST].values, found[HOST].use) == (18, 18, KeyUse.HOSTNAME)
    assert found["topology.kubernetes.io/region"].use is KeyUse.SINGLE
    assert found["nvidia.com/gpu.product"].use is KeyUse.OTHER
    assert (found["node-pool"].use, found["node-pool"].nodes) == (KeyUse.POOL, 2)


def test_candidates_stand_broadest_first_and_places_before_the_rest() -> None:
    keys = [c.key for c in candidate_keys(drawn_fleet(), pool_keys=["node-pool"])]

    assert keys[:4] == [ZONE, RACK, HOST, "topology.kubernetes.io/region"]


def test_proposal_is_empty_without_nodes_and_without_labels() -> None:
    assert propose_levels([]) == ()
    assert propose_levels([NodeFacts("a", {}), NodeFacts("b", {})]) == ()
    assert candidate_keys([]) == ()


def test_a_nvswitch_level_as_in_j2_is_proposed_between_rack_and_host() -> None:
    switch = "topology.kubernetes.io/nvswitch"
    nodes = [replace(n, labels={**n.labels, switch: f"switch{i // 2}"}) for i, n in enumerate(drawn_fleet())]

    levels = propose_levels(nodes)

    assert levels == (ZONE, RACK, switch, HOST)


def test_one_mistyped_node_does_not_hide_a_level() -> None:
    nodes = drawn_fleet()
    nodes[0] = replace(nodes[0], labels={**nodes[0].labels, ZONE: "z2"})

    assert propose_levels(nodes) == (ZONE, RACK, HOST)


def test_rack_names_used_again_in_each_zone_are_still_a_level() -> None:
    nodes = [NodeFacts(f"n{z}{r}", {ZONE: f"z{z}", RACK: f"r{r}"}) for z in range(2) for r in range(3)]

    assert propose_levels(nodes) == (ZONE, RACK)
    assert order_of([ZONE, RACK], nodes) is Order.BROADEST_FIRST


def test_near_to_far_order_is_recognised_from_the_nodes_and_from_the_words() -> None:
    assert order_of([RACK, ZONE], drawn_fleet()) is Order.NEAR_TO_FAR
    assert order_of([ZONE, RACK, HOST], drawn_fleet()) is Order.BROADEST_FIRST
    assert order_of(["x/rack", "x/zone", "x/region"], []) is Order.NEAR_TO_FAR
    assert order_of(["x/region", "x/zone"], []) is Order.BROADEST_FIRST
    assert order_of(["a", "b"], []) is Order.UNCLEAR
    assert order_of([ZONE], drawn_fleet()) is Order.UNCLEAR


def test_an_order_is_refused_only_where_nodes_and_words_leave_no_doubt() -> None:
    one_rack_each = [NodeFacts(f"n{z}", {ZONE: f"zone{z}", RACK: "rack1"}) for z in (1, 2)]

    assert is_surely_near_to_far([RACK, ZONE], drawn_fleet())
    assert not is_surely_near_to_far([ZONE, RACK, HOST], drawn_fleet())
    assert not is_surely_near_to_far([ZONE, RACK], one_rack_each)
    assert not is_surely_near_to_far(["x/rack", "x/zone"], [])


def test_pasted_texts_of_the_guides_become_keys() -> None:
    known = [ZONE, RACK, "topology.kubernetes.io/region", HOST]

    assert read_pasted_levels("rack → zone → region", known) == (RACK, ZONE, "topology.kubernetes.io/region")
    assert read_pasted_levels("topology.kubernetes.io/zone=zone1\ntopology.kubernetes.io/rack=rack1") == (ZONE, RACK)
    assert read_pasted_levels('1. "topology.kubernetes.io/zone"\n2. `topology.kubernetes.io/rack`') == (ZONE, RACK)
    assert read_pasted_levels("topology.kubernetes.io/zone, topology.kubernetes.io/rack", known) == (ZONE, RACK)
    assert read_pasted_levels("zone › rack › hostname", known) == (ZONE, RACK, HOST)
    assert read_pasted_levels("  \n") == ()


def test_names_sort_as_people_count() -> None:
    assert sorted(["gpu-10", "gpu-9", "gpu-1"], key=natural) == ["gpu-1", "gpu-9", "gpu-10"]
