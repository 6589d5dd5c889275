"""What happens to graphs that run: scaling, new images, lost pods, start order, output, endpoints."""

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, ENDPOINT_SLICE, GROVE_POD_CLIQUE_SET, POD
from tests.simulator.actors.graphs import IMAGE, graph, packed, worker


async def has_state(cluster, state):
    found = (await cluster.graph()).get("status") or {}
    return found if found.get("state") == state else None


def test_replicas_follow_the_graph_up_and_down(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 1, 1)))
        await cluster.running(2)
        for replicas in (3, 1):
            current = await cluster.graph()
            components = [
                {**c, "replicas": replicas} if c["name"] == "decode" else c for c in current["spec"]["components"]
            ]
            await cluster.client.patch(DYNAMO_GRAPH_DEPLOYMENT, "qwen", "team", {"spec": {"components": components}})

            await cluster.running(replicas + 1)

    play(scenario)


def test_a_changed_image_replaces_every_pod_of_the_component(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 1, 2)))
        before = {pod["metadata"]["uid"] for pod in await cluster.running(3)}
        current = await cluster.graph()
        frontend, decode = current["spec"]["components"]
        container = {**decode["podTemplate"]["spec"]["containers"][0], "image": f"{IMAGE}-post1"}
        changed = {**decode, "podTemplate": {"spec": {"containers": [container]}}}
        body = {"spec": {"components": [frontend, changed]}}
        await cluster.client.patch(DYNAMO_GRAPH_DEPLOYMENT, "qwen", "team", body)

        async def replaced():
            pods = await cluster.pods()
            new = [p for p in pods if p["spec"]["containers"][0]["image"].endswith("-post1")]
            return len(pods) == 3 and len(new) == 2 and not {p["metadata"]["uid"] for p in new} & before

        await cluster.wait_for(replaced)
        await cluster.running(3)

    play(scenario)


def test_a_deleted_pod_comes_back_in_its_gang(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 1, 2)))
        pods = await cluster.running(3)
        victim = next(p for p in pods if "decode" in p["metadata"]["name"])

        await cluster.client.delete(POD, victim["metadata"]["name"], "team")

        async def gone():
            return await cluster.client.get(POD, victim["metadata"]["name"], "team") is None

        await cluster.wait_for(gone)
        await cluster.running(3)

    play(scenario)


def test_startup_order_holds_a_clique_back_until_the_one_before_it_is_ready(play):
    async def scenario(cluster):
        def clique(name, *after):
            pod = {"containers": [{"name": "m", "image": "i:1"}]}
            starts = {"startsAfter": list(after)} if after else {}
            return {"name": name, "spec": {"roleName": name, "replicas": 1, "podSpec": pod, **starts}}

        template = {"cliqueStartupType": "CliqueStartupTypeInOrder", "cliques": [clique("a"), clique("b")]}
        body = {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": "one", "namespace": "team", "labels": {"kai.scheduler/queue": "team"}},
            "spec": {"replicas": 1, "template": template},
        }
        await cluster.client.create(GROVE_POD_CLIQUE_SET, body, "team")

        first, second = sorted(await cluster.running(2), key=lambda pod: pod["metadata"]["name"])

        assert [c["args"] for c in second["spec"]["initContainers"]] == [["--podcliques=one-0-a:1"]]
        [init] = second["status"]["initContainerStatuses"]
        assert init["state"]["terminated"]["reason"] == "Completed"
        assert "initContainers" not in first["spec"]

    play(scenario)


def test_groves_refusal_becomes_the_graphs_status(play):
    async def scenario(cluster):
        await cluster.add_binding()
        await cluster.submit(graph(worker("decode", 1, 1), **packed(required="shelf")))

        status = await cluster.wait_for(lambda: has_state(cluster, "failed"))

        [ready] = [c for c in status["conditions"] if c["type"] == "Ready"]
        assert "topology domain 'shelf' does not exist in cluster topology [zone rack host]" in ready["message"]

    play(scenario)


def test_pods_print_what_their_role_prints(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 1, 1)))
        pods = {p["metadata"]["labels"]["nvidia.com/dynamo-component"]: p for p in await cluster.running(2)}

        def lines(component):
            return "\n".join(cluster.server.hooks.logs.lines(("team", pods[component]["metadata"]["name"], "main"))[0])

        assert "Initializing a V1 LLM engine with config: model='Qwen/Qwen3-32B', role=decode" in lines("decode")
        assert "Starting HTTP(S) service" in lines("Frontend")

    play(scenario)


def test_services_have_endpoint_slices_of_their_ready_pods(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 1, 2)))
        pods = [p for p in await cluster.running(3) if "decode" in p["metadata"]["name"]]

        async def listed():
            slices = await cluster.objects(ENDPOINT_SLICE, "team")
            found = [s for s in slices if s["metadata"]["labels"]["kubernetes.io/service-name"] == "qwen-decode"]
            endpoints = [e for s in found for e in s.get("endpoints") or () if e["conditions"]["ready"]]
            return endpoints if len(endpoints) == 2 else None

        endpoints = await cluster.wait_for(listed)
        assert {e["targetRef"]["name"] for e in endpoints} == {p["metadata"]["name"] for p in pods}
        assert {e["addresses"][0] for e in endpoints} == {p["status"]["podIP"] for p in pods}

    play(scenario)


def test_a_worker_with_a_flag_of_a_blog_post_crashes_again_and_again(play):
    async def scenario(cluster):
        decode = worker("decode", 1, 1)
        decode["podTemplate"]["spec"]["containers"][0]["args"] += ["--routing-strategy", "kv-aware"]
        await cluster.submit(graph(decode))

        async def looping():
            for pod in await cluster.pods():
                for status in pod["status"].get("containerStatuses") or ():
                    if status["restartCount"] >= 2:
                        return pod, status
            return None

        pod, status = await cluster.wait_for(looping)
        assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert status["lastState"]["terminated"]["exitCode"] == 2
        lines, _ = cluster.server.hooks.logs.lines(("team", pod["metadata"]["name"], "main"))
        assert lines[-1] == "dynamo.vllm: error: unrecognized arguments: --routing-strategy"
        ready = [c for c in pod["status"]["conditions"] if c["type"] == "Ready"]
        assert [c["status"] for c in ready] == ["False"]

    play(scenario)
