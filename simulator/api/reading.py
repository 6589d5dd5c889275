"""Get, list (paged, at a consistent version) and watch. Nothing here changes anything."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from simulator.api import go_json
from simulator.api.errors import ApiError, bad_request, not_found
from simulator.api.go_base64 import illegal_raw_url_base64
from simulator.api.label_selectors import label_selector
from simulator.api.requests import Target
from simulator.api.resources import METADATA_FIELDS, Resource
from simulator.api.selectors import field_selector
from simulator.api.store import Change, Collection, Entry, Key, keys_between
from simulator.api.versions import in_version

if TYPE_CHECKING:
    from simulator.api.server import Server

BOOKMARK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Query parameters of lists and watches, as strings of the wire; `limit` 0 means all."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: float | None = None
    bookmarks: bool = False
    send_initial_events: bool = False


class Page(NamedTuple):
    """One page; `remaining` is None where a selector makes it unknown, as the API server does."""

    entries: list[Entry]
    resource_version: str
    continue_token: str
    remaining: int | None


class Event(NamedTuple):
    """A watch event; bookmarks carry only a version (`initial_end` marks the end of the initial events)."""

    type: str
    entry: Entry | None
    resource_version: int
    initial_end: bool = False


class _Continue(msgspec.Struct):
    rv: int
    namespace: str
    name: str


class Dropped(ConnectionError):
    """The connection is to end in the middle of an answer."""


def get_entry(server: "Server", target: Target) -> Entry:
    """The stored entry; raises 404, and 500 where its version needs a webhook that is down."""
    kind = target.resource.kind
    server.require_conversion(target.resource)
    entry = server.store.collection(target.resource.storage).entries.get(target.key)
    if entry is None:
        raise not_found(kind.group, kind.plural, target.name)
    return entry


def list_entries(server: "Server", target: Target, options: ListOptions) -> Page:
    """Entries in etcd's order. Raises 410 for expired versions and tokens, 504 for versions of the future."""
    server.require_list_conversion(target.resource)
    collection = server.store.collection(target.resource.storage)
    version, after = _position(server, collection, options)
    entries, order = collection.at(version)
    matches = Matcher(target.resource, target.name, options)
    keys = keys_between(order, target.namespace, after)
    found: list[Entry] = []
    more = 0
    for position, key in enumerate(keys):
        entry = entries[key]
        if not matches(entry):
            continue
        if options.limit and len(found) == options.limit:
            more = len(keys) - position
            break
        found.append(entry)
    token = _token(version, found[-1].key) if more else ""
    remaining = more if more and matches.everything else None
    return Page(found, str(version), token, remaining)


async def watch(server: "Server", target: Target, options: ListOptions) -> AsyncIterator[list[Event]]:
    """Batches of events from a version on. Raises 410 when that version's history is gone (also later)."""
    collection = server.store.collection(target.resource.storage)
    server.require_list_conversion(target.resource)
    waker = asyncio.Event()
    collection.wakers.add(waker)
    deadline = None if options.timeout_seconds is None else server.monotonic() + options.timeout_seconds
    matches = Matcher(target.resource, target.name, options)
    try:
        cursor, first = _start(server, collection, target, options)
        if first:
            yield first
        async for bookmark_due in _ticks(server, waker, deadline):
            _check_stream(server, target, cursor, collection)
            batch = list(_seen(collection, cursor, target, matches))
            cursor = server.store.resource_version
            if server.faults.active("watch-lossy", kind=target.resource.kind.plural) is not None:
                batch = []
            if bookmark_due and options.bookmarks:
                batch.append(Event("BOOKMARK", None, cursor))
            if batch:
                yield batch
    finally:
        collection.wakers.discard(waker)


def _check_stream(server: "Server", target: Target, cursor: int, collection: Collection) -> None:
    """Raises what ends a running watch."""
    faults, kind = server.faults, target.resource.kind.plural
    if faults.active("api-down") is not None or faults.active("connection-dropped", kind=kind) is not None:
        raise Dropped
    if cursor < collection.compacted or faults.active("watch-gone", kind=kind) is not None:
        raise too_old(cursor, collection)


async def _ticks(server: "Server", waker: asyncio.Event, deadline: float | None) -> AsyncIterator[bool]:
    """Whenever something may have changed, or (True) when a bookmark is due; ends at the deadline."""
    next_bookmark = server.monotonic() + BOOKMARK_SECONDS
    yield False
    while not server.closing:
        limit = next_bookmark if deadline is None else min(deadline, next_bookmark)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, limit - server.monotonic())):
                await waker.wait()
        waker.clear()
        await server.faults.thawed("watch-frozen")
        now = server.monotonic()
        ended = deadline is not None and now >= deadline
        bookmark_due = ended or now >= next_bookmark
        if bookmark_due:
            next_bookmark = now + BOOKMARK_SECONDS
        yield bookmark_due
        if ended:
            return


