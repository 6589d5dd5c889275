"""What core kinds do on their own when written: values filled in, parts that a verb may not change, follow-ups."""

from typing import TYPE_CHECKING

from simulator.api.core_strategies import AFTER_CREATE, AFTER_UPDATE, ALWAYS_PREPARED, PODS, PREPARE, pod_status
from simulator.api.errors import FieldError, field_forbidden
from simulator.api.resources import Resource
from simulator.api.store import CollectionName, Entry
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


def restrict(resource: Resource, subresource: str, old: Object, new: Object) -> Object:
    """A status write changes the status only; any other write leaves it alone (where `/status` exists)."""
    if subresource == "status":
        result = dict(old)
        if "status" in new:
            result["status"] = new["status"]
        else:
            result.pop("status", None)
        metadata = dict(new["metadata"] if not resource.custom else old["metadata"])
        if "managedFields" in new["metadata"]:
            metadata["managedFields"] = new["metadata"]["managedFields"]
        result["metadata"] = metadata
        return result
    result = dict(new)
    if resource.has_status:
        result.pop("status", None)
        if "status" in old:
            result["status"] = old["status"]
    return result


def forbidden_finalizers(added: list[str]) -> FieldError:
    quoted = ", ".join(f'"{name}"' for name in added)
    return field_forbidden(
        "metadata.finalizers",
        f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{quoted}}}",
    )


def prepare(server: "Server", resource: Resource, new: Object, old: Object | None) -> Object:
    """Defaults of core kinds, and the status a new object starts with."""
    if resource.storage == PODS:
        new = pod_status(new)
    prepared = PREPARE.get(resource.storage)
    if prepared is not None:
        untouched = old is not None and "spec" in old and new.get("spec") is old["spec"]
        return new if untouched and resource.storage not in ALWAYS_PREPARED else prepared(server, new, old)
    if old is None and resource.has_status and resource.custom:
        new = {key: value for key, value in new.items() if key != "status"}
    return new


# What admission and allocation fill in belongs to nobody, unless the creator gave it.
_FILLED_IN: dict[CollectionName, frozenset[str]] = {
    ("", "pods"): frozenset({"serviceAccount", "serviceAccountName", "tolerations", "priority", "preemptionPolicy"}),
    ("", "services"): frozenset({"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}),
    ("", "namespaces"): frozenset({"finalizers"}),
}
_EVENTS: CollectionName = ("", "events")


def owned_by_creator(resource: Resource, new: Object, given: Object) -> Object:
    """The parts of a new object that its creator owns: no status, and nothing that was filled in later."""
    if resource.storage == _EVENTS:
        return {key: value for key, value in new.items() if key in given or key == "metadata"}
    filled = _FILLED_IN.get(resource.storage, frozenset())
    asked = given.get("spec") or {}
    owned = {key: value for key, value in new.items() if key != "status"}
    if filled and "spec" in owned:
        owned["spec"] = {key: item for key, item in owned["spec"].items() if key not in filled or key in asked}
    return owned


def after_create(server: "Server", resource: Resource, entry: Entry) -> None:
    follow = AFTER_CREATE.get(resource.storage)
    if follow is not None:
        follow(server, entry)


def after_update(server: "Server", resource: Resource, entry: Entry) -> None:
    follow = AFTER_UPDATE.get(resource.storage)
    if follow is not None:
        follow(server, entry)


def is_done(body: Object) -> bool:
    """Whether an object whose deletion waited has nothing left to wait for: it goes with its last finalizer."""
    metadata = body["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds") and not body.get("spec", {}).get("finalizers")
