"""Fair share taken apart: every recorded division, hand-calculated ones, and debts against recorded evictions."""

import re
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.cycle import run_cycle
from scheduling.divisions import RESOURCES
from scheduling.fairshare import Claim
from scheduling.golden import Replay, read_cases
from scheduling.shares import Bound, explain_division
from scheduling.shares_holdings import Changes, Debt, debts_of, debts_to, explain_shard
from scheduling.structs import Pod, Resources, Snapshot
from tests.scheduling.build import Cluster, node, queue

DATA = Path(__file__).parent / "data"
RECLAIMED = re.compile(r"was preempted by workload [^/\s]+/([\w-]+)")


def claim(uid: str, deserved: float, request: float, *, weight: float = 1, limit: float = -1, **more: float) -> Claim:
    return Claim(uid, deserved, limit, weight, request, **more)  # type: ignore[arg-type]


def recorded_claims(case: dict, resource: str) -> list[tuple[str, Claim]]:
    rows = case["input"]["queues"]
    moments = sorted({row["created"] for row in rows})
    return [(row["parent"], recorded_claim(row, resource, float(moments.index(row["created"])))) for row in rows]


def recorded_claim(row: dict, resource: str, created: float) -> Claim:
    part = row[resource]
    usage = (row.get("usage") or {}).get(resource, 0.0)
    bounds = (part["deserved"], part["limit"], part["weight"], part["request"])
    return Claim(row["uid"], *bounds, usage, row["priority"], created)


def test_the_parts_of_every_recorded_division_add_up_to_what_was_recorded() -> None:
    wrong = []
    for case in read_cases(DATA / "fairshare.jsonl.xz"):
        for resource in RESOURCES:
            division = explain_division(
                case["input"]["total"][resource], case["input"]["k"], recorded_claims(case, resource)
            )
            outputs = [case["output"], *(case.get("variants") or ())]
            sums = {uid: each.guaranteed + each.by_weight + each.odd for uid, each in division.shares.items()}
            if not any(
                all(sums[uid] == pytest.approx(row[resource], rel=1e-6, abs=1e-6) for uid, row in output.items())
                for output in outputs
            ):
                wrong.append((case["id"], resource))

    assert wrong == []


def test_a_share_says_what_is_guaranteed_and_what_weight_gives() -> None:
    """64 GPUs: 16 + 36 guaranteed, 12 unused at weights 2 : 1."""
    division = explain_division(64, 0, [("", claim("research", 16, 60, weight=2)), ("", claim("vision", 36, 60))])

    research = division.shares["research"]
    assert (research.fair, research.total, research.guaranteed) == (24, 64, 16)
    assert (research.over_quota, research.unused, research.weights) == (8, 12, 3)
    assert research.bound is Bound.OTHERS
    (level,) = division.levels
    assert (level.granted, level.unused, len(level.rounds), level.remainders) == (52, 12, 1, ())


def test_the_odd_unit_is_told_apart() -> None:
    """7 GPUs at weights 2 : 1: 4⅔ and 2⅓, whole units 4 and 2, the odd one to the larger remainder."""
    division = explain_division(7, 0, [("", claim("a", 0, 9, weight=2)), ("", claim("b", 0, 9))])

    assert (division.shares["a"].by_weight, division.shares["a"].odd) == (4, 1)
    assert (division.shares["b"].by_weight, division.shares["b"].odd) == (2, 0)
    assert [gift.uid for gift in division.levels[0].remainders] == ["a"]


def test_a_lower_level_divides_its_parents_share() -> None:
    division = explain_division(10, 0, [("", claim("d", 0, 8)), ("d", claim("p", 2, 8)), ("d", claim("q", 2, 0))])

    assert [(level.parent, level.total) for level in division.levels] == [("", 10), ("d", 8)]
    assert (division.shares["p"].total, division.shares["p"].fair) == (8, 8)


@pytest.mark.parametrize(
    ("claims", "bound"),
    [
        ([claim("q", 4, 0)], Bound.ASKS_NOTHING),
        ([claim("q", 4, 6)], Bound.HAS_ALL),
        ([claim("q", 4, 6, limit=5)], Bound.LIMIT),
        ([claim("q", 4, 6), claim("r", 6, 6)], Bound.NOTHING_UNUSED),
        ([claim("q", 4, 6, weight=0), claim("r", 1, 6)], Bound.NO_WEIGHT),
        ([claim("q", 4, 6), claim("r", 0, 6, priority=200)], Bound.HIGHER_PRIORITY),
        ([claim("q", 0, 20), claim("r", 0, 20)], Bound.OTHERS),
    ],
)
def test_what_keeps_a_share_from_being_larger(claims: list[Claim], bound: Bound) -> None:
    division = explain_division(10, 0, [("", each) for each in claims])

    assert division.shares["q"].bound is bound


def test_oversubscribed_quotas_leave_nothing_unused() -> None:
    (level,) = explain_division(10, 0, [("", claim("a", 8, 8)), ("", claim("b", 8, 8))]).levels

    assert (level.granted, level.unused) == (16, 0)


def borrowing() -> Snapshot:
    """32 GPUs; research deserves 16 and holds 28 (4 of it fixed), vision deserves 16, holds 4 and waits for 8."""
    cluster = Cluster(
        *(node(f"n{index}", 8) for index in range(4)),
        queues=(queue("research", quota=16.0), queue("vision", quota=16.0), queue("idle", quota=0.0)),
    )
    cluster.gang("fixed", 4, on=("n0",), queue="research", preemptible=False)
    cluster.gang("many", 4, *[8] * 2, 4, on=("n0", "n1", "n2", "n3"), queue="research")
    cluster.gang("seen", 4, on=("n3",), queue="vision")
    return cluster.gang("waits", 8, queue="vision").snapshot()


