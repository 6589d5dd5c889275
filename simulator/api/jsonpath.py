"""The JSONPath of printer columns and scale subresources: `.a.b`, `['a.b']`, `[0]`, `[*]`, `[?(@.x=="y")]`."""

import re
from collections.abc import Callable
from typing import Any

_STEP = re.compile(
    r"""\.?(?P<name>[A-Za-z0-9_\-]+|\\.)
      | \['(?P<quoted>[^']*)'\] | \["(?P<double>[^"]*)"\]
      | \[(?P<index>-?\d+)\] | \.?(?P<all>\[\*\]|\*)
      | \[\?\(@\.(?P<field>[\w.]+)\s*==\s*(?P<value>"[^"]*"|'[^']*')\)\]""",
    re.VERBOSE,
)
Step = Callable[[list[Any]], list[Any]]


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """A function from an object to the values at a path; raises ValueError for a path it cannot read."""
    stripped = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(stripped):
        match = _STEP.match(stripped, position)
        if match is None:
            raise ValueError(f"unsupported JSONPath {text!r}")
        steps.append(_step(match))
        position = match.end()

    def evaluate(body: Any) -> list[Any]:
        values = [body]
        for step in steps:
            values = step(values)
        return values

    return evaluate


def _step(match: re.Match[str]) -> Step:
    name = match["name"] or match["quoted"] or match["double"]
    if name is not None:
        return lambda values: [item[name] for item in values if isinstance(item, dict) and name in item]
    if match["index"] is not None:
        index = int(match["index"])
        return lambda values: [item[index] for item in values if _has_index(item, index)]
    if match["field"] is not None:
        field, wanted = match["field"], match["value"][1:-1]
        return lambda values: [item for item in _items(values) if _text(item, field) == wanted]
    return _items


def _has_index(item: Any, index: int) -> bool:
    return isinstance(item, list) and -len(item) <= index < len(item)


def _items(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found.extend(value)
        elif isinstance(value, dict):
            found.extend(value.values())
    return found


def _text(item: Any, path: str) -> str:
    for name in path.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return str(item)
