"""Values with their schema as server-side apply sees them: compared, merged, listed as fields, taken apart.

Source: structured-merge-diff v6 (typed/compare.go, merge.go, tofieldset.go, remove.go). Absent is UNSET; null is a
value of any form. Sets of fields are those of `fieldsets`.
"""

from typing import Any, Literal

from simulator.api.fieldsets import KEY_DEFAULTS, FieldSet, closed, encode
from simulator.api.list_order import merged_order
from simulator.api.schema import FREE_FORM, UNSET, Schema

Form = Literal["map", "list", "leaf", "any"]
Changes = tuple[FieldSet, FieldSet]


def item_key(schema: Schema, item: Any) -> str:
    """`k:{…}` or `v:…` of a list item."""
    if schema.list_type == "map" and isinstance(item, dict):
        keys = {key: _key_value(schema, key, item) for key in schema.map_keys}
        return "k:" + encode({key: value for key, value in keys.items() if value is not None}).decode()
    return "v:" + encode(item).decode()


def _key_value(schema: Schema, key: str, item: dict[str, Any]) -> Any:
    found = item.get(key)
    if found is not None:
        return found
    child = schema.item().child(key)
    default = child.default if child is not None else UNSET
    return KEY_DEFAULTS.get(key) if default is UNSET else default


def _form(schema: Schema, value: Any) -> Form:
    """How a value is taken apart: as a map, as a list of identified items, or not at all."""
    if value is None or value is UNSET:
        return "any"
    if isinstance(value, dict):
        return "leaf" if schema.atomic_map else "map"
    return "list" if isinstance(value, list) and schema.list_type in ("map", "set") else "leaf"


def compare(schema: Schema, old: Any, new: Any) -> Changes:
    """Fields added or modified, and fields removed, between two values; `.` is the value itself."""
    if old is new:
        return {}, {}
    before, after = _form(schema, old), _form(schema, new)
    if before == "any" or after == "any":
        before = after = before if after == "any" else after
    if before != after:
        changed, removed = _compared_as(before, schema, old, new)
        more_changed, more_removed = _compared_as(after, schema, old, new)
        return {**changed, **more_changed}, {**removed, **more_removed}
    return _compared_as(after, schema, old, new)


def _compared_as(form: Form, schema: Schema, old: Any, new: Any) -> Changes:
    if form == "map":
        left, right = _dict(old), _dict(new)
        if left or right:
            return _with_itself(_compared_maps(schema, left, right), old, new)
    elif form == "list":
        items, others = _list(old), _list(new)
        if items or others:
            return _with_itself(_compared_lists(schema, items, others), old, new)
    return _compared_leaves(old, new)


def _compared_leaves(old: Any, new: Any) -> Changes:
    if new is UNSET:
        return {}, {".": {}}
    return ({}, {}) if old is not UNSET and same(old, new) else ({".": {}}, {})


def _with_itself(found: Changes, old: Any, new: Any) -> Changes:
    if old is UNSET:
        found[0]["."] = {}
    elif new is UNSET:
        found[1]["."] = {}
    return found


def _compared_maps(schema: Schema, old: dict[str, Any], new: dict[str, Any]) -> Changes:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        before = old.get(key, UNSET)
        if before is not value:
            _collect(changed, removed, "f:" + key, compare(schema.child(key) or FREE_FORM, before, value))
    for key, value in old.items():
        if key not in new:
            _collect(changed, removed, "f:" + key, compare(schema.child(key) or FREE_FORM, value, UNSET))
    return changed, removed


def _compared_lists(schema: Schema, old: list[Any], new: list[Any]) -> Changes:
    changed: FieldSet = {}
    removed: FieldSet = {}
    item = schema.item()
    before = {item_key(schema, element): element for element in old}
    now = {item_key(schema, element): element for element in new}
    for key in {**before, **now}:
        _collect(changed, removed, key, compare(item, before.get(key, UNSET), now.get(key, UNSET)))
    return changed, removed


