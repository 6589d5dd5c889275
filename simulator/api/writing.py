"""Create and update: the pipeline that every write passes, whatever verb it came by.

decode → defaults → mutating admission → metadata rules → validation → validating admission → managedFields → store.
"""

import secrets
from typing import TYPE_CHECKING

from simulator.api import admission, strategies
from simulator.api.decoding import decode, schema_of
from simulator.api.errors import (
    already_exists,
    bad_request,
    conflict,
    field_invalid,
    forbidden,
    internal,
    invalid,
    modified,
    not_found,
)
from simulator.api.managed import Manager, record_update
from simulator.api.reading import get_entry
from simulator.api.requests import Target, WriteOptions, Written
from simulator.api.resources import Resource
from simulator.api.schema import fill_defaults, without_empty
from simulator.api.sizes import check_size
from simulator.api.store import Entry
from simulator.api.validation import validate
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
UNTIDY = "untidy"  # an applied object keeps empty parts in etcd, which the next write takes out
_KEPT_METADATA = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


def create(
    server: "Server", target: Target, body: Object, options: WriteOptions, *, managed: list[Object] | None = None
) -> Written:
    """Create an object; `managed` is given by an apply that found nothing to update."""
    resource = target.resource
    stored = server.stored_resource(resource)
    written = Written(Entry(("", ""), body, 0), created=True)
    new = as_stored(server, resource, decode(resource, body, options, options.warnings))
    metadata = _new_metadata(server, target, new)
    new = {**new, "metadata": metadata}
    _require_namespace(server, target, metadata.get("name") or metadata.get("generateName") or "")
    new = _prepared(server, stored, new, None, options)
    _check(server, target._replace(resource=stored), new, None, options, options.warnings)
    name = metadata["name"]
    key = (target.namespace or "", name)
    if key in server.store.collection(resource.storage).entries:
        error = already_exists(resource.kind.group, resource.kind.plural, name)
        if "deletionTimestamp" in server.store.collection(resource.storage).entries[key].metadata:
            error.message = f"object is being deleted: {error.message}"
        raise error
    if managed is None:
        owned = strategies.owned_by_creator(stored, new, body)
        managed = record_update(schema_of(stored), None, owned, _manager(stored, options, ""), server.now())
    if managed:
        new["metadata"] = {**new["metadata"], "managedFields": managed}
    if options.dry_run:
        written.entry = Entry(key, _as_if(new, body), 0)
        return written
    check_size(new)
    written.entry = server.store.put(resource.storage, key, new)
    strategies.after_create(server, resource, written.entry)
    return written


def update(server: "Server", target: Target, body: Object, options: WriteOptions) -> Written:
    """Replace an object (or its status); raises the 409 of a stale resourceVersion."""
    resource = target.resource
    given = (body.get("metadata") or {}).get("name") if isinstance(body, dict) else None
    if given and given != target.name:
        raise bad_request(_name_mismatch(given, target.name))
    new = decode(resource, body, options, options.warnings)
    entry = get_entry(server, target)
    written = Written(entry)
    metadata = new["metadata"]
    version = str(metadata.get("resourceVersion") or "")
    kind = resource.kind
    if not version and resource.custom and not target.subresource:
        error = field_invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(kind.group, kind.plural, target.name, [error])
    if version and version != str(entry.resource_version):
        raise modified(kind.group, kind.plural, target.name)
    _check_precondition(target, metadata, entry.uid)
    return store_update(server, target, as_stored(server, resource, new), options, written)


def store_update(
    server: "Server",
    target: Target,
    new: Object,
    options: WriteOptions,
    written: Written,
    *,
    managed: list[Object] | None = None,
) -> Written:
    """The common end of update, patch and apply.

    `new` is in the storage version and may still hold what this verb must not change; `written.entry` is the
    entry it was made from.
    """
    target = target._replace(resource=server.stored_resource(target.resource))
    resource, old = target.resource, written.entry.object
    given = _updated_metadata(resource, target, old["metadata"], new["metadata"])
    new = strategies.restrict(resource, target.subresource, old, {**new, "metadata": given})
    new = _prepared(server, resource, new, old, options)
    if _changed_generation(resource, old, new):
        generation = int(old["metadata"].get("generation", 0)) + 1
        new["metadata"] = {**new["metadata"], "generation": generation}
    _check(server, target, new, old, options, options.warnings)
    if managed is None:
        manager = _manager(resource, options, target.subresource)
        seen = {**new, "metadata": given} if resource.custom and target.subresource else new
        if given.get("managedFields") == []:  # an empty list empties, and is no longer there in `new`
            seen = {**seen, "metadata": {**seen["metadata"], "managedFields": []}}
        managed = record_update(schema_of(resource), old, seen, manager, server.now())
    metadata = {key: value for key, value in new["metadata"].items() if key != "managedFields"}
    new["metadata"] = {**metadata, "managedFields": managed} if managed else metadata
    return _commit(server, target, new, options, written)


