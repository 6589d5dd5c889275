"""The report of the benchmarks keeps what was not measured again."""

from tests.bench import report
from tests.bench.measuring import Row

FIRST = Row("P1", "list", "10 ms", "12 ms", "1.2 x", "2 x", True)
SECOND = Row("P6", "page", "10 ms", "50 ms", "5.0 x", "2 x", False)
LOADS = ("1.0 1.0 1.0", "2.0 2.0 2.0")


def test_what_is_measured_anew_takes_its_old_place_and_the_rest_stays() -> None:
    whole = report.text([FIRST, SECOND], size="large", loads=LOADS, seconds=60, failed=())
    better = Row("P6", "page", "10 ms", "15 ms", "1.5 x", "2 x", True)
    other = Row("P11", "preview", "", "3 ms", "", "5 ms", None)

    again = report.renewed(whole, [better, other], stages=["pages", "placing"], loads=LOADS)

    assert [line for line in again.splitlines() if line.startswith("| P")] == [
        "| P1 | list | 10 ms | 12 ms | 1.2 x | 2 x | met |",
        "| P6 | page | 10 ms | 15 ms | 1.5 x | 2 x | met |",
        "| P11 | preview |  | 3 ms |  | 5 ms | reported |",
    ]
    assert "- Bars: 1 met, 1 missed" in whole
    assert "- Bars: 2 met, 0 missed" in again
    assert "load average 1.0 1.0 1.0 to 2.0 2.0 2.0: pages, placing" in again


def test_rows_of_one_thing_beside_two_rivals_stay_two_rows() -> None:
    rivals = [Row("P1", "list", rival, "12 ms", "9 x", bar, True) for rival, bar in (("a", "8 x"), ("b", "20 x"))]
    whole = report.text(rivals, size="large", loads=LOADS, seconds=60, failed=())

    again = report.renewed(whole, rivals, stages=["list"], loads=LOADS)

    assert [line for line in again.splitlines() if line.startswith("| P")] == [
        "| P1 | list | a | 12 ms | 9 x | 8 x | met |",
        "| P1 | list | b | 12 ms | 9 x | 20 x | met |",
    ]


def test_a_run_that_measured_nothing_says_nothing() -> None:
    whole = report.text([FIRST], size="large", loads=LOADS, seconds=60, failed=())

    assert report.renewed(whole, [], stages=[], loads=LOADS) == whole


def test_that_a_stage_was_measured_anew_is_said_of_the_last_time_only() -> None:
    whole = report.text([FIRST], size="large", loads=LOADS, seconds=60, failed=())
    for stages in (["list"], ["list", "pages"], ["memory", "list"]):
        whole = report.renewed(whole, [FIRST], stages=stages, loads=LOADS)

    told = [line.rpartition(": ")[2] for line in whole.splitlines() if line.startswith("- Measured anew")]
    assert sorted(told) == ["list, pages", "memory, list"]
