"""Delete and deletecollection: preconditions, grace, finalizers, propagation. Dependants are `garbage`'s."""

from datetime import timedelta
from typing import TYPE_CHECKING

from core.moments import rfc3339
from scheduling.structs import FINISHED
from simulator.api import admission
from simulator.api.core_strategies import CRDS
from simulator.api.errors import conflict
from simulator.api.reading import ListOptions, get_entry, list_entries
from simulator.api.requests import DeleteOptions, Target
from simulator.api.store import Entry
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"  # the objects of a CRD go before it
# Kinds whose deletion is answered with the object, not with a Status.
RETURNED = frozenset(
    ("", plural) for plural in ("pods", "services", "serviceaccounts", "resourcequotas", "persistentvolumeclaims")
)
_GC_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


def delete(server: "Server", target: Target, options: DeleteOptions) -> Entry | None:
    """Delete one object; returns its last state while it is still there (finalizers, grace), else None."""
    entry = get_entry(server, target)
    _check_preconditions(target, entry, options)
    resource = target.resource
    admission.validate_delete(server, server.stored_resource(resource), entry.object)
    grace = _grace(target, entry, options)
    finalizers = _finalizers(target, entry, options)
    waits = bool(finalizers) or grace > 0 or bool(_namespace_finalizers(target, entry))
    if options.dry_run:
        return entry if waits else None
    if not waits:
        server.store.remove(resource.storage, entry.key)
        return None
    return _mark(server, target, entry, finalizers, grace)


def last_state(server: "Server", target: Target, entry: Entry) -> Entry:
    """What is answered for the kinds in `RETURNED`: pods are marked, whether or not they wait."""
    version = server.store.resource_version
    metadata = {**entry.metadata, "resourceVersion": str(version)}
    if target.resource.storage == ("", "pods"):
        metadata |= {"deletionTimestamp": server.now(), "deletionGracePeriodSeconds": 0}
        metadata["generation"] = int(metadata.get("generation", 0)) + 1
    return Entry(entry.key, {**entry.object, "metadata": metadata}, version)


def delete_collection(server: "Server", target: Target, listing: ListOptions, options: DeleteOptions) -> list[Entry]:
    """Delete everything that the selectors match; returns what was matched."""
    entries = list_entries(server, target, listing).entries
    for entry in entries:
        one = Target(target.resource, entry.key[0] or None, entry.key[1])
        delete(server, one, options)
    return entries


def _check_preconditions(target: Target, entry: Entry, options: DeleteOptions) -> None:
    kind = target.resource.kind
    if options.uid and options.uid != entry.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({entry.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise conflict(kind.group, kind.kind, target.name, why)
    if options.resource_version and options.resource_version != str(entry.resource_version):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({entry.resource_version}). The object might have been modified"
        )
        raise conflict(kind.group, kind.kind, target.name, why)


def _grace(target: Target, entry: Entry, options: DeleteOptions) -> int:
    """Only pods that sit on a node and still run are deleted gracefully."""
    if target.resource.storage != ("", "pods"):
        return 0
    spec = entry.object.get("spec") or {}
    if not spec.get("nodeName") or (entry.object.get("status") or {}).get("phase") in FINISHED:
        return 0
    grace = options.grace_seconds
    if grace is None:
        grace = int(spec.get("terminationGracePeriodSeconds", 30))
    earlier = entry.metadata.get("deletionGracePeriodSeconds")
    return grace if earlier is None else min(grace, int(earlier))


def _finalizers(target: Target, entry: Entry, options: DeleteOptions) -> list[str]:
    present = [name for name in entry.metadata.get("finalizers") or [] if name not in _GC_FINALIZERS.values()]
    wanted = _GC_FINALIZERS.get(options.propagation)
    if target.resource.storage == CRDS and _CLEANUP not in present and "deletionTimestamp" not in entry.metadata:
        present.append(_CLEANUP)
    return [*present, wanted] if wanted else present


def _namespace_finalizers(target: Target, entry: Entry) -> list[str]:
    if target.resource.storage != ("", "namespaces"):
        return []
    return list((entry.object.get("spec") or {}).get("finalizers") or [])


def _mark(server: "Server", target: Target, entry: Entry, finalizers: list[str], grace: int) -> Entry:
    metadata: Object = {key: value for key, value in entry.metadata.items() if key != "finalizers"}
    if finalizers:
        metadata["finalizers"] = finalizers
    is_pod = target.resource.storage == ("", "pods")
    shortened = is_pod and metadata.get("deletionGracePeriodSeconds", grace) != grace
    if "deletionTimestamp" not in metadata or shortened:
        metadata["deletionTimestamp"] = rfc3339(server.time() + timedelta(seconds=grace))
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            metadata["generation"] = int(metadata["generation"]) + 1
    new = {**entry.object, "metadata": metadata}
    if target.resource.storage == ("", "namespaces"):
        new["status"] = {**(new.get("status") or {}), "phase": "Terminating"}
    if new == entry.object:
        return entry
    return server.store.put(target.resource.storage, entry.key, new)
