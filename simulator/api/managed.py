"""Ownership of fields: what updates and server-side applies record in `metadata.managedFields`, and who conflicts.

Source: apimachinery util/managedfields and structured-merge-diff v6 (merge/update.go).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from simulator.api.errors import ApiError, go_value
from simulator.api.fieldsets import FieldSet, difference, intersection, paths, union
from simulator.api.last_applied import last_applied_fields, renewed
from simulator.api.schema import Schema
from simulator.api.structured import compare, fields_of, merge, with_named_members, without
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
_UPDATERS_KEPT = 10
_encode = msgspec.json.Encoder().encode

KUBECTL = "kubectl"
FIRST = "before-first-apply"
ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """Who writes, how and in which version; one entry of `managedFields`. An applier is one in all versions."""

    name: str
    operation: str  # Apply | Update
    api_version: str
    subresource: str

    @property
    def identity(self) -> tuple[str, ...]:
        version = self.api_version if self.operation == "Update" else ""
        return self.operation, self.name, version, self.subresource


class Owned(NamedTuple):
    """What a manager owns, and since when."""

    manager: Manager
    fields: FieldSet
    time: str | None


Owners = dict[tuple[str, ...], Owned]


@dataclass(frozen=True, slots=True)
class Applied:
    """Outcome of an apply: the merged object without its managedFields, and those."""

    merged: Object
    managed: list[Object]


def record_update(schema: Schema, old: Object | None, new: Object, manager: Manager, now: str) -> list[Object]:
    """managedFields after a create (`old` None) or update: the writer owns what it changed, others lose it.

    An object whose managedFields are empty keeps none. What `new` says itself counts, unless it is unreadable.
    """
    owners = _given(new, manager) if old is not None else None
    if owners is None:
        owners = read((old or {}).get("metadata", {}).get("managedFields"))
    if old is not None and not owners:
        return []
    changed, removed = compare(schema, _bare(old) if old else _empty(new), _bare(new))
    _update(owners, manager, changed, removed, now)
    _cap(owners)
    return written(owners)


def apply(schema: Schema, live: Object | None, applied: Object, manager: Manager, now: str, *, force: bool) -> Applied:
    """Merge an applied configuration; raises 409 with kube's words when others own a field it changes."""
    owners = read((live or {}).get("metadata", {}).get("managedFields"))
    base = _bare(live) if live else {}
    if live and not owners:
        first = Manager(FIRST, "Update", manager.api_version, manager.subresource)
        _update(owners, first, *compare(schema, _empty(base), base), now)
    merged, owners, conflicts = _applied(schema, base, applied, owners, manager)
    if conflicts and manager.name == KUBECTL:
        allowed = last_applied_fields(schema, base, manager.api_version)
        conflicts = [(other, rest) for other, fields in conflicts if (rest := difference(fields, allowed))]
    if conflicts and not force:
        raise _conflict(conflicts)
    if merged != base and manager.identity in owners:
        owners[manager.identity] = owners[manager.identity]._replace(time=now)
    if manager.name == KUBECTL:
        merged = renewed(merged, applied)
    return Applied(merged, written(owners))


def _applied(
    schema: Schema, base: Object, applied: Object, owners: Owners, manager: Manager
) -> tuple[Object, Owners, list[tuple[Manager, FieldSet]]]:
    """The merged object, its owners once those in the way have lost what it changes, and who is in the way."""
    last = owners.get(manager.identity)
    own = Owned(manager, fields_of(schema, applied), last.time if last else None)
    owners = {**owners, manager.identity: own}
    merged = _pruned(schema, merge(schema, base, applied), owners, last.fields if last else {})
    changed, removed = compare(schema, base, merged)
    others = [owned for identity, owned in owners.items() if identity != manager.identity]
    conflicts = [(owned.manager, intersection(owned.fields, changed)) for owned in others]
    _lose(owners, changed, removed, but=manager.identity)
    rest = difference(own.fields, _IDENTITY)
    owners[manager.identity] = own._replace(fields=rest)
    if not rest:
        del owners[manager.identity]
    return merged, owners, [(other, fields) for other, fields in conflicts if fields]


def _pruned(schema: Schema, merged: Object, owners: Owners, last: FieldSet) -> Object:
    """Without what this applier applied last time, not this time, and nobody else owns."""
    if not last:
        return merged
    last = with_named_members(schema, last)
    owned: FieldSet = {}
    for each in owners.values():
        owned = union(owned, each.fields)
    everything = with_named_members(schema, fields_of(schema, merged))
    kept = _named_fields(schema, without(schema, merged, last))
    pruned = without(schema, merged, difference(everything, union(kept, with_named_members(schema, owned))))
    left = _named_fields(schema, pruned)
    found: Object = without(schema, merged, intersection(difference(everything, left), last))
    return found