def as_stored(server: "Server", resource: Resource, body: Object) -> Object:
    if resource.to_storage is None:
        return body
    server.require_conversion(resource)
    return resource.to_storage(body)


def _as_if(new: Object, body: Object) -> Object:
    """What a dry run answers: nothing gave it a version, so an applied one is still there."""
    version = (body.get("metadata") or {}).get("resourceVersion")
    return {**new, "metadata": {**new["metadata"], "resourceVersion": version}} if version else new


def _new_metadata(server: "Server", target: Target, body: Object) -> Object:
    kind = target.resource.kind
    given = body["metadata"]
    dropped = ("resourceVersion", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")
    metadata: Object = {key: value for key, value in given.items() if key not in dropped and value is not None}
    if given.get("resourceVersion") and not target.name:
        error = internal("resourceVersion should not be set on objects to be created")
        error.reason = ""
        raise error
    if target.name and metadata.setdefault("name", target.name) != target.name:
        raise bad_request(_name_mismatch(metadata["name"], target.name))
    if not metadata.get("name") and metadata.get("generateName"):
        suffix = "".join(secrets.choice(_NAME_LETTERS) for _ in range(5))
        metadata["name"] = str(metadata["generateName"])[:58] + suffix
    if kind.namespaced:
        _check_namespace(metadata, target)
        metadata["namespace"] = target.namespace
    else:
        metadata.pop("namespace", None)
    metadata = _without_empty_parts(metadata)
    metadata["uid"] = server.new_uid()
    metadata["creationTimestamp"] = server.now()
    if target.resource.generation:
        metadata["generation"] = 1
    return metadata


def _without_empty_parts(metadata: Object) -> Object:
    """Metadata pass through Go's struct, custom resources' too: empty maps and lists are left out, owners twice too."""
    kept = {key: value for key, value in metadata.items() if value not in ({}, [], "") or key == "managedFields"}
    owners = kept.get("ownerReferences")
    if owners:
        kept["ownerReferences"] = [owner for index, owner in enumerate(owners) if owner not in owners[:index]]
    return kept


def _updated_metadata(resource: Resource, target: Target, old: Object, given: Object) -> Object:
    metadata = {key: value for key, value in given.items() if value is not None and key != "selfLink"}
    if metadata.get("name", target.name) != target.name:
        raise bad_request(_name_mismatch(metadata["name"], target.name))
    if resource.kind.namespaced:
        _check_namespace(metadata, target)
        metadata["namespace"] = target.namespace
    metadata["name"] = target.name
    metadata = _without_empty_parts(metadata)
    for key in _KEPT_METADATA:
        if key in old:
            metadata[key] = old[key]
        else:
            metadata.pop(key, None)
    if "generateName" in old:
        metadata["generateName"] = old["generateName"]
    if "deletionTimestamp" in old:
        _forbid_new_finalizers(resource, target, old, metadata)
    return metadata


def _forbid_new_finalizers(resource: Resource, target: Target, old: Object, new: Object) -> None:
    added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
    if added:
        kind = resource.kind
        error = strategies.forbidden_finalizers(added)
        raise invalid(kind.group, kind.kind, target.name, [error, error])


def _check_namespace(metadata: Object, target: Target) -> None:
    if metadata.get("namespace") not in (None, "", target.namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _check_precondition(target: Target, metadata: Object, uid: str) -> None:
    """A uid that an update gives must be the stored object's."""
    wanted = metadata.get("uid")
    if wanted and wanted != uid:
        kind = target.resource.kind
        key = "/".join(filter(None, ("registry", kind.group, kind.plural, target.namespace, target.name)))
        why = (
            f"StorageError: invalid object, Code: 4, Key: /{key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"
        )
        raise conflict(kind.group, kind.plural, target.name, why)


def check_patched_uid(target: Target, metadata: Object, uid: str) -> None:
    """A patch cannot change a uid, nor make an object that has one already (`uid` is "" where there is none)."""
    wanted = metadata.get("uid")
    if not wanted or wanted == uid:
        return
    kind = target.resource.kind
    if not uid:
        why = f"uid mismatch: the provided object specified uid {wanted}, and no existing object was found"
        raise conflict(kind.group, kind.plural, target.name, why)
    error = field_invalid("metadata.uid", wanted, "field is immutable")
    raise invalid(kind.group, kind.kind, target.name, [error, error])


def _name_mismatch(given: str, wanted: str) -> str:
    return f"the name of the object ({given}) does not match the name on the URL ({wanted})"


def _require_namespace(server: "Server", target: Target, name: str) -> None:
    kind = target.resource.kind
    if not kind.namespaced or kind.kind == "Namespace":
        return
    namespace = target.namespace or ""
    found = server.store.collection(("", "namespaces")).entries.get(("", namespace))
    if found is None:
        raise not_found("", "namespaces", namespace)
    if "deletionTimestamp" in found.metadata:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        error = forbidden(kind.group, kind.plural, name, why)
        cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated",
                 "field": "metadata.namespace"}  # fmt: skip
        error.details["causes"] = [cause]
        raise error


def _prepared(server: "Server", resource: Resource, new: Object, old: Object | None, options: WriteOptions) -> Object:
    new = fill_defaults(schema_of(resource), new)
    if not resource.custom:
        new = without_empty(schema_of(resource), new)
    new = strategies.prepare(server, resource, new, old)
    return admission.mutate(server, resource, new, old, options)


def _check(
    server: "Server",
    target: Target,
    new: Object,
    old: Object | None,
    options: WriteOptions,
    warnings: list[str],
) -> None:
    resource = target.resource
    errors = validate(resource, new, old, target.subresource)
    if errors:
        kind = resource.kind
        raise invalid(kind.group, kind.kind, new["metadata"].get("name", ""), errors)
    if target.subresource != "status":
        warnings += admission.validate(server, resource, new, old, options)


def _changed_generation(resource: Resource, old: Object, new: Object) -> bool:
    if not resource.generation:
        return False
    if old.get("spec") is not new.get("spec") and old.get("spec") != new.get("spec"):
        return True
    if not resource.custom:
        return False
    ignored = {"metadata", "spec", "apiVersion", "kind"} | ({"status"} if resource.has_status else set())
    return {key: value for key, value in old.items() if key not in ignored} != {
        key: value for key, value in new.items() if key not in ignored
    }


def _commit(server: "Server", target: Target, new: Object, options: WriteOptions, written: Written) -> Written:
    resource, entry = target.resource, written.entry
    new["metadata"]["resourceVersion"] = str(entry.resource_version)
    if options.dry_run:
        written.entry = Entry(entry.key, new, entry.resource_version)
        return written
    if server.store.collection(resource.storage).entries.get(entry.key) is not entry:
        raise modified(resource.kind.group, resource.kind.plural, target.name)
    if _same_but_times(new, entry.object) and not entry.view(UNTIDY):
        written.entry = entry
        return written
    if strategies.is_done(new):
        server.store.remove(resource.storage, entry.key)
        written.entry = Entry(entry.key, new, entry.resource_version)
        return written
    check_size(new)
    written.entry = server.store.put(resource.storage, entry.key, new)
    strategies.after_update(server, resource, written.entry)
    return written


def _same_but_times(new: Object, old: Object) -> bool:
    """Whether at most the times of owners differ: such a write is none."""
    if new.keys() != old.keys() or any(value != old[key] for key, value in new.items() if key != "metadata"):
        return False
    return _without_times(new["metadata"]) == _without_times(old["metadata"])


def _without_times(metadata: Object) -> Object:
    entries = metadata.get("managedFields") or []
    return {**metadata, "managedFields": [{**entry, "time": None} for entry in entries]}


def _manager(resource: Resource, options: WriteOptions, subresource: str) -> Manager:
    return Manager(options.field_manager, "Update", resource.kind.api_version, subresource)
