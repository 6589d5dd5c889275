"""The chart of a queue's history as plotly JSON, drawn by static/js/charts.js. Colours are token names. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from core.moments import rfc3339

Point = tuple[datetime, float | None]

COLOURS = {
    "fair": "var(--text)",
    "held": "var(--gpu-allocated)",
    "asked": "var(--cat-3)",
    "deserved": "var(--text-faint)",
}
DASHES = {"asked": "dot", "deserved": "dash"}


def history_figure(
    lines: Mapping[str, Sequence[Point]], labels: Mapping[str, str], *, gap_seconds: float
) -> dict[str, Any]:
    """Lines by key (`fair`, `held`, `asked`, `deserved`), from 0 on. A gap in time is a gap in the line."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": labels[key],
            **_coordinates(points, gap_seconds),
            "connectgaps": False,
            "line": {"width": 1.5, "color": COLOURS[key], "dash": DASHES.get(key, "solid"), "shape": "hv"},
            "hovertemplate": "%{y}",
        }
        for key, points in lines.items()
    ]
    layout = {
        "height": 220,
        "margin": {"l": 44, "r": 12, "t": 8, "b": 28},
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.12, "x": 0},
        "hovermode": "x unified",
        "xaxis": {"type": "date"},
        "yaxis": {"rangemode": "tozero", "nticks": 5},
    }
    return {"data": data, "layout": layout}


def _coordinates(points: Sequence[Point], gap_seconds: float) -> dict[str, list[Any]]:
    xs: list[str] = []
    ys: list[float | None] = []
    for before, here in pairwise([None, *points]):
        if here is None:
            continue
        if before is not None and (here[0] - before[0]).total_seconds() > gap_seconds:
            xs.append(rfc3339(before[0]))
            ys.append(None)
        xs.append(rfc3339(here[0]))
        ys.append(here[1])
    return {"x": xs, "y": ys}
