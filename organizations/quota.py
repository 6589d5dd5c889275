"""Quota arithmetic: reading amounts, sums that know unlimited, warnings. Exact decimals, no floats. Pure.

GPUs in devices, CPU in millicores, memory in MB (10^6 bytes), as KAI's Queue takes them. −1 is unlimited and the
only negative; 0 is a real bound. A missing amount, null, 0 and −1 are four different things.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from core.errors import InvalidInput
from core.words import gettext as _
from core.words import gettext_noop

UNLIMITED = Decimal(-1)
LARGEST = Decimal(10) ** 12
PLACES = 6
HIGHEST_PRIORITY = 1_000_000

RESOURCES = ("gpu", "cpu", "memory")
BOUNDS = ("deserved", "limit", "weight")
COLUMNS = tuple(f"{resource}_{bound}" for resource in RESOURCES for bound in BOUNDS)
BOUNDED = tuple(column for column in COLUMNS if not column.endswith("weight"))

# What a new pool gives every department and project (Run:ai, node pools "On creation"): no GPUs guaranteed, CPU and
# memory unlimited, over-quota on.
DEFAULTS: Mapping[str, Decimal] = {
    column: Decimal(0) if column == "gpu_deserved" else Decimal(1) if column.endswith("weight") else UNLIMITED
    for column in COLUMNS
}

MEMORY_UNITS = {"MB": Decimal(1), "GB": Decimal(1000), "Mib": Decimal("1.048576")}

_WEIGHTS = gettext_noop("a number from 0 with at most 6 decimals")
_ALLOWED = gettext_noop("unlimited (−1), or a number from 0 with at most 6 decimals")


def read_amount(value: Any, field: str, *, text: bool = False) -> Decimal:
    """An amount from JSON, or from a form with `text`. Raises `InvalidInput` naming `field`.

    JSON strings are refused: "-1.0" must not turn into anything by itself. In text, "unlimited" is −1, in English and
    in the viewer's language; −1 may be written too.
    """
    if text and isinstance(value, str):
        return _read_text(value.strip(), field)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise _refused(field, _("%(value)s is not a number"), value)
    return _checked(Decimal(str(value)), field)


def in_unit(amount: Decimal, factor: Decimal, field: str) -> Decimal:
    """`amount` times `factor`, as it is stored, in the unit of KAI's Queue. Raises `InvalidInput` beyond the bound."""
    return amount if amount == UNLIMITED else _checked(round(amount * factor, PLACES), field)


def read_weight(value: Any, field: str, *, text: bool = False) -> Decimal:
    """An over-quota weight: from 0, which borrows nothing; never −1."""
    try:
        weight = read_amount(value, field, text=text)
    except InvalidInput as error:
        raise InvalidInput([replace(fault, allowed=_(_WEIGHTS)) for fault in error.faults]) from error
    if weight < 0:
        raise InvalidInput.of(field, _("%(value)s cannot be a weight") % {"value": weight}, _(_WEIGHTS))
    return weight


def _read_text(value: str, field: str) -> Decimal:
    if value.lower() in ("unlimited", _("unlimited"), "-1", "\u22121"):
        return UNLIMITED
    try:
        amount = Decimal(value if "_" not in value else "")  # Decimal() takes underscores, which nobody means
    except InvalidOperation as error:
        raise _refused(field, _("%(value)s is not a number"), value) from error
    if amount.is_finite() and amount < 0:
        raise _refused(field, _("%(value)s is negative"), value)
    return _checked(amount, field)


def _checked(amount: Decimal, field: str) -> Decimal:
    if not amount.is_finite() or amount >= LARGEST:
        allowed = _("%(amounts)s, below 10^12") % {"amounts": _(_ALLOWED)}
        raise InvalidInput.of(field, _("%(value)s is out of range") % {"value": _shown(amount)}, allowed)
    if amount < 0 and amount != UNLIMITED:
        raise _refused(field, _("%(value)s is negative"), amount)
    if amount != round(amount, PLACES):
        raise _refused(field, _("%(value)s has more than 6 decimals"), amount)
    return UNLIMITED if amount == UNLIMITED else amount.normalize() + 0


