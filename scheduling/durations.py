"""Go durations (`time.ParseDuration` and its String): the only form that KAI's typed readers understand. Pure."""

import re
from collections.abc import Mapping
from decimal import Decimal

UNITS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
LONGEST = Decimal(2**63 - 1) * UNITS["ns"]
"""So many nanoseconds are the most that Go counts."""
LONG_UNITS = {**UNITS, "d": Decimal(86_400), "w": Decimal(604_800)}
PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h|d|w)")


def parse_long_duration(text: str) -> float:
    """The same where days and weeks are understood too: the minimum runtimes of a SchedulingShard."""
    return parse_duration(text, LONG_UNITS)


def parse_duration(text: str, units: Mapping[str, Decimal] = UNITS) -> float:
    """Seconds. Raises ValueError with Go's text."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    total, position = Decimal(0), 0
    for match in PART.finditer(rest):
        if match.start() != position or match[2] not in units:
            break
        total += Decimal(match[1]) * units[match[2]]
        position = match.end()
    if not rest or position != len(rest) or total > LONGEST:
        raise ValueError(f'time: invalid duration "{text}"')
    return float(-total if text.startswith("-") else total)


def format_duration(seconds: float) -> str:
    """As Go prints it: `5m0s`, `-1s`, `1h0m0s`, `1.5s`, `300ms`."""
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if 0 < seconds < 1:
        return f"{sign}{seconds * 1000:.6f}".rstrip("0").rstrip(".") + "ms"
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    text = f"{left:.9f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{sign}{int(hours)}h{int(minutes)}m{text}"
    return f"{sign}{int(minutes)}m{text}" if minutes else f"{sign}{text}"
