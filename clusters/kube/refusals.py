"""What an API server says when it refuses, for the in-memory gateway. Pure."""

from clusters.kinds import Kind
from clusters.kube.errors import AlreadyChanged, Forbidden, GatewayError, NamespaceMissing, NotServed, Rejected
from clusters.kube.gateway import Manifest

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def not_served(kind: Kind) -> GatewayError:
    return NotServed(f"{kind.api_version} {kind.plural} is not served", target=kind.path(), status=404)


def namespace_missing(name: str) -> GatewayError:
    return NamespaceMissing(f'namespaces "{name}" not found', target=name, status=404)


def check_body(kind: Kind, manifest: Manifest) -> None:
    """Raises for another kind, and for owners that an applier brings itself."""
    if (manifest.get("apiVersion"), manifest.get("kind")) != (kind.api_version, kind.kind):
        group, _, version = str(manifest.get("apiVersion") or "").rpartition("/")
        raise Rejected(f"invalid object type: {group}/{version}, Kind={manifest.get('kind') or ''}", status=400)
    if manifest["metadata"].get("managedFields"):
        raise Rejected("metadata.managedFields must be nil", status=400)


def check_uid(kind: Kind, manifest: Manifest, live: Manifest | None) -> None:
    """Raises for an apply that names the uid of another object, or of one that is not there."""
    name, uid = manifest["metadata"]["name"], manifest["metadata"].get("uid")
    if uid and live is None:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise _conflict(_qualified(kind.plural, kind), name, why)
    if uid and live is not None and live["metadata"]["uid"] != uid:
        why = f'metadata.uid: Invalid value: "{uid}": field is immutable'
        raise Rejected(f'{_qualified(kind.kind, kind)} "{name}" is invalid: {why}', target=name, status=422)


def check_version(kind: Kind, manifest: Manifest, live: Manifest | None) -> None:
    """Raises for an apply that names another version than the live one."""
    version = manifest["metadata"].get("resourceVersion")
    if version and live is not None and live["metadata"]["resourceVersion"] != version:
        why = "the object has been modified; please apply your changes to the latest version and try again"
        raise _conflict(_qualified(kind.plural, kind), manifest["metadata"]["name"], why)


def check_mortal(kind: Kind, name: str) -> None:
    """Raises for the namespaces that stay."""
    if (kind.group, kind.plural) == ("", "namespaces") and name in IMMORTAL:
        why = "this namespace may not be deleted"
        raise Forbidden(f'namespaces "{name}" is forbidden: {why}', target=name, status=403)


def check_precondition(kind: Kind, live: Manifest, uid: str) -> None:
    """Raises for a deletion of another object than `uid`; "" is any."""
    found = live["metadata"]["uid"]
    if uid and found != uid:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have "
            "been deleted and then recreated"
        )
        raise _conflict(kind.kind, live["metadata"]["name"], why)


def _conflict(subject: str, name: str, why: str) -> GatewayError:
    return AlreadyChanged(f'Operation cannot be fulfilled on {subject} "{name}": {why}', target=name, status=409)


def _qualified(name: str, kind: Kind) -> str:
    return f"{name}.{kind.group}" if kind.group else name
