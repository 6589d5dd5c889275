"""A child process: a whole first sync of every kind with everybody told, rows reconciled until quiet, then the same
again with nothing changed. Says exact counts: SQL, Kubernetes writes, messages to pages, tasks.

`python -m tests.bench.resync KUBECONFIG`
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench import product  # the first of all: it sets Django up

from celery import current_app  # isort: skip
from django.conf import settings  # isort: skip
from django.utils import timezone  # isort: skip
from redis import Redis  # isort: skip

from clusters.connections import open_gateway  # isort: skip
from clusters.kinds import POD  # isort: skip
from clusters.models import Cluster, Node, Pod  # isort: skip
from controlplane.celery import QUEUES  # isort: skip
from controlplane.reconcilers import RECONCILERS  # isort: skip
from controlplane.tasks import reconcile_cluster, reconcile_tick  # isort: skip
from tests.bench.measuring import memory  # isort: skip


class Broker:
    """What the broker itself counted: published messages and queued tasks."""

    def __init__(self) -> None:
        self._redis = Redis.from_url(settings.REDIS_URL)

    def take(self) -> dict[str, int]:
        """`messages` to pages and `tasks` since the last call; empties the queues."""
        tasks = sum(self._redis.llen(name) for name in QUEUES)
        messages = self._redis.info("commandstats").get("cmdstat_publish", {}).get("calls", 0)
        self._redis.delete(*QUEUES)
        self._redis.config_resetstat()
        return {"messages": messages, "tasks": tasks}


def main(kubeconfig: Path) -> None:
    cluster = product.prepare_database(kubeconfig)
    broker, statements = Broker(), product.Statements()
    current_app.send_task("reconcile.tick", queue="maintenance")  # connects; not counted
    broker.take()
    before, began = time.process_time(), time.monotonic()
    watch = product.start_watch(cluster, product.observed(), product.interests())
    product.sync(watch)
    used = {"cpu": time.process_time() - before, "wall": time.monotonic() - began}
    said: dict[str, Any] = {"first": broker.take() | used}
    _reconcile_until_quiet(cluster, watch)
    product.sync(watch)
    broker.take()
    statements.take()
    version, quiet_from = _version(cluster), timezone.now()
    for stream in watch.streams:
        if stream.state.served:
            stream.relist()
    watch.flush()
    said["again"] = {**statements.take(), **broker.take(), "kubernetes": _version(cluster) - version}
    said["reconciled"] = _reconcile_again(cluster, broker, statements, version)
    said |= {"nodes": Node.objects.count(), "pods": Pod.objects.count(), "peak": memory("VmHWM")}
    said["quietFrom"] = f"{quiet_from:%Y-%m-%dT%H:%M:%S.%fZ}"  # as audit logs write times
    said["defined"] = sum(each.model._default_manager.count() for each in RECONCILERS)
    watch.stop()
    print(json.dumps(said))


def _reconcile_until_quiet(cluster: Cluster, watch: Any) -> None:
    """What a worker would do with the hints: all due rows, and what their writes bring back, three times over."""
    for _ in range(3):
        reconcile_cluster(str(cluster.pk))
        time.sleep(0.5)
        watch.flush()


def _reconcile_again(cluster: Cluster, broker: Broker, statements: product.Statements, version: int) -> dict[str, int]:
    """The beat's tick and one task of the cluster with every row due and nothing to do."""
    for each in RECONCILERS:
        each.model._default_manager.update(next_check_at=timezone.now())
    statements.take()
    reconcile_tick()
    counted = broker.take()
    before = time.process_time()
    reconcile_cluster(str(cluster.pk))
    used = time.process_time() - before
    after = broker.take()
    said = {"tasks": counted["tasks"] + after["tasks"], "messages": after["messages"], "cpu": used}
    return said | statements.take() | {"kubernetes": _version(cluster) - version}


def _version(cluster: Cluster) -> int:
    """The API server's newest resource version: every write raises it."""
    gateway = open_gateway(cluster)
    page = next(iter(gateway.iter_pages(POD.path("default"), product.observed("pods")[0].decode_page)))
    return int(page.resource_version)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
