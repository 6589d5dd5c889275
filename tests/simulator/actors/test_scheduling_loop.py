"""Queues, quota, priorities, pools and conditions as the scheduler's loop writes them into the cluster."""

from clusters.kinds import EVENT, KAI_POD_GROUP, KAI_QUEUE, NAMESPACE, NODE, POD
from scheduling.structs import Condition, CycleResult
from simulator.actors.context import Context
from simulator.actors.scheduler.accounts import group_status
from simulator.actors.scheduler.cache import SchedulerCache
from simulator.actors.scheduler.write import DecisionWriter
from tests.simulator.actors.conftest import manifest
from tests.simulator.actors.graphs import GPU, pod

POOL = "kai.scheduler/node-pool"
OVER_LIMIT = (
    "OverLimit: small quota has reached the allowable limit of GPUs. "
    "Limit is 8 GPUs, currently 8 GPUs allocated and workload requested 4 GPUs."
)
"""As KAI says it, in a condition of the group, in one of the pod and in an event of each."""


async def verdict(cluster, group_prefix=""):
    """The condition of the first pod group that has one."""
    for group in await cluster.objects(KAI_POD_GROUP, "team"):
        conditions = (group.get("status") or {}).get("schedulingConditions") or []
        if conditions and group["metadata"]["name"].startswith(group_prefix):
            return conditions[0]
    return None


def test_a_bare_pod_gets_a_pod_group_a_node_and_kais_marks(play):
    async def scenario(cluster):
        await cluster.client.create(POD, pod("one", 1), "team")

        [running] = await cluster.running(1)

        node = running["spec"]["nodeName"]
        assert running["metadata"]["annotations"]["received-resource-type"] == "Regular"
        bound = next(c for c in running["status"]["conditions"] if c["type"] == "PodBound")
        assert bound["message"] == f"Pod bound successfully to node {node}"

        async def events():
            found = {(e["reason"], e["message"]) for e in await cluster.objects(EVENT, "team")}
            wanted = {
                ("Scheduled", f"Successfully assigned pod team/one to node {node} at node-pool default"),
                ("Bound", f"Pod bound successfully to node {node}"),
            }
            return wanted <= found

        await cluster.wait_for(events)

    play(scenario)


def test_queue_statuses_add_up_over_the_hierarchy(play):
    async def scenario(cluster):
        await cluster.add_queue("department")
        await cluster.add_queue("project", "department")
        for name in ("a", "b"):
            await cluster.client.create(POD, pod(name, 2, "project"), "team")
        await cluster.running(2)

        async def added_up():
            department = await cluster.client.get(KAI_QUEUE, "department")
            status = department.get("status") or {}
            return status if status.get("allocated") == {GPU: "4"} else None

        status = await cluster.wait_for(added_up)
        assert status == {"allocated": {GPU: "4"}, "requested": {GPU: "4"}, "childQueues": ["project"]}

    play(scenario)


def test_field_report_1_a_tenth_and_two_tenths_of_a_gpu_are_three_tenths_of_the_queue():
    """KAI's podgroup-controller counts `gpu-fraction` of each device as a part of nvidia.com/gpu (its gpusharing
    resources test: 0.4 is 400m); field report 8: two devices of 0.6 are 1.2."""

    def sharing(fraction, devices="1", node="n1"):
        annotations = {"gpu-fraction": fraction, "gpu-fraction-num-devices": devices}
        return {"metadata": {"annotations": annotations}, "spec": {"nodeName": node, "containers": []}, "status": {}}

    both = group_status([sharing("0.1"), sharing("0.2")], preemptible=True)
    waiting = group_status([sharing("0.6", "2", node="")], preemptible=False)

    assert both == {"requested": {GPU: "300m"}, "allocated": {GPU: "300m"}}
    assert waiting == {"requested": {GPU: "1200m"}}


