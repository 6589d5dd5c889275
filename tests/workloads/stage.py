"""A simulated cluster behind a real socket, with every actor, and one workload of ours that is reconciled into it.

What is asked of the product goes the product's way: the row is reconciled over HTTP, the cluster's own row too, and
what the cluster holds becomes observed rows as the watcher writes them.
"""

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from clusters import connections
from clusters.kinds import DEPLOYMENT, KAI_TOPOLOGY, NAMESPACE, POD
from clusters.kube.client import KubeGateway
from clusters.models import Cluster as ClusterRow
from clusters.models import ClusterEvent, ClusterObject, Node, Pod
from clusters.reconcile import reconcile_cluster
from clusters.watcher import store
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Batch
from core import leases
from core.conditions import merge
from core.reconciling import Reconciler, reconcile_claimed
from simulator.actors.options import ALL_ACTORS, ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.bootstrap import bootstrap
from simulator.fleets.platform import COMPONENTS, deployment
from tests.clusters.conftest import ApiServer, serving
from tests.simulator.actors.conftest import QUICK, Cluster, manifest
from tests.workloads.simulated import (
    HOST,
    ME,
    RACK,
    ZONE,
    furnish,
    graph_of,
    is_told,
    kept_of,
    mark_heard,
    queue,
    submit,
)
from workloads.diagnosis_telling import told_to
from workloads.models import Workload
from workloads.reconcile import reconcile_workload
from workloads.reconcile.status import status_of

SPACE = "runai-assistant"
LEVELS = (ZONE, RACK, HOST)
DEADLINE_S = 60.0


@dataclass
class Stage:
    """The cluster, its row, the workload's row, and who asks."""

    api: ApiServer
    cluster: Cluster
    workload: Workload
    viewer: User
    actors: "concurrent.futures.Future[None] | None" = None
    without: tuple[str, ...] = ()
    """Namespaces of components that the cluster has not got."""
    repairs: bool = True
    """Whether the workload is reconciled; not where somebody else has just written its graph."""

    def run(self, act: Awaitable[Any]) -> Any:
        """Await something on the cluster's own loop. An actor that broke meanwhile is raised."""
        found = asyncio.run_coroutine_threadsafe(_awaited(act), self.api.loop).result(DEADLINE_S + 10)
        if self.actors is not None and self.actors.done():
            self.actors.result()
        return found

    def act(self, *, but: frozenset[str] = frozenset()) -> None:
        """Let all actors act but these; who acted before stops first."""
        self.halt()
        options = replace(self.cluster.options, actors=ALL_ACTORS - but)
        acting = run_actors(self.cluster.client, self.api.server.hooks, options)
        self.actors = asyncio.run_coroutine_threadsafe(acting, self.api.loop)

    def halt(self) -> None:
        """Nobody acts; what is in the cluster stays as it is."""
        if self.actors is None:
            return
        ended = self.actors
        self.actors = None
        ended.cancel()
        with contextlib.suppress(concurrent.futures.CancelledError, asyncio.CancelledError):
            ended.result(DEADLINE_S)

    def furnish(self, nodes: list[dict[str, Any]], queues: Mapping[str, Mapping[str, Any]], *, topology: bool) -> None:
        """The platform's Deployments, namespace, nodes, queues and (mostly) the topology."""
        self.run(self._platform())
        self.run(furnish(self.cluster, nodes, [queue(name, **spec) for name, spec in queues.items()], SPACE))
        if topology:
            levels = {"levels": [{"nodeLabel": label} for label in LEVELS]}
            self.run(self.cluster.client.create(KAI_TOPOLOGY, manifest(KAI_TOPOLOGY, "topology-1", levels)))

    async def _platform(self) -> None:
        for namespace in sorted({each.namespace for each in COMPONENTS}):
            await self.cluster.client.create(NAMESPACE, manifest(NAMESPACE, namespace))
        for each in COMPONENTS:
            if each.namespace not in self.without:
                await self.cluster.client.create(DEPLOYMENT, deployment(each))

    def write(self, change: Callable[[dict[str, Any]], object] | None = None) -> None:
        """The graph into the cluster: by its reconcile, or (with a change) as somebody else would have written it."""
        self.repairs = change is None
        if change is None:
            self.reconcile()
            return
        document = graph_of(self.workload)
        change(document)
        self.run(submit(self.cluster, document))

    def reconcile(self) -> None:
        """One pass of the workload's reconciler, with what the runner makes of its failures."""
        _pass(Workload, self.workload.pk, reconcile_workload)
        self.workload = Workload.objects.get(pk=self.workload.pk)

    def observe(self, *, components: bool = True) -> None:
        """Rows as the watcher leaves them now; the cluster's row as its reconciler does."""
        row = self.workload.cluster
        for model in (Node, Pod, ClusterObject, ClusterEvent):
            model.objects.filter(cluster=row).delete()
        assert store.claim(row.pk, ME)
        for stream, items in self.run(self._listed()).items():
            store.write_batch(row.pk, ME, stream, Batch(kept_of(stream, items)))
        mark_heard(row)
        if components:
            _pass(ClusterRow, row.pk, reconcile_cluster)
        self.workload = Workload.objects.get(pk=self.workload.pk)
        if self.repairs:
            self.reconcile()
        else:
            self._judge()

    def _judge(self) -> None:
        """The workload's status, without the write that would put the graph right."""
        status = status_of(self.workload, {})
        now = timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = merge([], status.conditions, generation=self.workload.generation, now=now)
        Workload.objects.filter(pk=self.workload.pk).update(phase=status.phase, conditions=conditions, **status.columns)
        self.workload = Workload.objects.get(pk=self.workload.pk)

    async def _listed(self) -> dict[Any, list[dict[str, Any]]]:
        found = {}
        for stream in OBSERVED:
            kind = stream.versions[0]
            served = self.api.server.find(kind.group, kind.version, kind.plural) is not None
            found[stream] = (await self.cluster.client.list(kind)).items if served else []
        return found

    def told(self) -> dict[str, Any]:
        """The diagnosis as page and API tell it."""
        return told_to(self.viewer, self.workload)

    def codes(self) -> list[str]:
        """Codes of the causes, in their order."""
        return [str(cause["code"]) for cause in self.told()["causes"]]

    def wait(self, what: str, condition: Callable[[Cluster], Awaitable[object]]) -> None:
        """Until the condition holds in the cluster."""
        self.run(self.cluster.wait_for(lambda: condition(self.cluster), what))

    def runs(self, pods: int) -> None:
        """Until so many pods of the workload's namespace are all there is, and ready."""
        self.run(self.cluster.running(pods, SPACE))


