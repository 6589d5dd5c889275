"""Go durations as `time.ParseDuration` reads them, with its error texts."""

import re

_PART = re.compile(r"(\d+\.?\d*|\.\d+)")
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def problem(text: str) -> str:
    """What Go says of a text that is no duration, "" for one that is."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return ""
    if not rest:
        return f'time: invalid duration "{text}"'
    while rest:
        match = _PART.match(rest)
        if match is None:
            return f'time: invalid duration "{text}"'
        rest = rest[match.end() :]
        unit = re.match(r"[^.\d]*", rest)
        found = unit.group(0) if unit else ""
        if not found:
            return f'time: missing unit in duration "{text}"'
        if found not in _UNITS:
            return f'time: unknown unit "{found}" in duration "{text}"'
        rest = rest[len(found) :]
    return ""
