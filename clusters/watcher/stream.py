"""Lists and watches one kind of one cluster, for ever, into its `Pending`. No Django.

list (paged) → watch with bookmarks → resume at the last version → … ; 410 in any form → list again, and now and then
without a reason: an event that never came leaves no other trace. Failures wait with jitter, twice as long each time.
While it fails, `state` says so: what is shown is stale, never empty.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Any, Protocol

import msgspec
import structlog

from clusters import wire
from clusters.kinds import Kind
from clusters.kube.client import ItemList, KubeGateway, WatchEvent, storable
from clusters.kube.errors import GatewayError, Gone, NotServed
from clusters.kube.reading import Body
from clusters.watcher.pending import Pending

log = structlog.get_logger(__name__)

BACKOFF_FIRST = 1.0
BACKOFF_LAST = 60.0
NOT_SERVED_AGAIN = 60.0
# A watch that lasted this long was a good one: failures are counted from the beginning again.
GOOD_WATCH = 10.0


class StreamKind(Protocol):
    """What a stream must know of its kind (see `observed.ObservedKind`)."""

    @property
    def name(self) -> str: ...
    @property
    def versions(self) -> tuple[Kind, ...]: ...
    @property
    def keep(self) -> Callable[[Any], bool]: ...
    @property
    def whole(self) -> Callable[[Any], Any]: ...
    @property
    def mirrors_deletes(self) -> bool: ...
    @property
    def query(self) -> Mapping[str, str]: ...
    def item_decoder(self) -> "msgspec.json.Decoder[Any]": ...
    def decode_page(self, content: Body) -> ItemList[Any]: ...


@dataclass(slots=True)
class StreamState:
    """How a stream is, as pages show it. Times are when the last list ended and when the server last said a thing."""

    listed_at: datetime | None = None
    event_at: datetime | None = None
    resource_version: str = ""
    error: str = ""
    reason: str = ""
    served: bool = True
    lists: int = 0
    watches: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The JSON in `Cluster.streams`."""
        return {
            "listedAt": self.listed_at.isoformat(timespec="seconds") if self.listed_at else None,
            "eventAt": self.event_at.isoformat(timespec="seconds") if self.event_at else None,
            "resourceVersion": self.resource_version,
            "error": self.error,
            "reason": self.reason,
            "served": self.served,
        }


