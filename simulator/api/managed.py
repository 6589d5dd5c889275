"""Ownership of fields: what updates and server-side applies record in `metadata.managedFields`, and who conflicts."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from simulator.api.errors import ApiError, go_value
from simulator.api.fieldsets import (
    FieldSet,
    changes,
    difference,
    fields_of,
    intersection,
    item_key,
    paths,
    union,
)
from simulator.api.list_order import merged_order
from simulator.api.schema import FREE_FORM, Schema
from simulator.client import Object

_IDENTITY: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{f"f:{name}": {} for name in ("creationTimestamp", "generation", "managedFields", "name", "namespace")},
        **{f"f:{name}": {} for name in ("resourceVersion", "selfLink", "uid", "deletionTimestamp")},
        "f:deletionGracePeriodSeconds": {},
    },
}
_SHARED_SETS: dict[bytes, FieldSet] = {}
_SHARED_SETS_KEPT = 4096
_encode = msgspec.json.Encoder().encode


# kubectl's server-side apply may change what its client-side apply wrote before.
KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Manager(NamedTuple):
    """Who writes, how and in which version; one entry of `managedFields`."""

    name: str
    operation: str  # Apply | Update
    api_version: str
    subresource: str


@dataclass(frozen=True, slots=True)
class Applied:
    """Outcome of an apply: the merged object without its managedFields, and those."""

    merged: Object
    managed: list[Object]


def record_update(schema: Schema, old: Object | None, new: Object, manager: Manager, now: str) -> list[Object]:
    """managedFields after a create (`old` None) or update: the writer owns what it changed, others lose it."""
    entries: list[Object] = list((old or {}).get("metadata", {}).get("managedFields") or [])
    changed, removed = changes(schema, _bare(old) if old else _empty(new), _bare(new))
    changed = difference(changed, _IDENTITY)
    if not changed and not removed:
        return entries
    lost = union(changed, removed)
    return _with(entries, manager, changed, lost, now)


def apply(schema: Schema, live: Object | None, applied: Object, manager: Manager, now: str, *, force: bool) -> Applied:
    """Merge an applied configuration; raises 409 with kube's words when others own a field it changes."""
    entries: list[Object] = list((live or {}).get("metadata", {}).get("managedFields") or [])
    base = _bare(live) if live else {}
    wanted = difference(fields_of(schema, applied), _IDENTITY)
    others = [entry for entry in entries if _manager(entry) != manager]
    own = next((entry for entry in entries if _manager(entry) == manager), None)
    merged = _merge(schema, base, applied)
    changed, _ = changes(schema, base, merged)
    conflicts = [(entry, intersection(_fields(entry), changed)) for entry in others]
    if manager.name == KUBECTL:
        allowed = _last_applied_fields(schema, base)
        conflicts = [(entry, difference(fields, allowed)) for entry, fields in conflicts]
    conflicts = [(entry, fields) for entry, fields in conflicts if fields]
    if conflicts and not force:
        raise _conflict(conflicts)
    if own is not None:
        kept = wanted
        for entry in others:
            kept = union(kept, _fields(entry))
        merged = _remove(schema, merged, difference(_fields(own), kept), kept)
    changed, removed = changes(schema, base, merged)
    lost = union(changed, removed)
    left = [_without(entry, lost) if entry in others else entry for entry in entries]
    managed = _replace_own([entry for entry in left if entry is not None], manager, wanted, now)
    return Applied(merged, managed)


_STRUCTS = frozenset({"metadata", "spec", "status", "strategy", "template", "source", "involvedObject"})


def _empty(new: Object) -> Object:
    """What Go has before anything is decoded into it: its structs are there, and empty."""
    group = str(new.get("apiVersion", "")).partition("/")[0]
    core = "." not in group or group.endswith(".k8s.io")
    return _structs(new) if core else {"metadata": {}}


def _structs(value: Object) -> Object:
    found: Object = {key: _structs(item) for key, item in value.items() if key in _STRUCTS and isinstance(item, dict)}
    return found | {"containers": None} if "containers" in value else found


def _with(entries: list[Object], manager: Manager, changed: FieldSet, lost: FieldSet, now: str) -> list[Object]:
    result: list[Object] = []
    found = False
    for entry in entries:
        if _manager(entry) == manager:
            found = True
            fields = union(difference(_fields(entry), lost), changed)
            if fields:
                result.append(_entry(manager, fields, now))
            continue
        rest = _without(entry, lost)
        if rest is not None:
            result.append(rest)
    if not found and changed:
        result.append(_entry(manager, changed, now))
    return result


