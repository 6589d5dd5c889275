"""Kubernetes quantities (`500m`, `1e3`, `1.5Gi`) as exact decimals, and back. Pure.

Our own, not `kubernetes.utils.quantity`: that one accepts what the API server refuses (`1e3Ki`, `NaN`, numbers of any
length) and would bring the client into pure modules. Source: apimachinery, pkg/api/resource/quantity.go.
"""

import re
from decimal import ROUND_CEILING, Decimal

from core.errors import InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

_BINARY = {suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)}
_DECIMAL = {
    suffix: Decimal(10) ** (3 * power)
    for suffix, power in (("n", -3), ("u", -2), ("m", -1), ("", 0), ("k", 1), ("M", 2), ("G", 3), ("T", 4), ("P", 5))
} | {"E": Decimal(10) ** 18}
_QUANTITY = re.compile(
    r"(?a:(?P<number>[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,2}))?)\Z"
)
_ALLOWED = gettext_noop(
    "a number with an optional suffix: n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as 1e3"
)


def parse_quantity(text: str | int | float, *, field: str = "quantity") -> Decimal:
    """The exact value of a quantity in its base unit (cores, bytes, devices).

    Raises `InvalidInput` naming `field` for what the API server refuses too.
    """
    match = _QUANTITY.match(str(text))
    if match is None:
        shown = repr(str(text)[:40])
        raise InvalidInput.of(field, _("%(value)s is not a quantity") % {"value": shown}, _(_ALLOWED))
    number = Decimal(match["number"])
    if match["exponent"]:
        return number.scaleb(int(match["exponent"]))
    suffix = match["suffix"] or ""
    return number * (_BINARY[suffix] if suffix in _BINARY else _DECIMAL[suffix])


def to_millicores(text: str | int | float) -> int:
    """CPU in millicores, rounded up as Kubernetes does (`MilliValue`)."""
    return int((parse_quantity(text, field="cpu") * 1000).to_integral_value(ROUND_CEILING))


def to_whole(text: str | int | float) -> int:
    """Bytes or devices, rounded up to a whole number as Kubernetes does (`Value`)."""
    return int(parse_quantity(text).to_integral_value(ROUND_CEILING))
