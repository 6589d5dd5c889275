"""Numbers for people: GPUs, bytes and shares, in the viewer's locale, without float noise.

Six things look different: 0 (faint), `–` does not apply (None), "unlimited" (-1), not measured, stale,
not permitted. The last three are tags, since they need a reason or a time.
"""

from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal

from babel.numbers import format_decimal, format_percent
from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, to_locale

from core.templatetags.icons import icon
from core.templatetags.ui import moment

register = template.Library()

Number = Decimal | int | float | None

UNLIMITED = -1
# A label of a cluster can hold any number; longer ones cannot be rounded within the context's 28 digits.
_LARGEST_WRITTEN_OUT = 10**20
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@register.filter
def number(value: Decimal | int | float | None, places: int | None = None) -> str:
    """A number in the viewer's locale, rounded to at most `places` decimals, trailing zeros dropped.

    Without `places` as every amount is, in cells and sentences alike: six decimals below 100, where fractions of GPUs
    are exact; three above, where more would be noise.
    """
    if value is None:
        return "–"
    if places is None:
        places = 6 if abs(Decimal(value)) < 100 else 3
    if abs(Decimal(value)) >= _LARGEST_WRITTEN_OUT:
        return f"{Decimal(value):.3E}"
    return str(format_decimal(_rounded(value, places), format=f"#,##0.{'#' * places}", locale=_locale()))


@register.filter
def gpus(value: Number) -> str:
    """A cell's figure of GPUs or cores: 0 faint, None `–`, -1 "unlimited". The unit stands in the head."""
    if value is None:
        return format_html('<span class="none">{}</span>', "–")
    if value == UNLIMITED:
        return gettext("unlimited")
    if value == 0:
        return format_html('<span class="zero">{}</span>', "0")
    return number(value)


@register.filter
def signed(value: Number) -> str:
    """A difference with its sign, a true minus: "+5", "−21"."""
    if value is None:
        return format_html('<span class="none">{}</span>', "–")
    if value == 0:
        return format_html('<span class="zero">{}</span>', "0")
    size = value if value > 0 else -value
    return ("+" if value > 0 else "\u2212") + number(size)


@register.filter(name="bytes")
def bytes_(value: Number) -> str:
    """Bytes in the binary unit that leaves fewer than four digits: "71.2 GiB"."""
    if value is None:
        return format_html('<span class="none">{}</span>', "–")
    if value == UNLIMITED:
        return gettext("unlimited")
    amount, unit = Decimal(value), 0
    while abs(amount) >= 1024 and unit < len(_BINARY_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    places = 0 if unit == 0 or amount == amount.to_integral_value() or abs(amount) >= 100 else 1
    return f"{number(amount, places)}\u00a0{_BINARY_UNITS[unit]}"


@register.filter
def percent(value: Number, of: Number = 1) -> str:
    """A share as whole percent. `value|percent:total`; without a total the value is itself a share (0.37)."""
    if value is None or of is None or of == 0:
        return format_html('<span class="none">{}</span>', "–")
    share = Decimal(value) / Decimal(of)
    return _percent(share)


@register.filter
def utilisation(value: Number) -> str:
    """A utilisation in percent points (0 to 100), as exporters report it."""
    if value is None:
        return format_html('<span class="none">{}</span>', "–")
    text = _percent(Decimal(value) / 100)
    return format_html('<span class="zero">{}</span>', text) if value == 0 else text


@register.simple_tag
def not_measured(reason: str = "") -> SafeString:
    """No figure because nothing measures it; `reason` says since when or why, in the tooltip."""
    return format_html(
        '<span class="unknown-value" title="{}">{}{}</span>',
        reason or gettext("No sample has arrived."),
        icon("circle-question-mark", "small"),
        gettext("not measured"),
    )


@register.simple_tag
def stale(text: str, since: datetime) -> SafeString:
    """The last known figure with the time it is from."""
    when = format_html(gettext("at {}"), moment(since))
    return format_html('<span class="stale-value">{} {}</span>', text, when)


def _rounded(value: Decimal | int | float, places: int) -> Decimal:
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    return exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN).normalize()


def _percent(share: Decimal) -> str:
    # 99.7 % must not read as all of it, nor 0.3 % as nothing.
    whole = _rounded(share * 100, 0)
    if whole == 100 and share < 1:
        whole = Decimal(99)
    if whole == 0 and share > 0:
        return "<\u202f" + str(format_percent(0.01, format="0 %", locale=_locale()))
    return str(format_percent(whole / 100, format="#,##0 %", locale=_locale()))


def _locale() -> str:
    return to_locale(get_language() or "en")