def _collect(changed: FieldSet, removed: FieldSet, key: str, found: Changes) -> None:
    if found[0]:
        changed[key] = closed(found[0])
    if found[1]:
        removed[key] = closed(found[1])


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal; numbers by their value, never a number and a truth value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def fields_of(schema: Schema, value: Any) -> FieldSet:
    """Every leaf and item of a value, as an applier owns it."""
    form = _form(schema, value)
    if form == "leaf":
        return {".": {}}
    if form == "map":
        return _fields_of_map(schema, value)
    return _fields_of_list(schema, value) if form == "list" else {}


def _fields_of_map(schema: Schema, value: dict[str, Any]) -> FieldSet:
    fields: FieldSet = {}
    for key, element in value.items():
        child = schema.child(key) or FREE_FORM
        below = fields_of(child, element)
        empty = element is None or (isinstance(element, dict) and not element)
        if empty or key not in schema.properties:
            below = {".": {}, **below}
        if below:
            fields["f:" + key] = closed(below)
    return fields


def _fields_of_list(schema: Schema, value: list[Any]) -> FieldSet:
    keys = [item_key(schema, element) for element in value]
    twice = {key for key in keys if keys.count(key) > 1}
    item = schema.item()
    return {
        key: {} if key in twice else closed({".": {}, **fields_of(item, element)})
        for key, element in zip(keys, value, strict=True)
    }


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """What is there with what is applied; UNSET where nothing is left. Unchanged parts are shared with `live`."""
    if applied is UNSET or applied is live:
        return live
    form = _form(schema, applied)
    form = _form(schema, live) if form == "any" else form
    if form == "map" and (_dict(live) or _dict(applied)):
        return _merged_maps(schema, live, applied)
    if form == "list" and (_list(live) or _list(applied)):
        return _merged_lists(schema, _list(live), _list(applied))
    return live if live is not UNSET and type(live) is type(applied) and same(live, applied) else applied


def _merged_maps(schema: Schema, live: Any, applied: Any) -> Any:
    left, right = _dict(live), _dict(applied)
    merged = dict(left)
    for key, value in right.items():
        merged[key] = merge(schema.child(key) or FREE_FORM, left.get(key, UNSET), value)
    unchanged = len(merged) == len(left) and all(merged[key] is left[key] for key in merged)
    return live if unchanged and live is not None else merged


def _merged_lists(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    item = schema.item()
    wanted = {item_key(schema, element): element for element in applied}
    present = {item_key(schema, element): element for element in live}
    order = merged_order(list(present), list(wanted))
    return [merge(item, present.get(key, UNSET), wanted.get(key, UNSET)) for key in order]


def without(schema: Schema, value: Any, dropped: FieldSet) -> Any:
    """The value without these fields; what is emptied by that becomes null."""
    form = _form(schema, value)
    if form == "map":
        return _map_without(schema, value, dropped)
    if form == "list":
        return _list_without(schema, value, dropped)
    atomic = isinstance(value, dict | list)
    return None if atomic else value


def _map_without(schema: Schema, value: dict[str, Any], dropped: FieldSet) -> Any:
    rest = {}
    for key, element in value.items():
        node = dropped.get("f:" + key)
        if node is None:
            rest[key] = element
        elif node and "." not in node:
            rest[key] = without(schema.child(key) or FREE_FORM, element, node)
    return rest or None


def _list_without(schema: Schema, value: list[Any], dropped: FieldSet) -> Any:
    item = schema.item()
    rest = []
    for element in value:
        node = dropped.get(item_key(schema, element))
        if node is None:
            rest.append(element)
        elif node and "." not in node:
            rest.append(without(item, element, node))
    return rest or None


def with_named_members(schema: Schema, fields: FieldSet) -> FieldSet:
    """The set with every declared field in it that has something below."""
    return {key: _with_named_member(schema, key, node) for key, node in fields.items()}


def _with_named_member(schema: Schema, key: str, node: FieldSet) -> FieldSet:
    if not node or key == ".":
        return node
    below = with_named_members(_child_of(schema, key), node)
    return {".": {}, **below} if key.startswith("f:") and key[2:] in schema.properties else below


def _child_of(schema: Schema, key: str) -> Schema:
    return (schema.child(key[2:]) if key.startswith("f:") else schema.item()) or FREE_FORM


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
