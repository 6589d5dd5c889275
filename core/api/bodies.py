"""Refuses the fields of a request body that nobody would read: what is sent is obeyed or answered, never dropped."""

from collections.abc import Iterable, Mapping
from typing import Any

from core.errors import Fault, InvalidInput


def check_keys(body: Mapping[str, Any], allowed: Iterable[str], *, place: str = "") -> None:
    """Raise `InvalidInput` naming each key of `body` that is not in `allowed`. `place` is the path of the body."""
    known = sorted(allowed)
    faults = [
        Fault(f"{place}.{key[:60]}" if place else key[:60], "There is no such field", ", ".join(known))
        for key in body
        if key not in known
    ]
    if faults:
        raise InvalidInput(faults)
