"""The four patches: JSON patch, merge patch, strategic merge patch and server-side apply."""

from typing import TYPE_CHECKING, Any

import jsonpatch

from simulator.api import managed, writing
from simulator.api.decoding import decode, schema_of
from simulator.api.errors import (
    ApiError,
    bad_request,
    internal,
    modified,
    not_found,
)
from simulator.api.reading import get_entry
from simulator.api.requests import Target, WriteOptions, Written
from simulator.api.resources import Resource
from simulator.api.schema import FREE_FORM, Schema, copied, prune
from simulator.api.typed import told, typed_problems
from simulator.api.versions import in_version
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

_MOST_STEPS = 10_000
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch(server: "Server", target: Target, patch_type: str, body: Any, options: WriteOptions) -> Written:
    """Patch an existing object; raises 404, 415 for a type the kind does not take, 422 where it cannot apply."""
    resource = target.resource
    entry = get_entry(server, target)
    written = Written(entry)
    current = in_version(resource, entry)
    if patch_type == JSON_PATCH:
        changed = json_patch(current, body)
    elif patch_type == MERGE_PATCH:
        _require_object(body)
        changed = merge_patch(current, body)
    elif patch_type == STRATEGIC_PATCH and not resource.custom:
        _require_object(body)
        changed = strategic_merge(schema_of(resource), current, body)
    else:
        raise unsupported(resource)
    new = decode(resource, changed, options, options.warnings, current)
    version = str(new["metadata"].get("resourceVersion") or "")
    if version and version != str(entry.resource_version):
        raise modified(resource.kind.group, resource.kind.plural, target.name)
    writing.check_patched_uid(target, new["metadata"], entry.uid)
    new = writing.as_stored(server, resource, new)
    return writing.store_update(server, target, new, options, written)


