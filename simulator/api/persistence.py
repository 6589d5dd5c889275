"""Keeps the store in a directory: JSON lines, written to a temporary file and renamed, read back at start."""

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
from simulator.api.store import CollectionName, Entry, encode_json
from simulator.client import Object

FILE = "cluster.jsonl"
PERIOD_SECONDS = 10.0
_CHUNK = 500

log = logging.getLogger(__name__)


class Saved(msgspec.Struct):
    """First line: what is not an object."""

    resource_version: int
    admin_token: str
    token_key: str
    cluster_ips: int = 0


class Record(msgspec.Struct, array_like=True):
    """Any other line: group, plural, object."""

    group: str
    plural: str
    object: dict[str, Any]


class Keeper:
    """Saves every `PERIOD_SECONDS` what changed, and at the end; `load` fills an empty server."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._saved_version = 0

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
        """Fill the store, then serve the CRDs in it."""
        gc.disable()  # millions of new objects, none of them garbage
        try:
            for name, bodies in self._read().items():
                server.store.restore(name, bodies, saved.resource_version)
        finally:
            gc.enable()
        for entry in server.store.collection(CRDS).entries.values():
            server.install(entry.object)
        server.cluster_ips = saved.cluster_ips
        self._saved_version = saved.resource_version

    def _read(self) -> dict[CollectionName, list[Object]]:
        collections: dict[CollectionName, list[Object]] = {}
        decoder = msgspec.json.Decoder(Record)
        with self._path.open("rb") as lines:
            lines.readline()
            for line in lines:
                record = decoder.decode(line)
                collections.setdefault((record.group, record.plural), []).append(record.object)
        return collections

    async def run(self, server: Server) -> None:
        """Save periodically until cancelled; a full disk is logged and tried again."""
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            if server.store.resource_version != self._saved_version:
                with contextlib.suppress(OSError):
                    await self.save(server)

    async def save(self, server: Server) -> None:
        """Write all objects as they are now, giving way to requests in between. Raises OSError."""
        version = server.store.resource_version
        header = Saved(version, server.tokens.admin_token, server.tokens.key, server.cluster_ips)
        found = [(name, list(one.entries.values())) for name, one in server.store.collections.items()]
        temporary = self._path.with_suffix(".tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(encode_json(header) + b"\n")
                for lines in _lines(found):
                    file.write(lines)
                    await asyncio.sleep(0)
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            log.error("the cluster could not be saved to %s: %s", self._path, error)
            raise
        self._saved_version = version


def _lines(found: Iterable[tuple[tuple[str, str], list[Entry]]]) -> Iterator[bytes]:
    for (group, plural), entries in found:
        prefix = b"[" + encode_json(group) + b"," + encode_json(plural) + b","
        for start in range(0, len(entries), _CHUNK):
            chunk = entries[start : start + _CHUNK]
            yield b"".join(prefix + entry.stored_json() + b"]\n" for entry in chunk)
