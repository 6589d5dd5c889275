"""Node pools of the simulated scheduler: a shard each, its own reasons, its own tries."""

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_SCHEDULING_SHARD, NODE, POD
from tests.simulator.actors.graphs import GPU, pod
from tests.simulator.actors.test_scheduling_loop import verdict

POOL = "kai.scheduler/node-pool"


def test_a_pool_without_a_shard_starts_nothing_until_there_is_one(play):
    async def scenario(cluster):
        node = "gpu-b3-1"
        await cluster.client.patch(NODE, node, None, {"metadata": {"labels": {POOL: "training"}}})
        await cluster.add_queue("team-training")
        labels = {"metadata": {"labels": {POOL: "training"}}}
        await cluster.client.patch(KAI_QUEUE, "team-training", None, labels)
        await cluster.client.create(POD, pod("job", 8, "team-training", **{POOL: "training"}), "team")

        async def grouped():
            groups = await cluster.objects(KAI_POD_GROUP, "team")
            return [g for g in groups if g["metadata"]["labels"].get(POOL) == "training"]

        await cluster.wait_for(grouped)
        await cluster.client.create(POD, pod("elsewhere", 8), "team")

        async def other_runs():
            return (await cluster.client.get(POD, "elsewhere", "team"))["spec"].get("nodeName")

        await cluster.wait_for(other_runs)
        job = await cluster.client.get(POD, "job", "team")
        assert "nodeName" not in job["spec"]
        assert not await verdict(cluster)

        shard = {
            "apiVersion": KAI_SCHEDULING_SHARD.api_version,
            "kind": "SchedulingShard",
            "metadata": {"name": "training"},
            "spec": {"partitionLabelValue": "training"},
        }
        await cluster.client.create(KAI_SCHEDULING_SHARD, shard)
        pods = await cluster.running(2)
        assert {p["metadata"]["name"]: p["spec"]["nodeName"] for p in pods}["job"] == node

    play(scenario)


def test_field_report_24_each_pool_says_its_own_reason_and_is_tried_again_when_it_is_freed(play):
    """Two pools of one node each, both full: what waits for either starts as soon as that one has room."""

    async def scenario(cluster):
        for name, node in (("first", "gpu-b3-1"), ("second", "gpu-b3-2")):
            await cluster.client.patch(NODE, node, None, {"metadata": {"labels": {POOL: name}}})
            await cluster.add_queue(name)
            await cluster.client.patch(KAI_QUEUE, name, None, {"metadata": {"labels": {POOL: name}}})
            shard = {
                "apiVersion": KAI_SCHEDULING_SHARD.api_version,
                "kind": "SchedulingShard",
                "metadata": {"name": name},
                "spec": {"partitionLabelValue": name},
            }
            await cluster.client.create(KAI_SCHEDULING_SHARD, shard)
            await cluster.client.create(POD, pod(f"holds-{name}", 8, name, **{POOL: name}), "team")
        await cluster.running(2)
        for name in ("first", "second"):
            await cluster.client.create(POD, pod(f"waits-{name}", 8, name, **{POOL: name}), "team")

        for name in ("first", "second"):
            condition = await cluster.wait_for(lambda name=name: verdict(cluster, f"pg-waits-{name}"))
            assert condition["nodePool"] == name
        await cluster.client.delete(POD, "holds-second", "team")

        async def started(name):
            found = await cluster.client.get(POD, name, "team")
            return found["spec"].get("nodeName")

        assert await cluster.wait_for(lambda: started("waits-second")) == "gpu-b3-2"
        assert not await started("waits-first")
        await cluster.client.delete(POD, "holds-first", "team")
        assert await cluster.wait_for(lambda: started("waits-first")) == "gpu-b3-1"

    play(scenario)


def test_a_gang_that_wants_no_second_try_is_left_alone_in_its_pool_once_refused(play):
    async def scenario(cluster):
        await cluster.client.create(POD, pod("big", 9), "team")  # no node has nine GPUs
        await cluster.wait_for(lambda: verdict(cluster))
        [group] = await cluster.objects(KAI_POD_GROUP, "team")
        name = group["metadata"]["name"]
        await cluster.client.patch(KAI_POD_GROUP, name, "team", {"spec": {"schedulingBackoff": 1}})
        for number in range(18):
            node = f"gpu-{'ab'[number // 9]}{number % 9 // 3 + 1}-{number % 3 + 1}"
            status = {"allocatable": {GPU: "16"}, "capacity": {GPU: "16"}}
            await cluster.client.patch(NODE, node, None, {"status": status}, subresource="status")
        await cluster.client.create(POD, pod("other", 9), "team")

        async def other_runs():
            return (await cluster.client.get(POD, "other", "team"))["spec"].get("nodeName")

        await cluster.wait_for(other_runs)
        assert "nodeName" not in (await cluster.client.get(POD, "big", "team"))["spec"]

        await cluster.client.patch(KAI_POD_GROUP, name, "team", {"spec": {"schedulingBackoff": -1}})
        await cluster.running(2)

    play(scenario)