def test_holdings_say_what_is_held_kept_borrowed_and_owed() -> None:
    shares = explain_shard(borrowing())

    research, vision = (shares.holdings["gpu"][name] for name in ("research", "vision"))
    assert (research.held, research.fixed, research.asked, research.fair, research.keeps) == (28, 4, 28, 20, 20)
    assert (research.borrowed, research.waits) == (8, 0)
    assert (vision.held, vision.asked, vision.fair, vision.waits, vision.owed) == (4, 12, 12, 8, 8)
    assert (vision.idle_quota, vision.borrowed) == (4, 0)


def test_a_debt_names_who_is_starved_who_borrows_and_how_much() -> None:
    shares = explain_shard(borrowing())

    assert shares.debts["gpu"] == (Debt("vision", "research", 8, by_quota=True),)
    assert debts_to(shares.debts["gpu"], "vision") == debts_of(shares.debts["gpu"], "research")


def test_fixed_pods_are_no_debt() -> None:
    snapshot = borrowing()
    groups = tuple(msgspec.structs.replace(group, preemptible=False) for group in snapshot.podgroups)

    assert explain_shard(msgspec.structs.replace(snapshot, podgroups=groups)).debts["gpu"] == ()


def test_what_if_changes_shares_and_not_the_snapshot() -> None:
    snapshot = borrowing()

    changed = explain_shard(snapshot, None, Changes(totals={"gpu": 40.0}, quotas={("vision", "gpu"): 0.0}))

    assert changed.total.gpu == 40
    assert changed.holdings["gpu"]["vision"].deserved == 0
    assert explain_shard(snapshot).holdings["gpu"]["vision"].deserved == 16


def test_cordoned_nodes_and_other_schedulers_pods_cannot_be_shared() -> None:
    snapshot = Cluster(node("n0", 8), node("n1", 8, unschedulable=True)).gang("g", 2).snapshot()
    foreign = Pod("other", node="n0", phase="Running", requests=Resources(gpu=3.0))

    assert explain_shard(snapshot).total.gpu == 8
    assert explain_shard(msgspec.structs.replace(snapshot, pods=(*snapshot.pods, foreign))).total.gpu == 5


def test_queues_that_the_scheduler_leaves_out_are_named() -> None:
    queues = (queue("ok"), queue("orphan", "gone"), queue("x", "y"), queue("y", "x"))

    shares = explain_shard(Cluster(node("n0", 8), queues=queues).snapshot())

    assert set(shares.queues) == {"ok"}
    assert (shares.dropped, set(shares.cyclic)) == (("orphan",), {"x", "y"})


def test_every_recorded_reclaim_is_a_debt() -> None:
    """Whoever KAI evicted for another queue's work was named beforehand as somebody who borrows from it."""
    seen, wrong = 0, []
    for case in read_cases(DATA / "scheduling-replay.jsonl.xz"):
        if not any(map(_reclaims, case["result"]["cycles"])):
            continue
        replay = Replay(case["input"])
        for cycle in case["result"]["cycles"]:
            evictions = _reclaims(cycle)
            if evictions:
                debts = _named_debts(replay.snapshot)
                queues = {group.name: group.queue for group in replay.snapshot.podgroups}
                for evictor, victim in evictions:
                    seen += 1
                    if (queues[evictor], queues[victim]) not in debts:
                        wrong.append((case["id"], evictor, victim))
            replay.cycle()

    assert seen > 150
    assert wrong == []


def _reclaims(cycle: dict) -> list[tuple[str, str]]:
    """Evictor and victim, as pod groups, of the cycle's recorded events."""
    found = []
    for event in cycle.get("events") or ():
        match = RECLAIMED.search(event["message"]) if event.get("reason") == "Evict" else None
        if match:
            found.append((match[1], event["name"]))
    return found


def _named_debts(snapshot: Snapshot) -> set[tuple[str, str]]:
    return {(debt.starved, debt.borrower) for debts in explain_shard(snapshot).debts.values() for debt in debts}


@st.composite
def divisions(draw: st.DrawFn) -> tuple[float, list[tuple[str, Claim]]]:
    amounts = st.integers(0, 20).map(float)
    claims = [
        Claim(
            f"q{index}",
            draw(st.sampled_from([-1.0, 0.0, 2.0, 5.0])),
            draw(st.sampled_from([-1.0, 0.0, 3.0, 9.0])),
            draw(st.sampled_from([0.0, 1.0, 2.0])),
            draw(amounts),
            priority=draw(st.sampled_from([50, 100])),
            created=float(index),
        )
        for index in range(draw(st.integers(1, 6)))
    ]
    return draw(amounts), [("", each) for each in claims]


@given(divisions())
def test_steps_account_for_every_unit(case: tuple[float, list[tuple[str, Claim]]]) -> None:
    total, claims = case
    division = explain_division(total, 0, claims)
    given_away: dict[str, float] = defaultdict(float)
    for level in division.levels:
        for gift in (*level.quotas, *(g for each in level.rounds for g in each.gifts), *level.remainders):
            given_away[gift.uid] += gift.amount

    assert given_away == pytest.approx({uid: share.fair for uid, share in division.shares.items()})
    assert sum(share.over_quota for share in division.shares.values()) <= division.levels[0].unused + 1e-9


def test_an_eviction_names_the_pod_group_it_is_for() -> None:
    (eviction, *_) = run_cycle(borrowing()).evicted

    assert (eviction.podgroup, eviction.evictor) == ("default/many", "default/waits")