def apply(server: "Server", target: Target, body: Any, options: WriteOptions) -> Written:
    """Server-side apply: create or merge, with ownership; raises the 409 that names every conflict."""
    resource = target.resource
    stored = server.stored_resource(resource)
    _require_object(body)
    kind = resource.kind
    if body.get("apiVersion") != kind.api_version or body.get("kind") != kind.kind:
        group, _, version = str(body.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={body.get('kind') or ''}")
    applied = _declared(resource, target, body)
    if (applied.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    applied = _restricted(resource, target, writing.as_stored(server, resource, applied))
    manager = managed.Manager(options.field_manager, "Apply", stored.kind.api_version, target.subresource)
    collection = server.store.collection(resource.storage)
    entry = collection.entries.get(target.key)
    schema = schema_of(stored)
    writing.check_patched_uid(target, applied.get("metadata") or {}, entry.uid if entry else "")
    if entry is None:
        if target.subresource:
            raise not_found(kind.group, kind.plural, target.name)
        if not (applied.get("metadata") or {}).get("name"):
            why = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
            raise bad_request(why)
        outcome = managed.apply(schema, None, applied, manager, server.now(), force=options.force)
        written = writing.create(server, target, body, options, managed=outcome.managed)
        return _as_applied(resource, written, outcome.merged)
    outcome = managed.apply(schema, entry.object, applied, manager, server.now(), force=options.force)
    version = str((applied.get("metadata") or {}).get("resourceVersion") or "")
    if version and version != str(entry.resource_version):
        raise modified(kind.group, kind.plural, target.name)
    merged = {**outcome.merged, "apiVersion": stored.kind.api_version, "kind": stored.kind.kind}
    written = writing.store_update(server, target, merged, options, Written(entry), managed=outcome.managed)
    return _as_applied(resource, written, outcome.merged)


def _as_applied(resource: Resource, written: Written, merged: Object) -> Written:
    if resource.custom and any(value in ({}, []) for value in (merged.get("metadata") or {}).values()):
        written.entry.remember(writing.UNTIDY, True)
    return written


def merge_patch(target: Any, body: Any) -> Any:
    """RFC 7386; unchanged parts are shared with the target."""
    if not isinstance(body, dict):
        return body
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in body.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge_patch(result.get(key), value)
        else:
            result[key] = value
    return result


def strategic_merge(schema: Schema, target: Any, body: Any) -> Any:
    """Kubernetes' strategic merge: lists of objects merge by their key, with the `$patch` directives."""
    if not isinstance(body, dict):
        return body
    directive = body.get("$patch")
    if directive == "delete":
        return None
    base = target if isinstance(target, dict) and directive != "replace" else {}
    result = dict(base)
    retained = body.get("$retainKeys")
    if retained is not None:
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in body.items():
        if key.startswith("$"):
            _list_directive(schema, result, key, value)
            continue
        child = schema.child(key) or FREE_FORM
        if value is None:
            result.pop(key, None)
            continue
        merged = _strategic_value(child, result.get(key), value)
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    return result


def unsupported(resource: Resource) -> ApiError:
    accepted = [JSON_PATCH, MERGE_PATCH] + ([] if resource.custom else [STRATEGIC_PATCH]) + [APPLY_PATCH]
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def _strategic_value(schema: Schema, target: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return strategic_merge(schema, target, value)
    key = schema.patch_key or (schema.map_keys[0] if schema.map_keys else "")
    if isinstance(value, list) and key and all(isinstance(item, dict) for item in value):
        return _strategic_list(schema, key, target if isinstance(target, list) else [], value)
    if isinstance(value, list) and schema.list_type == "set" and isinstance(target, list):
        return value + [item for item in target if item not in value]
    return value


def _strategic_list(schema: Schema, key: str, target: list[Any], items: list[Any]) -> list[Any]:
    if any(item.get("$patch") == "replace" for item in items):
        return [item for item in items if item.get("$patch") != "replace"]
    result = list(target)
    for item in items:
        place = next((i for i, old in enumerate(result) if old.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(strategic_merge(schema.item(), {}, item))
        else:
            result[place] = strategic_merge(schema.item(), result[place], item)
    return result


def _list_directive(schema: Schema, result: Object, directive: str, value: Any) -> None:
    word, _, name = directive.partition("/")
    if name not in result or not isinstance(result[name], list):
        return
    child = schema.child(name) or FREE_FORM
    if word == "$deleteFromPrimitiveList":
        result[name] = [item for item in result[name] if item not in value]
    elif word == "$setElementOrder":
        result[name] = _ordered(child, result[name], value)


def _ordered(schema: Schema, items: list[Any], order: list[Any]) -> list[Any]:
    key = schema.patch_key or (schema.map_keys[0] if schema.map_keys else "")

    def identity(item: Any) -> Any:
        return item.get(key) if isinstance(item, dict) else item

    wanted = [identity(item) for item in order]
    listed = [item for item in items if identity(item) in wanted]
    listed.sort(key=lambda item: wanted.index(identity(item)))
    return listed + [item for item in items if identity(item) not in wanted]


def json_patch(current: Object, body: Any) -> Object:
    """RFC 6902; raises 422 where a step cannot be done or a test fails."""
    if not isinstance(body, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(body) > _MOST_STEPS:
        text = f"The allowed maximum operations in a JSON patch is {_MOST_STEPS}, got {len(body)}"
        raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    changed: Object = copied(current)
    try:
        for step in body:
            changed = jsonpatch.JsonPatch([_lenient(changed, step)]).apply(changed, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError) as error:
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request") from error
    return changed


def _lenient(document: Object, step: Any) -> Any:
    """A `replace` of a key that is not there adds it, as the API server's library has it."""
    if not isinstance(step, dict) or step.get("op") != "replace":
        return step
    holder, key = jsonpatch.JsonPointer(step.get("path", "")).to_last(document)
    return {**step, "op": "add"} if isinstance(holder, dict) and key not in holder else step


def _require_object(body: Any) -> None:
    if not isinstance(body, dict):
        raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}")


def _declared(resource: Resource, target: Target, body: Object) -> Object:
    """A copy of the applied configuration; what its schema does not allow is the 500 that the API server answers."""
    schema = schema_of(resource)
    problems = typed_problems(schema, body)
    if problems:
        kind, metadata = resource.kind, body.get("metadata") or {}
        shown = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
        error = internal(
            f"failed to create typed patch object ({shown}; {kind.group}/{kind.version}, Kind={kind.kind}): "
            f"{told(problems)}"
        )
        error.reason = ""
        raise error
    applied: Object = prune(schema, body, "", lambda path: None)
    return applied


def _restricted(resource: Resource, target: Target, applied: Object) -> Object:
    if target.subresource == "status":
        kept: Object = {key: applied[key] for key in ("apiVersion", "kind", "metadata", "status") if key in applied}
        identity = {key: applied["metadata"][key] for key in ("name", "namespace") if key in applied["metadata"]}
        return {**kept, "metadata": identity}
    if resource.has_status:
        return {key: value for key, value in applied.items() if key != "status"}
    return applied
