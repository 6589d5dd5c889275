"""Request bodies as objects of a kind: kind and version, types, unknown fields."""

from typing import Any

from simulator.api.errors import bad_request, field_invalid, invalid
from simulator.api.go_base64 import illegal_base64
from simulator.api.requests import WriteOptions
from simulator.api.resources import Resource
from simulator.api.schema import FREE_FORM, bad_quantity, mismatch, prune
from simulator.client import Object


def decode(
    resource: Resource, body: Any, options: WriteOptions, warnings: list[str], current: Object | None = None
) -> Object:
    """A fresh, pruned copy of a request body; raises 400 for a wrong kind or, with Strict, unknown fields.

    Top-level parts that are the very ones of `current` (a patch left them alone) are taken over as they are.
    """
    kind = resource.kind
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    _check_kind(resource, body, warnings)
    kept = {key: part for key, part in body.items() if current is not None and part is current.get(key)}
    changed = {key: part for key, part in body.items() if key not in kept}
    _check_types(resource, changed)
    unknown: list[str] = []
    new: Object = {**prune(schema_of(resource), changed, "", unknown.append), **kept}
    _report_unknown(resource, unknown, options, warnings)
    new["apiVersion"], new["kind"] = kind.api_version, kind.kind
    metadata = new.get("metadata")
    new["metadata"] = dict(metadata) if isinstance(metadata, dict) else {}
    if "metadata" not in kept:
        _warn_of_owners(new["metadata"], warnings)
    return new


def _warn_of_owners(metadata: Object, warnings: list[str]) -> None:
    uids = [str(owner.get("uid", "")) for owner in metadata.get("ownerReferences") or []]
    twice = sorted({uid for uid in uids if uids.count(uid) > 1})
    if twice:
        warnings.append(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
            "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(twice)
        )


def _check_kind(resource: Resource, body: Object, warnings: list[str]) -> None:
    kind = resource.kind
    version, name = body.get("apiVersion") or kind.api_version, body.get("kind") or kind.kind
    handled = f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind.kind}: '
    if version != kind.api_version:
        if not resource.custom:
            scheme = 'in scheme "pkg/runtime/scheme.go:111"'
            raise bad_request(f'{handled}no kind "{name}" is registered for version "{version}" {scheme}')
        warnings += [f'unknown field "{key}"' for key in sorted(body) if key not in ("apiVersion", "kind", "metadata")]
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    if name == kind.kind:
        return
    if resource.custom:
        error = field_invalid("kind", name, f"must be {kind.kind}")
        raise invalid(kind.group, name, (body.get("metadata") or {}).get("name", ""), [error])
    internal_group = kind.group.partition(".")[0] or "core"
    raise bad_request(
        f"{handled}converting ({kind.version}.{name}) to ({internal_group}.{kind.kind}): unknown conversion"
    )


# Fields that hold bytes.
_BYTES = {("", "secrets"): "data", ("", "configmaps"): "binaryData"}


def _check_types(resource: Resource, body: Object) -> None:
    """Types of a core kind's fields, and of anybody's metadata, are read by Go before anything is validated."""
    schema = schema_of(resource)
    if not resource.custom:
        wrong = mismatch(schema, body, "")
        owner = resource.kind.kind
    else:
        metadata = schema.child("metadata")
        wrong = mismatch(metadata, body.get("metadata"), "metadata") if metadata else None
        owner = "ObjectMeta"
    why = "" if resource.custom else bad_quantity(schema, body)
    if why:
        kind = resource.kind
        raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')
    if wrong is not None:
        kind = resource.kind
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: json: cannot unmarshal '
            f"{wrong.given} into Go struct field {_go_struct(owner, wrong.path)}.{wrong.path} of type {wrong.declared}"
        )
    _check_bytes(resource, body)


def _check_bytes(resource: Resource, body: Object) -> None:
    """Raises the 400 of bytes that are no base64, in a body whose types are right."""
    encoded = body.get(_BYTES.get(resource.storage, "")) or {}
    for position in (illegal_base64(text) for text in encoded.values() if text is not None):
        if position is not None:
            kind = resource.kind
            why = f"illegal base64 data at input byte {position}"
            raise bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def _go_struct(owner: str, path: str) -> str:
    """The struct that holds a field: `ObjectMeta.metadata.name`, `PodSpec.spec.priority`."""
    first, _, rest = path.partition(".")
    if first == "metadata":
        return "ObjectMeta"
    return f"{owner}Spec" if first == "spec" and rest else owner


def schema_of(resource: Resource) -> Any:
    return resource.schema or FREE_FORM


def _report_unknown(resource: Resource, unknown: list[str], options: WriteOptions, warnings: list[str]) -> None:
    if not unknown or options.field_validation == "Ignore":
        return
    paths = sorted(unknown) if resource.custom else unknown
    texts = [f'unknown field "{path}"' for path in paths]
    if options.field_validation == "Strict":
        kind = resource.kind
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
            + ", ".join(texts)
        )
    warnings.extend(texts)
