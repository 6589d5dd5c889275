from dataclasses import replace

from tests.topology.fleets import HOST, RACK, ZONE, drawn_fleet
from topology.findings import Code, Finding, Severity, find
from topology.suggestions import NodeFacts
from topology.tree import domain_tree


def by_code(findings: tuple[Finding, ...], code: Code) -> list[Finding]:
    return [finding for finding in findings if finding.code is code]


def relabelled(index: int, **changes: str) -> list[NodeFacts]:
    nodes = drawn_fleet()
    keys = {"zone": ZONE, "rack": RACK}
    nodes[index] = replace(nodes[index], labels={**nodes[index].labels, **{keys[k]: v for k, v in changes.items()}})
    return nodes


def test_row_39_a_node_that_misses_only_the_middle_level_is_named_with_its_missing_label() -> None:
    found = by_code(find([ZONE, RACK, HOST], drawn_fleet()), Code.MISSING_LABEL)

    assert [(f.key, f.nodes, f.gpus) for f in found] == [(RACK, ("gpu-09",), 8)]
    assert found[0].fixes[0].line == "kubectl label nodes gpu-09 topology.kubernetes.io/rack=z1-r3 --overwrite"


def test_the_value_is_guessed_where_the_neighbours_agree() -> None:
    nodes = drawn_fleet()
    nodes[8] = replace(nodes[8], labels={**nodes[8].labels, RACK: "z1-r3"})
    del (nodes[1].labels)[RACK]  # type: ignore[attr-defined]

    fix = by_code(find([ZONE, RACK], nodes), Code.MISSING_LABEL)[0].fixes[0]

    assert (fix.node, fix.value) == ("gpu-02", "")  # gpu-01, gpu-03 say z1-r1, gpu-04 says z1-r2
    fix = by_code(find([ZONE, RACK], drawn_fleet()), Code.MISSING_LABEL)[0].fixes[0]
    assert (fix.value, fix.neighbours) == ("z1-r3", ("gpu-07", "gpu-08"))


def test_row_37_half_labelled_and_empty_values_count_as_outside() -> None:
    nodes = [NodeFacts(f"n{i}", {ZONE: "a", **({RACK: ""} if i < 2 else {})}, gpus=8) for i in range(4)]
    nodes += [NodeFacts(f"m{i}", {ZONE: "a", RACK: "r"}, gpus=8) for i in range(4)]

    tree = domain_tree([ZONE, RACK], nodes)
    codes = {f.code: f for f in find([ZONE, RACK], nodes)}

    assert tree.covered == (8, 4)
    assert [o.node.name for o in tree.outside] == ["n0", "n1", "n2", "n3"]
    assert {o.missing for o in tree.outside} == {(RACK,)}
    assert codes[Code.EMPTY_VALUE].nodes == ("n0", "n1")
    assert codes[Code.MISSING_LABEL].nodes == ("n2", "n3")
    assert tree.root.gpus.total == 32


def test_row_37_a_key_that_no_node_has_is_said_once() -> None:
    found = by_code(find(["x/none"], drawn_fleet()), Code.KEY_ON_NO_NODE)

    assert [(f.key, f.severity) for f in found] == [("x/none", Severity.BAD)]
    assert by_code(find(["x/none"], drawn_fleet()), Code.MISSING_LABEL) == []


def test_a_value_under_two_parents_names_the_stray_nodes() -> None:
    found = by_code(find([ZONE, RACK], relabelled(0, zone="z2")), Code.TWO_PARENTS)

    assert [(f.key, f.other, f.values, f.nodes) for f in found] == [(RACK, ZONE, ("z1-r1", "z1", "z2"), ("gpu-01",))]


def test_names_used_in_each_zone_are_information_only() -> None:
    nodes = [NodeFacts(f"n{z}{r}", {ZONE: f"z{z}", RACK: f"r{r}"}) for z in range(2) for r in range(3)]

    found = find([ZONE, RACK], nodes)

    assert [f.severity for f in by_code(found, Code.REUSED)] == [Severity.INFO]
    assert domain_tree([ZONE, RACK], nodes).counts == (2, 6)


def test_reversed_order_offers_the_right_one_and_hostname_must_be_last() -> None:
    found = find([HOST, RACK, ZONE], drawn_fleet())

    assert by_code(found, Code.REVERSED)[0].values == (ZONE, RACK, HOST)
    assert len(by_code(found, Code.HOSTNAME_NOT_LAST)) == 1


def test_one_level_below_a_narrower_one_is_named() -> None:
    found = find([RACK, ZONE, HOST], drawn_fleet())

    assert [(f.key, f.other, f.severity) for f in by_code(found, Code.MISORDERED)] == [(ZONE, RACK, Severity.BAD)]
    assert by_code(found, Code.REUSED) == by_code(found, Code.ORDER_OK) == []


def test_values_that_differ_by_case_or_a_character_are_named_with_the_rarer_as_the_mistake() -> None:
    case = by_code(find([ZONE, RACK], relabelled(0, rack="Z1-R1")), Code.CASE)
    letter = by_code(find([ZONE, RACK], relabelled(0, rack="zl-r1")), Code.TYPO)
    added = by_code(find([ZONE, RACK], relabelled(0, zone="z-1")), Code.TYPO)

    assert [(f.values, f.nodes) for f in case] == [(("z1-r1", "Z1-R1"), ("gpu-01",))]
    assert [(f.values, f.nodes) for f in letter] == [(("z1-r1", "zl-r1"), ("gpu-01",))]
    assert [(f.key, f.values) for f in added] == [(ZONE, ("z1", "z-1"))]
    assert case[0].fixes[0].line == "kubectl label nodes gpu-01 topology.kubernetes.io/rack=z1-r1 --overwrite"


def test_swapped_letters_are_a_typo_and_counting_is_none() -> None:
    def values(*names: str) -> list[Finding]:
        nodes = [NodeFacts(f"n{i}", {RACK: name}, gpus=8) for i, name in enumerate(names)]
        return by_code(find([RACK], nodes), Code.TYPO)

    assert len(values("rack-one", "rack-oen")) == 1
    assert len(values("zone1", "zon1")) == 1
    assert values("r1", "r2", "r11", "r12", "rack-a", "rack-b", "1", "2", "a", "b") == []


def test_a_clean_fleet_gets_two_good_findings_and_no_other() -> None:
    nodes = relabelled(8, rack="z1-r3")

    assert [f.code for f in find([ZONE, RACK, HOST], nodes)] == [Code.ORDER_OK, Code.VALUES_OK]


def test_nodes_without_gpus_outside_the_tree_are_information_only() -> None:
    nodes = [*relabelled(8, rack="z1-r3"), NodeFacts("control-plane", {HOST: "control-plane", ZONE: "z1"})]

    found = by_code(find([ZONE, RACK, HOST], nodes), Code.MISSING_LABEL_NO_GPU)

    assert [(f.nodes, f.severity) for f in found] == [(("control-plane",), Severity.INFO)]