@dataclass(slots=True)
class Stream:
    """One kind of one cluster. `run` is the body of a thread; it ends soon after `stopped` is set."""

    gateway: KubeGateway
    kind: StreamKind
    pending: Pending
    stopped: Event
    cluster: str = ""
    relist_seconds: float = 600.0
    state: StreamState = field(default_factory=StreamState)
    _failures: int = 0
    _version: int = 0
    _must_list: bool = True
    _list_again_at: float = 0.0

    def run(self) -> None:
        """List and watch until stopped. A broken watch resumes where it was; an expired one begins with a list."""
        while not self.stopped.is_set():
            try:
                if self._must_list or monotonic() >= self._list_again_at:
                    self.relist()
                    self._must_list = False
                    self._list_again_at = monotonic() + self.relist_seconds * random.uniform(0.8, 1.2)  # noqa: S311 (no secret)
                self.watch_once()
            except GatewayError as error:
                self._must_list |= isinstance(error, Gone | NotServed)
                self.stopped.wait(self._after_failure(error))

    def relist(self) -> None:
        """Read the whole list. Only when its last page was read does what is absent count as deleted."""
        path = self._kind.path()
        absent = set(self.pending.known)
        resource_version = ""
        for page in self.gateway.iter_pages(path, self.kind.decode_page, query=self.kind.query):
            self._read_page(page.items, absent)
            page.items.clear()  # they may hold the page's text, which need not stay while the next one is read
            resource_version = page.resource_version
            self.state.event_at = datetime.now(UTC)
            if self.stopped.is_set():
                return
        if self.kind.mirrors_deletes:
            self.pending.complete(absent, resource_version)
        else:
            self.pending.forget(absent)
        self.state.lists += 1
        self.state.listed_at = datetime.now(UTC)
        self.state.resource_version = resource_version
        self.state.served = True
        self._healed()

    def watch_once(self) -> None:
        """One watch, until the server ends it. A stream that ended at once without a word is waited for."""
        started = monotonic()
        heard = False
        self.state.watches += 1
        decoder = self.kind.item_decoder()
        for event in self.gateway.watch(self._kind.path(), self.state.resource_version, query=self.kind.query):
            if self.stopped.is_set():
                return
            heard = True
            self.state.event_at = datetime.now(UTC)
            self._take(event, decoder)
        if monotonic() - started >= GOOD_WATCH or heard:
            self._failures = 0
            self.state.event_at = datetime.now(UTC)
            self._healed()
        else:
            self._failures += 1
            self.stopped.wait(self._delay())

    @property
    def _kind(self) -> Kind:
        return self.kind.versions[self._version]

    def _take(self, event: WatchEvent, decoder: "msgspec.json.Decoder[Any]") -> None:
        try:
            if event.type == "BOOKMARK":
                bookmark = msgspec.json.decode(event.raw, type=wire.Bookmark)
                self.state.resource_version = bookmark.metadata.resource_version
                return
            item = decoder.decode(event.raw)
            uid, version = _identity(item)
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
            self._leave_out(error)
            return
        if event.type == "DELETED":
            if self.kind.mirrors_deletes:
                self.pending.delete(uid, version)
        else:
            self._read(item, uid, version)
        self.state.resource_version = version

    def _read_page(self, items: list[Any], absent: set[str]) -> None:
        """Note the objects of a page. Most are as they were: of those nothing needs to be read or decided anew."""
        known = self.pending.known
        for item in items:
            try:
                uid, version = _identity(item)
                if known.get(uid) == version:
                    absent.discard(uid)
                    continue
                whole = self.kind.whole(item)
            except (msgspec.ValidationError, KeyError) as error:
                self._leave_out(error)
                continue
            if self._read(whole, uid, version):
                absent.discard(uid)

    def _leave_out(self, error: Exception) -> None:
        log.warning("unreadable object", cluster=self.cluster, kind=self.kind.name, error=repr(error)[:300])

    def _read(self, item: Any, uid: str, version: str) -> bool:
        """Note one object; whether it is of interest."""
        if not self.kind.keep(item):
            if uid in self.pending.known:
                self.pending.delete(uid, "0")
            return False
        self.pending.upsert(uid, version, storable(item))
        return True

    def _healed(self) -> None:
        if self.state.error:
            log.info("stream recovered", cluster=self.cluster, kind=self.kind.name)
        self.state.error = self.state.reason = ""

    def _after_failure(self, error: GatewayError) -> float:
        """Remember why it fails; how long to wait before the next list."""
        self._failures += 1
        if isinstance(error, NotServed):
            self._version = (self._version + 1) % len(self.kind.versions)
            if self._version == 0:
                self.state.served = self.state.listed_at is not None and self.state.served
                self._note(error)
                if self.state.lists:  # served until now: it may be back soon
                    return self._delay()
                return NOT_SERVED_AGAIN * random.uniform(0.8, 1.2)  # noqa: S311 (no secret)
            return 0.0
        self._note(error)
        if isinstance(error, Gone) and self._failures == 1:
            return random.uniform(0.0, BACKOFF_FIRST)  # noqa: S311 (no secret)
        return self._delay()

    def _note(self, error: GatewayError) -> None:
        if self.state.error != error.message:
            log.warning("stream failed", cluster=self.cluster, kind=self.kind.name, error=error.message)
        self.state.error, self.state.reason = error.message[:300], error.reason

    def _delay(self) -> float:
        delay: float = min(BACKOFF_FIRST * 2 ** min(self._failures - 1, 10), BACKOFF_LAST)
        return delay * random.uniform(0.5, 1.0)  # noqa: S311 (no secret)


def _identity(item: Any) -> tuple[str, str]:
    meta = item.metadata
    if isinstance(meta, dict):
        return meta["uid"], meta["resourceVersion"]
    return meta.uid, meta.resource_version
