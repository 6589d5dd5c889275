"""Exporters behind the proxy path: GPUs are busy exactly where something runs."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clusters.kinds import POD
from simulator.actors.exporters.dcgm import assign
from simulator.actors.exporters.load import load_of
from simulator.actors.quantities import devices
from tests.simulator.actors.graphs import graph as disaggregated
from tests.simulator.actors.graphs import pod, worker


def graph() -> dict:
    return disaggregated(worker("decode", 4, 1))


async def scrape(cluster, node):
    return await metrics_of(cluster, "pods", "gpu-operator", await exporter_of(cluster, node), 9400)


async def exporter_of(cluster, node):
    pods = await cluster.objects(POD, "gpu-operator")
    return next(p["metadata"]["name"] for p in pods if p["spec"]["nodeName"] == node)


async def metrics_of(cluster, *key):
    """Metric family → samples behind a proxied port; None while it does not answer."""
    proxy = cluster.server.hooks.proxies.get(key)
    if proxy is None:
        return None
    status, _, body = await proxy("GET", "/metrics", "", b"")
    if status != 200:
        return None
    return {family.name: family.samples for family in text_string_to_metric_families(body.decode())}


def test_exactly_the_gpus_of_running_pods_are_busy_and_named(play):
    async def scenario(cluster):
        await cluster.submit(graph())
        pods = await cluster.running(2)
        worker = next(p for p in pods if "decode" in p["metadata"]["name"])
        node = worker["spec"]["nodeName"]

        async def attributed():
            found = await scrape(cluster, node) or {}
            samples = found.get("DCGM_FI_DEV_GPU_UTIL", [])
            return found if any(s.value for s in samples) else None

        metrics = await cluster.wait_for(attributed)
        samples = metrics["DCGM_FI_DEV_GPU_UTIL"]

        busy = {s.labels["gpu"] for s in samples if s.labels.get("exported_pod") == worker["metadata"]["name"]}
        assert busy == {"0", "1", "2", "3"}
        assert {s.labels["gpu"] for s in samples} == {str(number) for number in range(8)}
        assert all(s.value == 0 for s in samples if "exported_pod" not in s.labels)
        assert all(s.labels["Hostname"] == node and re.match(r"GPU-[0-9a-f-]{36}$", s.labels["UUID"]) for s in samples)
        assert {s.labels["exported_namespace"] for s in samples if "exported_pod" in s.labels} == {"team"}
        used = {s.labels["gpu"]: s.value for s in metrics["DCGM_FI_DEV_FB_USED"]}
        free = {s.labels["gpu"]: s.value for s in metrics["DCGM_FI_DEV_FB_FREE"]}
        assert all(used[gpu] + free[gpu] == 81559 for gpu in used)
        for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"):
            assert len(metrics[name]) == 8

    play(scenario)


def test_a_pod_that_has_ended_holds_no_gpu_any_more(play):
    async def scenario(cluster):
        await cluster.client.create(POD, pod("job", 4), "team")
        [running] = await cluster.running(1)

        async def holds():
            found = await scrape(cluster, running["spec"]["nodeName"]) or {}
            return [s for s in found.get("DCGM_FI_DEV_GPU_UTIL", []) if s.labels.get("exported_pod") == "job"]

        assert len(await cluster.wait_for(holds)) == 4
        await cluster.client.patch(POD, "job", "team", {"status": {"phase": "Succeeded"}}, subresource="status")

        async def holds_none():
            return not await holds()

        await cluster.wait_for(holds_none)

    play(scenario)


def test_an_exporter_that_is_down_does_not_answer(play):
    async def scenario(cluster):
        async def answers():
            key = ("pods", "gpu-operator", await exporter_of(cluster, "gpu-a1-1"), 9400)
            return key in cluster.server.hooks.proxies

        await cluster.wait_for(answers)
        cluster.faults.switch_on("exporter-down", {"node": "gpu-a1-1"})

        assert await scrape(cluster, "gpu-a1-1") is None
        assert await scrape(cluster, "gpu-a1-2") is not None

    play(scenario)


def test_an_unhealthy_gpu_reports_an_xid_error(play):
    async def scenario(cluster):
        async def broken():
            metrics = await scrape(cluster, "gpu-a3-2")
            return metrics and {s.labels["gpu"] for s in metrics["DCGM_FI_DEV_XID_ERRORS"] if s.value}

        assert await cluster.wait_for(broken) == {"7"}

    play(scenario, fleet="small")


def test_a_frontend_and_its_workers_have_dynamos_metrics(play):
    async def scenario(cluster):
        await cluster.submit(graph())
        pods = {p["metadata"]["labels"]["nvidia.com/dynamo-component"]: p for p in await cluster.running(2)}

        async def read(component, port, family):
            name = pods[component]["metadata"]["name"]
            found = await metrics_of(cluster, "pods", "team", name, port)
            return found if found and family in found else None

        frontend = await cluster.wait_for(lambda: read("Frontend", 8000, "dynamo_frontend_model_ready"))
        worker = await cluster.wait_for(lambda: read("decode", 9090, "dynamo_component_requests"))

        assert frontend["dynamo_frontend_model_ready"][0].labels == {"model": "qwen/qwen3-32b"}
        assert "dynamo_frontend_time_to_first_token_seconds" in frontend
        labels = worker["dynamo_component_requests"][0].labels
        assert labels["dynamo_namespace"] == "team_qwen"
        assert labels["dynamo_endpoint"] == "generate"
        assert "vllm:kv_cache_usage_perc" in worker

    play(scenario)


@pytest.mark.parametrize("now", [0.0, 1e9, 1.8e9 + 12345])
def test_load_is_repeatable_varies_slowly_and_stays_within_bounds(now):
    pod = {"metadata": {"name": "p", "namespace": "n", "labels": {"nvidia.com/dynamo-sub-component-type": "decode"}}}

    def at(moment, ready_for_s=1000.0):
        return load_of(pod, 0, moment, seed=7, memory_mib=81559, ready_for_s=ready_for_s)

    assert at(now) == at(now)
    assert abs(at(now).engine - at(now + 1).engine) < 0.05
    assert 0 <= at(now).utilisation <= 100
    assert 0 < at(now).memory_used < 81559
    assert at(now, ready_for_s=0).engine < at(now).engine


def test_a_workload_marked_idle_holds_memory_and_does_nothing():
    pod = {"metadata": {"name": "p", "namespace": "n", "annotations": {"simulator.muster/load": "idle"}}}

    load = load_of(pod, 0, 1e9, seed=7, memory_mib=81559, ready_for_s=1000.0)

    assert (load.utilisation, load.engine) == (0, 0)
    assert load.memory_used > 40_000


def test_a_pod_keeps_its_devices_when_an_earlier_one_goes():
    def pod(name, gpus):
        limits = {"limits": {"nvidia.com/gpu": str(gpus)}}
        spec = {"containers": [{"name": "c", "resources": limits}]}
        return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec, "status": {"startTime": name}}

    first, second, third = pod("a", 2), pod("b", 2), pod("c", 3)
    before = assign([first, second], 8, {})
    after = assign([second, third], 8, {n: p["metadata"]["uid"] for n, p in before.items()})

    assert {n: p["metadata"]["name"] for n, p in before.items()} == {0: "a", 1: "a", 2: "b", 3: "b"}
    assert {n: p["metadata"]["name"] for n, p in after.items()} == {0: "c", 1: "c", 2: "b", 3: "b", 4: "c"}


def test_the_scheduler_reports_the_fair_share_of_every_queue(play):
    async def scenario(cluster):
        await cluster.add_queue("shown", displayName="Shown name", gpu={"quota": 8})
        await cluster.submit(graph())
        await cluster.running(2)

        async def shares():
            families = await metrics_of(cluster, "services", "kai-scheduler", "kai-scheduler-default", 8080)
            samples = families.get("kai_queue_fair_share_gpu", [])
            return {s.labels["queue_metadata_name"]: (s.labels["queue_name"], s.value) for s in samples}

        async def both():
            found = await shares()
            return found.get("team") == ("team", 4.0) and found.get("shown") == ("Shown name", 0.0)

        await cluster.wait_for(both)

    play(scenario)


def test_a_service_is_answered_by_a_ready_pod_behind_it(play):
    async def scenario(cluster):
        await cluster.submit(graph())
        await cluster.running(2)

        async def answered():
            return await metrics_of(cluster, "services", "team", "qwen-frontend", 8000)

        assert "dynamo_frontend_inflight_requests" in await cluster.wait_for(answered)

    play(scenario)


@pytest.mark.parametrize(
    ("amount", "count"),
    [
        ("8", 8),
        ("1e1", 10),
        ("2k", 2000),
        ("-5", 0),
        ("x", 0),
        ("9" * 20, 4096),
        ("1e999999999", 4096),
        ("-1e999999999", 0),
        ("1e-999999999", 0),
        (None, 0),
    ],
)
def test_devices_are_counted_as_kubernetes_counts_and_never_without_bound(amount, count):
    assert devices(amount) == count
