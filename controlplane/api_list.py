"""Which operations of Run:ai's API Muster has, from its own URLs; and docs/api.md, which lists them."""

import re
from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from core.api.runai import Operation, operations

_PARAMETER = re.compile(r"<[^>]+>")
MARK = "## Operations\n"


def served() -> frozenset[tuple[str, str]]:
    """(method, shape of the path) of everything that the URLconf answers with a view of the API."""
    return frozenset(_walk(get_resolver().url_patterns, "/"))


def works(operation: Operation) -> bool:
    """Whether Muster has it."""
    return (operation.method, operation.shape) in served()


def document(current: str) -> str:
    """docs/api.md anew: what stands before `MARK` in the `current` one is kept."""
    have = served()
    by_group: dict[str, list[Operation]] = {}
    for operation in operations():
        by_group.setdefault(operation.group, []).append(operation)
    total = sum((o.method, o.shape) in have for o in operations())
    said = f"\nOf Run:ai's {len(operations())} operations Muster has **{total}**. Every other one answers 501.\n"
    parts = [current.partition(MARK)[0], MARK, said]
    for name, every in by_group.items():
        parts.append(_section(name, [o for o in every if (o.method, o.shape) in have], every))
    return "".join([*parts, _own(have - {(o.method, o.shape) for o in operations()})])


def _own(operations: Collection[tuple[str, str]]) -> str:
    found = sorted(operations, key=itemgetter(1, 0))
    lines = [f"- `{method} {shape.replace('{}', '{id}')}`\n" for method, shape in found]
    return f"\n### Not of Run:ai: {len(lines)}\n\n{''.join(lines)}"


def _section(name: str, have: Sequence[Operation], every: Sequence[Operation]) -> str:
    lines = [f"\n### {name}: {len(have)} of {len(every)}\n\n", *(f"- `{operation}`\n" for operation in have)]
    missing = [f"`{operation}`" for operation in every if operation not in have]
    if have and missing:
        lines.append("\n")
    if missing:
        lines.append(f"501: {', '.join(missing)}\n")
    return "".join(lines)


def _walk(patterns: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        where = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, where)
        elif isinstance(pattern, URLPattern) and hasattr(pattern.callback, "cls"):
            shape = _PARAMETER.sub("{}", where)
            yield from ((m.upper(), shape) for m in ("get", "post", "put", "patch", "delete") if _has(pattern, m))


def _has(pattern: URLPattern, method: str) -> bool:
    return hasattr(pattern.callback.cls, method)  # type: ignore[attr-defined]  # checked in _walk
