"""Garbage collection: dependants of deleted owners, foreground and orphan deletion, emptied namespaces, CRDs.

Plays kube-controller-manager's collectors over the store itself; woken by the store's changes.
"""

import asyncio
from typing import TYPE_CHECKING

from simulator.api import deleting
from simulator.api.errors import ApiError
from simulator.api.requests import DeleteOptions, Target
from simulator.api.store import CollectionName, Entry, Key
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

NAMESPACES: CollectionName = ("", "namespaces")
CRDS: CollectionName = ("apiextensions.k8s.io", "customresourcedefinitions")
Place = tuple[CollectionName, Key]
_BATCH = 200  # visits before requests get their turn
_DELETIONS = 500  # objects of a namespace deleted in one visit
_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"


class Garbage:
    """`collect` does all work that is due; `run` does so whenever the store changes, until cancelled."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._due: dict[Place, None] = {}
        self._stuck: dict[Place, None] = {}
        self._waker = asyncio.Event()
        server.store.listeners.append(self._changed)
        server.faults.on_change(self._waker.set)
        for name, collection in server.store.collections.items():
            for key, entry in collection.entries.items():
                if entry.metadata.get("ownerReferences") or "deletionTimestamp" in entry.metadata:
                    self._due[(name, key)] = None

    async def run(self) -> None:
        while True:
            while self.collect(_BATCH):
                await asyncio.sleep(0)
            self._waker.clear()
            await self._waker.wait()
            self._due = self._stuck | self._due
            self._stuck = {}

    def collect(self, limit: int | None = None) -> bool:
        """Do what is due, at most `limit` visits; whether more is due. What cannot be done yet waits for a change."""
        if limit is None:
            self._due, self._stuck = self._stuck | self._due, {}
        while self._due and limit != 0:
            place = next(iter(self._due))
            del self._due[place]
            try:
                finished = self._visit(place)
            except ApiError:
                finished = False
            if not finished:
                self._stuck[place] = None
            limit = None if limit is None else limit - 1
        return bool(self._due)

    def _changed(self, name: CollectionName, entry: Entry | None, previous: Entry | None) -> None:
        seen = entry or previous
        if seen is None:
            return
        metadata = seen.metadata
        before = None if previous is None else previous.metadata.get("ownerReferences")
        if entry is None:
            self._deleted(name, seen)
        elif "deletionTimestamp" in metadata or metadata.get("ownerReferences") != before:
            self._add((name, seen.key))

    def _deleted(self, name: CollectionName, last: Entry) -> None:
        for place in self._server.store.dependents.get(last.uid, ()):
            self._add(place)
        for owner in last.metadata.get("ownerReferences") or []:
            waiting = self._server.store.by_uid.get(owner.get("uid", ""))
            if waiting is not None:
                self._add(waiting)
        if last.key[0]:
            self._add((NAMESPACES, ("", last.key[0])))
        if name == CRDS:
            self._server.uninstall(last.object)
        else:
            self._add_crd_of(name)

    def _add_crd_of(self, name: CollectionName) -> None:
        key = ("", f"{name[1]}.{name[0]}")
        crd = self._server.store.collection(CRDS).entries.get(key)
        if crd is not None and "deletionTimestamp" in crd.metadata:
            self._add((CRDS, key))

    def _add(self, place: Place) -> None:
        self._due[place] = None
        self._waker.set()

    def _visit(self, place: Place) -> bool:
        """Do what is due for one object; False when it has to be visited again later."""
        name, key = place
        entry = self._server.store.collection(name).entries.get(key)
        if entry is None:
            return True
        if "deletionTimestamp" in entry.metadata:
            return self._terminating(place, entry)
        if entry.metadata.get("ownerReferences"):
            self._check_owners(place, entry)
        return True

    def _terminating(self, place: Place, entry: Entry) -> bool:
        finalizers = entry.metadata.get("finalizers") or []
        if _ORPHAN in finalizers:
            self._orphan(entry)
            self._drop_finalizer(place, _ORPHAN)
        elif _FOREGROUND in finalizers:
            self._delete_dependents(entry)
            if not self._blocking(entry):
                self._drop_finalizer(place, _FOREGROUND)
        elif place[0] == NAMESPACES:
            return self._empty_namespace(place, entry)
        elif place[0] == CRDS and finalizers:
            self._empty_crd(place, entry)
        return True

    def _check_owners(self, place: Place, entry: Entry) -> None:
        owners = entry.metadata["ownerReferences"]
        present = [owner for owner in owners if self._exists(owner, entry)]
        if len(present) == len(owners):
            return
        if present:
            self._replace_owners(place, entry, present)
        else:
            self._delete(place, "Background", entry.uid)

    def _exists(self, owner: Object, entry: Entry) -> bool:
        place = self._server.store.by_uid.get(owner.get("uid", ""))
        if place is None:
            return False
        (_, (namespace, name)) = place
        return name == owner.get("name") and namespace in ("", entry.key[0])

    def _orphan(self, owner: Entry) -> None:
        for place in list(self._server.store.dependents.get(owner.uid, ())):
            dependent = self._server.store.collection(place[0]).entries[place[1]]
            rest = [item for item in dependent.metadata["ownerReferences"] if item.get("uid") != owner.uid]
            self._replace_owners(place, dependent, rest)

    def _delete_dependents(self, owner: Entry) -> None:
        for place in list(self._server.store.dependents.get(owner.uid, ())):
            dependent = self._server.store.collection(place[0]).entries[place[1]]
            others = [item for item in dependent.metadata["ownerReferences"] if item.get("uid") != owner.uid]
            if any(self._exists(item, dependent) for item in others):
                rest = [item for item in others if self._exists(item, dependent)]
                self._replace_owners(place, dependent, rest)
            elif "deletionTimestamp" not in dependent.metadata:
                self._delete(place, "Foreground" if self._blocking(dependent) else "Background", dependent.uid)

    def _blocking(self, owner: Entry) -> bool:
        for name, key in self._server.store.dependents.get(owner.uid, ()):
            dependent = self._server.store.collection(name).entries[key]
            for item in dependent.metadata["ownerReferences"]:
                if item.get("uid") == owner.uid and item.get("blockOwnerDeletion"):
                    return True
        return False

    def _empty_namespace(self, place: Place, entry: Entry) -> bool:
        namespace = place[1][1]
        left = [
            ((name, key), collection.entries[key])
            for name, collection in list(self._server.store.collections.items())
            for key in collection.keys(namespace)
        ]
        going = [(found, one.uid) for found, one in left if "deletionTimestamp" not in one.metadata]
        for found, uid in going[:_DELETIONS]:
            self._delete(found, "Background", uid)
        if going:
            self._add(place)
            return True
        if self._server.faults.active("namespace-stuck", namespace=namespace) is not None:
            return False
        if not left:
            present = (entry.object.get("spec") or {}).get("finalizers") or []
            finalize(self._server, entry, [item for item in present if item != "kubernetes"])
        return True

    def _empty_crd(self, place: Place, entry: Entry) -> None:
        spec = entry.object["spec"]
        collection = self._server.store.collection((spec["group"], spec["names"]["plural"]))
        for key, found in list(collection.entries.items()):
            if "deletionTimestamp" not in found.metadata:
                self._delete((collection.name, key), "Background", found.uid)
        if not collection.entries:
            for finalizer in list(entry.metadata["finalizers"]):
                self._drop_finalizer(place, finalizer)

    def _delete(self, place: Place, propagation: str, uid: str) -> None:
        name, (namespace, own_name) = place
        resource = self._server.registry.stored_in(name)
        if resource is None:
            self._server.store.remove(name, place[1])
            return
        target = Target(resource, namespace or None, own_name)
        deleting.delete(self._server, target, DeleteOptions(propagation=propagation, uid=uid))

    def _replace_owners(self, place: Place, entry: Entry, owners: list[Object]) -> None:
        metadata = {key: value for key, value in entry.metadata.items() if key != "ownerReferences"}
        if owners:
            metadata["ownerReferences"] = owners
        self._server.store.put(place[0], place[1], {**entry.object, "metadata": metadata})

    def _drop_finalizer(self, place: Place, finalizer: str) -> None:
        entry = self._server.store.collection(place[0]).entries[place[1]]
        rest = [item for item in entry.metadata.get("finalizers") or [] if item != finalizer]
        metadata = {key: value for key, value in entry.metadata.items() if key != "finalizers"}
        if rest:
            metadata["finalizers"] = rest
        removable = not rest and not metadata.get("deletionGracePeriodSeconds")
        if removable and not (place[0] == NAMESPACES and (entry.object.get("spec") or {}).get("finalizers")):
            self._server.store.remove(place[0], place[1])
        else:
            self._server.store.put(place[0], place[1], {**entry.object, "metadata": metadata})


def finalize(server: "Server", entry: Entry, finalizers: list[str]) -> Entry:
    """Set a namespace's `spec.finalizers`; it goes when it is being deleted and none is left."""
    spec = {key: value for key, value in (entry.object.get("spec") or {}).items() if key != "finalizers"}
    if finalizers:
        spec["finalizers"] = finalizers
    metadata = dict(entry.metadata)
    if not finalizers and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
        return server.store.remove(NAMESPACES, entry.key)
    return server.store.put(NAMESPACES, entry.key, {**entry.object, "metadata": metadata, "spec": spec})