class Matcher:
    """Whether an entry passes the selectors of a request in the requested version."""

    def __init__(self, resource: Resource, name: str, options: ListOptions) -> None:
        self._resource = resource
        self._name = name
        self._labels = label_selector(options.label_selector)
        fields = {**METADATA_FIELDS, **resource.fields}
        self._fields = field_selector(options.field_selector, fields)
        self.everything = not (name or self._labels or self._fields)

    def __call__(self, entry: Entry) -> bool:
        if self.everything:
            return True
        if self._name and entry.key[1] != self._name:
            return False
        if self._labels is not None and not self._labels(entry.metadata.get("labels") or {}):
            return False
        return self._fields is None or self._fields(in_version(self._resource, entry))


def too_old(version: int, collection: Collection) -> ApiError:
    text = f"too old resource version: {version} ({collection.compacted})"
    return ApiError(410, "Expired", text)


def _start(server: "Server", collection: Collection, target: Target, options: ListOptions) -> tuple[int, list[Event]]:
    now = server.store.resource_version
    wants_state = options.send_initial_events or options.resource_version in ("", "0")
    if not wants_state:
        version = _version(options.resource_version)
        if version < collection.compacted:
            raise too_old(version, collection)
        return min(version, now), []
    matches = Matcher(target.resource, target.name, options)
    entries = [collection.entries[key] for key in collection.keys(target.namespace)]
    events = [Event("ADDED", entry, entry.resource_version) for entry in entries if matches(entry)]
    if options.send_initial_events:
        events.append(Event("BOOKMARK", None, now, initial_end=True))
    return now, events


def _seen(collection: Collection, cursor: int, target: Target, matches: Matcher) -> Iterator[Event]:
    """What a watcher with these selectors sees of the changes: leaving the selection is a deletion."""
    for change in collection.since(cursor):
        if target.namespace is not None and change.entry.key[0] != target.namespace:
            continue
        event = _event(change, matches)
        if event is not None:
            yield event


def _event(change: Change, matches: Matcher) -> Event | None:
    if matches.everything:
        return Event(change.type, change.entry, change.resource_version)
    before = change.previous is not None and matches(change.previous)
    now = change.type != "DELETED" and matches(change.entry)
    if now:
        return Event("MODIFIED" if before else "ADDED", change.entry, change.resource_version)
    return Event("DELETED", change.entry, change.resource_version) if before else None


def _position(server: "Server", collection: Collection, options: ListOptions) -> tuple[int, Key | None]:
    if options.continue_token:
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        token = _parse_token(options.continue_token)
        if token.rv < 0:
            return server.store.resource_version, (token.namespace, token.name)
        if token.rv < collection.compacted or server.faults.active("continue-expired") is not None:
            raise _continue_expired(token)
        return token.rv, (token.namespace, token.name)
    current = server.store.resource_version
    if options.resource_version in ("", "0"):
        return current, None
    version = _version(options.resource_version, "invalid resource version: ")
    if version > current:
        raise _future(version, current)
    if options.resource_version_match == "Exact" or (
        not options.resource_version_match and options.limit and options.resource_version
    ):
        if version < collection.compacted:
            raise ApiError(410, "Expired", f"The resourceVersion for the provided list is too old: {version}")
        return version, None
    return current, None


def _version(text: str, prefix: str = "") -> int:
    if not text.isdigit():
        raise bad_request(
            f'{prefix}resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def _token(version: int, last: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(_Continue(version, *last))).decode().rstrip("=")


def _parse_token(text: str) -> _Continue:
    strange = illegal_raw_url_base64(text)
    if strange is not None:
        raise _no_token(f"illegal base64 data at input byte {strange}")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        return msgspec.json.decode(raw, type=_Continue)
    except msgspec.ValidationError as error:
        raise _no_token('server does not recognize this encoded version ""') from error
    except msgspec.DecodeError as error:
        raise _no_token(go_json.complaint(raw)) from error


def _no_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def _continue_expired(token: _Continue) -> ApiError:
    return ApiError(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new "
        "list without the continue parameter, or use the continue token in this response to retrieve the "
        "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
        "that were created, modified, or deleted between the time the first chunk was returned and now may show "
        "up in the list.",
        list_metadata={"continue": _token(-1, (token.namespace, token.name))},
    )


def _future(version: int, current: int) -> ApiError:
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {version}, current: {current}",
        {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]},
        retry_after=1,
    )
