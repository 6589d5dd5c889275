import pytest

from core.errors import InvalidInput
from topology.durations import is_go_duration, normalise_duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5d8h40m", "128h40m0s"),
        ("1d", "24h0m0s"),
        ("90s", "1m30s"),
        ("1.5h", "1h30m0s"),
        ("500ms", "0.5s"),
        ("", ""),
        ("0", ""),
        ("0s", ""),
        ("+2m", "2m0s"),
    ],
)
def test_duration_is_written_as_go_prints_it(text: str, expected: str) -> None:
    assert normalise_duration(text, field="f") == expected
    assert expected == "" or is_go_duration(expected)


@pytest.mark.parametrize("text", ["abc", "1 hour", "-5m", "5", "1e3s", "h", "1d2", "99999999h", "１h"])
def test_trap_34_what_go_cannot_parse_is_refused_naming_field_and_units(text: str) -> None:
    with pytest.raises(InvalidInput, match="minGuaranteedRuntime") as caught:
        normalise_duration(text, field="minGuaranteedRuntime")

    assert "h, m, s" in caught.value.faults[0].allowed


@pytest.mark.parametrize(
    ("text", "valid"),
    [("1h", True), ("0", True), ("-1.5h", True), ("1d", False), ("abc", False), ("1", False), ("", False)],
)
def test_go_durations_are_told_from_the_others(text: str, valid: bool) -> None:
    assert is_go_duration(text) is valid
