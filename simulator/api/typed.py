"""What server-side apply refuses before it merges: fields that are not declared, types, keys of lists.

The words are those of `sigs.k8s.io/structured-merge-diff/v6/typed`; values are told as Go prints them.
"""

import json
from collections.abc import Iterator
from typing import Any

from simulator.api.fieldsets import KEY_DEFAULTS
from simulator.api.schema import Schema

_ANY = frozenset({"", "object", "array"})


def typed_problems(schema: Schema, value: Any) -> list[str]:
    """Every problem of an applied configuration, with its path."""
    return [f"{path}: {text}" if path else text for path, text in _walk(schema, value, "")]


def told(problems: list[str]) -> str:
    """One problem as it is, several below each other."""
    return problems[0] if len(problems) == 1 else "\n".join(["errors:", *(f"  {problem}" for problem in problems)])


def _walk(schema: Schema, value: Any, path: str) -> Iterator[tuple[str, str]]:
    if value is None or schema.is_free_form:
        return
    if isinstance(value, dict) and schema.type in _ANY:
        yield from _fields(schema, value, path)
    elif isinstance(value, list) and schema.type in _ANY:
        yield from _items(schema, value, path)
    elif problem := _scalar(schema, value):
        yield path, problem


def _fields(schema: Schema, value: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    declared = schema.properties or schema.additional is not None or schema.type == "object"
    for key, element in value.items():
        child = schema.child(key)
        if child is not None:
            yield from _walk(child, element, f"{path}.{key}")
        elif declared and not schema.preserve and not (schema.embedded and key in ("apiVersion", "kind", "metadata")):
            yield f"{path}.{key}", "field not declared in schema"


def _items(schema: Schema, value: list[Any], path: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    item = schema.item()
    for index, element in enumerate(value):
        place, problem = _place(schema, index, element)
        if problem:
            yield path, f"element {index}: {problem}"
            return
        if place in seen:
            yield path, f"duplicate entries for key {place}"
        seen.add(place)
        yield from _walk(item, element, path + place)


def _place(schema: Schema, index: int, element: Any) -> tuple[str, str]:
    """How an item is addressed, and what keeps it from being."""
    if schema.list_type == "set":
        return f"[={json.dumps(element)}]", ""
    if schema.list_type != "map":
        return f"[{index}]", ""
    if not isinstance(element, dict):
        return "", "associative list with keys may not have non-map elements"
    keys = []
    for key in schema.map_keys:
        child = schema.item().child(key)
        default = child.source.get("default") if child else None
        found = element.get(key, default if default is not None else KEY_DEFAULTS.get(key))
        if found is not None:
            keys.append(f"{key}={json.dumps(found)}")
    if not keys:
        names = " ".join(map(json.dumps, schema.map_keys))
        return "", (
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return f"[{','.join(keys)}]", ""


def _scalar(schema: Schema, value: Any) -> str:
    wanted = schema.type
    if schema.int_or_string or schema.quantity or wanted == "":
        return ""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if wanted in ("integer", "number"):
        return "" if is_number else f"expected numeric (int or float), got {_go_type(value)}"
    if wanted == "string":
        shown = f"&value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        return "" if isinstance(value, str) else f"expected string, got {shown}"
    if wanted == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got &{{{value}}}"
    return f"expected {'map' if wanted == 'object' else 'list'}, got &{{{_go_plain(value)}}}"


def _go_type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names.get(type(value), "int64")


def _go_syntax(value: Any) -> str:
    if isinstance(value, dict | list):
        inner = (
            ", ".join(f'"{key}":{_go_syntax(item)}' for key, item in value.items())
            if isinstance(value, dict)
            else ", ".join(map(_go_syntax, value))
        )
        return f"{_go_type(value)}{{{inner}}}"
    return json.dumps(value)


def _go_plain(value: Any) -> str:
    if isinstance(value, list):
        return "[" + " ".join(map(_go_plain, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_go_plain(item)}" for key, item in value.items()) + "]"
    return json.dumps(value) if isinstance(value, bool) else str(value)
