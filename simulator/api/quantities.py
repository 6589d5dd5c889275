"""Resource quantities in the canonical form in which the API server gives them back."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

_QUANTITY = re.compile(r"(?P<number>[+-]?(\d+(\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LETTERS = {power: letter for letter, power in _DECIMAL.items()}


def is_quantity(value: Any) -> bool:
    """Whether a value can be read as a quantity."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and _QUANTITY.fullmatch(value) is not None)


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
    return number.scaleb(int(suffix[1:]) if exponent is None else exponent)


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return text
    suffix = match["suffix"] or ""
    number = Decimal(match["number"])
    if suffix in _BINARY:
        return _binary(number * _BINARY[suffix])
    exponent = _DECIMAL.get(suffix)
    if exponent is None:
        return _exponent(number, int(suffix[1:]))
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
    total = number.scaleb(exponent)
    for power in range(18, -10, -3):
        scaled = total.scaleb(-power)
        if total and scaled == scaled.to_integral_value():
            return f"{int(scaled)}e{power}" if power else str(int(scaled))
    return "0"
