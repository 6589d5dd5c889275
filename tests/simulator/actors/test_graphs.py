"""From a DynamoGraphDeployment to running pods and back, in process, on both ways to the PodGroup."""

import pytest

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT_V1ALPHA1,
    GROVE_POD_CLIQUE,
    GROVE_POD_CLIQUE_SET,
    GROVE_POD_GANG,
    GROVE_SCALING_GROUP,
    KAI_POD_GROUP,
    NAMESPACE,
    NODE,
    POD,
    SECRET,
    SERVICE,
)
from tests.simulator.actors.conftest import manifest
from tests.simulator.actors.graphs import IMAGE, RACK, ZONE, graph, packed, worker

BACKENDS = pytest.mark.parametrize("own_backend", [False, True], ids=["podgrouper", "grove-kai"])


async def domains(cluster, pods, label):
    """The values of a node label under the pods that use GPUs."""
    nodes = {node["metadata"]["name"]: node for node in await cluster.objects(NODE)}
    return {
        nodes[pod["spec"]["nodeName"]]["metadata"]["labels"][label]
        for pod in pods
        if "frontend" not in pod["metadata"]["name"]
    }


PINNED = {"topologyConstraint": {"clusterTopologyName": "fabric", "packDomain": "rack"}}


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
        token = {**manifest(SECRET, "hf-token-secret"), "stringData": {"HF_TOKEN": "hf_x"}}
        await cluster.client.create(SECRET, token, "team")
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
