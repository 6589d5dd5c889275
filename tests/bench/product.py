"""What the children that run Muster's own code share: its database, one registered cluster, counters."""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import django

django.setup()

from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402
from django.db.backends.signals import connection_created  # noqa: E402

from clusters.models import Cluster  # noqa: E402
from clusters.watcher import store  # noqa: E402
from clusters.watcher.cluster_watch import FLUSH_SECONDS, ClusterWatch  # noqa: E402
from clusters.watcher.observed import OBSERVED, ObservedKind  # noqa: E402
from clusters.watcher.process import spare_the_collector  # noqa: E402
from controlplane import prepare, simulated  # noqa: E402

spare_the_collector()  # as the watcher does when it starts

WATCHER = "bench"
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


def prepare_database(kubeconfig: Path) -> Cluster:
    """A migrated database with an administrator and the cluster."""
    call_command("migrate", verbosity=0, interactive=False)
    os.environ["MUSTER_ADMIN_PASSWORD"] = "a password for the benchmark"
    administrator, _password = prepare.ensure_administrator()
    return simulated.register(kubeconfig, administrator)


def the_cluster() -> Cluster:
    return Cluster.objects.get()


def observed(*plurals: str) -> tuple[ObservedKind, ...]:
    """The streams of these kinds; all where none is named."""
    return tuple(kind for kind in OBSERVED if not plurals or kind.name in plurals)


def interests() -> tuple[Any, ...]:
    """Whoever is told of changes, as in the watcher process."""
    modules = [f"{config.name}.interests" for config in apps.get_app_configs()]
    return tuple(import_module(name).wake_for for name in modules if find_spec(name))


def start_watch(cluster: Cluster, kinds: Iterable[ObservedKind], told: Iterable[Any] = ()) -> ClusterWatch:
    """Streams that read; `flush` writes."""
    if not store.claim(cluster.pk, WATCHER):
        raise RuntimeError("another watcher has the cluster")
    watch = ClusterWatch(cluster, WATCHER, tuple(told), tuple(kinds))
    watch.start_reading()
    return watch


def sync(watch: ClusterWatch) -> int:
    """Write at the watcher's own pace until every list was read and nothing waits; how many objects changed."""
    changed = 0
    while True:
        read = all(stream.state.lists or not stream.state.served for stream in watch.streams)
        changed += (now := watch.flush())
        if read and not now:
            return changed
        watch.ended.wait(0 if watch.is_behind else FLUSH_SECONDS)


class Statements:
    """Counts the SQL statements of every connection of this process, by their first word."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.heard: list[Callable[[str], None]] = []
        connection_created.connect(self._attach)
        for connection in connections.all(initialized_only=True):
            self._attach(connection)

    def _attach(self, connection: Any, **_more: Any) -> None:
        if self._count not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._count)

    def _count(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        self.counts[sql.split(None, 1)[0].upper()] += 1
        for hear in self.heard:
            hear(sql)
        return execute(sql, parameters, many, context)

    def take(self) -> dict[str, int]:
        """`all` statements but transaction control, and `writes` among them, since the last call."""
        control = sum(self.counts[word] for word in ("BEGIN", "SAVEPOINT", "RELEASE", "COMMIT", "ROLLBACK", "PRAGMA"))
        taken = {"all": self.counts.total() - control, "writes": sum(self.counts[word] for word in WRITES)}
        self.counts.clear()
        return taken
