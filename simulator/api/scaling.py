"""The `/scale` subresource of workloads and of custom resources that declare one."""

from typing import TYPE_CHECKING, Any

from simulator.api import writing
from simulator.api.errors import bad_request, field_invalid, invalid, modified, not_found
from simulator.api.jsonpath import compile_path
from simulator.api.reading import get_entry
from simulator.api.requests import Target, WriteOptions, Written
from simulator.api.versions import in_version
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


def scale_of(server: "Server", target: Target) -> Object:
    """The autoscaling/v1 Scale of an object."""
    entry = get_entry(server, target)
    return _scale(target, in_version(target.resource, entry))


def set_scale(server: "Server", target: Target, body: Any, options: WriteOptions) -> Object:
    """Write `spec.replicas` of a Scale through to the object; raises 409 for a stale version."""
    entry = get_entry(server, target)
    kind = target.resource.kind
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Scale)")
    version = (body.get("metadata") or {}).get("resourceVersion")
    if version and str(version) != str(entry.resource_version):
        raise modified(kind.group, kind.plural, target.name)
    replicas = (body.get("spec") or {}).get("replicas", 0)
    if not target.resource.custom and (isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0):
        error = field_invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", target.name, [error])
    scale = target.resource.scale
    if scale is None:
        raise not_found(kind.group, kind.plural, target.name)
    current = in_version(target.resource, entry)
    new = _with(current, scale.spec_replicas.strip(".").split("."), replicas)
    new = writing.as_stored(server, target.resource, {**new, "metadata": dict(new["metadata"])})
    written = writing.store_update(server, target, new, options, Written(entry))
    return _scale(target, in_version(target.resource, written.entry))


def _scale(target: Target, body: Object) -> Object:
    scale = target.resource.scale
    if scale is None:
        kind = target.resource.kind
        raise not_found(kind.group, kind.plural, target.name)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    metadata = {key: body["metadata"][key] for key in kept if key in body["metadata"]}
    status: Object = {"replicas": _number(scale.status_replicas, body)}
    selector = _selector(scale.selector, body)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": _number(scale.spec_replicas, body)},
        "status": status,
    }


def _number(path: str, body: Object) -> int:
    found = compile_path(path)(body)
    return int(found[0]) if found and isinstance(found[0], int) else 0


def _selector(path: str, body: Object) -> str:
    """A selector in text form; workloads of the core have it as an object."""
    found = compile_path(path)(body) if path else []
    if not found:
        return ""
    if isinstance(found[0], dict):
        return ",".join(f"{key}={value}" for key, value in (found[0].get("matchLabels") or {}).items())
    return str(found[0])


def _with(body: Object, steps: list[str], value: Any) -> Object:
    first, *rest = steps
    inner = body.get(first) or {}
    return {**body, first: _with(inner, rest, value) if rest else value}
