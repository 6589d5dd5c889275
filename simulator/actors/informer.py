"""A cache of one kind, kept current by list and watch: the actors' only way to read the cluster.

Callbacks are synchronous and get (old, new); they must only note what has to be done (put a key into a
queue). A 410, a broken watch and the resync time lead to a fresh list whose differences are delivered as
changes, so nobody depends on having seen every event. A kind that the server does not serve is an empty cache
that is asked for again from time to time.
"""

import asyncio
import contextlib
import gc
import logging
import math
from collections.abc import Callable, Iterable

from clusters.kinds import Kind
from clusters.operators.objects import Key, key_of
from simulator.client import KubeClient, KubeError, Object, WatchEvent

log = logging.getLogger(__name__)

OnChange = Callable[[Object | None, Object | None], None]
Indexer = Callable[[Object], Iterable[str]]

FIRST_BACKOFF_S = 0.2
LAST_BACKOFF_S = 10.0
NOT_SERVED_S = 5.0
LARGE = 20_000
BATCH = 500
"""After so many objects of a list other tasks get a turn."""


class Informer:
    """All objects of `kind`, indexed; read with `get`, `values`, `by_index`."""

    def __init__(self, client: KubeClient, kind: Kind, resync_s: float = math.inf) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.served = False
        """Whether the server took the last list; before the first, it is not known."""
        self._client = client
        self._resync_s = resync_s
        self._objects: dict[Key, Object] = {}
        self._indexers: dict[str, Indexer] = {}
        self._indices: dict[str, dict[str, set[Key]]] = {}
        self._callbacks: list[OnChange] = []
        self._complained: set[tuple[Key, str]] = set()

    def get(self, key: Key) -> Object | None:
        return self._objects.get(key)

    def values(self) -> list[Object]:
        return list(self._objects.values())

    def by_index(self, index: str, value: str) -> list[Object]:
        """Objects whose indexer `index` yielded `value`, in no particular order."""
        return [self._objects[key] for key in self._indices[index].get(value, ())]

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Idempotent by name; objects already cached are indexed at once."""
        if name in self._indexers:
            return
        self._indexers[name] = indexer
        self._indices[name] = {}
        for key, obj in self._objects.items():
            self._index(name, key, None, obj)

    def subscribe(self, callback: OnChange) -> None:
        """`callback(None, obj)` is called at once for what is cached already."""
        self._callbacks.append(callback)
        for obj in list(self._objects.values()):
            callback(None, obj)

    def store(self, obj: Object) -> None:
        """Takes over the server's answer to a write, so that the writer sees it before the watch does."""
        current = self._objects.get(key_of(obj))
        if current is None or _version(current) < _version(obj):
            self._put(obj)

    def refresh(self, obj: Object) -> None:
        """The same for a change of what is there; what the watch has seen deleted since stays gone."""
        if key_of(obj) in self._objects:
            self.store(obj)

    async def run(self) -> None:
        """Lists and watches until cancelled."""
        backoff = FIRST_BACKOFF_S
        while True:
            try:
                version = await self._relist()
                backoff = FIRST_BACKOFF_S
                await self._watch_until_resync(version)
                continue
            except KubeError as error:
                if error.code == 404:
                    self.served = False
                    self.synced.set()
                    backoff = NOT_SERVED_S
                log.debug("%s: %s", self.kind.plural, error)
            except OSError as error:
                log.debug("%s: %s", self.kind.plural, error)
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, LAST_BACKOFF_S)

    async def _relist(self) -> str:
        listed = await self._client.list(self.kind)
        self.served = True
        fresh = {key_of(obj): obj for obj in listed.items}
        for key in [key for key in self._objects if key not in fresh]:
            self._remove(key)
        for number, obj in enumerate(fresh.values()):
            if number % BATCH == BATCH - 1:
                await asyncio.sleep(0)
            self._put(obj)
        self.synced.set()
        return listed.resource_version

    async def _watch_until_resync(self, version: str) -> None:
        """A fresh list from time to time heals what a watch lost without a word."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(self._resync_s) else self._resync_s):
                await self._watch(version)

    async def _watch(self, version: str) -> None:
        """Follows the watch, and resumes it from the last version seen until the server refuses."""
        failures = 0
        while True:
            try:
                async for event in self._client.watch(self.kind, version):
                    failures = 0
                    version = self._take(event) or version
            except OSError:
                failures += 1
                if failures > 3:
                    raise
            await asyncio.sleep(FIRST_BACKOFF_S * failures)

    def _take(self, event: WatchEvent) -> str:
        if event.type == "DELETED":
            self._remove(key_of(event.object))
        elif event.type != "BOOKMARK":
            self._put(event.object)
        return str(event.object["metadata"].get("resourceVersion", ""))

    def _put(self, obj: Object) -> None:
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and _version(old) >= _version(obj):
            return
        self._objects[key] = obj
        self._reindex(key, old, obj)
        self._tell(old, obj)

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        if old is None:
            return
        self._reindex(key, old, None)
        self._tell(old, None)
        self._complained = {each for each in self._complained if each[0] != key}

    def _tell(self, old: Object | None, new: Object | None) -> None:
        for number, callback in enumerate(self._callbacks):
            try:
                callback(old, new)
            except Exception as error:
                # The edge of every actor: an object that one of them cannot read must not end the cache of all.
                self._complain(key_of(new or old or {}), f"cannot be taken in by reader {number}", error)

    def _complain(self, key: Key, what: str, error: Exception) -> None:
        """Logs the error once for each object and reader."""
        if (key, what) not in self._complained:
            self._complained.add((key, what))
            log.error("%s %s %s", self.kind.kind, "/".join(filter(None, key)), what, exc_info=error)

    def _reindex(self, key: Key, old: Object | None, new: Object | None) -> None:
        for name in self._indexers:
            self._index(name, key, old, new)

    def _index(self, name: str, key: Key, old: Object | None, new: Object | None) -> None:
        index = self._indices[name]
        before = self._values(name, key, old)
        after = self._values(name, key, new)
        for value in before - after:
            index[value].discard(key)
            if not index[value]:
                del index[value]
        for value in after - before:
            index.setdefault(value, set()).add(key)

    def _values(self, name: str, key: Key, obj: Object | None) -> set[str]:
        """What the indexer yields; nothing for an object that it cannot read, which no index holds then."""
        try:
            return set(self._indexers[name](obj)) if obj is not None else set()
        except Exception as error:
            # The same edge: the indexers are the actors' own.
            self._complain(key, f"cannot be indexed by {name}", error)
            return set()


class InformerSet:
    """One informer per kind, shared by all actors of a process."""

    def __init__(self, client: KubeClient, resync_s: float = math.inf) -> None:
        self._client = client
        self._resync_s = resync_s
        self._informers: dict[Kind, Informer] = {}

    def of(self, kind: Kind) -> Informer:
        return self._informers.setdefault(kind, Informer(self._client, kind, self._resync_s))

    async def run(self) -> None:
        """Runs every informer asked for so far, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers.values():
                group.create_task(informer.run(), name=f"informer {informer.kind.plural}")

    async def settle(self) -> None:
        """Once everything is cached: takes a large cluster out of garbage collection, where every full pass over
        its objects would stop the process for half a second."""
        await self.wait_synced(list(self._informers))
        if sum(len(informer.values()) for informer in self._informers.values()) > LARGE:
            gc.collect()
            gc.freeze()

    async def wait_synced(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            await self.of(kind).synced.wait()


def _version(obj: Object) -> int:
    with contextlib.suppress(ValueError):
        return int(obj["metadata"].get("resourceVersion", "0"))
    return 0
