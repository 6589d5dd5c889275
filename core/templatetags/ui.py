"""Small pieces that every page uses: phase chips, URL editing, times, initials of a state."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django import template
from django.http import HttpRequest
from django.template import Context
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import now
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from core.moments import rfc3339
from core.templatetags.icons import icon

register = template.Library()

# The first word of a message, where it is a plain one: "it reads …", not "nvidia.com/v1beta1 has no …".
_PLAIN_WORD = re.compile(r"[a-z]+ ")

# Within this distance an hour and minute says which day is meant, on both sides of midnight.
_SAME_DAY = timedelta(hours=12)

# Phase → icon, CSS class, word. The keys are Run:ai's phases and cluster states, and those of our objects.
PHASES: Mapping[str, tuple[str, str, str | Promise]] = {
    "Running": ("circle-check", "running", _("Running")),
    "Ready": ("circle-check", "running", _("Ready")),
    "Connected": ("circle-check", "running", _("Connected")),
    "Healthy": ("circle-check", "running", _("Healthy")),
    "Pending": ("hourglass", "pending", _("Pending")),
    "Waiting": ("hourglass", "pending", _("Waiting")),
    "Creating": ("loader", "pending", _("Creating")),
    "Initializing": ("loader", "pending", _("Initializing")),
    "Resuming": ("loader", "pending", _("Resuming")),
    "Updating": ("loader", "pending", _("Updating")),
    "Stopping": ("loader", "stopped", _("Stopping")),
    "Terminating": ("loader", "stopped", _("Terminating")),
    "Deleting": ("loader", "stopped", _("Deleting")),
    "WaitingToConnect": ("hourglass", "pending", _("Waiting to connect")),
    "Degraded": ("triangle-alert", "degraded", _("Degraded")),
    "Mismatch": ("triangle-alert", "degraded", _("Mismatch")),
    "Missing": ("triangle-alert", "degraded", _("Missing")),
    "MissingPrerequisites": ("triangle-alert", "degraded", _("Missing prerequisites")),
    "ServiceIssues": ("triangle-alert", "degraded", _("Service issues")),
    "NotReady": ("circle-x", "failed", _("Not ready")),
    "Failed": ("circle-x", "failed", _("Failed")),
    "Disconnected": ("circle-x", "failed", _("Disconnected")),
    "Unhealthy": ("circle-x", "failed", _("Unhealthy")),
    "Cordoned": ("ban", "stopped", _("Cordoned")),
    "Stopped": ("circle-pause", "stopped", _("Stopped")),
    "Suspended": ("circle-pause", "stopped", _("Suspended")),
    "Completed": ("check", "stopped", _("Completed")),
    "Succeeded": ("check", "stopped", _("Succeeded")),
    "Unknown": ("circle-dashed", "unknown", _("Unknown")),
}

STATUS_ICONS: Mapping[str, str] = {
    "ok": "circle-check",
    "info": "info",
    "wait": "triangle-alert",
    "bad": "circle-x",
    "off": "circle-minus",
}


@register.simple_tag
def phase(value: str, chipped: str = "") -> SafeString:
    """A phase as icon and word; `{% phase row.phase "chipped" %}` puts it on a soft ground, for headers."""
    name, css, word = PHASES.get(value, ("circle-dashed", "unknown", value or PHASES["Unknown"][2]))
    return format_html('<span class="{}">{}{}</span>', f"phase {css} {chipped}".strip(), icon(name), word)


@register.filter
def sentence(message: str) -> str:
    """A message that elsewhere follows the name of its field, as a sentence of its own: with a capital letter."""
    return message[:1].upper() + message[1:] if _PLAIN_WORD.match(message) else message


@register.filter
def phase_word(value: str) -> str:
    """The word for a phase in the viewer's language."""
    return str(PHASES[value][2]) if value in PHASES else value


@register.simple_tag
def status_icon(status: str, classes: str = "") -> SafeString:
    """The icon of a finding: `ok`, `info`, `wait`, `bad` or `off`."""
    return icon(STATUS_ICONS[status], f"{status} {classes}".strip())


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> SafeString:
    """The URL's query with parameters changed: `{% query sort="-name" page=None %}`; None or "" removes one.

    The page number is dropped unless it is given, since every other change makes it meaningless.
    """
    request: HttpRequest = context["request"]
    params = request.GET.copy()
    for name, value in {"page": None, **changes}.items():
        if value is None or value == "":
            params.pop(name, None)
        else:
            params[name] = str(value)
    return format_html("?{}", params.urlencode())


@register.simple_tag
def ago(moment: datetime | None) -> SafeString:
    """How long ago a moment was ("39 min"), kept current by script, the moment itself in the tooltip."""
    if moment is None:
        return _nothing()
    return _time(moment, duration(now() - moment), "ago")


@register.simple_tag
def moment(value: datetime | None, kind: str = "time") -> SafeString:
    """A moment in the viewer's time zone (UTC without script); `kind` is `time`, `date` or `datetime`.

    A `time` that may be of another day than the viewer's has its date too: yesterday's figure is not taken for today's.
    """
    if value is None:
        return _nothing()
    if kind == "time" and abs(now() - value) > _SAME_DAY:
        kind = "datetime"
    form = {"time": "%H:%M:%S UTC", "date": "%Y-%m-%d", "datetime": "%Y-%m-%d %H:%M UTC"}[kind]
    return _time(value, value.astimezone(UTC).strftime(form), kind)


def duration(value: timedelta | None) -> str:
    """A span of time in at most two units: "12 s", "39 min", "1 h 12 min", "4 d"."""
    if value is None:
        return "–"
    seconds = max(0, int(value.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 60:
        return gettext("%(n)d s") % {"n": seconds}
    if minutes < 60:
        return gettext("%(n)d min") % {"n": minutes}
    if hours < 24:
        rest = minutes % 60
        if rest and hours < 10:
            return gettext("%(h)d h %(m)d min") % {"h": hours, "m": rest}
        return gettext("%(n)d h") % {"n": hours}
    return gettext("%(n)d d") % {"n": days}


@register.filter
def and_more(names: Iterable[object], shown: int = 3) -> str:
    """The first names of a list and how many more there are: "gpu-01, gpu-02, gpu-03 and 5 more"."""
    texts = [str(name) for name in names]
    separator = pgettext("between names in a list", ", ")
    head = separator.join(texts[:shown])
    rest = len(texts) - shown
    if rest <= 0:
        return head
    return ngettext("%(names)s and %(n)d more", "%(names)s and %(n)d more", rest) % {"names": head, "n": rest}


def _time(value: datetime, text: str, kind: str) -> SafeString:
    utc = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}" data-time="{}">{}</time>',
        rfc3339(utc),
        utc.strftime("%Y-%m-%d %H:%M:%S UTC"),
        kind,
        text,
    )


def _nothing() -> SafeString:
    return format_html('<span class="none">{}</span>', "–")
