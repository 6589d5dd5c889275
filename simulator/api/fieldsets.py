"""Sets of fields as `managedFields` stores them (FieldsV1), computed from values with their schema.

A set is a nested dict: `f:name` a field, `k:{…}` an item of an associative list, `v:…` an item of a set, `.` the
thing itself. Below the root `{}` stands for `{".": {}}`. Source: structured-merge-diff.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from simulator.api.schema import FREE_FORM, UNSET, Schema

FieldSet = dict[str, Any]
ITSELF: FieldSet = {".": {}}
KEY_DEFAULTS = {"protocol": "TCP"}

_encode = msgspec.json.Encoder(order="sorted").encode


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or not right:
        return left
    result = dict(left)
    for key, node in right.items():
        mine = result.get(key)
        if mine is None:
            result[key] = node
        elif mine is not node and mine != node:
            result[key] = _closed(union(_opened(mine), _opened(node)))
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
            rest = difference(_opened(node), _opened(other))
            if rest:
                result[key] = _closed(rest)
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
        both = intersection(_opened(node), _opened(other))
        if both:
            result[key] = _closed(both)
    return result


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Paths as conflicts print them: `.spec.containers[name="main"].image`."""
    for key, node in sorted(fields.items()):
        if key == ".":
            yield prefix
            continue
        path = prefix + _step(key)
        if not node:
            yield path
        else:
            yield from paths(node, path)


def fields_of(schema: Schema, value: Any) -> FieldSet:
    """The set of everything in a value, as an applier owns it (an object at the root)."""
    node = _whole(schema, value)
    return {} if not value else node


def changes(schema: Schema, old: Any, new: Any) -> tuple[FieldSet, FieldSet]:
    """Fields added or modified, and fields removed, between two values."""
    if old is new:
        return {}, {}
    if isinstance(old, dict) and isinstance(new, dict) and not schema.atomic_map:
        return _object_changes(schema, old, new)
    if isinstance(old, list) and isinstance(new, list) and schema.list_type in ("map", "set"):
        return _list_changes(schema, old, new)
    if old == new and type(old) is type(new):
        return {}, {}
    added = _added(schema, new)
    if old is None:
        added = {key: node for key, node in added.items() if key != "."}
    return _opened(added), difference(_opened(_added(schema, old)), ITSELF)


def item_key(schema: Schema, item: Any) -> str:
    """`k:{…}` or `v:…` of a list item."""
    if schema.list_type == "map" and isinstance(item, dict):
        keys = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in schema.map_keys}
        return "k:" + _encode({key: value for key, value in keys.items() if value is not None}).decode()
    return "v:" + _encode(item).decode()


def _object_changes(schema: Schema, old: dict[str, Any], new: dict[str, Any]) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        before = old.get(key, UNSET)
        if before is value:
            continue
        child = schema.child(key) or FREE_FORM
        if before is UNSET:
            changed["f:" + key] = _closed(_added(child, value))
            continue
        _collect(changed, removed, "f:" + key, changes(child, before, value))
    for key, value in old.items():
        if key not in new:
            removed["f:" + key] = _closed(_added(schema.child(key) or FREE_FORM, value))
    return changed, removed


def _list_changes(schema: Schema, old: list[Any], new: list[Any]) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    item = schema.item()
    before = {item_key(schema, element): element for element in old}
    now = {item_key(schema, element): element for element in new}
    for key, element in now.items():
        if key not in before:
            changed[key] = _added_item(schema, element)
        else:
            _collect(changed, removed, key, changes(item, before[key], element))
    for key, element in before.items():
        if key not in now:
            removed[key] = _added_item(schema, element)
    return changed, removed


def _collect(changed: FieldSet, removed: FieldSet, key: str, found: tuple[FieldSet, FieldSet]) -> None:
    if found[0]:
        changed[key] = _closed(found[0])
    if found[1]:
        removed[key] = _closed(found[1])


def _whole(schema: Schema, value: Any) -> FieldSet:
    """What an applier owns: leaves, and items of maps and lists with themselves."""
    if isinstance(value, dict) and value and not schema.atomic_map:
        node: FieldSet = {}
        for key, element in value.items():
            below = _whole(schema.child(key) or FREE_FORM, element)
            node["f:" + key] = {".": {}, **below} if below and key not in schema.properties else below
        return node
    if isinstance(value, list) and value and schema.list_type in ("map", "set"):
        return {item_key(schema, element): _item(schema, element) for element in value}
    return {}


def _added(schema: Schema, value: Any) -> FieldSet:
    """What a writer owns that adds a value: every map and list in it with itself."""
    if isinstance(value, dict) and value and not schema.atomic_map:
        fields = {"f:" + key: _closed(_added(schema.child(key) or FREE_FORM, item)) for key, item in value.items()}
        return {".": {}, **fields}
    if isinstance(value, list) and value and schema.list_type in ("map", "set"):
        return {".": {}, **{item_key(schema, element): _added_item(schema, element) for element in value}}
    return {}


def _added_item(schema: Schema, element: Any) -> FieldSet:
    return {} if schema.list_type == "set" else {".": {}, **_added(schema.item(), element)}


def _item(schema: Schema, element: Any) -> FieldSet:
    if schema.list_type == "set":
        return {}
    return {".": {}, **_whole(schema.item(), element)}


def _opened(node: FieldSet) -> FieldSet:
    return node or ITSELF


def _closed(node: FieldSet) -> FieldSet:
    return {} if len(node) == 1 and "." in node else node


def _step(key: str) -> str:
    kind, _, text = key.partition(":")
    if kind == "f":
        return f".{text}"
    if kind == "k":
        parts = msgspec.json.decode(text)
        return "[" + ",".join(f"{name}={_encode(value).decode()}" for name, value in parts.items()) + "]"
    return f"[={text}]" if kind == "v" else f"[{text}]"
