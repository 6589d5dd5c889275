"""A simulated cluster in process: API server, actors and a fleet, for scenarios written as coroutines."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_QUEUE, NAMESPACE, POD, Kind
from simulator.actors.options import ALL_ACTORS, ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.bootstrap import bootstrap
from simulator.api.garbage import Garbage
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from simulator.fleets.load import load_fleet

QUICK = ActorOptions(
    container_start_s=0.02,
    readiness_s=0.02,
    termination_s=0.02,
    image_retry_s=0.1,
    crash_scale=0.002,
    unreachable_eviction_s=0.2,
    schedule_period_s=0.02,
    retry_period_s=0.5,
)
DEADLINE_S = 60.0
QUEUE_SPEC = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


class Cluster:
    """What a scenario works with; every wait has a deadline and ends as soon as its condition holds."""

    def __init__(self, server: Server, options: ActorOptions) -> None:
        self.server = server
        self.options = replace(options, actors=ALL_ACTORS)
        self.client = InProcessClient(server)
        self.faults = server.faults

    async def wait_for(self, condition: Callable[[], Awaitable[object]], what: str = "") -> object:
        deadline = time.monotonic() + DEADLINE_S
        while True:
            found = await condition()
            if found:
                return found
            if time.monotonic() > deadline:
                pods = {
                    pod["metadata"]["name"]: (pod["status"].get("phase"), pod["status"].get("conditions"))
                    for pod in await self.pods()
                }
                raise AssertionError(f"waited {DEADLINE_S} s for {what or condition.__name__}; pods: {pods}")
            await asyncio.sleep(0.01)

    async def objects(self, kind: Kind, namespace: str | None = None) -> list[dict]:
        return (await self.client.list(kind, namespace)).items

    async def pods(self, namespace: str = "team") -> list[dict]:
        return await self.objects(POD, namespace)

    async def running(self, count: int, namespace: str = "team") -> list[dict]:
        """Waits until exactly `count` pods exist and all are Running and Ready."""

        async def all_ready() -> list[dict]:
            pods = await self.pods(namespace)
            return pods if len(pods) == count and all(map(is_ready, pods)) else []

        return await self.wait_for(all_ready, f"{count} running pods")

    async def add_queue(self, name: str = "team", parent: str = "", *, gpu: dict | None = None, **spec: object) -> None:
        resources = {"gpu": {**QUEUE_SPEC, **(gpu or {})}, "cpu": QUEUE_SPEC, "memory": QUEUE_SPEC}
        body = {"resources": resources, **({"parentQueue": parent} if parent else {}), **spec}
        await self.client.create(KAI_QUEUE, manifest(KAI_QUEUE, name, body))

    async def add_namespace(self, name: str = "team") -> None:
        await self.client.create(NAMESPACE, manifest(NAMESPACE, name))

    async def add_binding(self, name: str = "fabric") -> None:
        """zone › rack › host, as Muster writes it."""
        levels = [
            {"domain": "zone", "key": "topology.kubernetes.io/zone"},
            {"domain": "rack", "key": "topology.kubernetes.io/rack"},
            {"domain": "host", "key": "kubernetes.io/hostname"},
        ]
        kind = GROVE_CLUSTER_TOPOLOGY_BINDING
        await self.client.create(kind, manifest(kind, name, {"levels": levels}))

    async def submit(self, graph: dict) -> dict:
        return await self.client.create(DYNAMO_GRAPH_DEPLOYMENT, graph, "team")

    async def graph(self, name: str = "qwen") -> dict:
        return await self.client.get(DYNAMO_GRAPH_DEPLOYMENT, name, "team") or {}


def manifest(kind: Kind, name: str, spec: dict | None = None) -> dict:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    return body if spec is None else {**body, "spec": spec}


def is_ready(pod: dict) -> bool:
    conditions = pod["status"].get("conditions", [])
    return pod["status"]["phase"] == "Running" and any(
        c["type"] == "Ready" and c["status"] == "True" for c in conditions
    )


def run_scenario(scenario, fleet: str = "empty", **options: object) -> None:
    """Runs a scenario in a fresh cluster with a namespace and an unlimited queue, both named `team`."""
    asyncio.run(_play(scenario, fleet, replace(QUICK, **options)))


@pytest.fixture
def play():
    """`play(scenario, fleet, **options)`: see `run_scenario`."""
    return run_scenario


async def _play(scenario, fleet: str, options: ActorOptions) -> None:
    server = Server()
    bootstrap(server)
    cluster = Cluster(server, options)
    await load_fleet(cluster.client, fleet)
    await cluster.add_namespace()
    await cluster.add_queue()
    garbage = asyncio.create_task(Garbage(server).run())
    actors = asyncio.create_task(run_actors(cluster.client, server.hooks, options))
    playing = asyncio.create_task(scenario(cluster))
    await asyncio.wait({actors, playing}, return_when=asyncio.FIRST_COMPLETED)
    if actors.done():
        playing.cancel()
        actors.result()
    for task in (actors, garbage):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    server.close()
    playing.result()
