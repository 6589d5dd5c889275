"""What lives in the cluster under the faults of the switchboard, and its recovery."""

import pytest

from clusters.kinds import (
    DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT,
    EVENT,
    GROVE_POD_CLIQUE_SET,
    KAI_POD_GROUP,
    NODE,
    POD,
    SECRET,
)
from tests.simulator.actors.conftest import is_ready, manifest
from tests.simulator.actors.graphs import GPU, IMAGE, RACK, bare_graph, pod, worker


def graph(replicas: int = 2) -> dict:
    return bare_graph(worker("decode", 1, replicas))


async def node_ready(cluster, name):
    node = await cluster.client.get(NODE, name)
    return next(c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready")


def test_pods_of_a_lost_node_start_elsewhere_and_the_node_comes_back(play):
    async def scenario(cluster):
        await cluster.submit(graph())
        pods = await cluster.running(2)
        lost = pods[0]["spec"]["nodeName"]
        moved = {p["metadata"]["name"] for p in pods if p["spec"]["nodeName"] == lost}

        cluster.faults.switch_on("node-lost", {"node": lost})

        async def replaced():
            living = [p for p in await cluster.pods() if "deletionTimestamp" not in p["metadata"]]
            running = [p for p in living if p["status"]["phase"] == "Running"]
            return len(running) == 2 and all(p["spec"]["nodeName"] != lost for p in running)

        await cluster.wait_for(replaced)
        assert await node_ready(cluster, lost) == "Unknown"
        node = await cluster.client.get(NODE, lost)
        assert {t["key"] for t in node["spec"]["taints"]} == {"node.kubernetes.io/unreachable"}
        stuck = {p["metadata"]["name"] for p in await cluster.pods() if "deletionTimestamp" in p["metadata"]}
        assert stuck == moved

        cluster.faults.switch_off("node-lost")

        async def healthy():
            names = {p["metadata"]["name"] for p in await cluster.pods()}
            return await node_ready(cluster, lost) == "True" and not names & moved

        await cluster.wait_for(healthy)
        node = await cluster.client.get(NODE, lost)
        assert not node["spec"].get("taints")

    play(scenario)


def test_a_pod_that_tolerates_it_stays_on_a_lost_node_and_is_ready_again(play):
    """As a DaemonSet's pods do: of its tolerations only one without an end keeps it."""

    async def scenario(cluster):
        kept, goes = pod("kept"), pod("goes")
        kept["spec"] |= {"nodeName": "gpu-a1-1", "tolerations": [{"operator": "Exists"}]}
        goes["spec"] |= {"nodeName": "gpu-a1-1", "tolerations": [{"operator": "Exists", "tolerationSeconds": 300}]}
        for each in (kept, goes):
            await cluster.client.create(POD, each, "team")
        await cluster.running(2)

        cluster.faults.switch_on("node-lost", {"node": "gpu-a1-1"})

        async def evicted():
            return {p["metadata"]["name"] for p in await cluster.pods() if "deletionTimestamp" in p["metadata"]}

        await cluster.wait_for(lambda: equals(evicted, {"goes"}))
        cluster.faults.switch_off("node-lost")

        async def left():
            return {p["metadata"]["name"] for p in await cluster.pods() if is_ready(p)}

        await cluster.wait_for(lambda: equals(left, {"kept"}))

    play(scenario)


@pytest.mark.parametrize("fault", ["api-down", "connection-dropped"])
def test_actors_outlive_their_watches_and_go_on_when_they_are_back(play, fault):
    async def scenario(cluster):
        cluster.faults.switch_on(fault, {"seconds": 0.2})
        await cluster.submit(graph())

        await cluster.running(2)

    play(scenario)


def test_an_unhealthy_gpu_is_taken_out_of_what_can_be_allocated(play):
    async def scenario(cluster):
        async def allocatable():
            node = await cluster.client.get(NODE, "gpu-a1-1")
            return node["status"]["allocatable"][GPU], node["status"]["capacity"][GPU]

        cluster.faults.switch_on("gpu-unhealthy", {"node": "gpu-a1-1", "count": 3})
        await cluster.wait_for(lambda: equals(allocatable, ("5", "8")))

        cluster.faults.switch_off("gpu-unhealthy")
        await cluster.wait_for(lambda: equals(allocatable, ("8", "8")))

    play(scenario)


async def equals(read, wanted):
    return await read() == wanted


def test_a_label_that_was_taken_away_stays_away_until_the_fault_ends(play):
    async def scenario(cluster):
        async def rack():
            node = await cluster.client.get(NODE, "gpu-a1-1")
            return node["metadata"]["labels"].get(RACK, "none")

        cluster.faults.switch_on("label-removed", {"node": "gpu-a1-1", "label": RACK})
        await cluster.wait_for(lambda: equals(rack, "none"))

        cluster.faults.switch_off("label-removed")
        await cluster.wait_for(lambda: equals(rack, "rack-a1"))

    play(scenario)


def test_a_label_written_by_hand_while_the_fault_is_on_is_left_alone(play):
    async def scenario(cluster):
        async def rack():
            node = await cluster.client.get(NODE, "gpu-a1-1")
            return node["metadata"]["labels"].get(RACK, "none")

        cluster.faults.switch_on("label-removed", {"node": "gpu-a1-1", "label": RACK})
        await cluster.wait_for(lambda: equals(rack, "none"))
        body = {"metadata": {"labels": {RACK: "rack-new"}}}
        await cluster.client.patch(NODE, "gpu-a1-1", None, body)
        cluster.faults.switch_off("label-removed")
        await cluster.client.create(POD, pod("one"), "team")

        await cluster.running(1)

        assert await rack() == "rack-new"

    play(scenario)


def test_an_image_that_cannot_be_pulled_keeps_its_pod_pending_until_it_can(play):
    async def scenario(cluster):
        cluster.faults.switch_on("image-not-pullable", {"image": "broken"})
        await cluster.client.create(POD, pod("bad", image="registry.example/broken:1"), "team")
        await cluster.client.create(POD, pod("good"), "team")

        async def backing_off():
            bad = await cluster.client.get(POD, "bad", "team")
            [status] = bad["status"].get("containerStatuses") or [{}]
            return (status.get("state") or {}).get("waiting", {}).get("reason") == "ImagePullBackOff"

        await cluster.wait_for(backing_off)

        cluster.faults.switch_off("image-not-pullable")
        await cluster.running(2)

    play(scenario)


def test_a_container_waits_for_the_secret_that_it_reads_unless_it_is_optional(play):
    async def scenario(cluster):
        secret = {"name": "hf-token-secret"}
        key = {"valueFrom": {"secretKeyRef": {**secret, "key": "HF_TOKEN"}}, "name": "HF_TOKEN"}
        for name, part in (
            ("whole", {"envFrom": [{"secretRef": secret}]}),
            ("single", {"env": [key]}),
            ("optional", {"envFrom": [{"secretRef": {**secret, "optional": True}}]}),
        ):
            body = pod(name)
            body["spec"]["containers"][0].update(part)
            await cluster.client.create(POD, body, "team")

        async def waiting(name, text):
            found = await cluster.client.get(POD, name, "team")
            [status] = found["status"].get("containerStatuses") or [{}]
            state = (status.get("state") or {}).get("waiting") or {}
            return state == {"reason": "CreateContainerConfigError", "message": text}

        for name in ("whole", "single"):
            await cluster.wait_for(lambda name=name: waiting(name, 'secret "hf-token-secret" not found'))
        body = {**manifest(SECRET, "hf-token-secret"), "stringData": {"token": "hf_x"}}
        await cluster.client.create(SECRET, body, "team")
        await cluster.wait_for(lambda: waiting("single", "couldn't find key HF_TOKEN in Secret team/hf-token-secret"))
        await cluster.client.patch(SECRET, "hf-token-secret", "team", {"stringData": {"HF_TOKEN": "hf_x"}})
        await cluster.running(3)

    play(scenario)


def test_a_pod_is_held_back_by_volumes_pull_secrets_and_init_containers(play):
    async def scenario(cluster):
        secret = {"name": "late"}
        parts = {
            "mounts": {"volumes": [{"name": "key", "secret": {"secretName": "late"}}]},
            "projects": {"volumes": [{"name": "key", "projected": {"sources": [{"secret": secret}]}}]},
            "pulls": {"imagePullSecrets": [secret]},
            "begins": {"initContainers": [{"name": "fetch", "image": IMAGE, "envFrom": [{"secretRef": secret}]}]},
            "optional": {"volumes": [{"name": "key", "secret": {"secretName": "late", "optional": True}}]},
        }
        for name, part in parts.items():
            body = pod(name)
            body["spec"].update(part)
            await cluster.client.create(POD, body, "team")

        async def told():
            events = await cluster.objects(EVENT, "team")
            return {(e["involvedObject"]["name"], e["reason"]) for e in events if e["type"] == "Warning"} >= {
                ("mounts", "FailedMount"),
                ("projects", "FailedMount"),
                ("pulls", "FailedToRetrieveImagePullSecret"),
                ("begins", "Failed"),
            }

        async def waiting(name, section):
            found = (await cluster.client.get(POD, name, "team"))["status"]
            return [(c.get("state") or {}).get("waiting", {}).get("reason") for c in found.get(section) or ()]

        await cluster.wait_for(told)
        await cluster.wait_for(lambda: is_up(cluster, "optional"))
        assert await waiting("mounts", "containerStatuses") == ["ContainerCreating"]
        assert await waiting("pulls", "containerStatuses") == ["ImagePullBackOff"]
        assert await waiting("begins", "initContainerStatuses") == ["CreateContainerConfigError"]
        assert await waiting("begins", "containerStatuses") == ["PodInitializing"]
        events = [e["message"] for e in await cluster.objects(EVENT, "team") if e["reason"] == "FailedMount"]
        assert set(events) == {'MountVolume.SetUp failed for volume "key" : secret "late" not found'}

        await cluster.client.create(SECRET, manifest(SECRET, "late"), "team")
        await cluster.running(5)

    async def is_up(cluster, name):
        return is_ready(await cluster.client.get(POD, name, "team"))

    play(scenario)


def test_an_operator_that_is_down_does_nothing_and_its_deployment_says_so(play):
    async def scenario(cluster):
        cluster.faults.switch_on("operator-down", {"name": "grove-operator"})

        async def ready_replicas():
            deployment = await cluster.client.get(DEPLOYMENT, "grove-operator", "grove-system")
            return deployment["status"]["readyReplicas"]

        await cluster.wait_for(lambda: equals(ready_replicas, 0))
        await cluster.submit(graph())

        async def made():
            return await cluster.objects(GROVE_POD_CLIQUE_SET, "team")

        await cluster.wait_for(made)
        assert await cluster.pods() == []

        cluster.faults.switch_off("operator-down")
        await cluster.running(2)
        await cluster.wait_for(lambda: equals(ready_replicas, 1))

    play(scenario)


def test_a_scheduler_that_is_down_leaves_pods_grouped_and_pending(play):
    async def scenario(cluster):
        cluster.faults.switch_on("operator-down", {"name": "kai-scheduler"})
        await cluster.client.create(POD, pod("one"), "team")

        async def grouped():
            return await cluster.objects(KAI_POD_GROUP, "team")

        await cluster.wait_for(grouped)
        [waiting] = await cluster.pods()
        assert "nodeName" not in waiting["spec"]

        cluster.faults.switch_off("operator-down")
        await cluster.running(1)

    play(scenario)


def test_watches_that_break_lose_nothing(play):
    async def scenario(cluster):
        cluster.faults.switch_on("watch-gone", {"times": 3})
        cluster.faults.switch_on("watch-frozen", {"seconds": 0.3})
        await cluster.submit(graph())

        await cluster.running(2)

    play(scenario)


def test_what_a_watch_loses_without_a_word_is_found_at_the_next_resync(play):
    async def scenario(cluster):
        await cluster.submit(graph(replicas=1))
        await cluster.running(1)
        cluster.faults.switch_on("watch-lossy", {})
        current = await cluster.graph()
        components = [{**component, "replicas": 2} for component in current["spec"]["components"]]
        await cluster.client.patch(DYNAMO_GRAPH_DEPLOYMENT, "qwen", "team", {"spec": {"components": components}})
        cluster.faults.switch_off("watch-lossy")

        await cluster.running(2)

    play(scenario, resync_s=0.3)


def test_pods_of_a_node_that_was_deleted_go_and_come_back_elsewhere(play):
    async def scenario(cluster):
        await cluster.submit(graph())
        gone = (await cluster.running(2))[0]["spec"]["nodeName"]

        await cluster.client.delete(NODE, gone)

        async def elsewhere():
            pods = await cluster.pods()
            running = [p for p in pods if p["status"]["phase"] == "Running" and p["spec"]["nodeName"] != gone]
            return len(pods) == len(running) == 2

        await cluster.wait_for(elsewhere)

    play(scenario)
