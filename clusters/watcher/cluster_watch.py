"""All streams of one cluster: a reading thread for each, and one thread that writes what they read.

One writer a cluster keeps SQLite calm and needs one database connection however many kinds there are.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, close_old_connections, connection
from django.db import Error as DatabaseError
from django.utils import timezone

from clusters.connections import connection_of
from clusters.kube.client import KubeGateway
from clusters.kube.errors import NotServed
from clusters.models import Cluster
from clusters.watcher import store
from clusters.watcher.changes import Change, Interest
from clusters.watcher.observed import OBSERVED, ObservedKind
from clusters.watcher.pending import MAX_WAITING, Batch, Pending
from clusters.watcher.stream import Stream
from core import leases
from core.errors import MusterError
from core.hints import hint_reconcile_of, hint_recovered

log = structlog.get_logger(__name__)

STOP_SECONDS = 5.0

FLUSH_SECONDS = 0.25
HEARTBEAT_SECONDS = 10.0
DATABASE_AGAIN_SECONDS = 1.0
# What a value that cannot be stored raises, before or in the database.
REFUSED = (DataError, ValueError, TypeError, KeyError, OverflowError)


@dataclass(slots=True)
class ClusterWatch:
    """Mirrors one cluster until `stop` or until the lease is lost; then `ended` is set."""

    cluster: Cluster
    watcher: str
    interests: Sequence[Interest] = ()
    observed: Sequence[ObservedKind] = OBSERVED
    ended: Event = field(default_factory=Event)
    streams: list[Stream] = field(default_factory=list)
    _stopped: Event = field(default_factory=Event)
    _threads: list[Thread] = field(default_factory=list)
    _gateway: KubeGateway | None = None
    _heartbeat_at: float = 0.0
    is_behind: bool = False  # as much waited as may: a list is being read faster than it is written
    is_cut_off: bool = False  # no stream gets an answer
    unserved: frozenset[str] = frozenset()  # kinds that the cluster did not serve when they were asked for last

    def start(self) -> None:
        """Begin. Raises the error of an unreadable credential; everything later is in the streams' states."""
        self.start_reading()
        writer = Thread(target=self._write_until_stopped, name=f"{self.cluster.name}/writer", daemon=True)
        writer.start()
        self._threads.append(writer)

    def start_reading(self) -> None:
        """Begin to list and watch without writing: `flush` does that."""
        self._gateway = gateway = KubeGateway(connection_of(self.cluster))
        for kind in self.observed:
            pending = Pending(store.known_versions(self.cluster.pk, kind))
            every = float(settings.RELIST_SECONDS)
            self.streams.append(Stream(gateway, kind, pending, self._stopped, self.cluster.name, every))
        for stream in self.streams:
            self._spawn(f"{self.cluster.name}/{stream.kind.name}", stream)

    def stop(self) -> None:
        """End all threads and give the lease back. Streams that wait for bytes are cut off."""
        self._stopped.set()
        for stream in self.streams:
            stream.pending.close()
        if self._gateway is not None:
            self._gateway.close()
        deadline = monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - monotonic()))
        with suppress(DatabaseError):
            store.release(self.cluster.pk, self.watcher)
        self.ended.set()

    def flush(self) -> int:
        """Write what waits, one transaction a kind, and tell who is interested; how many objects changed."""
        written: list[Change] = []
        self.is_behind = False
        for stream, kind in zip(self.streams, self.observed, strict=True):
            batch = stream.pending.take()
            if not batch:
                continue
            self.is_behind |= len(batch.upserts) >= MAX_WAITING
            try:
                written += self._write(kind, batch)
            except (DatabaseError, store.LeaseLost):
                stream.pending.give_back(batch)
                raise
        if written:
            self._tell(written)
        return len(written)

    def _write(self, kind: ObservedKind, batch: Batch) -> list[Change]:
        """Write a batch; where the database refuses a value in it, object by object, leaving out the refused one."""
        try:
            return store.write_batch(self.cluster.pk, self.watcher, kind, batch)
        except (*REFUSED, IntegrityError) as error:
            if len(batch.upserts) == 1 and not batch.deletes:
                log.warning("object left out", cluster=self.cluster.name, kind=kind.name, error=str(error))
                return []
        singles = [Batch({uid: item}) for uid, item in batch.upserts.items()]
        return [change for single in (Batch(deletes=batch.deletes), *singles) for change in self._write(kind, single)]

    def heartbeat(self) -> None:
        """Renew the lease and store the streams' states in one statement. Raises `LeaseLost`."""
        states = {stream.kind.name: stream.state.as_dict() for stream in self.streams}
        now = timezone.now()
        columns = {"watcher_until": now + store.LEASE, "streams": states}
        if any(stream.state.served and not stream.state.error and stream.state.listed_at for stream in self.streams):
            columns["last_contact_at"] = max(stream.state.event_at for stream in self.streams if stream.state.event_at)
        if not Cluster.objects.filter(pk=self.cluster.pk, watcher=self.watcher).update(**columns):
            raise store.LeaseLost
        self._heartbeat_at = monotonic()

    def note_recovery(self) -> None:
        """Tell the workers when the first stream gets an answer again after none did, or a kind is served (again); and
        when none gets one any more. Raises `LeaseLost`."""
        states = [stream.state for stream in self.streams if stream.state.served]
        was, self.is_cut_off = self.is_cut_off, bool(states) and all(state.error for state in states)
        before, self.unserved = (
            self.unserved,
            frozenset(stream.kind.name for stream in self.streams if stream.state.reason == NotServed.reason),
        )
        healthy = {stream.kind.name for stream in self.streams if stream.state.listed_at and not stream.state.error}
        if (was and not self.is_cut_off) or before & healthy:
            log.info("cluster answers again", cluster=self.cluster.name, served=sorted(before & healthy))
            hint_recovered(Cluster._meta.label, self.cluster.pk)
        if self.is_cut_off and not was:
            self._tell_silence()

    def _tell_silence(self) -> None:
        """Let the cluster be looked at now, not at its next turn, and pages see what each stream says."""
        log.info("cluster does not answer", cluster=self.cluster.name)
        self.heartbeat()
        leases.poke(Cluster, [self.cluster.pk])
        hint_reconcile_of(Cluster._meta.label, self.cluster.pk)

    def _tell(self, changes: Sequence[Change]) -> None:
        """Poke whoever is interested. A poke that fails is made up for by the next resync of the row."""
        for interest in self.interests:
            try:
                interest(self.cluster, changes)
            except (DatabaseError, MusterError) as error:
                log.warning("poke failed", cluster=self.cluster.name, error=str(error))

    def _spawn(self, name: str, stream: Stream) -> None:
        def run() -> None:
            while not self._stopped.is_set():
                try:
                    stream.run()
                except Exception:
                    # The edge of a thread: a defect in reading one kind must not silence it for ever.
                    log.exception("stream broke", cluster=self.cluster.name, kind=stream.kind.name)
                    stream.state.error, stream.state.reason = "The watcher failed on this kind; see its log.", "Defect"
                    self._stopped.wait(10.0)

        thread = Thread(target=run, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _write_until_stopped(self) -> None:
        try:
            while not self._stopped.wait(0 if self.is_behind else FLUSH_SECONDS):
                self._write_once()
            self._write_once()
        except store.LeaseLost:
            log.warning("lease lost", cluster=self.cluster.name)
        finally:
            self._stopped.set()
            self.ended.set()
            connection.close()

    def _write_once(self) -> None:
        try:
            self.flush()
            self.note_recovery()
            if monotonic() - self._heartbeat_at >= HEARTBEAT_SECONDS:
                self.heartbeat()
        except (DatabaseError, MusterError) as error:
            # The batch waits in memory; the database is asked again.
            log.warning("batch not written", cluster=self.cluster.name, error=str(error))
            close_old_connections()
            self._stopped.wait(DATABASE_AGAIN_SECONDS)
