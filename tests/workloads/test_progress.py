"""Roles, phase, placement and room, counted by hand."""

from decimal import Decimal
from typing import Any

import pytest

from tests.workloads.samples import MULTINODE
from topology.suggestions import NodeFacts
from topology.tree import domain_tree
from workloads.document import load
from workloads.graph import parse_graph
from workloads.progress import Asked, PodFacts, Role, held_gpus, phase_of, placement_of, roles_of
from workloads.room import Need, shortage

LEVELS = ("zone", "rack", "host")
GRAPH = parse_graph(load(MULTINODE))


def pod(name: str, component: str = "decode", node: str = "", **facts: Any) -> PodFacts:
    values = {"phase": "Running" if node else "Pending", "ready": bool(node), "gpus": Decimal(4), **facts}
    return PodFacts(name=name, component=component, node=node, **values)


def labels(zone: str, rack: str, host: str) -> dict[str, str]:
    return {"zone": zone, "rack": rack, "host": host}


NODES = {
    "a": labels("z1", "r1", "a"),
    "b": labels("z1", "r1", "b"),
    "c": labels("z1", "r2", "c"),
    "d": labels("z2", "r1", "d"),
    "e": {"zone": "z1", "host": "e"},
}


def test_roles_count_pods_and_ignore_those_that_leave() -> None:
    pods = [pod("1", node="a"), pod("2", node="b", ready=False), pod("3"), pod("4", node="c", leaving=True)]

    roles = roles_of(GRAPH, [*pods, pod("5", "FRONTEND", "a", gpus=Decimal(0))])

    assert roles == (
        Role("frontend", "frontend", Decimal(0), 1, 1, 1),
        Role("decode", "decode", Decimal(4), 4, 2, 1),
    )
    assert held_gpus(pods) == 12


@pytest.mark.parametrize(
    ("placed", "ready", "pods", "started", "failed", "phase"),
    [
        (0, 0, 0, False, False, "Creating"),
        (0, 0, 4, False, False, "Pending"),
        (2, 0, 4, False, False, "Pending"),
        (4, 3, 4, False, False, "Initializing"),
        (4, 4, 4, False, False, "Running"),
        (4, 3, 4, True, False, "Degraded"),
        (0, 0, 4, True, False, "Pending"),
        (0, 0, 0, False, True, "Failed"),
    ],
)
def test_the_phase_follows_the_pods(
    placed: int, ready: int, pods: int, started: bool, failed: bool, phase: str
) -> None:
    roles = [Role("decode", "decode", Decimal(1), 4, placed, ready)]

    assert phase_of(roles, pods=pods, started=started, failed=failed) == phase


@pytest.mark.parametrize(
    ("nodes", "required", "preferred", "state", "level", "domains"),
    [
        ("ab", "rack", "", "kept", "rack", ("r1",)),
        ("ac", "rack", "", "broken", "zone", ("r1", "r2")),
        ("ac", "", "rack", "loosened", "zone", ("r1", "r2")),
        ("ac", "zone", "rack", "loosened", "zone", ("z1",)),
        ("ad", "", "rack", "loosened", "", ("r1",)),  # equal rack names in two zones are two racks
        ("a", "", "", "", "host", ("a",)),
        ("", "rack", "", "waits", "", ()),
    ],
)
def test_placement_is_judged_by_whole_paths(
    nodes: str, required: str, preferred: str, state: str, level: str, domains: tuple[str, ...]
) -> None:
    pods = [pod(name, node=name) for name in nodes] + [pod("waits")]

    found = placement_of(Asked(LEVELS, required, preferred), pods, NODES)

    assert (found.state, found.level, found.domains) == (state, level, domains)


def test_35_a_lost_node_is_named_and_not_an_empty_assignment() -> None:
    found = placement_of(Asked(LEVELS, "rack", ""), [pod("1", node="a"), pod("2", node="gone")], NODES)

    assert (found.state, found.lost, found.domains) == ("broken", ("gone",), ("r1",))


def test_a_node_without_a_level_label_is_outside() -> None:
    found = placement_of(Asked(LEVELS, "", "rack"), [pod("1", node="a"), pod("2", node="e")], NODES)

    assert (found.state, found.outside) == ("loosened", ("e",))


def test_an_automatic_preference_that_is_not_met_is_no_news() -> None:
    asked = Asked(LEVELS, "", "host", automatic=True)

    assert placement_of(asked, [pod("1", node="a"), pod("2", node="b")], NODES).state == ""


def tree_of(*facts: tuple[str, str, int, int]) -> Any:
    nodes = [
        NodeFacts(f"{rack}-{i}", labels("z1", rack, f"{rack}-{i}"), gpus=gpus, allocated=Decimal(held))
        for i, (_, rack, gpus, held) in enumerate(facts)
    ]
    return domain_tree(LEVELS, nodes)


def test_a_level_that_is_too_small_for_good_says_by_how_much() -> None:
    tree = tree_of(("z1", "r1", 8, 0), ("z1", "r1", 8, 8), ("z1", "r2", 8, 0))

    reason = shortage(tree, "rack", Need(Decimal(32), Decimal(8)))

    assert reason is not None
    assert reason.code == "LevelTooSmall"
    assert reason.arguments["largest"] == "16"
    assert reason.arguments["largestDomain"] == "r1"
    assert reason.arguments["short"] == "16"


def test_a_level_that_is_full_for_now_says_by_how_much() -> None:
    tree = tree_of(("z1", "r1", 8, 2), ("z1", "r1", 8, 8), ("z1", "r2", 8, 4))

    reason = shortage(tree, "rack", Need(Decimal(8), Decimal(8)))

    assert reason is not None
    assert (reason.code, reason.arguments["free"], reason.arguments["freeDomain"]) == ("LevelFull", "6", "r1")
    assert reason.arguments["short"] == "2"


def test_enough_gpus_in_pieces_is_fragmentation() -> None:
    tree = tree_of(("z1", "r1", 8, 4), ("z1", "r1", 8, 4))

    reason = shortage(tree, "rack", Need(Decimal(8), Decimal(8)))

    assert reason is not None
    assert reason.code == "LevelFragmented"


def test_what_still_waits_must_fit_where_the_rest_stands() -> None:
    tree = tree_of(("z1", "r1", 8, 4), ("z1", "r2", 8, 0))

    reason = shortage(tree, "rack", Need(Decimal(8), Decimal(4)), (), frozenset({"r1-0"}))

    assert reason is not None
    assert (reason.code, reason.arguments["free"], reason.arguments["short"]) == ("LevelFull", "4", "4")
