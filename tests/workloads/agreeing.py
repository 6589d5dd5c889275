"""A simulated cluster that goes on only while a test lets it, and whose objects become rows when the test says so."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from clusters.models import Cluster as ClusterRow
from clusters.watcher import store
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Batch
from simulator.actors.runner import run_actors
from simulator.api.bootstrap import bootstrap
from simulator.api.server import Server
from tests.simulator.actors.conftest import QUICK, Cluster
from tests.workloads.simulated import ME, SERVED, kept_of, mark_heard

COMPONENTS = [{"key": "kai-scheduler", "health": "healthy", "version": "v0.17.0", "since": "2026-11-30T00:00:00Z"}]


class Live:
    """Step by step: `run` lets the cluster live until a coroutine is done, `mirror` is the watcher's part."""

    def __init__(self, row: ClusterRow, loop: asyncio.AbstractEventLoop) -> None:
        self.row = row
        self._loop = loop
        self._server = Server()
        bootstrap(self._server)
        self.cluster = Cluster(self._server, QUICK)
        self._actors = loop.create_task(run_actors(self.cluster.client, self._server.hooks, QUICK))
        ClusterRow.objects.filter(pk=row.pk).update(components=COMPONENTS)

    def run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(step)

    def mirror(self) -> None:
        """Rows as the watcher would have written them by now."""
        assert store.claim(self.row.pk, ME)
        for stream in OBSERVED:
            items = self.run(self.cluster.client.list(stream.versions[0])).items
            found = kept_of(stream, items)
            known = store.known_versions(self.row.pk, stream)
            gone = frozenset(known.keys() - found.keys()) if stream.mirrors_deletes else frozenset()
            store.write_batch(self.row.pk, ME, stream, Batch(found, gone))
        mark_heard(self.row)
        ClusterRow.objects.filter(pk=self.row.pk).update(served=SERVED)

    def close(self) -> None:
        self._actors.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            self.run(self._wait())
        self._server.close()

    async def _wait(self) -> None:
        await self._actors


@contextmanager
def living(row: ClusterRow) -> Iterator[Live]:
    """A cluster of its own for one test."""
    with asyncio.Runner() as runner:
        live = Live(row, runner.get_loop())
        try:
            yield live
        finally:
            live.close()