def _replace_own(entries: list[Object], manager: Manager, fields: FieldSet, now: str) -> list[Object]:
    result = []
    found = False
    for entry in entries:
        if _manager(entry) != manager:
            result.append(entry)
            continue
        found = True
        if _fields(entry) == fields:
            result.append(entry)
        elif fields:
            result.append(_entry(manager, fields, now))
    if not found and fields:
        result.append(_entry(manager, fields, now))
    return result


def _without(entry: Object, lost: FieldSet) -> Object | None:
    fields = _fields(entry)
    if not intersection(fields, lost):
        return entry
    rest = difference(fields, lost)
    return {**entry, "fieldsV1": shared(rest)} if rest else None


def _entry(manager: Manager, fields: FieldSet, now: str) -> Object:
    entry: Object = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": shared(fields),
    }
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def shared(fields: FieldSet) -> FieldSet:
    """One dict for equal sets: thousands of pods are owned alike."""
    key = _encode(fields)
    found = _SHARED_SETS.get(key)
    if found is None:
        if len(_SHARED_SETS) >= _SHARED_SETS_KEPT:
            _SHARED_SETS.clear()
        found = _SHARED_SETS[key] = fields
    return found


def _manager(entry: Object) -> Manager:
    operation = entry.get("operation", "")
    version = entry.get("apiVersion", "")
    return Manager(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def _fields(entry: Object) -> FieldSet:
    fields: FieldSet = entry.get("fieldsV1") or {}
    return fields


def _bare(body: Object) -> Object:
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return {**body, "metadata": metadata}


def _last_applied_fields(schema: Schema, live: Object) -> FieldSet:
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        applied = msgspec.json.decode(annotations.get(LAST_APPLIED, "{}"))
    except msgspec.DecodeError:
        return {}
    return fields_of(schema, applied) if isinstance(applied, dict) else {}


def _merge(schema: Schema, live: Any, applied: Any) -> Any:
    if isinstance(live, dict) and isinstance(applied, dict) and not schema.atomic_map:
        merged = dict(live)
        for key, value in applied.items():
            child = schema.child(key) or FREE_FORM
            merged[key] = _merge(child, live[key], value) if key in live else value
        return merged
    if isinstance(live, list) and isinstance(applied, list) and schema.list_type in ("map", "set"):
        return _merge_list(schema, live, applied)
    return live if live == applied and type(live) is type(applied) else applied


def _merge_list(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    item = schema.item()
    wanted = {item_key(schema, element): element for element in applied}
    present = {item_key(schema, element): element for element in live}
    return [_merged_item(item, key, present, wanted) for key in merged_order(list(present), list(wanted))]


def _merged_item(schema: Schema, key: str, present: dict[str, Any], wanted: dict[str, Any]) -> Any:
    if key not in wanted:
        return present[key]
    return _merge(schema, present[key], wanted[key]) if key in present else wanted[key]


def _remove(schema: Schema, value: Any, dropped: FieldSet, kept: FieldSet) -> Any:
    """The value without the dropped fields; containers emptied by that go too.

    An item of a list goes with all that nobody owns in it (defaults), unless somebody keeps a part of it.
    """
    if isinstance(value, dict):
        result = dict(value)
        for key, node in dropped.items():
            name = key.partition(":")[2]
            if key == "." or name not in result:
                continue
            child = schema.child(name) or FREE_FORM
            below = kept.get(key)
            rest = _remove(child, result[name], node, below or {}) if node else None
            if rest or (below is not None and node):
                result[name] = rest
            elif below is None:
                del result[name]
        return result
    if isinstance(value, list):
        return _remove_items(schema, value, dropped, kept)
    return value


def _remove_items(schema: Schema, value: list[Any], dropped: FieldSet, kept: FieldSet) -> list[Any]:
    result = []
    item = schema.item()
    for element in value:
        key = item_key(schema, element)
        node = dropped.get(key)
        if node is None:
            result.append(element)
        elif key in kept and isinstance(element, dict):
            identity = {name: element[name] for name in schema.map_keys if name in element}
            result.append({**_remove(item, element, node, kept[key]), **identity})
    return result


def _conflict(conflicts: list[tuple[Object, FieldSet]]) -> ApiError:
    found = [(_shown(entry), path) for entry, fields in conflicts for path in paths(fields)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, path in found
    ]
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = []
        for manager in sorted({manager for manager, _ in found}):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {path}" for owner, path in found if owner == manager]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, {"causes": causes})


def _shown(entry: Object) -> str:
    manager = _manager(entry)
    text = go_value(manager.name)
    if manager.subresource:
        text += f" with subresource {go_value(manager.subresource)}"
    if manager.operation == "Update":
        text += f" using {manager.api_version}"
    return text
