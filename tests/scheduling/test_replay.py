"""The real scheduler's recorded cycles, replayed."""

from functools import cache
from pathlib import Path

import pytest

from scheduling.golden import read_cases
from scheduling.replay import BARS, EVICTION_FAMILIES, PLACEMENT_FAMILIES, Outcome, Tally, compare, main

DATA = Path(__file__).parent / "data" / "scheduling-replay.jsonl.xz"
COUNTS = {"a": 71, "b": 101, "c": 227, "d": 177, "e": 194, "f": 301, "h": 255, "k": 355, "t": 209}
KNOWN_MISSES = {"rc0026"}
"""The recorder still counts two pods as running that were bound and moved in one cycle."""


@cache
def outcomes(family: str) -> list[Outcome]:
    return [compare(case) for case in read_cases(DATA) if case["family"] == family]


@pytest.mark.parametrize("family", sorted(COUNTS))
def test_recorded_cycles_of_a_family_are_reproduced(family: str) -> None:
    replayed = outcomes(family)

    misses = {each.id: each.misses for each in replayed if any(each.misses.values())}
    assert len(replayed) == COUNTS[family]
    assert set(misses) <= KNOWN_MISSES, misses


def tally_of(families: frozenset[str]) -> Tally:
    tally = Tally()
    for family in families:
        for outcome in outcomes(family):
            tally.add(outcome)
    return tally


def test_placement_families_reach_their_bars() -> None:
    tally = tally_of(PLACEMENT_FAMILIES)

    for aspect in ("verdict", "nodes"):
        agreeing, total = tally.rate(aspect, PLACEMENT_FAMILIES)
        assert agreeing / total >= BARS[aspect]


def test_eviction_families_reach_their_bar() -> None:
    tally = tally_of(EVICTION_FAMILIES)

    assert tally.below_bar() == []


def test_a_missed_bar_is_named() -> None:
    tally = Tally()
    tally.add(Outcome("x", "a", {"verdict": ["w runs: recorded 1, got 0"]}))

    assert tally.below_bar() == ["verdict in a, b, c, d, e, f, h: 0 of 1, below 99.5%"]


def test_the_command_prints_agreement_and_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([str(DATA), "--family", "a"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[1].split() == ["a", "71", *["100.00%"] * 5]
    assert lines[-1] == "71 of 71 cases agree in everything; every bar holds"
