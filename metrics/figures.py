"""Series as plotly JSON, drawn by static/js/charts.js. Colours are token names. Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from core.moments import rfc3339
from metrics.series import Point

Figure = dict[str, Any]
Line = tuple[str, Sequence[Point]]

CATEGORIES = 8
LEAST_RANGE = timedelta(minutes=10)


def utilisation_figure(lines: Sequence[Line], *, step: int) -> Figure:
    """Lines in percent from 0 to 100. Where points are further apart than three steps (of so many seconds, or of what
    lies between any two where they were thinned out), or nothing was measured, the line breaks: no sample is not 0."""
    data = [_trace(name, points, index, step) for index, (name, points) in enumerate(lines)]
    layout = {
        "height": 220,
        "margin": {"l": 40, "r": 12, "t": 8, "b": 28},
        "showlegend": len(lines) > 1,
        "legend": {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0},
        "hovermode": "x unified",
        "xaxis": {"type": "date", **_least_range(lines)},
        "yaxis": {"range": [0, 100], "ticksuffix": " %", "nticks": 5},
    }
    return {"data": data, "layout": layout}


def _least_range(lines: Sequence[Line]) -> Figure:
    """An axis of at least ten minutes: the first points of an installation would stand seconds or less apart on it."""
    moments = [point.at for _name, points in lines for point in points]
    if not moments or max(moments) - min(moments) >= LEAST_RANGE:
        return {}
    return {"range": [rfc3339(max(moments) - LEAST_RANGE), rfc3339(max(moments))]}


def distribution_figure(tenths: Mapping[str, int], labels: Mapping[str, str]) -> Figure:
    """How many GPUs of each tenth of utilisation, a lying bar each, so that every label stands straight at any width;
    `labels` names the bars, the unmeasured one apart."""
    keys = [*map(str, range(10)), "unmeasured"]
    colours = ["var(--cat-1)"] * 10 + ["var(--off-solid)"]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [tenths.get(key, 0) for key in keys],
        "y": [labels.get(key, key) for key in keys],
        "texttemplate": "%{x}",
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": colours},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    layout = {
        "height": 240,
        "margin": {"l": 40, "r": 36, "t": 0, "b": 8},
        "xaxis": {"visible": False},
        "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
    }
    return {"data": [bars], "layout": layout}


def _trace(name: str, points: Sequence[Point], index: int, step: int) -> Figure:
    moments, values = _with_gaps(points, 3 * _spacing(points, step))
    return {
        "type": "scatter",
        "mode": "lines" if len(points) > 1 else "lines+markers",
        "name": name,
        "x": moments,
        "y": values,
        "connectgaps": False,
        "line": {"width": 1.5, "color": f"var(--cat-{index % CATEGORIES + 1})"},
        "hovertemplate": "%{y:.0f} %",
    }


def _spacing(points: Sequence[Point], step: int) -> float:
    """Seconds between neighbours of a line without gaps. Two points alone do not tell whether one is missing."""
    distances = [(after.at - before.at).total_seconds() for before, after in pairwise(points)]
    return max(step, min(distances)) if len(distances) > 1 else step


def _with_gaps(points: Sequence[Point], gap_seconds: float) -> tuple[list[str], list[float | None]]:
    """The line's coordinates with an empty point in every gap."""
    moments: list[str] = []
    values: list[float | None] = []
    for before, after in pairwise([None, *points]):
        if after is None:
            continue
        if before is not None and (after.at - before.at).total_seconds() > gap_seconds:
            moments.append(rfc3339(before.at))
            values.append(None)
        moments.append(rfc3339(after.at))
        values.append(None if after.average is None else round(after.average, 1))
    return moments, values
