"""Frames keep what is measured apart from what is not, in bytes."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from metrics.exposition import GpuReading, Owner
from metrics.figures import utilisation_figure
from metrics.frames import (
    UNMEASURED,
    Layout,
    extend,
    frame_of,
    mean_of,
    pack,
    unpack_bytes,
    unpack_flags,
    unpack_owners,
)
from metrics.series import (
    Moment,
    Point,
    distribution,
    node_positions,
    owned_by,
    owner_positions,
    point,
    positions,
    summary,
    together,
    with_expected,
)

AT = datetime(2026, 11, 29, 18, tzinfo=UTC)
READINGS = {
    "a": (
        GpuReading(0, utilisation=80, owner=Owner("ns", "p1")),
        GpuReading(1, utilisation=0, owner=Owner("ns", "p2")),
        GpuReading(2),
    ),
    "b": (GpuReading(0, utilisation=40),),
}
LAYOUT = Layout(("a", "b"), slots=4)


def moment() -> Moment:
    frame = frame_of(LAYOUT, READINGS, {("ns", "p1"): "w1"})
    return Moment(AT, frame.utilisation, frame.memory, frame.temperature, frame.present, frame.owner, frame.owners)


def test_a_layout_only_grows_at_its_end() -> None:
    assert extend(Layout(("b",)), ["c", "a", "b"]).nodes == ("b", "a", "c")
    same = Layout(("a",))
    assert extend(same, ["a"]) is same


def test_a_frame_survives_packing_and_later_nodes_are_unmeasured_in_it() -> None:
    frame = frame_of(LAYOUT, READINGS, {})

    assert list(unpack_bytes(pack(frame.utilisation), 10)) == [80, 0, 255, 255, 40, 255, 255, 255, 255, 255]
    assert list(unpack_flags(pack(frame.present), 10)) == [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]
    assert list(unpack_owners(pack(frame.owner), 10)) == [1, 2, 0, 0, 0, 0, 0, 0, 0, 0]
    assert frame.owners == ("ns/p1", "ns/p2")


def test_65_a_summary_says_average_maximum_and_how_many_were_measured() -> None:
    figures = summary(moment())

    assert (figures.gpus, figures.measured, figures.unmeasured) == (4, 3, 1)
    assert figures.average == pytest.approx(40)
    assert figures.maximum == 80
    assert (figures.held, figures.idle, figures.held_average) == (2, 1, 40.0)


def test_unmeasured_is_not_zero() -> None:
    nothing = summary(moment(), np.array([2, 3]))

    assert (nothing.gpus, nothing.average, nothing.maximum, nothing.idle) == (1, None, None, 0)


def test_of_held_gpus_that_are_not_measured_nobody_knows_how_many_are_idle() -> None:
    nobody_reads = with_expected(summary(moment(), np.array([2, 3])), gpus=6, held=6)

    assert (nobody_reads.held, nobody_reads.idle) == (6, None)


def test_positions_choose_nodes_and_owners() -> None:
    assert point(moment(), positions(LAYOUT, ["b"])).average == 40
    assert point(moment(), owned_by(moment(), ["w1"])) == Point(AT, 80.0, 80, 1)
    assert point(moment(), owned_by(moment(), ["unknown"])).measured == 0
    assert {key: list(at) for key, at in owner_positions(moment()).items()} == {"w1": [0], "ns/p2": [1]}
    assert list(together(node_positions(LAYOUT), ["b", "unknown"])) == [4, 5, 6, 7]


def test_a_mean_counts_only_what_was_measured() -> None:
    figures = [np.array([10, UNMEASURED, UNMEASURED], np.uint8), np.array([20, 30, UNMEASURED], np.uint8)]

    assert list(mean_of(figures)) == [15, 30, UNMEASURED]


def test_the_distribution_adds_up_to_the_gpus() -> None:
    tenths = distribution(moment())

    assert (tenths["8"], tenths["0"], tenths["4"], tenths["unmeasured"]) == (1, 1, 1, 1)
    assert sum(tenths.values()) == 4


def test_a_line_breaks_where_nothing_was_measured_or_time_is_missing() -> None:
    points = [
        Point(AT, 10.0, 10, 1),
        Point(AT.replace(minute=1), None, None, 0),
        Point(AT.replace(minute=30), 20.0, 20, 1),
    ]

    (trace,) = utilisation_figure([("x", points)], step=60)["data"]

    assert trace["y"] == [10.0, None, None, 20.0]
    assert trace["connectgaps"] is False


def test_a_line_of_points_that_were_thinned_out_is_whole_and_breaks_where_some_are_missing() -> None:
    """Of 5,000 nodes every tenth roll-up of ten minutes is read for seven days; three of those are missing here."""
    points = [Point(AT + timedelta(minutes=100 * n), 10.0 + n, 10, 1) for n in (0, 1, 2, 3, 7, 8)]

    (trace,) = utilisation_figure([("x", points)], step=600)["data"]

    assert trace["y"] == [10.0, 11.0, 12.0, 13.0, None, 17.0, 18.0]


def test_the_first_points_of_a_chart_stand_on_an_axis_of_ten_minutes():
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    points = [Point(at + timedelta(minutes=n), 40.0, 40, 1) for n in range(11)]

    first, later = (utilisation_figure([("x", some)], step=60) for some in (points[:1], points))

    assert first["layout"]["xaxis"] == {"type": "date", "range": ["2026-03-01T11:50:00Z", "2026-03-01T12:00:00Z"]}
    assert first["data"][0]["mode"] == "lines+markers"  # a line of one point cannot be seen
    assert later["layout"]["xaxis"] == {"type": "date"}
    assert later["data"][0]["mode"] == "lines"
