"""Tags that draw: swatches, bars and the data of charts. Geometry comes from `core.figures`."""

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from core.figures import PATTERNS, Amount, Quota, Segment, quota_bar, segments, sequence_step

register = template.Library()


@register.simple_tag
def swatch(state: str) -> SafeString:
    """The small square of a legend. `state` names the fill: a GPU's state, a phase, `over`, `1` to `8`."""
    fill = format_html('<rect class="f-{}" x=".5" y=".5" width="11" height="11" rx="1.5"/>', state)
    over = ""
    if state in PATTERNS:
        over = format_html('<rect width="12" height="12" fill="url(#{})"/>', PATTERNS[state])
    elif state == "unhealthy":
        over = format_html('<path d="M3.5 3.5l5 5m0-5l-5 5" stroke="#fff" stroke-width="{}"/>', "1.5")
    return format_html('<svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">{}{}</svg>', fill, over)


@register.simple_tag
def stacked_bar(parts: Sequence[tuple[str, Amount]], total: Amount, label: str, classes: str = "") -> SafeString:
    """A bar of parts: `{% stacked_bar parts total label "tall" %}`, parts as (state, amount). It may not be full."""
    height = 16 if "tall" in classes else 8
    return _bar(_parts(segments(parts, total)), f"bar {classes}".strip(), label, height)


@register.simple_tag(name="quota_bar")
def quota_bar_tag(label: str, scale: Amount | None = None, **amounts: Any) -> SafeString:
    """A queue's bar: `{% quota_bar "GPU" held=17 deserved=12 limit=-1 %}`; amounts as in `core.figures.Quota`."""
    bar = quota_bar(Quota(**amounts), scale)
    marks = [
        format_html('<line class="mark {0}" x1="{1}" x2="{1}" y1="-3" y2="11"/>', css, at)
        for css, at in (("thin", bar.deserved), ("dashed", bar.limit))
        if at
    ]
    if bar.fair_share:
        marks.append(
            format_html(
                '<svg x="{}" y="-4" width="8" height="16" overflow="visible">'
                '<path class="fair" d="M-4 0h8l-4 5zM-4 16h8l-4-5z"/></svg>',
                bar.fair_share,
            )
        )
    drawn = SafeString(_parts(bar.segments) + "".join(marks))
    return _bar(drawn, "bar marked", label, 8)


@register.simple_tag
def gang_bar(ready: int, placed: int, replicas: int, label: str) -> SafeString:
    """How far a role is: ready pods full, placed ones pale, the rest empty."""
    parts = [("running", ready), ("degraded", max(0, placed - ready))]
    return _bar(_parts(segments(parts, replicas)), "bar", f"{label}: {ready}/{replicas}", 8)


@register.simple_tag
def chart_data(chart_id: str, figure: object) -> SafeString:
    """A figure's JSON beside the chart that reads it; a data block, never run as script."""
    return json_script(figure, f"{chart_id}-data")


@register.simple_tag
def cell_class(value: Amount | None, state: str = "") -> str:
    """The class of a cell of the GPU map: its state (`free`, `unhealthy`, `cordoned`, `unknown`) or its colour."""
    if state in {"free", "unhealthy", "cordoned", "unknown"}:
        return state
    return "unknown" if value is None else f"seq-{sequence_step(value)}"


def _parts(drawn: Sequence[Segment]) -> SafeString:
    return format_html_join("", "{}{}{}", ((_fill(part), _pattern(part), _gap(part)) for part in drawn))


def _fill(part: Segment) -> SafeString:
    return format_html('<rect class="f-{}" x="{}" width="{}" height="100%"/>', part.state, part.x, part.width)


def _pattern(part: Segment) -> SafeString | str:
    if not part.pattern:
        return ""
    return format_html('<rect fill="url(#{})" x="{}" width="{}" height="100%"/>', part.pattern, part.x, part.width)


def _gap(part: Segment) -> SafeString:
    return format_html('<line class="gapline" x1="{0}" x2="{0}" y1="0" y2="100%"/>', part.x)


def _bar(drawn: SafeString, css: str, label: str, height: int) -> SafeString:
    return format_html(
        '<svg class="{}" height="{}" role="img" aria-label="{}">'
        '<rect class="f-track" width="100%" height="100%"/>{}</svg>',
        css,
        height,
        label,
        drawn,
    )
