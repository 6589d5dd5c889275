"""A graph that the server shows in two versions, one of which reaches the operator before the other."""

import asyncio
import contextlib

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    GROVE_POD_CLIQUE_SET,
    KAI_QUEUE,
    NAMESPACE,
)
from simulator.actors.context import Context
from simulator.actors.dynamo.controller import GraphController
from simulator.actors.options import ActorOptions
from simulator.api.bootstrap import bootstrap
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from tests.simulator.actors.conftest import QUEUE_SPEC, manifest
from tests.simulator.actors.graphs import graph, worker

KEY = ("team", "qwen")


class LateClient(InProcessClient):
    """Delivers what happens to v1beta1 only when it is let go."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.let_go = asyncio.Event()

    async def watch(self, kind, *arguments, **options):
        if kind == DYNAMO_GRAPH_DEPLOYMENT:
            await self.let_go.wait()
        async for event in super().watch(kind, *arguments, **options):
            yield event


def test_a_graph_is_rendered_from_v1beta1_where_it_is_served():
    """v1alpha1 has no minAvailable: rendered from it, the second replica would start in a gang of its own."""

    async def scenario():
        server = Server()
        bootstrap(server)
        client = LateClient(server)
        await client.create(NAMESPACE, manifest(NAMESPACE, "team"))
        amounts = {"resources": dict.fromkeys(("gpu", "cpu", "memory"), QUEUE_SPEC)}
        await client.create(KAI_QUEUE, manifest(KAI_QUEUE, "team", amounts))
        context = Context(client, ActorOptions(), None)
        controller = GraphController(context)
        caches = asyncio.create_task(context.informers.run())
        await context.informers.wait_synced(controller.kinds)
        two_nodes = worker("decode", 4, 2, minAvailable=2, multinode={"nodeCount": 2})
        await client.create(DYNAMO_GRAPH_DEPLOYMENT, graph(two_nodes), "team")

        await arrived(controller, DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1)
        await controller.reconcile(KEY)
        assert (await client.list(GROVE_POD_CLIQUE_SET)).items == []

        client.let_go.set()
        await arrived(controller, DYNAMO_GRAPH_DEPLOYMENT)
        await controller.reconcile(KEY)
        [made] = (await client.list(GROVE_POD_CLIQUE_SET)).items
        [group] = made["spec"]["template"]["podCliqueScalingGroups"]
        assert (group["replicas"], group["minAvailable"]) == (2, 2)

        caches.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await caches
        server.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))


async def arrived(controller, kind):
    while controller.informer(kind).get(KEY) is None:
        await asyncio.sleep(0)
