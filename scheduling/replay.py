"""``python -m scheduling.replay FILE…``: replay recorded cases and print the agreement by family.

Exit code 1 below a bar, 2 for a file that holds no cases of these kinds. The last line sums up.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from scheduling.divisions import compare_division
from scheduling.field import FAMILY, VIA, compare_field
from scheduling.golden import Replay, gangs_of, per_node, read_cases
from scheduling.live import comparable, compare_live
from scheduling.structs import CycleResult

Json = Mapping[str, Any]

PLACEMENT_FAMILIES = frozenset("abcdefh")
EVICTION_FAMILIES = frozenset("kt")
LIVE = "live-"
DIVISION = "share-"
LIVE_BAR = 0.97
FIELD_BAR = 1.0
"""A case from the field was kept because the scheduler did otherwise: it misses until the engine does the same."""
BARS = {"verdict": 0.995, "nodes": 0.99, "victims": 0.98, "messages": 0.95, "share": 1.0}


class Outcome(msgspec.Struct):
    """How one replayed case compares with its recording; misses are texts."""

    id: str
    family: str
    misses: dict[str, list[str]]

    def agrees(self, aspect: str) -> bool:
        """Whether the case agrees in one aspect."""
        return not self.misses.get(aspect)


def compare(case: Json) -> Outcome:
    """Replay a case for as many cycles as were recorded and compare; a live one step by step, one from the field by
    asking where its gangs go.

    Aspects: ``verdict`` (what runs in the end, reason codes of every cycle), ``nodes`` (pods of each
    workload per node), ``victims`` (number in every cycle), ``messages`` (texts as sets), ``share``.
    """
    if "output" in case:
        return Outcome(case["id"], DIVISION + case["family"], compare_division(case))
    if case.get("via") == "live":
        return Outcome(case["id"], LIVE + case["family"], compare_live(case))
    if case.get("via") == VIA:
        return Outcome(case["id"], FAMILY, compare_field(case))
    replay = Replay(case["input"])
    misses: dict[str, list[str]] = defaultdict(list)
    for number, recorded in enumerate(case["result"]["cycles"]):
        result = replay.cycle()
        _compare_cycle(number, recorded, (replay, result), misses)
    _compare_final(case, replay, misses)
    return Outcome(case["id"], case["family"], dict(misses))


def _compare_cycle(
    number: int, recorded: Json, own_side: tuple[Replay, CycleResult], misses: dict[str, list[str]]
) -> None:
    replay, result = own_side
    wanted = recorded.get("conditions") or {}
    codes = {name: {reason["reason"] for each in rows for reason in each["reasons"]} for name, rows in wanted.items()}
    texts = {name: {reason["message"] for each in rows for reason in each["reasons"]} for name, rows in wanted.items()}
    own = {key.partition("/")[2]: condition for key, condition in replay.conditions.items()}
    own_codes = {name: {reason.reason for reason in each.reasons} for name, each in own.items()}
    own_texts = {name: {reason.message for reason in each.reasons} for name, each in own.items()}
    _differ(misses["verdict"], f"cycle {number} reasons", codes, own_codes)
    _differ(misses["messages"], f"cycle {number} texts", texts, own_texts)
    whole = {name: {each["message"] for each in rows} for name, rows in wanted.items()}
    _differ(misses["messages"], f"cycle {number} messages", whole, {n: {c.message} for n, c in own.items()})
    evicted = len(set(recorded.get("evicted") or ()))
    _differ(misses["victims"], f"cycle {number} victims", evicted, len(result.evicted))
    share = {name: amount.gpu for name, amount in result.fair_share.items()}
    for name, amount in (recorded.get("fair_share_gpu") or {}).items():
        if abs(share.get(name, 0.0) - amount) > 1e-6:
            misses["share"].append(f"cycle {number} {name}: recorded {amount}, got {share.get(name)}")


def _compare_final(case: Json, replay: Replay, misses: dict[str, list[str]]) -> None:
    names: dict[str, list[str]] = {}
    for row in case["input"]["workloads"]:
        pods = gangs_of({"workloads": [row]})[1]
        names[row["name"]] = [pod.name for pod in pods]
    for workload, recorded in case["result"]["final"].items():
        counts = per_node(replay.snapshot, names[workload])
        _differ(misses["verdict"], f"{workload} runs", recorded["scheduled"], sum(counts.values()))
        _differ(misses["nodes"], f"{workload} nodes", recorded["per_node"], counts)


def _differ(misses: list[str], what: str, recorded: object, own: object) -> None:
    if recorded != own:
        misses.append(f"{what}: recorded {recorded}, got {own}")


class Tally:
    """Agreement counts by family and aspect."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def add(self, outcome: Outcome) -> None:
        """Count one case."""
        self.outcomes.append(outcome)

    def rate(self, aspect: str, families: Iterable[str]) -> tuple[int, int]:
        """Agreeing and all cases of these families."""
        chosen = [each for each in self.outcomes if each.family in families]
        return sum(each.agrees(aspect) for each in chosen), len(chosen)

    def table(self) -> list[str]:
        """One line per family."""
        lines = ["family            cases " + " ".join(f"{aspect:>9}" for aspect in BARS)]
        for family in sorted({each.family for each in self.outcomes}):
            cells = [self.rate(aspect, {family}) for aspect in BARS]
            rates = " ".join(f"{100 * good / total:8.2f}%" for good, total in cells)
            lines.append(f"{family:16} {cells[0][1]:6} {rates}")
        return lines

    def below_bar(self) -> list[str]:
        """The bars that are missed, as sentences."""
        checks = [
            ("verdict", PLACEMENT_FAMILIES, BARS["verdict"]),
            ("nodes", PLACEMENT_FAMILIES, BARS["nodes"]),
            ("victims", EVICTION_FAMILIES, BARS["victims"]),
            ("verdict", EVICTION_FAMILIES, BARS["victims"]),
            ("messages", PLACEMENT_FAMILIES | EVICTION_FAMILIES, BARS["messages"]),
            ("share", PLACEMENT_FAMILIES | EVICTION_FAMILIES, BARS["share"]),
        ]
        live = frozenset(each.family for each in self.outcomes if each.family.startswith(LIVE))
        checks.extend((aspect, live, LIVE_BAR) for aspect in ("verdict", "nodes", "victims", "messages"))
        checks.extend((aspect, frozenset({FAMILY}), FIELD_BAR) for aspect in ("verdict", "nodes", "victims"))
        divisions = frozenset(each.family for each in self.outcomes if each.family.startswith(DIVISION))
        checks.append(("share", divisions, BARS["share"]))
        missed = []
        for aspect, families, bar in checks:
            good, total = self.rate(aspect, families)
            if total and good / total < bar:
                names = ", ".join(sorted(families))
                missed.append(f"{aspect} in {names}: {good} of {total}, below {bar:.1%}")
        return missed


def main(arguments: list[str]) -> int:
    """Replay the given recordings."""
    parser = argparse.ArgumentParser(prog="python -m scheduling.replay", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="print every miss")
    parser.add_argument("--family", help="only these families, as letters")
    options = parser.parse_args(arguments)
    tally = Tally()
    for path in options.files:
        for case in read_cases(path):
            if "input" not in case:
                print(f"{path}: {case.get('id', 'a line')} is not a recorded case: it has no field 'input'")
                return 2
            if options.family and case["family"] not in options.family:
                continue
            if case.get("via") == "live" and not comparable(case):
                continue
            try:
                outcome = compare(case)
            except msgspec.ValidationError as error:
                print(f"{path}: {case.get('id', 'a line')} is not a case from the field: {error}")
                return 2
            tally.add(outcome)
            if options.verbose:
                for aspect, texts in outcome.misses.items():
                    for text in texts:
                        print(f"{outcome.id} {aspect}: {text}")
    print("\n".join(tally.table()))
    missed = tally.below_bar()
    agreeing = sum(not any(each.misses.values()) for each in tally.outcomes)
    verdict = "; ".join(missed) if missed else "every bar holds"
    print(f"{agreeing} of {len(tally.outcomes)} cases agree in everything; {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