def test_a_queue_at_its_limit_says_so_in_kais_words(play):
    async def scenario(cluster):
        await cluster.add_queue("small", gpu={"limit": 8, "quota": 8})
        await cluster.client.create(POD, pod("big", 8, "small"), "team")
        await cluster.running(1)
        await cluster.client.create(POD, pod("more", 4, "small"), "team")

        condition = await cluster.wait_for(lambda: verdict(cluster, "pg-more"))

        details = condition["reasons"][0]["details"]["queueDetails"]
        assert details["name"] == "small"
        assert details["queueResourceLimits"] == {"cpu": "-1m", "memory": "-1", GPU: "8"}

        async def marked():
            waiting = await cluster.client.get(POD, "more", "team")
            conditions = waiting["status"].get("conditions", [])
            return [c for c in conditions if c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable"]

        [mark] = await cluster.wait_for(marked)

        assert condition["message"] == mark["message"] == OVER_LIMIT

        async def told():
            found = await cluster.objects(EVENT, "team")
            events = {(e["involvedObject"]["kind"], e["type"], e["message"]) for e in found}
            return {("PodGroup", "Normal", OVER_LIMIT), ("Pod", "Warning", OVER_LIMIT)} <= events

        await cluster.wait_for(told)

    play(scenario)


def test_field_report_8_two_devices_of_six_tenths_are_too_much_for_a_quota_of_one(play):
    """What may not be preempted may not go over quota: with two devices of 0.5 it is 1, and runs."""

    def sharing(name, fraction):
        body = pod(name, 0, "one", **{"kai.scheduler/preemptibility": "non-preemptible"})
        body["metadata"]["annotations"] = {"gpu-fraction": fraction, "gpu-fraction-num-devices": "2"}
        return body

    async def scenario(cluster):
        await cluster.add_queue("one", gpu={"quota": 1})
        await cluster.client.create(POD, sharing("over", "0.6"), "team")

        condition = await cluster.wait_for(lambda: verdict(cluster, "pg-over"))

        assert condition["message"] == (
            "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 1.2 GPUs, but one "
            "quota is 1 GPUs, while 0 GPUs are already allocated for non-preemptible pods. "
            "Use a preemptible workload to go over quota.."
        )
        await cluster.client.create(POD, sharing("within", "0.5"), "team")

        async def placed():
            return {p["metadata"]["name"]: bool(p["spec"].get("nodeName")) for p in await cluster.pods()} == {
                "over": False,
                "within": True,
            }

        await cluster.wait_for(placed)

    play(scenario)


def test_a_missing_queue_is_named(play):
    async def scenario(cluster):
        await cluster.client.create(POD, pod("lost", 1, "nowhere"), "team")

        condition = await cluster.wait_for(lambda: verdict(cluster))

        assert "Queue 'nowhere' does not exist" in condition["message"]

    play(scenario)


def test_a_higher_priority_evicts_a_lower_one_and_says_so(play):
    async def scenario(cluster):
        for number in range(18):
            body = pod(f"low-{number}", 8, priorityClassName="train")
            await cluster.client.create(POD, body, "team")
        await cluster.running(18)
        await cluster.client.create(POD, pod("high", 8, priorityClassName="build-preemptible"), "team")

        async def preempted():
            pods = {p["metadata"]["name"]: p for p in await cluster.pods()}
            return len(pods) == 18 and pods["high"]["spec"].get("nodeName")

        await cluster.wait_for(preempted)

        async def explained():
            return [e for e in await cluster.objects(EVENT, "team") if e["reason"] == "Evict"]

        [event] = await cluster.wait_for(explained)
        assert event["involvedObject"]["kind"] == "PodGroup"
        assert "was preempted by higher priority workload team/pg-high-" in event["message"]
        assert event["metadata"]["annotations"]["evictor-action-type"] == "preempt"

    play(scenario)


def test_a_duration_go_cannot_read_stops_the_scheduler_until_it_is_gone(play):
    async def scenario(cluster):
        store, key = cluster.server.store, ("scheduling.run.ai", "queues")

        def change(duration):  # past the webhook, which refuses it, and cannot read it afterwards to let it be deleted
            stored = store.collection(key).entries[("", "broken")].object
            spec = {**stored["spec"], "preemptMinRuntime": duration}
            store.put(key, ("", "broken"), {**stored, "metadata": dict(stored["metadata"]), "spec": spec})

        await cluster.add_queue("broken")
        change("1d")
        await cluster.client.create(POD, pod("one", 1), "team")

        async def grouped():
            return await cluster.objects(KAI_POD_GROUP, "team")

        await cluster.wait_for(grouped)
        [waiting] = await cluster.pods()
        assert "nodeName" not in waiting["spec"]

        change("24h")
        await cluster.running(1)

    play(scenario)


def test_queues_in_a_circle_stop_every_queue_until_it_is_broken(play):
    async def scenario(cluster):
        await cluster.add_queue("round", "round")
        await cluster.client.create(POD, pod("caught", 1, "round"), "team")

        async def grouped():
            return await cluster.objects(KAI_POD_GROUP, "team")

        await cluster.wait_for(grouped)
        await cluster.client.create(POD, pod("innocent", 1), "team")

        async def both_grouped():
            return len(await cluster.objects(KAI_POD_GROUP, "team")) == 2

        await cluster.wait_for(both_grouped)
        assert all("nodeName" not in p["spec"] for p in await cluster.pods())

        await cluster.client.patch(KAI_QUEUE, "round", None, {"spec": {"parentQueue": None}})
        await cluster.running(2)

    play(scenario)


def test_more_room_lets_a_waiting_pod_run_and_clears_its_condition(play):
    async def scenario(cluster):
        for number in range(18):
            name = f"gpu-{'ab'[number // 9]}{number % 9 // 3 + 1}-{number % 3 + 1}"
            await cluster.client.patch(NODE, name, None, {"spec": {"unschedulable": True}})
        await cluster.client.create(POD, pod("one", 1), "team")
        await cluster.wait_for(lambda: verdict(cluster))

        await cluster.client.patch(NODE, "gpu-a1-1", None, {"spec": {"unschedulable": None}})

        [running] = await cluster.running(1)
        assert running["spec"]["nodeName"] == "gpu-a1-1"

        async def cleared():
            return await verdict(cluster) is None

        await cluster.wait_for(cleared)

    play(scenario)


def test_pods_that_keep_away_from_each_other_get_nodes_of_their_own(play):
    async def scenario(cluster):
        near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "decode"}}}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        for name, affinity in (("a", "podAntiAffinity"), ("b", "podAntiAffinity"), ("near", "podAffinity")):
            label = {} if name == "near" else {"app": "decode"}
            body = pod(name, 1, **label)
            body["spec"]["affinity"] = {affinity: {required: [near]}}
            await cluster.client.create(POD, body, "team")

        nodes = {p["metadata"]["name"]: p["spec"]["nodeName"] for p in await cluster.running(3)}
        assert nodes["a"] != nodes["b"]
        assert nodes["near"] in (nodes["a"], nodes["b"])

    play(scenario)


