"""The sentences about fair share, in both languages: their numbers are read back and held against the recordings."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

from organizations.fair_share_words import Claimant, holding_sentence, sentence, share_sentence
from scheduling.fairshare import Claim
from scheduling.golden import Replay, read_cases
from scheduling.shares import Share, explain_division
from scheduling.shares_holdings import Holding, explain_shard

pytestmark = pytest.mark.long

RECORDED = Path(__file__).parent.parent / "scheduling" / "data" / "fairshare.jsonl.xz"
SCALES = {"gpu": Decimal(1), "cpu": Decimal(1000), "memory": Decimal(10) ** 9}
CLOSE = Decimal("0.0021")
N = r"(-?[\d,]+(?:\.\d+)?(?:E\+\d+)?)"

PATTERNS = {
    "en": {
        "gets": rf"gets {N} of {N} (?:GPUs|CPU cores|GB of memory)",
        "guaranteed": rf"{N} guaranteed and {N} of {N} unused, at weight {N} of {N}",
        "odd": rf"the odd {N} included",
        "asked": rf"it asks for {N}",
        "limit": rf"its limit is {N}",
        "weight": rf"but its weight is {N}",
        "earlier": rf"higher priorities take {N} of {N} unused",
        "extra": rf"that is {N} more than it asks for",
        "all": "that is all it asks for",
        "nothing": "it asks for nothing",
    },
    "zh-hans": {
        "gets": rf"从 {N} (?:个 GPU|个 CPU 核|GB 内存) ?中分得 {N} ",
        "guaranteed": rf"保障 {N}，另从未用的 {N} 中得 {N}，权重占 {N} 中的 {N}",
        "odd": rf"含零头 {N}",
        "asked": rf"它申请 {N}",
        "limit": rf"上限为 {N}",
        "weight": rf"但其权重为 {N}",
        "earlier": rf"未用的 {N} 中有 {N} 先归更高优先级",
        "extra": rf"比它申请的多 {N}",
        "all": "这是它申请的全部",
        "nothing": "它没有申请",
    },
}
# Where Chinese says the numbers of a pattern in another order: their places in the English order.
ORDER = {"gets": (1, 0), "guaranteed": (0, 2, 1, 4, 3), "earlier": (1, 0)}


def numbers(text: str, language: str, kind: str) -> tuple[Decimal, ...] | None:
    match = re.search(PATTERNS[language][kind], text)
    if match is None:
        return None
    found = tuple(Decimal(group.replace(",", "")) for group in match.groups())
    return tuple(found[place] for place in ORDER[kind]) if language != "en" and kind in ORDER else found


class Truth:
    """What a recording says of one queue and resource, worked out from its input and output alone."""

    def __init__(self, case: dict[str, Any], row: dict[str, Any], resource: str) -> None:
        self.scale = SCALES[resource]
        rows = case["input"]["queues"]
        self.part = row[resource]
        top = case["input"]["total"][resource]
        self.total = case["output"][row["parent"]][resource] if row["parent"] else top
        self.siblings = [each for each in rows if each["parent"] == row["parent"]]
        self.fair = case["output"][row["uid"]][resource]
        self.resource, self.row = resource, row

    def guaranteed(self, row: dict[str, Any]) -> float:
        part = row[self.resource]
        deserved = self.total if part["deserved"] == -1 else part["deserved"]
        return min(deserved, self.requestable(row))

    def requestable(self, row: dict[str, Any]) -> float:
        part = row[self.resource]
        return part["request"] if part["limit"] == -1 else min(part["limit"], part["request"])

    @property
    def unused(self) -> float:
        return max(self.total - sum(map(self.guaranteed, self.siblings)), 0.0)

    @property
    def weights(self) -> float:
        return sum(
            each[self.resource]["weight"]
            for each in self.siblings
            if each["priority"] == self.row["priority"] and self.requestable(each) > self.guaranteed(each)
        )

    def shown(self, amount: float) -> Decimal:
        return Decimal(repr(float(amount))) / self.scale


def recorded() -> Iterator[tuple[dict[str, Any], str]]:
    for case in read_cases(RECORDED):
        for resource in SCALES:
            yield case, resource


def claims_of(case: dict[str, Any], resource: str) -> list[tuple[str, Claim]]:
    return [
        (
            row["parent"],
            Claim(
                row["uid"],
                *(row[resource][key] for key in ("deserved", "limit", "weight", "request")),
                (row.get("usage") or {}).get(resource, 0.0),
                row["priority"],
                float(row["created"][8:10]) * 86400 + float(row["created"][17:19]),
            ),
        )
        for row in case["input"]["queues"]
    ]


@cache
def said() -> list[tuple[str, str, Share, Truth]]:
    """Every queue of every recorded division: a name for failures, resource, share, truth."""
    found = []
    for case, resource in recorded():
        division = explain_division(case["input"]["total"][resource], case["input"]["k"], claims_of(case, resource))
        for row in case["input"]["queues"]:
            name = f"{case['id']} {resource} {row['uid']}" if not case.get("variants") else ""
            found.append((name, resource, division.shares[row["uid"]], Truth(case, row, resource)))
    return found


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_numbers_of_every_recorded_division_can_be_read_back(language: str) -> None:
    """Where KAI itself gave different shares in different runs, the sentence is made and not compared."""
    wrong: list[str] = []
    with translation.override(language):
        for name, resource, share, truth in said():
            text = sentence(share_sentence("q", resource, share))
            problems = list(_problems(text, language, truth))
            if problems and name:
                wrong.append(f"{name}: {problems} {text}")

    assert len(said()) == 28_320
    assert wrong == []


def _problems(text: str, language: str, truth: Truth) -> Iterator[str]:
    def read(kind: str) -> tuple[Decimal, ...] | None:
        return numbers(text, language, kind)

    def close(kind: str, *wanted: float) -> Iterator[str]:
        found = read(kind)
        if found is not None and not all(_near(a, truth.shown(b)) for a, b in zip(found, wanted, strict=True)):
            yield f"{kind}: {found} for {wanted}"

    request = truth.part["request"]
    if read("gets") is None:
        yield "no share"
    yield from close("gets", truth.fair, truth.total)
    yield from close("asked", request)
    yield from close("limit", truth.part["limit"])
    yield from close("extra", truth.fair - request)
    yield from _parts_wrong(read("guaranteed"), read("odd"), truth)
    weight = read("weight")
    if weight is not None and weight[0] != Decimal(repr(float(truth.part["weight"]))):
        yield f"weight {weight}"
    if re.search(PATTERNS[language]["all"], text) and not _near(truth.shown(truth.fair), truth.shown(request)):
        yield "not all it asks for"
    if re.search(PATTERNS[language]["nothing"], text) and request > 0:
        yield "it asks for something"
    early = read("earlier")
    if early is not None and not (0 < early[0] <= early[1] + CLOSE and _near(early[1], truth.shown(truth.unused))):
        yield f"earlier {early}"


def _parts_wrong(found: tuple[Decimal, ...] | None, odd: tuple[Decimal, ...] | None, truth: Truth) -> Iterator[str]:
    over = truth.fair - truth.guaranteed(truth.row)
    if found is None:
        if over > 1e-6:
            yield f"says nothing of {over} beyond the quota"
        return
    guaranteed, beyond, unused, weight, weights = found
    wanted = (truth.guaranteed(truth.row), over, truth.unused)
    if not all(_near(a, truth.shown(b)) for a, b in zip((guaranteed, beyond, unused), wanted, strict=True)):
        yield f"parts {found} for {wanted}"
    if not (_near(weight, Decimal(repr(truth.part["weight"]))) and _near(weights, Decimal(repr(truth.weights)))):
        yield f"weights {weight} of {weights}, not {truth.part['weight']} of {truth.weights}"
    if odd is not None and not 0 < odd[0] <= min(Decimal(1) / truth.scale, beyond) + CLOSE:
        yield f"odd {odd}"


def _near(left: Decimal, right: Decimal) -> bool:
    return abs(left - right) <= CLOSE


def test_the_sentence_of_the_issue() -> None:
    """research gets 24 of 64 GPUs, holds 28, and vision waits for 6."""
    rows = [Claim("research", 16, -1, 2, 60), Claim("vision", 36, -1, 1, 60)]
    share = explain_division(64, 0, [("", each) for each in rows]).shares["research"]
    holding = Holding("research", deserved=16, fair=24, keeps=24, held=28, fixed=0, asked=60)

    said = {}
    for language in ("en", "zh-hans"):
        with translation.override(language):
            said[language] = sentence(
                share_sentence("research", "gpu", share),
                holding_sentence("gpu", holding, [Claimant("vision", Decimal(4), Decimal(6))], []),
            )

    assert said["en"] == (
        "research gets 24 of 64 GPUs: 16 guaranteed and 8 of 12 unused, at weight 2 of 3; it asks for 60; "
        "it holds 28, so 4 can be reclaimed by vision, which waits for 6."
    )
    assert said["zh-hans"] == (
        "research 从 64 个 GPU 中分得 24 个：保障 16，另从未用的 12 中得 8，权重占 3 中的 2；它申请 60；"
        "它占用 28，因此其中 4 可被 vision 回收，后者正在等待 6。"
    )


def holds(held: float, asked: float, fair: float = 10, fixed: float = 0) -> Holding:
    return Holding("q", deserved=0, fair=fair, keeps=fair, held=held, fixed=fixed, asked=asked)


TWO = [Claimant("a", Decimal(3), Decimal(5)), Claimant("", Decimal(2), Decimal(2))]
SAID: list[tuple[Callable[[], str], str]] = [
    (lambda: holding_sentence("gpu", holds(0, 0), [], []), ""),
    (lambda: holding_sentence("gpu", holds(4, 4), [], []), "it holds 4 and waits for nothing"),
    (
        lambda: holding_sentence("gpu", holds(12, 20), [], []),
        "it holds 12, 2 above its share, and nobody waits who could reclaim it",
    ),
    (
        lambda: holding_sentence("gpu", holds(10, 14), [], []),
        "it holds 10 and waits for 4, which is beyond its share",
    ),
    (
        lambda: holding_sentence("gpu", holds(4, 14), [], []),
        "it holds 4 and waits for 10, and nobody borrows it: something else stops it",
    ),
    (
        lambda: holding_sentence("gpu", holds(4, 14), [], TWO),
        "it holds 4 and waits for 10, of which 5 can be reclaimed from a and another project",
    ),
    (
        lambda: holding_sentence("gpu", holds(16, 16, fixed=12), TWO, []),
        "it holds 16, so 4 can be reclaimed by a and another project, which wait for 7",
    ),
]


@pytest.mark.parametrize(("say", "expected"), SAID)
def test_what_a_queue_holds_is_said_with_its_debts(say: Callable[[], str], expected: str) -> None:
    assert say() == expected


def test_memory_is_said_in_gigabytes_and_cpu_in_cores() -> None:
    share = explain_division(64e9, 0, [("", Claim("q", 16e9, -1, 1, 8e9))]).shares["q"]
    assert share_sentence("q", "memory", share).startswith("q gets 8 of 64 GB of memory: ")

    share = explain_division(64_000, 0, [("", Claim("q", 500, -1, 1, 500))]).shares["q"]
    assert share_sentence("q", "cpu", share).startswith("q gets 0.5 of 64 CPU cores: ")


HELD = {"en": rf"it holds {N}", "zh-hans": rf"它占用 {N}"}
WAITS = {"en": rf"and waits for {N}", "zh-hans": rf"等待 {N}[，，]"}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_what_is_held_and_waits_in_every_recorded_cluster_can_be_read_back(language: str) -> None:
    """The numbers of the recordings' workloads, summed by queue."""
    wrong, count = [], 0
    with translation.override(language):
        for case in read_cases(RECORDED.with_name("scheduling-replay.jsonl.xz")):
            if case["family"] not in ("h", "k", "t"):
                continue
            shares = explain_shard(Replay(case["input"]).snapshot)
            for queue, (held, asked) in amounts_of(case["input"]).items():
                if queue not in shares.leaves:
                    continue
                count += 1
                text = holding_sentence("gpu", shares.holdings["gpu"][queue], [], [])
                found, waits = re.search(HELD[language], text), re.search(WAITS[language], text)
                if (Decimal(found[1].replace(",", "")) if found else Decimal(0)) != held:
                    wrong.append(f"{case['id']} {queue}: {held} held, said {text}")
                elif waits and Decimal(waits[1].replace(",", "")) != asked - held:
                    wrong.append(f"{case['id']} {queue}: {asked - held} waits, said {text}")

    assert count > 2000
    assert wrong == []


def amounts_of(recorded: dict[str, Any]) -> dict[str, tuple[Decimal, Decimal]]:
    """GPUs held and asked by queue, from the recording's rows."""
    sums: dict[str, list[Decimal]] = {row["name"]: [Decimal(0), Decimal(0)] for row in recorded["queues"]}
    for row in recorded["workloads"]:
        placed = len(row.get("placed") or {})
        sizes = [Decimal(str(pods.get("gpu", 0))) for pods in row["pods"] for _ in range(pods.get("count", 1))]
        if row["queue"] in sums:
            sums[row["queue"]][1] += sum(sizes, Decimal(0))
            sums[row["queue"]][0] += sum(sizes, Decimal(0)) if placed == len(sizes) else sizes[0] * placed
    return {queue: (held, asked) for queue, (held, asked) in sums.items()}
