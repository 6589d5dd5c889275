"""Keeps the store in a directory: all objects as JSON lines, and beside them a journal of what changed since.

The whole is written to a temporary file and renamed; a save after it only appends what changed, so that it takes no
longer on a large cluster than on a small one. When the journal has grown as large as the whole, the whole is written
anew. A batch of the journal counts once its last line is there.
"""

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from simulator.api.core_strategies import CRDS
from simulator.api.server import Server
from simulator.api.store import CollectionName, Entry, Key, encode_json
from simulator.client import Object

FILE = "cluster.jsonl"
JOURNAL = "changes.jsonl"
PERIOD_SECONDS = 10.0
SMALLEST_WHOLE = 1024 * 1024  # bytes; a journal up to this size is never too large
_CHUNK = 500

Contents = dict[CollectionName, dict[Key, Object]]
Dirty = dict[tuple[CollectionName, Key], Entry | None]  # None: it is gone

log = logging.getLogger(__name__)


class Saved(msgspec.Struct):
    """First line of the whole, and last line of each batch of the journal: what is not an object."""

    resource_version: int
    admin_token: str
    token_key: str
    cluster_ips: int = 0


class Record(msgspec.Struct, array_like=True):
    """Any other line of the whole: group, plural, object."""

    group: str
    plural: str
    object: dict[str, Any]


