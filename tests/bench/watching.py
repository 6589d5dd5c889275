"""A child process: follows a replayed watch of pods. `memory URL EVENTS`: decode and note, as fast as possible, beside
the bare decode of the same events. `rows URL EVENTS`: as the watcher does, into the database. `real KUBECONFIG EVENTS
RATE`: all of the watcher's work, on a cluster whose pods another client changes meanwhile."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.bench import product  # the first of all: it sets Django up

from django.conf import settings  # isort: skip
from clusters.connections import connection_of  # isort: skip
from clusters.kube.client import Connection, KubeGateway  # isort: skip
from clusters.models import Pod  # isort: skip
from clusters.watcher.changes import Change, Interest  # isort: skip
from clusters.watcher.cluster_watch import ClusterWatch  # isort: skip
from clusters.watcher.pending import Pending  # isort: skip
from clusters.watcher.stream import Stream  # isort: skip
from clusters.watcher import store  # isort: skip
from tests.bench.measuring import run_command  # isort: skip
from tests.bench.replay import FIRST_VERSION  # isort: skip

WAIT_SECONDS = 300.0
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


class Witness:
    """When each pod's row was committed and the interests were told, and the moments of every transaction."""

    def __init__(self) -> None:
        self.commits: list[float] = []
        self.told: list[tuple[str, float]] = []
        statements = product.Statements()
        statements.heard.append(lambda sql: _note(sql, self.commits))

    def interest(self, _cluster: object, changes: Sequence[Change]) -> None:
        now = time.monotonic()
        self.told.extend((change.uid, now) for change in changes)

    def said(self) -> dict[str, object]:
        return {"told": self.told, "commits": self.commits}


def into_rows(url: str, count: int) -> dict[str, object]:
    """A replayed stream of pods."""
    cluster = product.the_cluster()
    Pod.objects.update(resource_version="1")
    witness = Witness()
    watch = _replayed(cluster, url, witness.interest)
    watch.start()
    _wait(lambda: len(witness.told) >= count)
    watch.stop()
    return witness.said()


def of_a_cluster(kubeconfig: str, count: int, rate: float) -> dict[str, object]:
    """So many pods of a cluster, at most, are changed, each once, after all was read; `changed` says when."""
    cluster = product.prepare_database(Path(kubeconfig))
    witness = Witness()
    store.claim(cluster.pk, product.WATCHER)
    watch = ClusterWatch(cluster, product.WATCHER, (*product.interests(), witness.interest))
    watch.start()
    _wait(lambda: all(stream.state.lists or not stream.state.served for stream in watch.streams))
    known = next(stream.pending.known for stream in watch.streams if stream.kind.name == "pods")
    _wait(lambda: Pod.objects.count() == len(known))
    pods = list(Pod.objects.order_by("pk").values_list("uid", "namespace", "name")[:count])
    listed = settings.DATA_DIR / "pods.json"
    listed.write_text(json.dumps(pods))
    witness.told.clear()
    witness.commits.clear()
    churn = [sys.executable, "-m", "tests.bench.churn", kubeconfig, str(listed), str(rate)]
    said = run_command(churn, os.environ).said
    _wait(lambda: {uid for uid, *_ in pods} <= {uid for uid, _moment in witness.told})
    watch.stop()
    return {**witness.said(), **said}


def _wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def _replayed(cluster: object, url: str, interest: Interest) -> ClusterWatch:
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
    how, where, count, *more = sys.argv[1:]
    if how == "real":
        said = of_a_cluster(where, int(count), float(*more))
    else:
        said = {"memory": in_memory, "rows": into_rows}[how](where, int(count))
    print(json.dumps(said))
