"""Whether effects have grown since they were shown, by hand."""

from typing import Any

import pytest

from topology.impact_growth import grown


def shown(*workloads: tuple[str, str, float], queues: Any = (), more: int = 0, outside: Any = ()) -> dict[str, Any]:
    entries = [
        {"name": name, "project": "p", "pool": "default", "effect": effect, "gpus": gpus}
        for name, effect, gpus in workloads
    ]
    moves = [{"name": name, "pool": "default", "before": before, "after": after} for name, before, after in queues]
    return {"workloads": entries, "queues": moves, "moreWorkloads": more, "unchecked": 0, "nodesOutside": list(outside)}


ONE = shown(("a", "reclaimed", 4.0))


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (None, shown(), False),
        (None, ONE, True),
        (ONE, ONE, False),
        (ONE, shown(), False),
        (ONE, shown(("a", "reclaimed", 5.0)), True),
        (ONE, shown(("a", "stops-fitting", 4.0)), True),
        (ONE, shown(("a", "reclaimed", 4.0), ("b", "reclaimed", 0.0)), True),
        (ONE, shown(("a", "reclaimed", 2.0), ("a", "reclaimed", 2.0)), False),
        (ONE, shown(("a", "reclaimed", 4.0), ("b", "starts", 8.0)), False),
        (ONE, shown(("a", "reclaimed", 4.0), more=1), True),
        (ONE, shown(("a", "reclaimed", 4.0), queues=[("q", "within", "over")]), True),
        (ONE, shown(("a", "reclaimed", 4.0), queues=[("q", "over", "within")]), False),
        (shown(outside=["n0"]), shown(outside=["n0", "n1"]), True),
    ],
)
def test_more_than_was_shown_is_asked_about_again(before: Any, after: Any, *, wanted: bool) -> None:
    assert grown(before, after) is wanted