def test_a_pod_keeps_away_from_pods_of_the_namespaces_that_it_selects(play):
    """Kubernetes: a namespaceSelector chooses by labels, also when they change; an empty one chooses all."""

    async def scenario(cluster):
        await cluster.add_namespace("other")
        body = pod("there", 1, "team", app="x")
        await cluster.client.create(POD, {**body, "metadata": {**body["metadata"], "namespace": "other"}}, "other")
        held = (await cluster.running(1, "other"))[0]["spec"]["nodeName"]
        for node in await cluster.objects(NODE):
            if node["metadata"]["name"] != held:
                await cluster.client.patch(NODE, node["metadata"]["name"], None, {"spec": {"unschedulable": True}})

        def away(name, selector):
            asking = pod(name, 1)
            chosen = {"labelSelector": {"matchLabels": {"app": "x"}}, "namespaceSelector": selector}
            term = {"topologyKey": "kubernetes.io/hostname", **chosen}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            asking["spec"]["affinity"] = {"podAntiAffinity": required}
            return asking

        await cluster.client.create(POD, away("from-all", {}), "team")
        condition = await cluster.wait_for(lambda: verdict(cluster, "pg-from-all"))
        assert "anti-affinity" in str(condition)
        await cluster.client.create(POD, away("from-prod", {"matchLabels": {"env": "prod"}}), "team")

        async def started(name):
            return (await cluster.client.get(POD, name, "team"))["spec"].get("nodeName")

        assert await cluster.wait_for(lambda: started("from-prod")) == held
        assert not await started("from-all")
        labels = {"metadata": {"labels": {"env": "prod"}}}
        await cluster.client.patch(NAMESPACE, "other", None, labels)
        await cluster.client.create(POD, away("from-prod-too", {"matchLabels": {"env": "prod"}}), "team")
        assert "anti-affinity" in str(await cluster.wait_for(lambda: verdict(cluster, "pg-from-prod-too")))

    play(scenario)


def test_what_a_cycle_marked_the_next_one_clears_though_no_watch_has_told_of_it(play):
    async def scenario(cluster):
        group = {**manifest(KAI_POD_GROUP, "g", {"minMember": 1}), "metadata": {"name": "g", "namespace": "team"}}
        context = Context(cluster.client, cluster.options)
        writer = DecisionWriter(context, SchedulerCache(context.informers))
        context.informers.of(KAI_POD_GROUP).store(await cluster.client.create(KAI_POD_GROUP, group, "team"))

        await writer.write(CycleResult(conditions={"team/g": Condition("no room")}), "")
        marked = await verdict(cluster)
        await writer.write(CycleResult(cleared=("team/g",)), "")

        assert marked["message"] == "no room"
        assert await verdict(cluster) is None

    play(scenario, actors=frozenset())


def test_an_answer_to_a_change_brings_nothing_back_that_is_gone(play):
    async def scenario(cluster):
        informer = Context(cluster.client, cluster.options).informers.of(NODE)
        node = await cluster.client.get(NODE, "gpu-a1-1")

        informer.refresh(node)
        assert informer.values() == []
        informer.store(node)
        changed = await cluster.client.patch(NODE, "gpu-a1-1", None, {"spec": {"unschedulable": True}})
        informer.refresh(changed)

        assert informer.values() == [changed]

    play(scenario, actors=frozenset())