def _named_fields(schema: Schema, value: Any) -> FieldSet:
    return with_named_members(schema, fields_of(schema, value))


def _update(owners: Owners, manager: Manager, changed: FieldSet, removed: FieldSet, now: str) -> None:
    """All lose what changed and went; the writer owns what it changed."""
    _lose(owners, changed, removed)
    gained = difference(changed, _IDENTITY)
    if gained:
        before = owners.get(manager.identity)
        owners[manager.identity] = Owned(manager, union(gained, before.fields) if before else gained, now)


def _lose(owners: Owners, changed: FieldSet, removed: FieldSet, *, but: tuple[str, ...] | None = None) -> None:
    lost = union(changed, removed)
    for identity, owned in list(owners.items()):
        if identity == but or not intersection(owned.fields, lost):
            continue
        rest = difference(owned.fields, lost)
        if rest:
            owners[identity] = owned._replace(fields=rest)
        else:
            del owners[identity]


def _cap(owners: Owners) -> None:
    """At most ten updaters are told apart: the oldest are joined, by version."""
    updaters = sorted(
        (identity for identity, owned in owners.items() if owned.manager.operation == "Update"),
        key=lambda identity: (owners[identity].time or "", identity),
    )
    surplus = len(updaters) - _UPDATERS_KEPT
    firsts: dict[str, tuple[str, ...]] = {}
    for identity in updaters:
        if surplus <= 0:
            return
        owned = owners[identity]
        version = owned.manager.api_version
        first = firsts.setdefault(version, identity)
        if first == identity:
            continue
        bucket = Manager(ANCIENT, "Update", version, "")
        before = owners.pop(bucket.identity, None) or owners.pop(first)
        del owners[identity]
        owners[bucket.identity] = Owned(bucket, union(owned.fields, before.fields), owned.time)
        surplus -= 1


def _given(new: Object, manager: Manager) -> Owners | None:
    """The owners that an update brings itself (kubectl does when it changes to server-side apply); None: none."""
    given = new["metadata"].get("managedFields")
    if not isinstance(given, list) or manager.subresource:
        return None
    if not given or given == [{}]:
        return {}
    readable = all(
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and entry.get("apiVersion")
        and entry.get("fieldsType") == "FieldsV1"
        for entry in given
    )
    return read(given) if readable else None


def read(entries: list[Object] | None) -> Owners:
    """Owners by the identity of their manager."""
    owners: Owners = {}
    for entry in entries or ():
        manager = _manager(entry)
        owners[manager.identity] = Owned(manager, entry.get("fieldsV1") or {}, entry.get("time"))
    return owners


def written(owners: Owners) -> list[Object]:
    """Entries in kube's order: appliers first, then by time."""
    order = sorted(
        owners.values(), key=lambda o: (o.manager.operation, o.time or "", o.manager.name, o.manager.api_version)
    )
    return [_entry(owned) for owned in order]


_STRUCTS = frozenset({"metadata", "spec", "status", "strategy", "template", "source", "involvedObject"})


def _empty(new: Object) -> Object:
    """What Go has before anything is decoded into it: its structs are there, and empty."""
    group = str(new.get("apiVersion", "")).partition("/")[0]
    core = "." not in group or group.endswith(".k8s.io")
    return _structs(new) if core else {}


def _structs(value: Object) -> Object:
    found: Object = {key: _structs(item) for key, item in value.items() if key in _STRUCTS and isinstance(item, dict)}
    return found | {"containers": None} if "containers" in value else found


def _entry(owned: Owned) -> Object:
    manager = owned.manager
    entry: Object = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = shared(owned.fields)
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


def _bare(body: Object) -> Object:
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return {**body, "metadata": metadata}


def _conflict(conflicts: list[tuple[Manager, FieldSet]]) -> ApiError:
    found = [(_shown(manager), path) for manager, fields in sorted(conflicts) for path in paths(fields)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, path in found
    ]
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = []
        for manager in dict.fromkeys(manager for manager, _ in found):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {path}" for owner, path in found if owner == manager]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, {"causes": causes})


def _shown(manager: Manager) -> str:
    text = go_value(manager.name)
    if manager.subresource:
        text += f" with subresource {go_value(manager.subresource)}"
    if manager.operation == "Update":
        text += f" using {manager.api_version}"
    return text