class Keeper:
    """Saves every `PERIOD_SECONDS` what changed, and at the end; `load` fills an empty server."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._journal = directory / JOURNAL
        self._saved_version = 0
        self._whole_version = 0  # of the file that the journal goes on from; 0: not written by this process
        self._whole_tokens = ("", "")
        self._journal_end = 0  # of its last whole batch
        self._dirty: Dirty = {}

    def header(self) -> Saved | None:
        """The first line, None without a saved cluster. Raises ValueError for a file that is none of ours."""
        try:
            with self._path.open("rb") as lines:
                return msgspec.json.decode(lines.readline(), type=Saved)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise ValueError(f"{self._path} is not a saved cluster: {error}") from error

    def load(self, server: Server, saved: Saved) -> None:
        """Fill the store, then serve the CRDs in it; from then on note what changes."""
        gc.disable()  # millions of new objects, none of them garbage
        try:
            contents = self._read()
            newest = self._replay(contents, saved)
            for name, bodies in contents.items():
                server.store.restore(name, list(bodies.values()), newest.resource_version)
        finally:
            gc.enable()
        for entry in server.store.collection(CRDS).entries.values():
            server.install(entry.object)
        server.cluster_ips = newest.cluster_ips
        self._saved_version = newest.resource_version
        self._whole_version, self._whole_tokens = saved.resource_version, (saved.admin_token, saved.token_key)
        self.follow(server)

    def follow(self, server: Server) -> None:
        """Note every change from now on."""
        if self._note not in server.store.listeners:
            server.store.listeners.append(self._note)

    def _note(self, name: CollectionName, entry: Entry | None, previous: Entry | None) -> None:
        known = entry or previous
        if known is not None:
            self._dirty[(name, known.key)] = entry

    def _read(self) -> Contents:
        contents: Contents = {}
        decoder = msgspec.json.Decoder(Record)
        with self._path.open("rb") as lines:
            lines.readline()
            for line in lines:
                record = decoder.decode(line)
                contents.setdefault((record.group, record.plural), {})[_key(record.object)] = record.object
        return contents

    def _replay(self, contents: Contents, saved: Saved) -> Saved:
        """Bring the contents up to date with the whole batches of the journal; the newest header. What a process that
        was killed left unfinished at the end will be overwritten."""
        newest, batch, at = saved, [], 0
        for line in self._journal_lines(saved.resource_version):
            at += len(line)
            try:
                said = msgspec.json.decode(line)
            except msgspec.DecodeError:
                break
            if not line.endswith(b"\n"):
                break
            if isinstance(said, list):
                batch.append(said)
                continue
            if "resource_version" in said:
                newest = msgspec.convert(said, Saved)
                for change in batch:
                    _replay_one(contents, change)
                batch = []
            self._journal_end = at
        return newest

    def _journal_lines(self, version: int) -> Iterator[bytes]:
        """The lines of the journal, its head first; none of one that goes on from another whole."""
        with contextlib.suppress(FileNotFoundError), self._journal.open("rb") as lines:
            head = lines.readline()
            if head == _head(version):
                yield head
                yield from lines

    async def run(self, server: Server) -> None:
        """Save periodically until cancelled; a full disk is logged and tried again."""
        self.follow(server)
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            if server.store.resource_version != self._saved_version:
                with contextlib.suppress(OSError):
                    await self.save(server, may_rewrite=True)

    async def save(self, server: Server, *, may_rewrite: bool = False) -> None:
        """Write what changed, or everything where nothing is written yet; with `may_rewrite` also where the journal has
        grown too large. Gives way to requests in between. Raises OSError."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._must_be_whole(server) or (may_rewrite and self._is_journal_large()):
                await self._save_whole(server)
            else:
                await self._save_changes(server)
        except OSError as error:
            log.error("the cluster could not be saved to %s: %s", self._path, error)
            raise

    async def _save_whole(self, server: Server) -> None:
        self.follow(server)
        version, header = server.store.resource_version, _header(server)
        found = [(name, list(one.entries.values())) for name, one in server.store.collections.items()]
        temporary = self._path.with_suffix(".tmp")
        with self._taken():
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(encode_json(header) + b"\n")
                for lines in _lines(found):
                    file.write(lines)
                    await asyncio.sleep(0)
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
            temporary.replace(self._path)
        self._saved_version = self._whole_version = version
        self._whole_tokens = (header.admin_token, header.token_key)
        self._journal_end = 0
        self._journal.unlink(missing_ok=True)

    async def _save_changes(self, server: Server) -> None:
        version, header = server.store.resource_version, _header(server)
        with self._taken() as dirty:
            descriptor = os.open(self._journal, os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.truncate(self._journal_end)
                file.seek(self._journal_end)
                if not self._journal_end:
                    file.write(_head(self._whole_version))
                for lines in _changes(dirty):
                    file.write(lines)
                    await asyncio.sleep(0)
                file.write(encode_json(header) + b"\n")
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
                end = file.tell()
        self._saved_version, self._journal_end = version, end

    @contextlib.contextmanager
    def _taken(self) -> Iterator[Dirty]:
        """What changed since the last save; where the block does not end well, it has still changed."""
        dirty, self._dirty = self._dirty, {}
        saved = False
        try:
            yield dirty
            saved = True
        finally:
            if not saved:
                self._dirty = dirty | self._dirty

    def _must_be_whole(self, server: Server) -> bool:
        """Whether nothing is written yet, or the first line, which is read before anything else, would be wrong."""
        return not self._whole_version or self._whole_tokens != (server.tokens.admin_token, server.tokens.key)

    def _is_journal_large(self) -> bool:
        return self._journal_end > max(SMALLEST_WHOLE, self._path.stat().st_size)


def _header(server: Server) -> Saved:
    return Saved(server.store.resource_version, server.tokens.admin_token, server.tokens.key, server.cluster_ips)


def _head(version: int) -> bytes:
    """First line of the journal: the version of the whole that it goes on from."""
    return encode_json({"goes_on_from": version}) + b"\n"


def _key(body: Object) -> Key:
    metadata = body["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _lines(found: Iterable[tuple[CollectionName, list[Entry]]]) -> Iterator[bytes]:
    for (group, plural), entries in found:
        prefix = b"[" + encode_json(group) + b"," + encode_json(plural) + b","
        for start in range(0, len(entries), _CHUNK):
            chunk = entries[start : start + _CHUNK]
            yield b"".join(prefix + entry.stored_json() + b"]\n" for entry in chunk)


def _changes(dirty: Dirty) -> Iterator[bytes]:
    """Lines of the journal: group, plural, object; or group, plural, namespace, name of what is gone."""
    changes = list(dirty.items())
    for start in range(0, len(changes), _CHUNK):
        yield b"".join(_change(name, key, entry) for (name, key), entry in changes[start : start + _CHUNK])


def _change(name: CollectionName, key: Key, entry: Entry | None) -> bytes:
    if entry is None:
        return encode_json([*name, *key]) + b"\n"
    return encode_json(name)[:-1] + b"," + entry.stored_json() + b"]\n"


def _replay_one(contents: Contents, change: list[Any]) -> None:
    group, plural, *rest = change
    objects = contents.setdefault((group, plural), {})
    if len(rest) == 1:
        objects[_key(rest[0])] = rest[0]
    else:
        objects.pop((rest[0], rest[1]), None)