async def _awaited(act: Awaitable[Any]) -> Any:
    return await act


def _pass(model: Any, pk: Any, reconcile: Callable[[Any], Any]) -> None:
    model.objects.filter(pk=pk).update(next_check_at=timezone.now(), lease_token=None)
    taken = leases.claim(model, pk)
    assert taken is not None
    assert reconcile_claimed(Reconciler(model, reconcile), pk, taken)


@contextlib.contextmanager
def open_stage(
    workload: Workload, viewer: User, monkeypatch: pytest.MonkeyPatch, *, without: tuple[str, ...] = (), **options: Any
) -> Iterator[Stage]:
    """A stage of its own until the block ends. `options` are those of the actors."""
    with serving() as api:
        api.call(bootstrap, api.server)
        chosen: ActorOptions = replace(QUICK, **options)
        stage = Stage(api, Cluster(api.server, chosen), workload, viewer, without=without)
        gateway = KubeGateway(api.connection())
        monkeypatch.setattr(connections, "open_gateway", lambda cluster: gateway)
        try:
            yield stage
        finally:
            stage.halt()
            gateway.close()


async def judged(cluster: Cluster) -> bool:
    """Pods are there, and each has a node, a gate, or the scheduler's no."""
    pods = await cluster.objects(POD, SPACE)
    return bool(pods) and all(map(is_told, pods))


async def grouped(cluster: Cluster) -> bool:
    """Pods are there, none of them gated, and each is marked with its pod group."""
    pods = await cluster.objects(POD, SPACE)
    return bool(pods) and all(
        not pod["spec"].get("schedulingGates") and "pod-group-name" in (pod["metadata"].get("annotations") or {})
        for pod in pods
    )
