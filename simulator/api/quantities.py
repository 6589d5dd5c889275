"""Resource quantities in the canonical form in which the API server gives them back."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

_QUANTITY = re.compile(r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_SHAPE = re.compile(r"(?!$)[+-]?\d*(\.\d*)?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,19})")
WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_MOST = 2**63 - 1  # of an amount in a binary unit; the others are kept as they are
_LONGEST = 1000  # signs; what is longer is left as it is
_FURTHEST = 1000  # exponent that is counted with
_FINEST = -9
_LETTERS = {power: letter for letter, power in _DECIMAL.items()}


def is_quantity(value: Any) -> bool:
    """Whether a value can be read as a quantity."""
    return not quantity_problem(value)


def quantity_problem(value: Any) -> str:
    """Why a value is no quantity, as Go's `resource.ParseQuantity` says it; "" for one that is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return WRONG_FORMAT
    match = _SHAPE.fullmatch(str(value))
    if match is None:
        return WRONG_FORMAT
    suffix = match["suffix"]
    if suffix not in _DECIMAL and suffix not in _BINARY:
        exponent = _EXPONENT.fullmatch(suffix)
        if exponent is None or not -_MOST - 1 <= int(exponent[1]) <= _MOST:
            return "unable to parse quantity's suffix"
    if _QUANTITY.fullmatch(str(value)) is None:
        return "unable to parse numeric part of quantity"
    return ""


def canonical(value: Any) -> Any:
    """`8` → `"8"`, `"1000m"` → `"1"`, `"0.5"` → `"500m"`; what is no quantity is left as it is."""
    if not is_quantity(value):
        return value
    return _canonical(str(value))


def number_of(value: Any) -> Decimal:
    """The amount; 0 for what is no quantity."""
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return Decimal(0)
    suffix, number = match["suffix"] or "", Decimal(match["number"])
    if suffix in _BINARY:
        return Decimal(number * _BINARY[suffix])
    exponent = _DECIMAL.get(suffix)
    if exponent is None:
        exponent = min(max(int(suffix[1:]), -_FURTHEST), _FURTHEST)
    return number.scaleb(exponent)


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    match = _QUANTITY.fullmatch(text)
    if match is None or len(text) > _LONGEST:
        return text
    suffix = match["suffix"] or ""
    number = Decimal(match["number"])
    if suffix in _BINARY:
        return _binary(min(max(number * _BINARY[suffix], Decimal(-_MOST)), Decimal(_MOST)))
    exponent = _DECIMAL.get(suffix)
    if exponent is None:
        return _exponent(number, (int(suffix[1:]) + 2**31) % 2**32 - 2**31)  # Go keeps the exponent in an int32
    return _decimal(number.scaleb(exponent), _LETTERS)


def _binary(total: Decimal) -> str:
    """In the greatest binary unit that leaves a whole number; below 1024 Kubernetes changes to decimal units."""
    if total != total.to_integral_value() or abs(total) < 1024:
        return _decimal(total, _LETTERS)
    for suffix, size in reversed(_BINARY.items()):
        if total % size == 0:
            return f"{int(total // size)}{suffix}"
    return str(int(total))


def _decimal(total: Decimal, letters: dict[int, str]) -> str:
    if total == 0:
        return "0"
    for power in sorted(letters, reverse=True):
        scaled = total.scaleb(-power)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{letters[power]}"
    return f"{int(total.scaleb(9).to_integral_value(rounding='ROUND_UP'))}n"


def _exponent(number: Decimal, exponent: int) -> str:
    """With the greatest exponent in steps of three that leaves a whole number; at least thousand millionths."""
    negative, digits, shift = number.as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    if not text:
        return "0"
    places = int(shift) + exponent + len(digits) - len(text)
    sign = "-" if negative else ""
    if places < _FINEST:
        kept = int(text[: places - _FINEST] or "0")
        return _exponent(Decimal(f"{sign}{kept + 1}"), _FINEST)
    power = places // 3 * 3
    shown = f"{sign}{text}{'0' * (places - power)}"
    return f"{shown}e{power}" if power else shown
