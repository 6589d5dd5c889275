"""Rounds over exporters, kept in frames and shown on pages."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from clusters import kinds
from clusters.kube.errors import Unavailable
from clusters.models import Node, Pod
from controlplane.live_views import _may_hear
from metrics import selectors
from metrics.models import MetricFrame, MetricSource
from metrics.recording import record, take_turn
from metrics.scrape import find_targets, read_round

START = datetime(2026, 11, 29, 18, 0, 5, tzinfo=UTC)
POD = "qwen-0-decode-x"


def exporter(gateway: Any, node: str, *values: str, port: int = 9400) -> None:
    name = f"dcgm-{node}"
    gateway.put(
        kinds.POD,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "gpu-operator", "labels": {"app": "nvidia-dcgm-exporter"}},
            "spec": {"nodeName": node, "containers": [{"ports": [{"name": "metrics", "containerPort": port}]}]},
            "status": {"phase": "Running"},
        },
    )
    say(gateway, node, *values, port=port)


def say(gateway: Any, node: str, *values: str, port: int = 9400) -> None:
    owner = f',namespace="runai-a",pod="{POD}"'
    lines = [
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="{i}",UUID="GPU-{node}-{i}",Hostname="{node}"{owner if i == 0 else ""}}} {value}'
        for i, value in enumerate(values)
    ]
    path = f"/api/v1/namespaces/gpu-operator/pods/dcgm-{node}:{port}/proxy/metrics"
    gateway.texts[path] = "\n".join(lines) + "\n"


def read(cluster: Any, gateway: Any) -> int:
    source = take_turn(cluster, not_sooner_than=timedelta(0))
    assert source is not None
    return record(source, gateway)


def make_node(cluster: Any, name: str) -> Node:
    return Node.objects.create(
        cluster=cluster,
        uid=name,
        name=name,
        resource_version="1",
        created_at=timezone.now(),
        gpu_capacity=2,
        gpu_allocatable=2,
    )


def test_a_round_is_kept_as_the_minutes_frame_and_attributed_to_the_workload(cluster: Any, gateway: Any) -> None:
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
    exporter(gateway, "n1", "80", "0")
    exporter(gateway, "n2", "NaN")

    with time_machine.travel(START, tick=False):
        assert read(cluster, gateway) == 3
        assert read(cluster, gateway) == 3
        moment = selectors.latest(cluster, selectors.layout_of(cluster))

    frame = MetricFrame.objects.get()
    assert (frame.step, frame.at) == (60, START.replace(second=0))
    assert moment is not None
    assert moment.owners == ("11111111-1111-4111-8111-111111111111",)
    gpus = selectors.node_gpus(make_node(cluster, "n1"))
    assert [(gpu.index, gpu.utilisation) for gpu in gpus] == [(0, 80), (1, 0)]
    assert [gpu.utilisation for gpu in selectors.node_gpus(make_node(cluster, "n2"))] == [None]


def test_60_one_node_that_fails_leaves_the_others(cluster: Any, gateway: Any) -> None:
    exporter(gateway, "n1", "80")
    exporter(gateway, "n2", "10")
    gateway.texts["/api/v1/namespaces/gpu-operator/pods/dcgm-n2:9400/proxy/metrics"] = "<html>"

    assert read(cluster, gateway) == 1

    source = MetricSource.objects.get()
    assert list(source.failures) == ["n2"]
    assert source.error == ""


def test_77_a_source_that_is_down_is_stale_with_its_reason_and_age(cluster: Any, gateway: Any) -> None:
    exporter(gateway, "n1", "80")
    with time_machine.travel(START, tick=False):
        read(cluster, gateway)
    with time_machine.travel(START + timedelta(minutes=10), tick=False):
        gateway.fail_at(1, Unavailable("connection refused"))
        read(cluster, gateway)
        found = selectors.freshness(cluster)

    assert (found.state, found.read_at, found.error) == ("stale", START, "connection refused")


def test_a_cluster_without_exporter_is_unknown_and_not_zero(cluster: Any, gateway: Any) -> None:
    assert read(cluster, gateway) == 0

    assert selectors.freshness(cluster) == selectors.Freshness("unknown", None, "The cluster has no dcgm-exporter pod.")
    assert selectors.latest(cluster, selectors.layout_of(cluster)) is None


def test_only_one_reads_at_a_time_and_not_too_soon(cluster: Any) -> None:
    with time_machine.travel(START, tick=False):
        source = take_turn(cluster, not_sooner_than=timedelta(seconds=12))
        assert source is not None
        assert take_turn(cluster, not_sooner_than=timedelta(seconds=12)) is None
        MetricSource.objects.update(busy_until=None)
        assert take_turn(cluster, not_sooner_than=timedelta(seconds=12)) is None
    with time_machine.travel(START + timedelta(seconds=15), tick=False):
        assert take_turn(cluster, not_sooner_than=timedelta(seconds=12)) is not None


def test_minutes_roll_up_and_what_is_old_goes(cluster: Any, gateway: Any) -> None:
    exporter(gateway, "n1", "20")
    for minute, value in ((0, "20"), (1, "40"), (11, "90")):
        say(gateway, "n1", value)
        with time_machine.travel(START + timedelta(minutes=minute), tick=False):
            read(cluster, gateway)

    rolled = MetricFrame.objects.get(step=600)
    assert rolled.at == START.replace(second=0)
    with time_machine.travel(START + timedelta(minutes=12), tick=False):
        day = selectors.history(cluster, selectors.layout_of(cluster), 24)
    assert [int(moment.utilisation[0]) for moment in day] == [30]
    with time_machine.travel(START + timedelta(hours=8), tick=False):
        read(cluster, gateway)
    with time_machine.travel(START + timedelta(hours=8, minutes=11), tick=False):
        read(cluster, gateway)
    assert not MetricFrame.objects.filter(step=60, at__lt=START + timedelta(hours=2)).exists()


@pytest.fixture
def measured(cluster: Any, gateway: Any) -> Node:
    exporter(gateway, "n1", "80", "0")
    read(cluster, gateway)
    return make_node(cluster, "n1")


def test_the_page_shows_averages_with_what_they_are_of(
    cluster: Any, measured: Node, client_of: Any, viewer: Any
) -> None:
    page = client_of(viewer).get(reverse("metrics:gpu-utilisation"))
    text = page.content.decode()

    assert "over 2 measured GPUs" in text
    assert "40" in text
    assert "data-chart" in text
    assert _may_hear(viewer, page.context["topics"])


@pytest.mark.parametrize("by", ["pool", "node", "project", "workload"])
def test_every_grouping_renders(cluster: Any, measured: Node, client_of: Any, viewer: Any, by: str) -> None:
    response = client_of(viewer).get(reverse("metrics:gpu-utilisation"), {"by": by, "hours": "24"})

    assert response.status_code == 200


def test_a_page_without_any_measurement_says_so(cluster: Any, client_of: Any, viewer: Any) -> None:
    text = client_of(viewer).get(reverse("metrics:gpu-utilisation")).content.decode()

    assert "Nothing has been measured yet" in text


def test_the_nodes_fragment_shows_each_gpu_and_an_outsider_gets_404(
    measured: Node, client_of: Any, viewer: Any, outsider: Any
) -> None:
    url = reverse("metrics:node-gpus", args=[measured.pk])

    assert "another pod" in client_of(viewer).get(url).content.decode()
    assert client_of(outsider).get(url).status_code == 404


def test_the_pools_fragment_sums_its_nodes(
    cluster: Any, default_pool: Any, measured: Node, client_of: Any, viewer: Any, outsider: Any
) -> None:
    url = reverse("metrics:pool-gpus", args=[default_pool.pk])

    assert "over 2 of 2 GPUs" in client_of(viewer).get(url).content.decode()
    assert client_of(outsider).get(url).status_code == 404


def test_gpus_that_no_exporter_lists_count_as_unmeasured(
    cluster: Any, measured: Node, client_of: Any, viewer: Any
) -> None:
    make_node(cluster, "n2")

    response = client_of(viewer).get(reverse("metrics:gpu-utilisation"), {"by": "node"})

    figures = response.context["summary"]
    assert (figures.gpus, figures.measured, figures.unmeasured) == (4, 2, 2)
    assert {group.label: group.summary.unmeasured for group in response.context["groups"]} == {"n1": 0, "n2": 2}
    assert response.context["distribution"]["data"][0]["x"][-1] == 2


def test_a_round_ends_in_time_and_names_the_nodes_whose_turn_did_not_come(gateway: Any) -> None:
    exporter(gateway, "n1", "80")

    result = read_round(gateway, find_targets(gateway), seconds=-1)

    assert (result.readings, result.failures, result.waiting) == ({}, {}, {"n1"})
