"""From a DynamoGraphDeployment to running pods and back, in process, on both ways to the PodGroup."""

import pytest

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    ENDPOINT_SLICE,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    NAMESPACE,
    NODE,
    POD,
    SERVICE,
)

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
RACK = "topology.kubernetes.io/rack"
ZONE = "topology.kubernetes.io/zone"
BACKENDS = pytest.mark.parametrize("own_backend", [False, True], ids=["podgrouper", "grove-kai"])


def worker(role: str, gpus: int, replicas: int, **more: object) -> dict:
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", "Qwen/Qwen3-32B", "--disaggregation-mode", role],
        "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
    }
    template = {"spec": {"containers": [container]}}
    return {"name": role, "type": role, "replicas": replicas, "podTemplate": template, **more}


def graph(*components: dict, **spec: object) -> dict:
    """A disaggregated vLLM graph in namespace and queue `team`."""
    frontend = {
        "name": "Frontend",
        "type": "frontend",
        "replicas": 1,
        "podTemplate": {"spec": {"containers": [{"name": "main", "image": IMAGE}]}},
    }
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": "qwen",
            "namespace": "team",
            "annotations": {"nvidia.com/kai-scheduler-queue": "team"},
        },
        "spec": {"backendFramework": "vllm", "components": [frontend, *components], **spec},
    }


async def domains(cluster, pods, label):
    """The values of a node label under the pods that use GPUs."""
    nodes = {node["metadata"]["name"]: node for node in await cluster.objects(NODE)}
    return {
        nodes[pod["spec"]["nodeName"]]["metadata"]["labels"][label]
        for pod in pods
        if "frontend" not in pod["metadata"]["name"]
    }


PINNED = {"topologyConstraint": {"clusterTopologyName": "fabric", "packDomain": "rack"}}


def packed(**pack: str) -> dict:
    """Grove's own constraint, handed through by providerOverride (the only way that works on both paths)."""
    constraint = {"topologyName": "fabric", "pack": pack}
    value = {"spec": {"template": {"topologyConstraint": constraint}}}
    override = {"apiVersion": "grove.io/v1alpha1", "target": "PodCliqueSet", "value": value}
    return {"providerOverride": override}


@BACKENDS
def test_a_disaggregated_graph_with_required_rack_runs_in_one_rack(play, own_backend):
    async def scenario(cluster):
        await cluster.add_binding()
        await cluster.submit(
            graph(worker("prefill", 4, 2), worker("decode", 8, 1), **packed(required="rack", preferred="rack"))
        )

        pods = await cluster.running(4)

        assert len(await domains(cluster, pods, RACK)) == 1
        [group] = await cluster.objects(KAI_POD_GROUP, "team")
        assert group["spec"]["queue"] == "team"
        assert group["spec"]["topologyConstraint"] == {
            "topology": "fabric",
            "requiredTopologyLevel": RACK,
            "preferredTopologyLevel": RACK,
        }
        await cluster.wait_for(lambda: has_state(cluster, "successful"))

    play(scenario, grove_kai_backend=own_backend)


async def has_state(cluster, state):
    found = (await cluster.graph()).get("status") or {}
    return found if found.get("state") == state else None


@BACKENDS
def test_a_gang_too_large_for_every_rack_waits_and_says_which_level_is_short(play, own_backend):
    async def scenario(cluster):
        await cluster.add_binding()
        await cluster.submit(
            graph(worker("prefill", 8, 2, minAvailable=2), worker("decode", 8, 2, minAvailable=2), **PINNED)
        )

        async def condition():
            groups = await cluster.objects(KAI_POD_GROUP, "team")
            return [c for g in groups for c in (g.get("status") or {}).get("schedulingConditions") or ()]

        [found] = await cluster.wait_for(condition)
        [group] = await cluster.objects(KAI_POD_GROUP, "team")
        assert found["type"] == "UnschedulableOnNodePool"
        assert found["nodePool"] == "default"
        name = f"team/{group['metadata']['name']}"
        text = f"topology fabric, requirement {RACK} couldn't be satisfied for job <{name}>"
        assert text in found["message"]
        assert {"reason": "PodSchedulingErrors", "message": text} in found["reasons"]
        pods = await cluster.pods()
        assert len(pods) == 5
        assert all("nodeName" not in pod["spec"] for pod in pods)
        await cluster.wait_for(lambda: not_ready_because(cluster, "insufficient_capacity"))

    play(scenario, grove_kai_backend=own_backend)


async def not_ready_because(cluster, reason):
    status = (await cluster.graph()).get("status") or {}
    return any(c["type"] == "Ready" and c["reason"] == reason for c in status.get("conditions", []))


