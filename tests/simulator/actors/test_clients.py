"""Both clients of the actors behave alike: in process, and over HTTP against a listening server."""

import asyncio
from pathlib import Path

import pytest

from clusters.kinds import CONFIG_MAP, KAI_QUEUE, NAMESPACE, NODE, POD, Kind
from simulator.actors.http import HttpClient
from simulator.actors.options import ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.inprocess import InProcessClient
from simulator.api.kubeconfig import write_kubeconfig
from simulator.api.running import Address, RunningServer, open_server
from simulator.client import KubeError
from simulator.fleets.load import load_fleet

WAIT_S = 20


@pytest.fixture(params=["in process", "http"])
def with_client(request, tmp_path: Path):
    """Runs `scenario(client, server)` with one of the clients."""

    def run(scenario):
        asyncio.run(asyncio.wait_for(_with_client(scenario, request.param, tmp_path), 60))

    return run


async def _with_client(scenario, how: str, folder: Path) -> None:
    server, _ = open_server(admin_token="secret-for-the-test")
    if how == "in process":
        await scenario(InProcessClient(server), server)
        server.close()
        return
    running = RunningServer(server, [Address("127.0.0.1", 0)])
    await running.start()
    try:
        url = running.listeners[0].address.url
        write_kubeconfig(folder / "kubeconfig", url, server.tokens.admin_token, "")
        async with HttpClient.from_kubeconfig(folder / "kubeconfig") as client:
            await scenario(client, server)
    finally:
        await running.stop()


def config(name: str, **data: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def test_an_object_is_made_read_changed_and_deleted(with_client):
    async def scenario(client, _):
        created = await client.create(CONFIG_MAP, config("a", x="1"), "default")
        assert created["data"] == {"x": "1"}
        changed = await client.patch(CONFIG_MAP, "a", "default", {"data": {"y": "2"}})
        assert changed["data"] == {"x": "1", "y": "2"}
        replaced = await client.update(CONFIG_MAP, {**changed, "data": {"z": "3"}})
        assert replaced["data"] == {"z": "3"}
        applied = await client.apply(CONFIG_MAP, config("a", w="4"), field_manager="test", force=True)
        assert applied["data"] == {"z": "3", "w": "4"}
        listed = await client.list(CONFIG_MAP, "default")
        assert "a" in {item["metadata"]["name"] for item in listed.items}

        await client.delete(CONFIG_MAP, "a", "default", uid=created["metadata"]["uid"])

        assert await client.get(CONFIG_MAP, "a", "default") is None

    with_client(scenario)


def test_refusals_carry_code_and_reason(with_client):
    async def scenario(client, _):
        await client.create(CONFIG_MAP, config("a"), "default")
        with pytest.raises(KubeError) as twice:
            await client.create(CONFIG_MAP, config("a"), "default")
        assert (twice.value.code, twice.value.reason) == (409, "AlreadyExists")
        with pytest.raises(KubeError) as wrong_uid:
            await client.delete(CONFIG_MAP, "a", "default", uid="another")
        assert (wrong_uid.value.code, wrong_uid.value.reason) == (409, "Conflict")
        with pytest.raises(KubeError) as unknown:
            await client.list(Kind("nobody.example", "v1", "Thing", "things", namespaced=False))
        assert unknown.value.code == 404
        with pytest.raises(KubeError) as absent:
            await client.patch(CONFIG_MAP, "b", "default", {"data": {}})
        assert absent.value.code == 404

    with_client(scenario)


def test_a_watch_delivers_what_happens_after_the_list(with_client):
    async def scenario(client, _):
        listed = await client.list(CONFIG_MAP)
        await client.create(CONFIG_MAP, config("a"), "default")
        await client.patch(CONFIG_MAP, "a", "default", {"data": {"y": "2"}})
        await client.delete(CONFIG_MAP, "a", "default")

        seen = []
        async for event in client.watch(CONFIG_MAP, listed.resource_version):
            if event.type != "BOOKMARK":
                seen.append((event.type, event.object["metadata"]["name"]))
            if len(seen) == 3:
                break

        assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]

    with_client(scenario)


def test_a_watch_from_too_old_a_version_is_a_410(with_client):
    async def scenario(client, server):
        listed = await client.list(CONFIG_MAP)
        await client.create(CONFIG_MAP, config("a"), "default")
        server.store.collection(("", "configmaps")).compact()
        with pytest.raises(KubeError) as gone:
            async for _ in client.watch(CONFIG_MAP, listed.resource_version):
                pass
        assert gone.value.code == 410

    with_client(scenario)


def test_a_list_longer_than_a_page_is_complete(with_client):
    async def scenario(client, _):
        for number in range(620):
            await client.create(CONFIG_MAP, config(f"many-{number:03d}"), "default")

        listed = await client.list(CONFIG_MAP, "default")

        names = [i["metadata"]["name"] for i in listed.items if i["metadata"]["name"].startswith("many-")]
        assert len(names) == len(set(names)) == 620

    with_client(scenario)


def test_pods_are_bound_once(with_client):
    async def scenario(client, _):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }
        await client.create(POD, pod, "default")
        await client.bind("default", "p", "node-1")
        bound = await client.get(POD, "p", "default")
        assert bound["spec"]["nodeName"] == "node-1"
        with pytest.raises(KubeError) as again:
            await client.bind("default", "p", "node-2")
        assert again.value.code == 409

    with_client(scenario)


def test_actors_run_over_either_client(with_client):
    async def scenario(client, server):
        await load_fleet(client, "empty")
        await client.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        queue = {
            "apiVersion": KAI_QUEUE.api_version,
            "kind": "Queue",
            "metadata": {"name": "team"},
            "spec": {"resources": {"gpu": unlimited, "cpu": unlimited, "memory": unlimited}},
        }
        await client.create(KAI_QUEUE, queue)
        options = ActorOptions(container_start_s=0.02, readiness_s=0.02, schedule_period_s=0.02)
        actors = asyncio.create_task(run_actors(client, server.hooks, options))
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "team", "labels": {"kai.scheduler/queue": "team"}},
            "spec": {
                "schedulerName": "kai-scheduler",
                "containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
            },
        }
        await client.create(POD, pod, "team")
        async with asyncio.timeout(WAIT_S):
            while (await client.get(POD, "p", "team"))["status"]["phase"] != "Running":
                await asyncio.sleep(0.02)
        assert len((await client.list(NODE)).items) == 18
        actors.cancel()
        await asyncio.gather(actors, return_exceptions=True)

    with_client(scenario)


def test_a_kubeconfig_without_its_context_is_refused_by_name(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text("current-context: nowhere\ncontexts: []\n")

    with pytest.raises(ValueError, match="contexts has no entry named 'nowhere'"):
        HttpClient.from_kubeconfig(path)
