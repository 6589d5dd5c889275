"""A simulated cluster in process whose objects end up in the observed rows, as if the watcher had seen them."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from django.utils import timezone

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_QUEUE, NAMESPACE, NODE
from clusters.models import Cluster as ClusterRow
from clusters.watcher import store
from clusters.watcher.observed import OBSERVED
from clusters.watcher.pending import Batch
from simulator.actors.runner import run_actors
from simulator.api.bootstrap import bootstrap
from simulator.api.server import Server
from tests.simulator.actors.conftest import QUICK, Cluster, manifest
from workloads.models import Workload
from workloads.reconcile.preview import rendered_manifest
from workloads.reconcile.status import status_of

ME = "watcher-1"
SERVED = {"nvidia.com": {"dynamographdeployments": ["v1beta1"]}}
RESOURCE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
ZONE, RACK, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname"

Scenario = Callable[[Cluster], Coroutine[Any, Any, None]]


def node(name: str, place: str, gpus: int = 8, **spec: Any) -> dict[str, Any]:
    """A ready node; `place` is zone.rack."""
    zone, rack = place.split(".")
    amounts = {"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    labels = {ZONE: zone, RACK: rack, HOST: name}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value}},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def queue(name: str, parent: str = "", **gpu: Any) -> dict[str, Any]:
    resources = {"gpu": {**RESOURCE, **gpu}, "cpu": RESOURCE, "memory": RESOURCE}
    return manifest(KAI_QUEUE, name, {"resources": resources, **({"parentQueue": parent} if parent else {})})


def four_nodes() -> list[dict[str, Any]]:
    """Two racks of two nodes of 8 GPUs."""
    return [node(f"n{index}", f"z1.r{index // 2}") for index in range(4)]


async def furnish(cluster: Cluster, nodes: list[dict[str, Any]], queues: list[dict[str, Any]], space: str) -> None:
    """Namespace, nodes and queues, before anything is submitted."""
    await cluster.client.create(NAMESPACE, manifest(NAMESPACE, space))
    for each in nodes:
        status = each.pop("status")
        await cluster.client.create(NODE, each)
        await cluster.client.patch(NODE, each["metadata"]["name"], None, {"status": status}, subresource="status")
    for each in queues:
        await cluster.client.create(KAI_QUEUE, each)


def play(row: ClusterRow, scenario: Scenario) -> ClusterRow:
    """Run the scenario with all actors, then write what the cluster has into rows."""
    listed = asyncio.run(_played(scenario))
    assert store.claim(row.pk, ME)
    for stream in OBSERVED:
        store.write_batch(row.pk, ME, stream, Batch(kept_of(stream, listed[stream.name])))
    mark_heard(row)
    ClusterRow.objects.filter(pk=row.pk).update(served=SERVED)
    row.refresh_from_db()
    return row


def kept_of(stream: Any, items: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the watcher would keep of the objects of a stream, by uid."""
    decoded = (msgspec.convert(item, stream.struct) for item in items)
    return {_uid(each): each for each in decoded if stream.keep(each)}


def _uid(item: Any) -> str:
    found: str = item.metadata["uid"] if isinstance(item.metadata, dict) else item.metadata.uid
    return found


def mark_heard(row: ClusterRow) -> None:
    """The cluster was heard in every stream, just now."""
    now = timezone.now().isoformat()
    streams = {each.name: {"listedAt": now, "eventAt": now, "served": True} for each in OBSERVED}
    ClusterRow.objects.filter(pk=row.pk).update(streams=streams)


async def _played(scenario: Scenario) -> dict[str, list[dict[str, Any]]]:
    server = Server()
    bootstrap(server)
    cluster = Cluster(server, QUICK)
    actors = asyncio.create_task(run_actors(cluster.client, server.hooks, replace(QUICK)))
    playing = asyncio.create_task(scenario(cluster))
    await asyncio.wait({actors, playing}, return_when=asyncio.FIRST_COMPLETED)
    actors.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await actors
    playing.result()
    listed = {}
    for stream in OBSERVED:
        kind = stream.versions[0]
        listed[stream.name] = (await cluster.client.list(kind)).items
    server.close()
    return listed


def observe(workload: Workload) -> Workload:
    """The row as its reconcile leaves it after the cluster was seen."""
    workload.cluster.refresh_from_db()
    status = status_of(workload, {})
    Workload.objects.filter(pk=workload.pk).update(phase=status.phase, **status.columns)
    workload.refresh_from_db()
    return workload


async def judged(cluster: Cluster, space: str, pods: int) -> None:
    """Wait until so many pods are not gated and each of them has a node or the scheduler's verdict."""

    async def all_told() -> bool:
        found = await cluster.pods(space)
        free = [pod for pod in found if not pod["spec"].get("schedulingGates")]
        return len(free) == pods and all(map(is_told, found))

    await cluster.wait_for(all_told, f"{pods} pods with a verdict")


def is_told(pod: Mapping[str, Any]) -> bool:
    """Whether a pod has a node, a gate, or the scheduler's no."""
    if pod["spec"].get("nodeName") or pod["spec"].get("schedulingGates"):
        return True
    return any(each.get("reason") == "Unschedulable" for each in pod["status"].get("conditions", ()))


def graph_of(workload: Workload) -> dict[str, Any]:
    """The graph as Muster would apply it."""
    graph = rendered_manifest(workload)
    assert graph is not None
    return dict(graph)


async def submit(cluster: Cluster, graph: dict[str, Any]) -> None:
    """Create a graph."""
    await cluster.client.create(DYNAMO_GRAPH_DEPLOYMENT, graph, graph["metadata"]["namespace"])
