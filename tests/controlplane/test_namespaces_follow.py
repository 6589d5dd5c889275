"""A namespace of ours that somebody edits or deletes is repaired when the watcher sees it, not at the next resync."""

import asyncio
import copy
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters import connections
from clusters.kinds import NAMESPACE
from clusters.models import Cluster, ClusterObject
from clusters.names import OWNER_LABEL
from clusters.watcher import cluster_watch, store
from clusters.watcher.cluster_watch import ClusterWatch
from clusters.watcher.observed import OBSERVED
from controlplane import tasks
from organizations.interests import wake_for
from organizations.models import Department, Project
from simulator.api.bootstrap import bootstrap
from simulator.api.garbage import Garbage
from tests.clusters.conftest import ApiServer, serving
from tests.clusters.test_stream import until

ME = "w1"


@pytest.fixture
def api(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """An API server that finishes deletions of namespaces, as the cluster of Muster's."""
    with serving() as found:
        found.call(bootstrap, found.server)
        collecting = asyncio.run_coroutine_threadsafe(Garbage(found.server).run(), found.loop)
        monkeypatch.setattr(cluster_watch, "connection_of", lambda row: found.connection())
        monkeypatch.setattr(connections, "connection_of", lambda row: found.connection())
        yield found
        connections.open_gateway(cluster).close()
        collecting.cancel()


@pytest.fixture
def watch(api: ApiServer, project: Project) -> Iterator[ClusterWatch]:
    kinds = tuple(kind for kind in OBSERVED if kind.name == "namespaces")
    assert store.claim(project.cluster_id, ME)
    found = ClusterWatch(project.cluster, ME, (wake_for,), kinds)
    found.start_reading()
    yield found
    found.stop()


def rest() -> None:
    """Nothing is due for an hour: what happens now happens because of what the watcher saw."""
    for model in (Cluster, Department, Project):
        model.objects.update(next_check_at=timezone.now() + timedelta(hours=1))


def repaired(watch: ClusterWatch, condition: Callable[[], bool]) -> None:
    def once() -> bool:
        watch.flush()
        if Project.objects.filter(next_check_at__lte=timezone.now()).exists():
            tasks.reconcile_cluster(str(watch.cluster.pk))
        return condition()

    until(once, 10)


def test_an_edited_and_a_deleted_namespace_are_repaired_without_waiting_for_the_resync(
    api: ApiServer, watch: ClusterWatch, project: Project
) -> None:
    client, name = api.client(), project.namespace

    def live() -> dict[str, Any]:
        return copy.deepcopy(client.get(NAMESPACE, name)) or {}

    tasks.reconcile_cluster(str(project.cluster_id))
    made = live()
    owner = made["metadata"]["labels"][OWNER_LABEL]
    mirrored = ClusterObject.objects.filter(plural="namespaces", name=name)
    repaired(watch, mirrored.exists)
    client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "of-somebody-else"}})
    rest()

    del made["metadata"]["labels"][OWNER_LABEL]
    client.update(NAMESPACE, made)
    repaired(watch, lambda: live()["metadata"]["labels"].get(OWNER_LABEL) == owner and mirrored.exists())

    rest()
    client.delete(NAMESPACE, name)
    repaired(watch, lambda: live().get("metadata", {}).get("uid") not in (None, made["metadata"]["uid"]))

    repaired(watch, mirrored.exists)
    assert [row.name for row in ClusterObject.objects.filter(plural="namespaces")] == [name]
