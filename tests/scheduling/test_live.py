"""Scenarios recorded on the live stack, replayed step by step."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scheduling.golden import read_cases
from scheduling.live import LiveReplay, comparable
from scheduling.replay import Outcome, compare

DATA = Path(__file__).parent / "data" / "scheduling-live.jsonl.xz"
COUNTS = {
    "a": 24, "b": 32, "c": 55, "d": 30, "e": 29, "f": 40, "g": 24, "h": 72, "i": 15, "j": 23, "k": 55, "l": 12, "m": 6,
}  # fmt: skip
KNOWN_MISSES = {
    "b030": "unequal pods of a gang: their order is that of random uids",
    "c037": "which of the equal pods ran on which node is random, and one of them is deleted",
    "h902": "a queue that is its own parent stops the real scheduler for good",
    "h903": "so do two queues that are each other's parent",
    "k050": "the recorder counts a deleted pod as evicted",
}


@cache
def cases() -> list[dict[str, Any]]:
    return [case for case in read_cases(DATA) if comparable(case)]


def case_named(name: str) -> dict[str, Any]:
    return next(case for case in cases() if case["id"] == name)


def outcomes(family: str) -> list[Outcome]:
    return [compare(case) for case in cases() if case["family"] == family]


@pytest.mark.parametrize("family", sorted(COUNTS))
def test_recorded_scenarios_of_a_family_are_reproduced(family: str) -> None:
    replayed = outcomes(family)

    misses = {each.id: each.misses for each in replayed if any(each.misses.values())}
    assert len(replayed) == COUNTS[family]
    assert misses.keys() <= KNOWN_MISSES.keys(), misses


def test_objects_that_the_api_refused_are_not_compared() -> None:
    left_out = {case["id"] for case in read_cases(DATA) if not comparable(case)}

    assert {"i013", "i014", "i015", "i016", "x001"} <= left_out
    assert all(name[0] in "inx" for name in left_out)


def test_an_evicted_pod_holds_its_place_for_a_cycle() -> None:
    """h043: the preemptor takes an empty node, because its victim has not ended yet."""
    replay = LiveReplay(case_named("h043")["input"])
    for number in range(replay.steps):
        replay.step(number)

    assert replay.counts("b") == {"n1": 2}