@BACKENDS
def test_the_same_gang_with_preferred_rack_runs_across_racks_of_one_zone(play, own_backend):
    async def scenario(cluster):
        await cluster.add_binding()
        await cluster.submit(
            graph(
                worker("prefill", 8, 2, minAvailable=2),
                worker("decode", 8, 2, minAvailable=2),
                **packed(required="zone", preferred="rack"),
            )
        )

        pods = await cluster.running(5)

        assert len(await domains(cluster, pods, ZONE)) == 1
        assert len(await domains(cluster, pods, RACK)) == 2

    play(scenario, grove_kai_backend=own_backend)


def test_placement_annotations_of_the_spec_reach_the_pod_group(play):
    async def scenario(cluster):
        await cluster.add_binding()
        annotations = {
            "kai.scheduler/topology": "fabric",
            "kai.scheduler/topology-preferred-placement": RACK,
        }
        await cluster.submit(graph(worker("decode", 8, 2), annotations=annotations))

        await cluster.running(3)

        [group] = await cluster.objects(KAI_POD_GROUP, "team")
        assert group["spec"]["topologyConstraint"] == {"topology": "fabric", "preferredTopologyLevel": RACK}

    play(scenario)


@BACKENDS
def test_deleting_the_graph_leaves_nothing_behind(play, own_backend):
    async def scenario(cluster):
        services = {s["metadata"]["name"] for s in await cluster.objects(SERVICE, "team")}
        await cluster.submit(graph(worker("decode", 2, 2, multinode={"nodeCount": 2})))
        await cluster.running(5)

        await cluster.client.delete(DYNAMO_GRAPH_DEPLOYMENT, "qwen", "team")

        async def nothing_left():
            kinds = (GROVE_POD_CLIQUE_SET, GROVE_POD_CLIQUE, GROVE_SCALING_GROUP, GROVE_POD_GANG, KAI_POD_GROUP, POD)
            left = [obj for kind in kinds for obj in await cluster.objects(kind, "team")]
            left += [s for s in await cluster.objects(SERVICE, "team") if s["metadata"]["name"] not in services]
            return not left

        await cluster.wait_for(nothing_left)

    play(scenario, grove_kai_backend=own_backend)


def test_deleting_the_namespace_takes_everything_along(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 2, 2, multinode={"nodeCount": 2})))
        await cluster.running(5)

        await cluster.client.delete(NAMESPACE, "team")

        async def gone():
            return await cluster.client.get(NAMESPACE, "team") is None

        await cluster.wait_for(gone)
        assert await cluster.pods() == []

    play(scenario)


def test_a_multinode_component_is_a_scaling_group_and_later_replicas_wait_for_the_base(play):
    async def scenario(cluster):
        await cluster.submit(graph(worker("decode", 8, 2, multinode={"nodeCount": 2})))

        await cluster.running(5)

        gangs = {gang["metadata"]["name"] for gang in await cluster.objects(GROVE_POD_GANG, "team")}
        assert gangs == {"qwen-0", "qwen-0-decode-0"}
        status = await cluster.wait_for(lambda: has_state(cluster, "successful"))
        assert status["components"]["decode"]["componentKind"] == "PodCliqueScalingGroup"
        assert status["components"]["decode"]["gpusPerReplica"] == 16
        assert status["components"]["decode"]["availableReplicas"] == 2

    play(scenario)


def test_a_v1alpha1_graph_runs(play):
    async def scenario(cluster):
        old = {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {
                "name": "qwen",
                "namespace": "team",
                "annotations": {"nvidia.com/kai-scheduler-queue": "team"},
            },
            "spec": {
                "services": {
                    "Frontend": {
                        "componentType": "frontend",
                        "replicas": 1,
                        "extraPodSpec": {"mainContainer": {"image": IMAGE}},
                    },
                    "VllmPrefillWorker": {
                        "envFromSecret": "hf-token-secret",
                        "componentType": "worker",
                        "subComponentType": "prefill",
                        "replicas": 2,
                        "resources": {"limits": {"gpu": "2"}},
                        "extraPodSpec": {"mainContainer": {"image": IMAGE, "args": ["--model", "M"]}},
                    },
                }
            },
        }
        await cluster.client.create(DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1, old, "team")

        pods = await cluster.running(3)

        prefill = next(p for p in pods if "prefill" in p["metadata"]["name"])
        assert prefill["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2"}
        assert prefill["metadata"]["labels"]["nvidia.com/dynamo-sub-component-type"] == "prefill"

    play(scenario)


def test_a_missing_queue_fails_the_graph_until_somebody_makes_it(play):
    async def scenario(cluster):
        body = graph(worker("decode", 1, 1))
        body["metadata"]["annotations"]["nvidia.com/kai-scheduler-queue"] = "later"
        await cluster.submit(body)

        status = await cluster.wait_for(lambda: has_state(cluster, "failed"))
        [ready] = [c for c in status["conditions"] if c["type"] == "Ready"]
        assert ready["reason"] == "failed_to_reconcile_the_resources"
        assert ready["message"] == "queue 'later' not found in cluster"

        await cluster.add_queue("later")
        await cluster.running(2)
        await cluster.wait_for(lambda: has_state(cluster, "successful"))

    play(scenario)


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
