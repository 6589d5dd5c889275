"""Actors that are stopped, started again or given what they cannot read."""

import asyncio
import contextlib
from datetime import timedelta

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, EVENT, KAI_POD_GROUP, NODE, POD
from core.moments import rfc3339
from simulator.actors.context import Context
from simulator.actors.event_expiry import EventExpiry
from simulator.actors.informer import Informer
from simulator.actors.runner import run_actors
from simulator.actors.workqueue import WorkQueue
from tests.simulator.actors.graphs import bare_graph, worker


def graph(name: str = "qwen") -> dict:
    return bare_graph(worker("decode", 1, 4), name=name)


def test_actors_that_are_stopped_at_any_moment_go_on_where_they_were(play):
    async def scenario(cluster):
        options = cluster.options
        for moment in range(12):
            name = f"graph-{moment}"
            actors = asyncio.create_task(run_actors(cluster.client, cluster.server.hooks, options))
            await cluster.submit(graph(name))
            for _ in range(moment * 3):
                await asyncio.sleep(0.004)
            actors.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await actors

        actors = asyncio.create_task(run_actors(cluster.client, cluster.server.hooks, options))
        await cluster.running(48)
        made = [
            change
            for change in cluster.server.store.collection(("", "pods")).since(0)
            if change.type == "ADDED" and change.entry.key[0] == "team"
        ]
        assert len(made) == 48
        assert len(await cluster.objects(KAI_POD_GROUP, "team")) == 12
        actors.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await actors

    play(scenario, actors=frozenset())


def test_an_object_nobody_can_read_stops_nothing(play):
    async def scenario(cluster):
        broken = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "odd"}, "spec": {"taints": [{}]}}
        cluster.server.store.put(("", "nodes"), ("", "odd"), broken)
        await cluster.submit(graph())

        await cluster.running(4)

        assert await cluster.client.get(NODE, "odd")

    play(scenario)


def test_a_graph_that_cannot_be_rendered_fails_and_leaves_the_others_alone(play):
    async def scenario(cluster):
        key = ("nvidia.com", "dynamographdeployments")
        made = await cluster.submit(graph("broken"))
        broken = {**made, "metadata": dict(made["metadata"]), "spec": {"components": [{"name": "x", "type": "decode"}]}}
        cluster.server.store.put(key, ("team", "broken"), broken)
        await cluster.submit(graph())

        async def both():
            states = {
                g["metadata"]["name"]: (g.get("status") or {}).get("state")
                for g in await cluster.objects(DYNAMO_GRAPH_DEPLOYMENT, "team")
            }
            return states == {"broken": "failed", "qwen": "successful"}

        await cluster.wait_for(both)
        status = (await cluster.graph("broken"))["status"]
        [ready] = [c for c in status["conditions"] if c["type"] == "Ready"]
        assert ready["message"] == "component x: podTemplate.spec.containers needs a container named main"

    play(scenario)


def test_a_key_is_worked_on_once_at_a_time_and_again_when_it_changed_meanwhile():
    async def scenario():
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("a")
        assert await queue.get() == "a"
        queue.add("a")
        getting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        assert not getting.done()

        queue.done("a")

        assert await getting == "a"
        queue.close()

    asyncio.run(scenario())


def test_an_index_follows_additions_changes_and_removals(play):
    async def scenario(cluster):
        informer = Informer(cluster.client, POD)
        informer.add_index("phase", lambda pod: [pod["status"].get("phase", "")])
        running = asyncio.create_task(informer.run())
        await informer.synced.wait()
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "team"},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }

        def names(phase):
            return [
                p["metadata"]["name"] for p in informer.by_index("phase", phase) if p["metadata"]["namespace"] == "team"
            ]

        async def indexed(phase, wanted):
            return names(phase) == wanted

        await cluster.client.create(POD, pod, "team")
        await cluster.wait_for(lambda: indexed("Pending", ["p"]))
        await cluster.client.patch(POD, "p", "team", {"status": {"phase": "Failed"}}, subresource="status")
        await cluster.wait_for(lambda: indexed("Failed", ["p"]))
        assert names("Pending") == []
        await cluster.client.delete(POD, "p", "team")
        await cluster.wait_for(lambda: indexed("Failed", []))
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    play(scenario, actors=frozenset())


def test_events_older_than_an_hour_go_and_younger_ones_stay(play):
    async def scenario(cluster):
        context = Context(cluster.client, cluster.options)
        for name, age in (("old", 3700), ("young", 3500)):
            moment = rfc3339(context.now() - timedelta(seconds=age))
            body = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": "team"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "team"},
                "reason": "Test",
                "message": "m",
                "type": "Normal",
                "firstTimestamp": moment,
                "lastTimestamp": moment,
            }
            await cluster.client.create(EVENT, body, "team")

        await EventExpiry(context).expire()

        assert [e["metadata"]["name"] for e in await cluster.objects(EVENT, "team")] == ["young"]

    play(scenario, actors=frozenset())
