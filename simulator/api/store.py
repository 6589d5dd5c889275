"""Objects in memory: entries per collection, one counter of resourceVersions, and the history that watches read.

An entry and its object never change: a write makes a new entry. Everything runs on one event loop thread.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from typing import Any, NamedTuple

import msgspec

from simulator.client import Object

Key = tuple[str, str]  # namespace ("" for cluster scope), name
CollectionName = tuple[str, str]  # group, plural of the storage

FIRST_RESOURCE_VERSION = 1000
HISTORY_LIMIT = 20_000
SNAPSHOTS_KEPT = 8

encode_json = msgspec.json.Encoder().encode


class Entry:
    """One version of one object, with its JSON bytes made once on demand (per served version)."""

    __slots__ = ("_views", "key", "object", "resource_version")

    def __init__(self, key: Key, body: Object, resource_version: int) -> None:
        self.key = key
        self.object = body
        self.resource_version = resource_version
        self._views: dict[str, Any] | None = None

    @property
    def metadata(self) -> Object:
        metadata: Object = self.object["metadata"]
        return metadata

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    def stored_json(self) -> bytes:
        """The stored object's JSON, which begins with kind and version: `versions.encoded` remembers the same bytes."""
        found: bytes | None = self.view("json:")
        if found is None:
            first = {key: self.object[key] for key in ("kind", "apiVersion") if key in self.object}
            found = encode_json({**first, **self.object})
            self.remember("json:", found)
        return found

    def view(self, name: str) -> Any:
        """What was remembered under this name (an encoding, another version), or None."""
        return None if self._views is None else self._views.get(name)

    def remember(self, name: str, value: Any) -> Any:
        if self._views is None:
            self._views = {}
        self._views[name] = value
        return value


class Change(NamedTuple):
    """One write: the entry after it (for `DELETED` the last state under the deletion's version) and before it."""

    resource_version: int
    type: str
    entry: Entry
    previous: Entry | None


class Collection:
    """All objects of one stored resource, ordered as etcd orders them (namespace, then name)."""

    def __init__(self, name: CollectionName, history_limit: int, first_version: int) -> None:
        self.name = name
        self.entries: dict[Key, Entry] = {}
        self.order: list[Key] = []
        self.history: list[Change] = []
        self.compacted = first_version
        self.wakers: set[asyncio.Event] = set()
        self._history_limit = history_limit
        self._snapshots: dict[int, tuple[dict[Key, Entry], list[Key]]] = {}

    def put(self, entry: Entry) -> None:
        previous = self.entries.get(entry.key)
        if previous is None:
            insort(self.order, entry.key)
        self.entries[entry.key] = entry
        kind = "ADDED" if previous is None else "MODIFIED"
        self._record(Change(entry.resource_version, kind, entry, previous))

    def remove(self, last: Entry) -> None:
        previous = self.entries.pop(last.key)
        del self.order[bisect_left(self.order, last.key)]
        self._record(Change(last.resource_version, "DELETED", last, previous))

    def keys(self, namespace: str | None) -> list[Key]:
        return keys_between(self.order, namespace, None)

    def since(self, resource_version: int) -> list[Change]:
        """Changes after a version; the caller has checked it against `compacted`."""
        start = bisect_right(self.history, resource_version, key=lambda change: change.resource_version)
        return self.history[start:]

    def at(self, resource_version: int) -> tuple[dict[Key, Entry], list[Key]]:
        """The state at an older version, by undoing the history. The caller has checked it against `compacted`."""
        undone = self.since(resource_version)
        if not undone:
            return self.entries, self.order
        found = self._snapshots.get(resource_version)
        if found is None:
            entries = dict(self.entries)
            for change in reversed(undone):
                if change.previous is None:
                    del entries[change.entry.key]
                else:
                    entries[change.entry.key] = change.previous
            found = self._snapshots[resource_version] = (entries, sorted(entries))
            if len(self._snapshots) > SNAPSHOTS_KEPT:
                del self._snapshots[next(iter(self._snapshots))]
        return found

    def compact(self) -> None:
        """Forget the whole history: every older watch and continue token is too old from now on."""
        if self.history:
            self.compacted = self.history[-1].resource_version
        self.history = []
        self._snapshots = {}
        self.wake()

    def wake(self) -> None:
        for waker in self.wakers:
            waker.set()

    def _record(self, change: Change) -> None:
        self.history.append(change)
        if len(self.history) > 2 * self._history_limit:
            self.compacted = self.history[-self._history_limit - 1].resource_version
            self.history = self.history[-self._history_limit :]
        self.wake()


