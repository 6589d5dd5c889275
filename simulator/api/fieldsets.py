"""Sets of fields as `managedFields` stores them (FieldsV1).

A set is a nested dict: `f:name` a field, `k:{…}` an item of an associative list, `v:…` an item of a set, `.` the
thing itself. Below the root `{}` stands for `{".": {}}`. Source: structured-merge-diff v6 (fieldpath/set.go).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

FieldSet = dict[str, Any]
ITSELF: FieldSet = {".": {}}
KEY_DEFAULTS = {"protocol": "TCP"}

encode = msgspec.json.Encoder(order="sorted").encode


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or not right:
        return left
    result = dict(left)
    for key, node in right.items():
        mine = result.get(key)
        if mine is None:
            result[key] = node
        elif mine is not node and mine != node:
            result[key] = closed(union(opened(mine), opened(node)))
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    if not right:
        return left
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            result[key] = node
        elif key != ".":
            rest = difference(opened(node), opened(other))
            if rest:
                result[key] = closed(rest)
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            continue
        if key == ".":
            result[key] = {}
            continue
        both = intersection(opened(node), opened(other))
        if both:
            result[key] = closed(both)
    return result


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Paths as conflicts print them: `.spec.containers[name="main"].image`; those of a level before what is below."""
    steps = sorted((key, node) for key, node in fields.items() if key != ".")
    yield from (prefix + _step(key) for key, node in steps if not node or "." in node)
    for key, node in steps:
        yield from paths(node, prefix + _step(key))


def opened(node: FieldSet) -> FieldSet:
    """A node below the root with `.` for itself."""
    return node or ITSELF


def closed(node: FieldSet) -> FieldSet:
    """As it is stored: a node that is nothing but itself is empty."""
    return {} if len(node) == 1 and "." in node else node


def _step(key: str) -> str:
    kind, _, text = key.partition(":")
    if kind == "f":
        return f".{text}"
    if kind == "k":
        parts = msgspec.json.decode(text)
        return "[" + ",".join(f"{name}={encode(value).decode()}" for name, value in parts.items()) + "]"
    return f"[={text}]" if kind == "v" else f"[{text}]"
