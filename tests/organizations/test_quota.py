from decimal import Decimal as D

import pytest
from django.utils.translation import override

from core.errors import InvalidInput
from organizations.quota import (
    DEFAULTS,
    UNLIMITED,
    WarningCode,
    over,
    read_amount,
    read_weight,
    room,
    total,
    warnings_for,
)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, "0"), (0.3, "0.3"), (-1, "-1"), (-1.0, "-1"), (8, "8"), (0.000001, "0.000001")]
)
def test_row_3_zero_is_a_bound_and_minus_one_is_unlimited(value: float, expected: str) -> None:
    assert read_amount(value, "gpu.deserved") == D(expected)


@pytest.mark.parametrize(
    "value", [-2, -0.5, "-1.0", "8", None, True, float("nan"), float("inf"), 1e12, 0.0000001, [], {}]
)
def test_row_3_what_is_no_amount_is_refused_naming_the_field(value: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_amount(value, "resources[0].gpu.limit")

    assert caught.value.faults[0].field == "resources[0].gpu.limit"
    assert "unlimited (−1)" in caught.value.faults[0].allowed


@pytest.mark.parametrize(
    ("text", "expected"),
    [("unlimited", "-1"), ("-1", "-1"), ("−1", "-1"), (" 1e3 ", "1000"), ("0", "0"), ("0.10", "0.1")],
)
def test_row_3_text_of_forms(text: str, expected: str) -> None:
    assert read_amount(text, "f", text=True) == D(expected)


@pytest.mark.parametrize("text", ["-1.0", "-2", "", "1K", "eight", "1,5", "NaN", "Infinity", "-0.1"])
def test_trap_t8_text_that_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_amount(text, "f", text=True)


def test_row_4_weight_zero_is_zero_and_never_unlimited() -> None:
    assert read_weight(0, "w") == 0
    with pytest.raises(InvalidInput, match="weight"):
        read_weight(-1, "w")
    with pytest.raises(InvalidInput) as caught:
        read_weight(-2, "w")
    assert "unlimited" not in caught.value.faults[0].allowed


def test_row_1_a_tenth_and_two_tenths_fit_three_tenths_without_a_remainder() -> None:
    assert room(D("0.3"), D("0.1") + D("0.2")) == 0
    assert over(D("0.3"), D("0.1") + D("0.2")) == 0
    assert room(D("0.8"), D("0.7")) == D("0.1")


def test_row_2_a_sum_with_an_unlimited_child_never_adds_minus_one() -> None:
    found = total([D(8), UNLIMITED, D(2)])

    assert (found.amount, found.unlimited, found.is_unlimited, found.value) == (10, 1, True, UNLIMITED)
    assert total([D(8), D(2)]).value == 10
    assert total([]).value == 0


def test_row_14_room_is_never_negative_and_the_excess_stays_visible() -> None:
    assert (room(D(4), D(6)), over(D(4), D(6))) == (0, 2)
    assert (room(UNLIMITED, D(6)), over(UNLIMITED, D(6))) == (UNLIMITED, 0)


def amounts(**changes: str) -> dict[str, D]:
    return {**DEFAULTS, **{name: D(value) for name, value in changes.items()}}


def test_row_3_lowering_below_what_is_allocated_warns() -> None:
    old = amounts(gpu_deserved="8", gpu_limit="8")

    lowered = warnings_for("default", amounts(gpu_deserved="2", gpu_limit="2"), old, {"gpu": D(6)})
    quota_only = warnings_for("default", amounts(gpu_deserved="2", gpu_limit="8"), old, {"gpu": D(6)})
    unknown = warnings_for("default", amounts(gpu_deserved="2", gpu_limit="2"), old, {})

    assert [(w.code, w.amount, w.against) for w in lowered] == [(WarningCode.LIMIT_BELOW_ALLOCATED, 2, 6)]
    assert [(w.code, w.amount, w.against) for w in quota_only] == [(WarningCode.BELOW_ALLOCATED, 2, 6)]
    assert unknown == []
    assert warnings_for("default", amounts(gpu_deserved="9"), old, {"gpu": D(6)}) == []


def test_a_limit_below_the_deserved_amount_warns() -> None:
    found = warnings_for("p", amounts(gpu_deserved="8", gpu_limit="4", cpu_limit="1000"), DEFAULTS, {})

    assert [(w.code, w.resource, w.amount, w.against) for w in found] == [
        (WarningCode.LIMIT_BELOW_DESERVED, "gpu", 4, 8)
    ]


@pytest.mark.parametrize("text", ["unlimited", "Unlimited", " 不限 ", "-1", "\u22121"])
def test_unlimited_may_be_written_in_english_in_the_viewers_language_and_as_minus_one(text: str) -> None:
    with override("zh-hans"):
        assert read_amount(text, "limit", text=True) == UNLIMITED


def test_what_is_refused_is_told_with_the_word_unlimited() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_amount("none", "limit", text=True)

    (fault,) = refused.value.faults
    assert fault.allowed == "unlimited (−1), or a number from 0 with at most 6 decimals"
