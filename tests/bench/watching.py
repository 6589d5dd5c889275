"""A child process: follows a replayed watch of pods. `memory URL EVENTS`: decode and note, as fast as possible, beside
the bare decode of the same events. `rows URL EVENTS`: as the watcher does, into the database."""

import json
import sys
import threading
import time
from dataclasses import replace

from tests.bench import product  # the first of all: it sets Django up

from clusters.connections import connection_of  # isort: skip
from clusters.kube.client import Connection, KubeGateway  # isort: skip
from clusters.models import Pod  # isort: skip
from clusters.watcher.cluster_watch import ClusterWatch  # isort: skip
from clusters.watcher.pending import Pending  # isort: skip
from clusters.watcher.stream import Stream  # isort: skip
from clusters.watcher import store  # isort: skip
from tests.bench.replay import FIRST_VERSION  # isort: skip

INSERT = f'INSERT INTO "{Pod._meta.db_table}"'


def in_memory(url: str, count: int) -> dict[str, float]:
    """CPU seconds of following the stream with nothing but our reading thread's work, writing left out."""
    kind = product.observed("pods")[0]
    gateway = KubeGateway(Connection(name="replay", server=url))
    before = time.process_time()
    decoder = kind.item_decoder()
    raw = [event.raw for event in gateway.watch("/api/v1/pods", str(FIRST_VERSION - 1))]
    received = time.process_time() - before
    before = time.process_time()
    for each in raw:
        decoder.decode(each)
    bare = time.process_time() - before
    del raw
    pending, over = Pending(), threading.Event()
    stream = Stream(gateway, kind, pending, over)
    stream.state.resource_version = str(FIRST_VERSION - 1)
    threading.Thread(target=_drain, args=(pending, over), daemon=True).start()
    before = time.process_time()
    stream.watch_once()
    used = time.process_time() - before
    over.set()
    assert stream.state.resource_version == str(FIRST_VERSION + count - 1)
    return {"cpu": used, "decode": bare, "received": received, "events": count}


def _drain(pending: Pending, over: threading.Event) -> None:
    while not over.wait(0.02):
        pending.take()


def into_rows(url: str, count: int) -> dict[str, object]:
    """When each pod's row was committed and the interests were told, and the moments of every transaction."""
    cluster = product.the_cluster()
    Pod.objects.update(resource_version="1")
    statements = product.Statements()
    commits: list[float] = []
    statements.heard.append(lambda sql: _note(sql, commits))
    told: list[tuple[str, float]] = []

    def interest(_cluster: object, changes: object) -> None:
        now = time.monotonic()
        told.extend((change.uid, now) for change in changes)

    watch = _replayed(cluster, url, interest)
    watch.start()
    deadline = time.monotonic() + 300
    while len(told) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    watch.stop()
    return {"told": told, "commits": commits, "events": count}


def _replayed(cluster: object, url: str, interest: object) -> ClusterWatch:
    """The watcher's own watch of the pods, but of the replay instead of the registered address."""
    connection = replace(connection_of(cluster), server=url, certificate_authority="")
    kinds = tuple(replace(kind, mirrors_deletes=False) for kind in product.observed("pods"))
    store.claim(cluster.pk, product.WATCHER)
    type(cluster).objects.filter(pk=cluster.pk).update(server=connection.server, certificate_authority="")
    cluster.refresh_from_db()
    return ClusterWatch(cluster, product.WATCHER, (interest,), kinds)


_in_transaction = threading.local()


def _note(sql: str, commits: list[float]) -> None:
    """A transaction counts once, however many statements its rows take."""
    if sql.startswith("BEGIN"):
        _in_transaction.counted = False
    elif sql.startswith(INSERT) and not getattr(_in_transaction, "counted", True):
        _in_transaction.counted = True
        commits.append(time.monotonic())


if __name__ == "__main__":
    run = {"memory": in_memory, "rows": into_rows}[sys.argv[1]]
    print(json.dumps(run(sys.argv[2], int(sys.argv[3]))))
