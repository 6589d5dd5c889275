"""Geometry of figures: widths that add up, marks in the right place, trees laid out by GPUs."""

import pytest
from django.template.loader import render_to_string

from core.figures import Domain, Quota, fits, icicle, quota_bar, segments, sequence_step


def width(text: str) -> float:
    return float(text.removesuffix("%"))


def test_parts_are_as_wide_as_their_share() -> None:
    drawn = segments([("allocated", 74), ("idle", 15), ("free", 0), ("unhealthy", 1)], 144)

    assert [(part.state, part.x, part.width) for part in drawn] == [
        ("allocated", "0%", "51.389%"),
        ("idle", "51.389%", "10.417%"),
        ("unhealthy", "61.806%", "0.694%"),
    ]


def test_nothing_to_divide_draws_nothing() -> None:
    assert segments([("allocated", 1)], 0) == ()


def test_what_a_queue_holds_above_its_quota_is_borrowed() -> None:
    bar = quota_bar(Quota(held=28, deserved=12, non_preemptible=4, asked=8, limit=36), scale=40)

    assert [(part.state, part.width) for part in bar.segments] == [
        ("nonpre", "10%"),
        ("allocated", "20%"),
        ("over", "40%"),
        ("asked", "20%"),
    ]
    assert (bar.deserved, bar.limit, bar.fair_share) == ("30%", "90%", "")


@pytest.mark.parametrize("unlimited", [None, -1])
def test_an_unlimited_quota_has_no_mark_and_borrows_nothing(unlimited: int | None) -> None:
    bar = quota_bar(Quota(held=5, deserved=unlimited, limit=unlimited))

    assert [part.state for part in bar.segments] == ["allocated"]
    assert (bar.deserved, bar.limit) == ("", "")


def test_an_idle_queue_without_quota_is_drawn_empty() -> None:
    assert quota_bar(Quota(held=0)).segments == ()


def test_viridis_steps_cover_the_whole_scale() -> None:
    assert [sequence_step(v) for v in (0, 4.9, 5, 50, 95, 100, 120)] == [0, 0, 1, 5, 10, 10, 10]


def fleet() -> tuple[Domain, ...]:
    def node(name: str, *states: str, pool: str = "default") -> Domain:
        return Domain(name, gpus=states, group=pool)

    free, busy = ("free",) * 8, ("allocated",) * 8
    return (
        Domain("z1", "?at=z1", (Domain("r1", "?at=r1", (node("a", *busy), node("b", *busy))),)),
        Domain(
            "z2",
            "?at=z2",
            (
                Domain("r2", "?at=r2", (node("c", *free),)),
                Domain("r3", "?at=r3", (node("d", "idle", *free[1:], pool="h200"),)),
            ),
        ),
    )


def test_domains_are_as_wide_as_their_gpus_and_lie_above_their_nodes() -> None:
    tree = icicle(fleet(), levels=("zone", "rack", "node"))

    boxes = {box.domain.name: box for box in tree.boxes}
    assert (boxes["z1"].total, boxes["z1"].free, boxes["z2"].total, boxes["z2"].free) == (16, 0, 16, 15)
    assert width(boxes["z1"].width) == pytest.approx(width(boxes["z2"].width))
    assert boxes["r2"].y - boxes["z2"].y == 48
    assert boxes["r2"].x == boxes["z2"].x
    assert [node.domain.name for node in tree.nodes] == ["a", "b", "c", "d"]
    assert [len(node.cells) for node in tree.nodes] == [8, 8, 8, 8]
    assert [(bracket.name) for bracket in tree.brackets] == ["default", "h200"]


def test_nodes_outside_stand_apart_at_the_right() -> None:
    tree = icicle(fleet(), [Domain("lost", gpus=("allocated",) * 8)])

    assert width(tree.nodes[-1].x) == pytest.approx(width(tree.outside_x), abs=0.01)
    assert width(tree.outside_x) > max(width(box.x) + width(box.width) for box in tree.boxes)
    assert width(tree.nodes[-1].x) + width(tree.nodes[-1].width) == pytest.approx(100, abs=0.01)


def test_a_tree_with_too_many_nodes_ends_at_its_domains() -> None:
    rack = Domain("r", "", tuple(Domain(f"n{i}", gpus=("free",) * 8) for i in range(130)))
    tree = icicle([Domain("z", "", (rack,))])

    assert tree.nodes == ()
    assert [box.domain.name for box in tree.boxes] == ["z", "r"]
    assert tree.height == 96


def test_a_name_shows_where_it_fits_and_its_end_where_only_that_does() -> None:
    racks = tuple(Domain(f"rack-b{n}", "", (Domain(f"gpu-b{n}-1", gpus=("free",) * 8),)) for n in range(1, 17))
    box = icicle([Domain("zone-b", "", racks)]).boxes[1]

    # 5.9 % of the figure each: 53 px for seven letters and the frame, 21 px for two
    assert (box.domain.name, box.name_fits) == ("rack-b1", "920")
    assert (box.domain.short, box.short_fits) == ("b1", "360")
    assert fits("2%", 7) == "never"
    assert fits("100%", 7) == "320"


def test_the_whole_name_of_every_box_node_and_rack_is_in_its_tooltip_however_narrow() -> None:
    racks = tuple(Domain(f"rack-b{n}", "", (Domain(f"gpu-b{n}-1", gpus=("free",) * 8),)) for n in range(1, 17))
    tree = icicle([Domain("zone-b", "", racks)], levels=("zone", "rack", "node"))

    drawn = render_to_string("components/icicle.html", {"tree": tree, "label": "tree"})

    names = [*(box.domain.name for box in tree.boxes), *(node.domain.name for node in tree.nodes)]
    names += [bracket.name for bracket in tree.brackets]
    assert len(names) >= 33
    assert [name for name in names if f"<title>{name}</title>" not in drawn] == []
