"""Fair share: every recorded division, hand-calculated ones, and what must always hold."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.divisions import compare_division
from scheduling.fairshare import Claim, QueueClaims, divide, divide_tree
from scheduling.golden import read_cases
from scheduling.structs import Resources

DATA = Path(__file__).parent / "data" / "fairshare.jsonl.xz"
CASES = list(read_cases(DATA))
FAMILIES = sorted({case["family"] for case in CASES})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recorded_division_is_reproduced(family: str) -> None:
    chosen = [case for case in CASES if case["family"] == family]

    wrong = {case["id"]: misses for case in chosen if (misses := compare_division(case))}

    assert len(chosen) > 20
    assert wrong == {}


def test_a_wrong_share_is_a_miss() -> None:
    case = next(case for case in CASES if case["id"] == "fs-minimal-0004")
    uid = next(iter(case["output"]))
    amounts = case["output"][uid] | {"gpu": case["output"][uid]["gpu"] + 1}

    assert list(compare_division(case | {"output": case["output"] | {uid: amounts}})) == ["share"]


def test_the_recordings_hold_all_families() -> None:
    assert len(CASES) == 1531
    assert FAMILIES == ["flat", "flat-ties", "flat-usage", "hier", "hier-usage", "minimal"]


def test_left_over_unit_of_a_high_priority_goes_to_a_lower_one() -> None:
    """10 among three queues of 10/3 each: 3, 3, 3, and the lower priority takes the unit that is left."""
    high = [Claim(name, 0, -1, 1, 10, priority=200, created=index) for index, name in enumerate("abc")]
    low = Claim("d", 0, -1, 1, 10, priority=100)

    assert divide(10, 0, [*high, low]) == {"a": 3, "b": 3, "c": 3, "d": 1}


def test_quota_is_granted_from_nothing() -> None:
    assert divide(0, 0, [Claim("a", 5, -1, 1, 2)]) == {"a": 2}


def test_unlimited_quota_means_the_whole_total_for_each_queue() -> None:
    claims = [Claim("a", -1, -1, 1, 10), Claim("b", -1, -1, 1, 10)]

    assert divide(10, 0, claims) == {"a": 10, "b": 10}


def test_older_queue_gets_the_odd_unit() -> None:
    claims = [Claim("a", 0, -1, 1, 5, created=2.0), Claim("b", 0, -1, 1, 5, created=1.0)]

    assert divide(5, 0, claims) == {"a": 2, "b": 3}


def test_a_parents_share_is_its_childrens_total() -> None:
    def queue(uid: str, parent: str, weight: float, request: float) -> QueueClaims:
        part = Claim(uid, 0, -1, weight, request)
        return QueueClaims(uid, parent, part, Claim(uid, 0, -1, 1, 0), Claim(uid, 0, -1, 1, 0))

    tree = [queue("d1", "", 1, 20), queue("d2", "", 3, 20), queue("a", "d1", 1, 20), queue("b", "d2", 1, 20)]

    shares = divide_tree(Resources(gpu=16), 0, tree)

    assert {uid: share.gpu for uid, share in shares.items()} == {"d1": 4, "d2": 12, "a": 4, "b": 12}


claims_strategy = st.lists(
    st.tuples(
        st.integers(0, 8),
        st.one_of(st.just(-1), st.integers(0, 20)),
        st.integers(0, 5),
        st.integers(0, 30),
        st.sampled_from([50, 100, 200]),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda rows: [
        Claim(f"q{index}", quota, limit, weight, request, 0.0, priority, float(index))
        for index, (quota, limit, weight, request, priority) in enumerate(rows)
    ]
)


@given(total=st.integers(0, 60), claims=claims_strategy)
def test_no_more_is_divided_than_there_is_beyond_quotas(total: int, claims: list[Claim]) -> None:
    shares = divide(total, 1.0, claims)
    granted = sum(min(claim.deserved, claim.requestable) for claim in claims)

    assert sum(shares.values()) <= max(total, granted) + 1e-6


@given(total=st.integers(0, 60), claims=claims_strategy)
def test_a_share_is_at_least_the_quota_asked_and_at_most_one_above_the_request(total: int, claims: list[Claim]) -> None:
    shares = divide(total, 1.0, claims)

    for claim in claims:
        assert shares[claim.uid] >= min(claim.deserved, claim.requestable)
        assert shares[claim.uid] < claim.requestable + 1 or claim.requestable == shares[claim.uid]


@given(total=st.integers(0, 60), claims=claims_strategy)
def test_weight_zero_gets_its_quota_only(total: int, claims: list[Claim]) -> None:
    shares = divide(total, 1.0, claims)

    for claim in claims:
        if claim.weight == 0:
            assert shares[claim.uid] == min(claim.deserved, claim.requestable)
