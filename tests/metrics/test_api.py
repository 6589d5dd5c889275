"""Metrics of workloads and nodes in Run:ai's shape."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from clusters.models import Pod
from tests.metrics.test_recording import POD, exporter, make_node, read, say

START = datetime(2026, 11, 29, 18, 0, 5, tzinfo=UTC)
SPAN = "start=2026-11-29T17:00:00Z&end=2026-11-29T19:00:00Z"


@pytest.fixture
def api(admin: Any, client_of: Any, cluster: Any, gateway: Any) -> Client:
    """Two minutes of a node with two GPUs were recorded."""
    exporter(gateway, "n1", "20", "0")
    make_node(cluster, "n1")
    Pod.objects.create(
        cluster=cluster,
        uid="p",
        name=POD,
        namespace="runai-a",
        resource_version="1",
        created_at=timezone.now(),
        phase="Running",
        gpus=Decimal(1),
        workload="11111111-1111-4111-8111-111111111111",
    )
    for minute, value in ((0, "20"), (1, "60")):
        say(gateway, "n1", value, "0")
        with time_machine.travel(START + timedelta(minutes=minute), tick=False):
            read(cluster, gateway)
    client: Client = client_of(admin)
    return client


@time_machine.travel(START + timedelta(minutes=2), tick=False)
def test_a_nodes_gpus_are_measured_one_by_one_and_on_average(api: Client) -> None:
    answer = api.get(f"/api/v1/nodes/n1/metrics?metricType=GPU_UTILIZATION_PER_GPU,GPU_UTILIZATION&{SPAN}").json()

    values = [(m["type"], m.get("labels"), [v["value"] for v in m["values"]]) for m in answer["measurements"]]
    assert values == [
        ("GPU_UTILIZATION_PER_GPU", {"gpu": "0"}, ["20", "60"]),
        ("GPU_UTILIZATION_PER_GPU", {"gpu": "1"}, ["0", "0"]),
        ("GPU_UTILIZATION", None, ["10", "30"]),
    ]
    assert answer["measurements"][0]["values"][0]["timestamp"] == "2026-11-29T18:00:00Z"


@time_machine.travel(START + timedelta(minutes=2), tick=False)
def test_samples_are_thinned_and_the_newest_stays(api: Client) -> None:
    answer = api.get(f"/api/v1/nodes/n1/metrics?metricType=GPU_UTILIZATION&numberOfSamples=1&{SPAN}").json()

    assert [v["value"] for v in answer["measurements"][0]["values"]] == ["30"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (SPAN, "metricType"),
        (f"metricType=CPU_COLOUR&{SPAN}", "metricType"),
        ("metricType=GPU_UTILIZATION&start=yesterday&end=2026-11-29T19:00:00Z", "start"),
        ("metricType=GPU_UTILIZATION&start=2026-11-29T19:00:00Z&end=2026-11-29T17:00:00Z", "end"),
        (f"metricType=GPU_UTILIZATION&numberOfSamples=1001&{SPAN}", "numberOfSamples"),
    ],
)
def test_what_is_wrong_is_named(api: Client, query: str, field: str) -> None:
    answer = api.get(f"/api/v1/nodes/n1/metrics?{query}")

    assert answer.status_code == 400
    assert field in str(answer.json())


def test_an_outsider_gets_404(api: Client, outsider: Any, client_of: Any) -> None:
    path = f"/api/v1/nodes/n1/metrics?metricType=GPU_UTILIZATION&{SPAN}"

    assert client_of(outsider).get(path).status_code == 404
