"""Minimum runtimes: what people write (Run:ai's `5d8h40m`) as a duration that Go can parse. Pure.

A duration with `d` is accepted by the API server and then breaks every typed reader of that kind in the cluster
(kai-scheduler: `time: unknown unit "d" in duration`), so days and weeks become hours before anything is written.
"""

import re
from decimal import Decimal

from core.errors import InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ns|us|µs|μs|ms|s|m|h|d|w)")
DURATION = re.compile(rf"(?:\+?(?:0|(?:{_PART.pattern})+))?")
_GO = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)\Z")
_NANOSECONDS = {
    "ns": Decimal(1),
    "us": Decimal(10) ** 3,
    "µs": Decimal(10) ** 3,
    "μs": Decimal(10) ** 3,
    "ms": Decimal(10) ** 6,
    "s": Decimal(10) ** 9,
    "m": Decimal(60) * 10**9,
    "h": Decimal(3600) * 10**9,
    "d": Decimal(86400) * 10**9,
    "w": Decimal(604800) * 10**9,
}
LONGEST_HOURS = 24 * 365 * 10
ALLOWED = gettext_noop("numbers with the units h, m, s, ms, us, ns (also d and w, which become hours), such as 8h40m")


def is_go_duration(text: str) -> bool:
    """Whether Go's `time.ParseDuration` takes the text."""
    return _GO.match(text) is not None


def normalise_duration(text: str, *, field: str) -> str:
    """The duration in hours, minutes and seconds as Go prints it (`128h40m0s`); "" for none and for 0.

    Raises `InvalidInput` naming `field` for anything else, for negative and for more than ten years.
    """
    text = text.strip().removeprefix("+")
    if text in ("", "0"):
        return ""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise _refused(field, _("%(value)s is not a duration"), text)
    nanoseconds = sum((Decimal(number) * _NANOSECONDS[unit] for number, unit in parts), Decimal(0))
    if nanoseconds > LONGEST_HOURS * _NANOSECONDS["h"]:
        raise _refused(field, _("%(value)s is longer than ten years"), text)
    return _print(nanoseconds)


def _refused(field: str, message: str, text: str) -> InvalidInput:
    return InvalidInput.of(field, message % {"value": repr(text[:40])}, _(ALLOWED))


def _print(nanoseconds: Decimal) -> str:
    hours, rest = divmod(nanoseconds, _NANOSECONDS["h"])
    minutes, rest = divmod(rest, _NANOSECONDS["m"])
    seconds = (rest / _NANOSECONDS["s"]).normalize()
    if not (hours or minutes or seconds):
        return ""
    text = f"{seconds:f}s"
    if minutes or hours:
        text = f"{minutes:.0f}m{text}"
    return f"{hours:.0f}h{text}" if hours else text