def keys_between(order: list[Key], namespace: str | None, after: Key | None) -> list[Key]:
    """The part of an ordered key list that lies in a namespace (None: all) and after a key."""
    low = 0 if namespace is None else bisect_left(order, (namespace, ""))
    high = len(order) if namespace is None else bisect_left(order, (namespace + "\x00", ""))
    if after is not None:
        low = max(low, bisect_right(order, after))
    return order[low:high]


class Store:
    """All collections, the version counter, and the indexes by uid and by owner."""

    def __init__(self, *, history_limit: int = HISTORY_LIMIT) -> None:
        self.resource_version = FIRST_RESOURCE_VERSION
        self.floor = FIRST_RESOURCE_VERSION
        self.collections: dict[CollectionName, Collection] = {}
        self.by_uid: dict[str, tuple[CollectionName, Key]] = {}
        self.dependents: dict[str, set[tuple[CollectionName, Key]]] = {}
        self.listeners: list[Any] = []
        self._history_limit = history_limit

    def collection(self, name: CollectionName) -> Collection:
        found = self.collections.get(name)
        if found is None:
            found = Collection(name, self._history_limit, self.floor)
            self.collections[name] = found
        return found

    def put(self, name: CollectionName, key: Key, body: Object) -> Entry:
        """Store an object under the next version. Takes ownership of the outermost dict and its metadata."""
        self.resource_version += 1
        body["metadata"]["resourceVersion"] = str(self.resource_version)
        entry = Entry(key, body, self.resource_version)
        collection = self.collection(name)
        previous = collection.entries.get(key)
        self._index(name, key, previous, entry)
        collection.put(entry)
        self._tell(name, entry, previous)
        return entry

    def remove(self, name: CollectionName, key: Key) -> Entry:
        """Remove an object; its last state gets the deletion's version."""
        collection = self.collection(name)
        previous = collection.entries[key]
        self.resource_version += 1
        metadata = {**previous.metadata, "resourceVersion": str(self.resource_version)}
        last = Entry(key, {**previous.object, "metadata": metadata}, self.resource_version)
        self._index(name, key, previous, None)
        collection.remove(last)
        self._tell(name, None, previous)
        return last

    def restore(self, name: CollectionName, bodies: list[Object], resource_version: int) -> None:
        """Fill an empty collection from a snapshot; older watches of it are too old."""
        self.resource_version = self.floor = max(self.resource_version, resource_version)
        collection = self.collection(name)
        for body in bodies:
            metadata = body["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            entry = Entry(key, body, int(metadata["resourceVersion"]))
            collection.entries[key] = entry
            self._index(name, key, None, entry)
        collection.order = sorted(collection.entries)
        collection.compacted = resource_version

    def _index(self, name: CollectionName, key: Key, previous: Entry | None, entry: Entry | None) -> None:
        place = (name, key)
        before = _owner_uids(previous)
        now = _owner_uids(entry)
        if before != now:
            for uid in before - now:
                self.dependents[uid].discard(place)
                if not self.dependents[uid]:
                    del self.dependents[uid]
            for uid in now - before:
                self.dependents.setdefault(uid, set()).add(place)
        if previous is not None and (entry is None or entry.uid != previous.uid):
            self.by_uid.pop(previous.uid, None)
        if entry is not None:
            self.by_uid[entry.uid] = place

    def _tell(self, name: CollectionName, entry: Entry | None, previous: Entry | None) -> None:
        for listener in self.listeners:
            listener(name, entry, previous)


def _owner_uids(entry: Entry | None) -> set[str]:
    if entry is None:
        return set()
    owners = entry.metadata.get("ownerReferences")
    return {owner.get("uid", "") for owner in owners} if owners else set()
