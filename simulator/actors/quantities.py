"""Kubernetes quantities: `500m`, `2`, `64Gi`, `1.5G`, `1e3` to exact decimals and back. Pure."""

import contextlib
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache

QUANTITY = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)?)$")
SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    **{f"{prefix}i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", start=1)},
}

MOST = Decimal(2**63 - 1)
MOST_DEVICES = Decimal(4096)
FURTHEST_EXPONENT = 30

Amounts = dict[str, Decimal]


def parse_quantity(text: object) -> Decimal:
    """At most 2⁶³ - 1 either way, which is more than any node has. Raises ValueError on what is no quantity."""
    return _parse(str(text).strip())


@lru_cache(maxsize=4096)
def _parse(text: str) -> Decimal:
    match = QUANTITY.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    number = Decimal(match[1])
    if match[2]:
        exponent = min(max(int(match[2][1:]), -FURTHEST_EXPONENT), FURTHEST_EXPONENT)
        number *= Decimal(10) ** exponent
    elif match[3]:
        number *= SUFFIXES[match[3]]
    return min(max(number, -MOST), MOST)


def devices(amount: object) -> int:
    """How many GPUs a quantity counts, none of one that is no count; each is looked at, so there is a bound."""
    try:
        return int(min(max(parse_quantity(amount), Decimal(0)), MOST_DEVICES))
    except ValueError:
        return 0


def format_quantity(amount: Decimal) -> str:
    """Whole numbers as they are, others in thousandths: `4`, `500m`."""
    if amount == amount.to_integral_value():
        return str(int(amount))
    return f"{int((amount * 1000).to_integral_value())}m"


def parse_amounts(resources: object) -> Amounts:
    """Amounts by name, without those that are no quantity."""
    amounts: Amounts = {}
    for name, value in resources.items() if isinstance(resources, Mapping) else ():
        with contextlib.suppress(ValueError):
            amounts[name] = parse_quantity(value)
    return amounts


def add(total: Amounts, more: Mapping[str, Decimal]) -> None:
    """Adds in place."""
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount


def format_amounts(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    """Without zeros: what KAI's controllers write."""
    return {name: format_quantity(amount) for name, amount in sorted(amounts.items()) if amount}


def pod_requests(spec: Mapping[str, object]) -> Amounts:
    """Sum over containers, at least the largest init container, plus overhead: the scheduler's view of a pod."""
    total: Amounts = {}
    for container in _containers(spec, "containers"):
        add(total, _requests(container))
    for container in _containers(spec, "initContainers"):
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, Decimal(0)), amount)
    overhead = spec.get("overhead")
    if isinstance(overhead, Mapping):
        add(total, parse_amounts(overhead))
    return total


def _containers(spec: Mapping[str, object], part: str) -> Iterable[Mapping[str, object]]:
    found = spec.get(part)
    return found if isinstance(found, list) else ()


def _requests(container: Mapping[str, object]) -> Amounts:
    """Requests; a limit without a request is the request."""
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return {}
    return parse_amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
