"""Metrics and telemetry: figures of what was recorded from a real exporter's text; what was not is absent."""

import csv
from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine

from clusters.models import Pod
from tests.api.conftest import _workload
from tests.metrics.test_api import SPAN, START
from tests.metrics.test_recording import POD, exporter, make_node, read, say

POD_UID = "11111111-1111-4111-8111-1111111111aa"


@pytest.fixture
def recorded(api, project, default_pool, cluster, gateway):
    """Two minutes of one node with two GPUs: 20 % and 60 % on the one that a workload holds, 0 % on the free one."""
    exporter(gateway, "n1", "20", "0")
    make_node(cluster, "n1")
    workload = _workload(project, default_pool, "qwen", phase="Running", gpus_held=Decimal(1))
    Pod.objects.create(
        cluster=cluster, uid=POD_UID, name=POD, namespace="runai-a", resource_version="1", created_at=START,
        phase="Running", gpus=Decimal(1), node_name="n1", workload=str(workload.pk),
    )  # fmt: skip
    for minute, value in ((0, "20"), (1, "60")):
        say(gateway, "n1", value, "0")
        with time_machine.travel(START + timedelta(minutes=minute), tick=False):
            read(cluster, gateway)
    with time_machine.travel(START + timedelta(minutes=2), tick=False):
        yield workload


def values(answer):
    return {m["type"]: [v["value"] for v in m["values"]] for m in answer.json()["measurements"]}


def test_a_clusters_gpus_are_counted_over_time(api, recorded, cluster):
    types = "TOTAL_GPU,ALLOCATED_GPU,UNALLOCATED_GPU,GPU_UTILIZATION,TOTAL_GPU_NODES"
    answer = api.get(f"/api/v1/clusters/{cluster.pk}/metrics?metricType={types}&{SPAN}")

    assert answer.status_code == 200
    assert values(answer) == {
        "TOTAL_GPU": ["2", "2"], "ALLOCATED_GPU": ["1", "1"], "UNALLOCATED_GPU": ["1", "1"],
        "GPU_UTILIZATION": ["10", "30"], "TOTAL_GPU_NODES": ["1", "1"],
    }  # fmt: skip


def test_a_type_that_is_not_recorded_is_absent_and_the_answer_is_207(api, recorded, cluster):
    answer = api.get(f"/api/v1/clusters/{cluster.pk}/metrics?metricType=TOTAL_GPU,CPU_UTILIZATION&{SPAN}")
    assert answer.status_code == 207
    assert values(answer) == {"TOTAL_GPU": ["2", "2"]}


@pytest.mark.parametrize(("by", "name"), [("Project", "assistant"), ("Department", "research"), ("Category", "Deploy")])
def test_a_clusters_gpus_are_grouped_by_who_holds_them(api, recorded, cluster, by, name):
    path = f"/api/v1/clusters/{cluster.pk}/metrics?metricType=GPU_UTILIZATION&groupBy={by}&{SPAN}"
    found = api.get(path).json()["measurements"]

    assert [(m["groups"], [v["value"] for v in m["values"]]) for m in found] == [
        ([{"key": by, "value": name}], ["20", "60"])
    ]


def test_a_pools_departments_and_projects_gpus(api, recorded, cluster, project):
    pool = api.get(f"/api/v1/clusters/{cluster.pk}/nodepools/default/metrics?metricType=TOTAL_GPU&{SPAN}")
    units = [
        api.get(f"/api/v1/org-unit/{path}/metrics?metricType=GPU_ALLOCATION&{SPAN}")
        for path in (f"projects/{project.pk}", f"departments/{project.department_id}")
    ]

    assert values(pool) == {"TOTAL_GPU": ["2", "2"]}
    assert [values(unit) for unit in units] == [{"GPU_ALLOCATION": ["1", "1"]}] * 2


def test_of_a_project_in_another_pool_nothing_is_held(api, recorded, project):
    path = f"/api/v1/org-unit/projects/{project.pk}/metrics?metricType=GPU_ALLOCATION&nodepoolName=other&{SPAN}"
    assert values(api.get(path)) == {"GPU_ALLOCATION": ["0", "0"]}


def test_a_pods_gpus_are_known_where_it_is_alone_on_its_node(api, recorded, cluster):
    path = f"/api/v1/workloads/{recorded.pk}/pods/{POD_UID}/metrics?metricType=GPU_UTILIZATION&{SPAN}"
    alone = api.get(path)
    Pod.objects.create(
        cluster=cluster, uid="other", name="other", namespace="runai-a", resource_version="1", created_at=START,
        phase="Running", gpus=Decimal(1), node_name="n1", workload=str(recorded.pk),
    )  # fmt: skip
    beside = api.get(path)

    assert (alone.status_code, values(alone)) == (200, {"GPU_UTILIZATION": ["20", "60"]})
    assert (beside.status_code, values(beside)) == (207, {})


def test_a_workload_holds_a_gpu_that_is_not_measured_too(api, recorded, cluster, gateway):
    """Its GPU answers NaN in the third minute: no utilisation is known then, and one GPU is held."""
    say(gateway, "n1", "NaN", "0")
    with time_machine.travel(START + timedelta(minutes=2), tick=False):
        read(cluster, gateway)
    path = f"/api/v1/workloads/{recorded.pk}/metrics?metricType=GPU_ALLOCATION,GPU_UTILIZATION&{SPAN}"
    assert values(api.get(path)) == {"GPU_ALLOCATION": ["1", "1", "1"], "GPU_UTILIZATION": ["20", "60"]}


def test_metrics_come_as_csv(api, recorded, cluster):
    path = f"/api/v1/clusters/{cluster.pk}/metrics?metricType=TOTAL_GPU&groupBy=Nodepool&{SPAN}"
    rows = list(csv.DictReader(api.get(path, headers={"Accept": "text/csv"}).content.decode().splitlines()))
    assert [(r["type"], r["Nodepool"], r["value"]) for r in rows] == [("TOTAL_GPU", "default", "2")] * 2


@pytest.mark.parametrize(
    ("type_", "found"),
    [
        ("TOTAL_GPUS", {"gpu-a": "8", "gpu-b": "8"}),
        ("ALLOCATED_GPUS", {"gpu-a": "2", "gpu-b": "0"}),
        ("FREE_GPUS", {"gpu-a": "6", "gpu-b": "8"}),
        ("FULLY_FREE_GPU_NODES", {"gpu-a": "0", "gpu-b": "1"}),
        ("TOTAL_CPU_CORES", {"gpu-a": "96", "gpu-b": "96"}),
        ("TOTAL_GPU_MEMORY_BYTES", {name: str(143771 * 2**20 * 8) for name in ("gpu-a", "gpu-b")}),
        ("USED_CPU_CORES", {}),
        ("IDLE_ALLOCATED_GPUS", {}),
    ],
)
def test_node_telemetry_counts_what_is_there_and_leaves_out_what_is_not_known(api, world, type_, found):
    answer = api.get(f"/api/v1/nodes/telemetry?telemetryType={type_}&groupBy=Node").json()
    assert {v["groups"][0]["value"]: v["value"] for v in answer["values"]} == found
    total = api.get(f"/api/v1/nodes/telemetry?telemetryType={type_}").json()["values"]
    assert [Decimal(v["value"]) for v in total] == ([sum(map(Decimal, found.values()))] if found else [])


def test_telemetry_of_an_invisible_cluster_is_404(client_of, outsider, world):
    path = f"/api/v1/nodes/telemetry?telemetryType=TOTAL_GPUS&clusterId={world.cluster.pk}"
    assert client_of(outsider).get(path).status_code == 404