def as_number(amount: Decimal) -> int | float:
    """JSON's number: whole where it is whole. KAI reads float64, whose shortest text is exact for our six decimals."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_bound(amount: Decimal) -> int | float | None:
    """The same of a bound in the API, where null is unlimited."""
    return None if amount == UNLIMITED else as_number(amount)


def _refused(field: str, message: str, value: Any) -> InvalidInput:
    return InvalidInput.of(field, message % {"value": _shown(value)}, _(_ALLOWED))


def _shown(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, str) else str(value)[:40]


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of amounts: `amount` of the finite ones, and how many are unlimited, which never enter as a number."""

    amount: Decimal
    unlimited: int

    @property
    def is_unlimited(self) -> bool:
        """Whether one of the parts is unlimited, so that the whole is."""
        return self.unlimited > 0

    @property
    def value(self) -> Decimal:
        """The sum as one figure: −1 where a part is unlimited."""
        return UNLIMITED if self.is_unlimited else self.amount


def total(amounts: Iterable[Decimal]) -> Total:
    """Sum of `amounts`, −1 counted apart."""
    finite, unlimited = Decimal(0), 0
    for amount in amounts:
        if amount == UNLIMITED:
            unlimited += 1
        else:
            finite += amount
    return Total(finite, unlimited)


def room(deserved: Decimal, used: Decimal) -> Decimal:
    """What is left of an amount, never negative; −1 of an unlimited one."""
    return UNLIMITED if deserved == UNLIMITED else max(Decimal(0), deserved - used)


def over(deserved: Decimal, used: Decimal) -> Decimal:
    """By how much `used` exceeds the amount; 0 where it does not."""
    return Decimal(0) if deserved == UNLIMITED else max(Decimal(0), used - deserved)


class WarningCode(StrEnum):
    """What a change of quota would bring about without being wrong."""

    BELOW_ALLOCATED = "deserved-below-allocated"
    LIMIT_BELOW_ALLOCATED = "limit-below-allocated"
    LIMIT_BELOW_DESERVED = "limit-below-deserved"
    PROJECTS_EXCEED_DEPARTMENT = "projects-exceed-department"
    EXCEEDS_CAPACITY = "deserved-exceeds-capacity"


@dataclass(frozen=True, slots=True)
class QuotaWarning:
    """One warning. `amount` is what is asked for, `against` what it is compared with, in the unit of the resource."""

    code: WarningCode
    pool: str
    resource: str
    amount: Decimal
    against: Decimal


def warnings_for(
    pool: str, new: Mapping[str, Decimal], old: Mapping[str, Decimal], allocated: Mapping[str, Decimal]
) -> list[QuotaWarning]:
    """Warnings of one row: `new` and `old` by column, `allocated` by resource (empty: not known)."""
    found = []
    for resource in RESOURCES:
        deserved, limit = new[f"{resource}_deserved"], new[f"{resource}_limit"]
        held = allocated.get(resource)
        if held is not None and _is_lowered(limit, old.get(f"{resource}_limit")) and 0 <= limit < held:
            found.append(QuotaWarning(WarningCode.LIMIT_BELOW_ALLOCATED, pool, resource, limit, held))
        elif held is not None and _is_lowered(deserved, old.get(f"{resource}_deserved")) and 0 <= deserved < held:
            found.append(QuotaWarning(WarningCode.BELOW_ALLOCATED, pool, resource, deserved, held))
        if 0 <= limit < deserved:
            found.append(QuotaWarning(WarningCode.LIMIT_BELOW_DESERVED, pool, resource, limit, deserved))
    return found


def _is_lowered(new: Decimal, old: Decimal | None) -> bool:
    if old is None or new == UNLIMITED:
        return False
    return old == UNLIMITED or new < old
