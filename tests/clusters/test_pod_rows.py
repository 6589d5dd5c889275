"""What the watcher makes of pods: the GPUs that they ask for or hold, and why they wait."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client

from clusters import wire
from clusters.models import Cluster, Node, Pod
from clusters.node_presenting import node_condition_views
from clusters.watcher import store
from clusters.watcher.observed import keep_pod
from clusters.watcher.rows import node_row, pod_row
from tests.clusters.objects import node, pod
from tests.clusters.test_watcher import KINDS, ME, batch_of, decoded


@pytest.fixture
def mine(cluster: Cluster) -> Cluster:
    """A cluster whose lease this watcher has."""
    assert store.claim(cluster.pk, ME)
    return cluster


@pytest.mark.parametrize(
    ("annotations", "gpus"),
    [
        ({"gpu-fraction": "0.6", "gpu-fraction-num-devices": "2"}, "1.2"),  # field report 8
        ({"gpu-fraction": "0.1"}, "0.1"),
        ({"gpu-fraction": "abc"}, "0"),
        ({"gpu-fraction": "NaN"}, "0"),
    ],
)
def test_shared_gpus_are_counted_exactly(annotations: dict[str, str], gpus: str) -> None:
    manifest = pod("p", gpus=0)
    manifest["metadata"]["annotations"] = annotations

    assert pod_row(decoded(manifest, wire.PodObject)).gpus == Decimal(gpus)


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("9999-12-31T23:59:59-10:00", datetime(9999, 12, 30, tzinfo=UTC)),
        ("9999-12-29T23:59:59Z", datetime(9999, 12, 29, 23, 59, 59, tzinfo=UTC)),
        ("0001-01-01T00:00:00+10:00", None),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_a_moment_at_the_end_of_the_calendar_is_the_nearest_and_gos_zero_is_not_known(
    moment: str, shown: datetime | None
) -> None:
    manifest = node("n", gpus=8)
    manifest["metadata"]["creationTimestamp"] = moment
    manifest["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": moment}]

    row = node_row(decoded(manifest, wire.NodeObject))

    assert row.created_at == (shown or datetime(1970, 1, 1, tzinfo=UTC))
    assert node_condition_views(row)[0]["since"] == shown


def test_kais_place_holder_of_a_shared_device_is_not_counted_beside_those_who_share_it() -> None:
    """Where pods share a device KAI runs a pod of its own that asks for the whole one."""
    holder = pod("gpu-reservation-n0-abcde", gpus=1)
    assert keep_pod(decoded(holder, wire.PodObject))

    holder["metadata"]["namespace"] = "kai-resource-reservation"

    assert not keep_pod(decoded(holder, wire.PodObject))


@pytest.mark.parametrize("amount", ["99999999999999999999", "1e18", "2147483648"])
def test_a_node_that_counts_more_gpus_than_can_be_drawn_counts_the_most_that_can(amount: str) -> None:
    """Each GPU is a square of the map: 2^31 of them would take the memory of every process that draws them."""
    manifest = node("n", gpus=8)
    amounts = {"nvidia.com/gpu": amount, "nvidia.com/mig-1g.12gb": amount}
    manifest["status"] |= {"capacity": amounts, "allocatable": amounts}

    row = node_row(decoded(manifest, wire.NodeObject))

    assert (row.gpu_capacity, row.gpu_allocatable, row.mig) == (4096, 4096, {"nvidia.com/mig-1g.12gb": 4096})


def test_one_node_of_absurd_size_leaves_sums_over_nodes_within_the_database(mine: Cluster) -> None:
    """SQLite's SUM fails beyond int64, PostgreSQL's column too: 9 EiB of one node would take every page of quota."""
    odd = node("odd")
    odd["status"]["capacity"] = {"cpu": "1e60", "memory": "9999999999Ei", "pods": "110"}

    store.write_batch(
        mine.pk,
        ME,
        KINDS["nodes"],
        batch_of(*(decoded(item, wire.NodeObject) for item in (odd, node("even"), node("third")))),
    )

    sums = Node.objects.aggregate(cpu=Sum("cpu_millicores"), memory=Sum("memory_bytes"))
    assert sums == {"cpu": 2**50 + 2 * 64_000, "memory": 2**50 + 2 * 512 * 2**30}


@pytest.mark.parametrize("cpu", [{}, {"cpu": None}, {"cpu": "many"}])
def test_field_report_60_the_cpu_of_one_node_that_does_not_say_it_is_unknown_and_no_others(
    mine: Cluster, client_of: Callable[[Any], Client], admin: Any, cpu: dict[str, Any]
) -> None:
    odd = node("odd")
    odd["status"]["capacity"] = {"nvidia.com/gpu": "8", "memory": None, **cpu}
    odd["status"]["allocatable"] = odd["status"]["capacity"]
    nodes = (decoded(item, wire.NodeObject) for item in (odd, node("even")))

    store.write_batch(mine.pk, ME, KINDS["nodes"], batch_of(*nodes))

    client = client_of(admin)
    telemetry = client.get("/api/v1/nodes/telemetry?telemetryType=TOTAL_CPU_CORES&groupBy=Node").json()["values"]
    assert [(each["groups"][0]["value"], each["value"]) for each in telemetry] == [("even", "64")]
    assert Node.objects.get(name="odd").gpu_allocatable == 8
    for path in ("/", "/nodes/", "/nodes/map/", f"/nodes/{Node.objects.get(name='odd').pk}/"):
        page = client.get(path)
        assert page.status_code == 200
        assert path == "/" or "odd" in page.content.decode()


def test_an_init_container_that_cannot_start_is_the_reason() -> None:
    manifest = pod("p")
    failing = {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "late" not found'}}
    manifest["status"] = {
        "phase": "Pending",
        "containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}],
        "initContainerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}, {"state": failing}],
    }

    row = pod_row(decoded(manifest, wire.PodObject))

    assert (row.reason, row.message) == ("CreateContainerConfigError", 'secret "late" not found')


def test_field_report_9_gpu_memory_is_charged_by_what_the_node_has_whichever_is_read_first(mine: Cluster) -> None:
    asking = pod("p", gpus=0, nodeName="n1")
    asking["metadata"]["annotations"] = {"gpu-memory": "20000", "gpu-fraction-num-devices": "2"}
    unlabelled = node("n1")
    labelled = node("n1", version=2, labels={"nvidia.com/gpu.memory": "80000"})

    held = []
    for kind, item, struct in (
        ("pods", asking, wire.PodObject),
        ("nodes", unlabelled, wire.NodeObject),
        ("nodes", labelled, wire.NodeObject),
        ("pods", asking, wire.PodObject),
    ):
        store.write_batch(mine.pk, ME, KINDS[kind], batch_of(decoded(item, struct)))
        held.append(Pod.objects.values_list("gpus", flat=True).first())

    assert held == [0, 0, Decimal("0.5"), Decimal("0.5")]
