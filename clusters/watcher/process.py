"""The watcher process: shares the clusters with other watchers by leases, and mirrors those it holds."""

import gc
import os
import random
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from uuid import UUID

import structlog
from django.db import Error as DatabaseError
from django.db import close_old_connections

from clusters.models import Cluster
from clusters.watcher import store
from clusters.watcher.changes import Interest
from clusters.watcher.cluster_watch import ClusterWatch
from core.errors import MusterError

log = structlog.get_logger(__name__)

TICK_SECONDS = 3.0


def watcher_name() -> str:
    """Who holds a lease: host and process."""
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{random.randrange(10**6):06d}"  # noqa: S311 (a name)


def spare_the_collector() -> None:
    """Keep what is loaded out of garbage collection for good: going through it anew while lists are decoded, into
    objects of which none is garbage yet, cost as much as two thirds of the decoding."""
    gc.collect()
    gc.freeze()


@dataclass(slots=True)
class Watcher:
    """Runs until `stopped` is set. `interests` are told what changed after each committed batch."""

    interests: Sequence[Interest] = ()
    name: str = field(default_factory=watcher_name)
    stopped: Event = field(default_factory=Event)
    watches: dict[UUID, ClusterWatch] = field(default_factory=dict)

    def run(self) -> None:
        """Tick until stopped, then give all leases back."""
        spare_the_collector()
        try:
            while not self.stopped.is_set():
                self.tick()
                self.stopped.wait(TICK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311 (spreading load)
        finally:
            for watch in self.watches.values():
                watch.stop()

    def tick(self) -> None:
        """Take up at most one free cluster, leave those that were removed, lost, or whose connection changed."""
        try:
            clusters = {
                row.pk: row for row in Cluster.objects.filter(deletion_requested_at=None).order_by("created_at")
            }
        except DatabaseError as error:
            log.warning("clusters not read", error=str(error))
            close_old_connections()
            return
        for pk, watch in list(self.watches.items()):
            current = clusters.get(pk)
            if watch.ended.is_set() or current is None or current.generation != watch.cluster.generation:
                watch.stop()
                del self.watches[pk]
        for cluster in clusters.values():
            if cluster.pk not in self.watches and self._take_up(cluster):
                return

    def _take_up(self, cluster: Cluster) -> bool:
        try:
            if not store.claim(cluster.pk, self.name):
                return False
            watch = ClusterWatch(cluster, self.name, self.interests)
            watch.start()
        except (DatabaseError, MusterError) as error:
            # One cluster that cannot be watched keeps nobody from the others; its reconcile says what is wrong.
            log.warning("cluster not watched", cluster=cluster.name, error=str(error))
            return False
        self.watches[cluster.pk] = watch
        log.info("watching", cluster=cluster.name, watcher=self.name)
        return True
