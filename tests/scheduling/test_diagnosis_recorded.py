"""The diagnosis against what the real scheduler said of the same clusters (recordings of KAI v0.17)."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code, Diagnosis
from scheduling.golden import read_cases
from scheduling.live import LiveReplay, comparable

pytestmark = pytest.mark.long

DATA = Path(__file__).parent / "data" / "scheduling-live.jsonl.xz"

# What golden/SURPRISES.md and the reference say of single recordings.
TRUTH = {
    Code.SINGLE_DOMAIN: "c013 c014 c015 c020 c021 f021 f022 f024",
    Code.UNEQUAL_PODS: "c031 c032",
    Code.PINNED: "c026 c027 c036 f007",
    Code.LEVEL_UNKNOWN: "g009 g010 g011 g024",
    Code.LEVEL_UNSET: "g014 g015",
    Code.LEVELS_REVERSED: "e007",
    Code.TOPOLOGY_MISSING: "g007 g008 f020",
    Code.NODES_UNLABELLED: "g001 g002 g005 g006",
    Code.NODES_CORDONED: "j005 j006 j015 j020",
    Code.NODES_NOT_READY: "j007 j008",
    Code.NODES_TAINTED: "j001 j004",
    Code.SELECTOR: "j010",
    Code.OTHER_PODS: "j022",
    Code.POD_TOO_LARGE: "m001",
    Code.SUBGROUP_UNKNOWN: "f014 f015",
    Code.PODS_GATED: "b006",
    Code.QUEUE_MISSING: "h024 h050",
    Code.QUEUE_PARENT_MISSING: "h025",
    Code.QUEUE_OTHER_POOL: "l004 l005 l010",
    Code.QUEUE_NOT_LEAF: "h023",
    Code.SHARD_MISSING: "l006 l007",
    Code.SCHEDULER_HANGS: "h902 h903",
    Code.PREEMPTION_DELAY: "k037",
    Code.MIN_RUNTIME: "k034 k035",
}
REASONS = {
    "OverLimit": {Code.OVER_LIMIT},
    "NonPreemptibleOverQuota": {Code.OVER_QUOTA},
    "QueueDoesNotExist": {
        Code.QUEUE_MISSING,
        Code.QUEUE_PARENT_MISSING,
        Code.QUEUE_OTHER_POOL,
        Code.QUEUE_UNSET,
        Code.SCHEDULER_HANGS,
    },
    "PreemptionDelayNotElapsed": {Code.PREEMPTION_DELAY},
}


@cache
def found() -> dict[str, list[tuple[Diagnosis, set[str]]]]:
    """Per recording the diagnosis of each pod group that waits at its end, with the reasons that KAI gave."""
    return {case["id"]: list(_diagnosed(case)) for case in read_cases(DATA) if comparable(case)}


def _diagnosed(case: dict[str, Any]) -> Iterator[tuple[Diagnosis, set[str]]]:
    replay = LiveReplay(case["input"])
    for step in case["result"]["steps"]:
        replay.step(step["step"])
    for group in replay.snapshot.podgroups:
        diagnosis = diagnose(Scene(replay.snapshot, group.key, shards=frozenset(replay.pools)))
        condition = replay.conditions.get(group.key)
        yield diagnosis, {reason.reason for reason in condition.reasons} if condition else set()


@pytest.mark.parametrize("code", TRUTH)
def test_what_the_recordings_were_made_to_show_is_named(code: Code) -> None:
    for name in TRUTH[code].split():
        assert any(code in {cause.code for cause in diagnosis.causes} for diagnosis, _ in found()[name]), name


def test_the_scheduler_s_own_reason_is_among_the_causes_and_none_is_unexplained() -> None:
    waiting = 0
    for name, diagnoses in found().items():
        for diagnosis, reasons in diagnoses:
            codes = {cause.code for cause in diagnosis.causes}
            assert Code.UNEXPLAINED not in codes, name
            waiting += bool(diagnosis.causes)
            for reason in reasons & REASONS.keys():
                assert codes & REASONS[reason], (name, reason, codes)
    assert waiting > 300
