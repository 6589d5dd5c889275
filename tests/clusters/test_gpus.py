"""How GPUs are counted; each expected number is added up by hand."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from clusters.colours import Devices
from clusters.gpu_map import Cell, MapNode, cells_of, grouped, histogram
from clusters.gpus import memory_share, node_gpus
from clusters.models import Cluster, Node
from clusters.selectors import gpu_strip, node_rows, watch_state
from tests.clusters.builders import add_node, add_pod

NOW = dt.datetime(2026, 11, 29, 12, 0, tzinfo=dt.UTC)


def gpus(capacity: int = 8, allocatable: int | None = 8, held: str = "0", **state: Any) -> Any:
    state = {"cordoned": False, "ready": "True"} | state
    return node_gpus(capacity=capacity, allocatable=allocatable, held=Decimal(held), **state)


def parts(found: Any) -> tuple[Decimal, ...]:
    return (found.allocated, found.free, found.cordoned, found.unhealthy, found.over)


def test_field_report_41_three_broken_gpus_of_eight_are_not_a_healthy_node_of_five() -> None:
    assert parts(gpus(8, 5)) == (0, 5, 0, 3, 0)
    assert parts(gpus(5, 5)) == (0, 5, 0, 0, 0)


def test_field_report_42_what_a_cordoned_node_holds_stays_counted() -> None:
    assert parts(gpus(held="6", cordoned=True)) == (6, 0, 2, 0, 0)


def test_field_report_46_gpus_that_are_missing_in_allocatable_cannot_be_used() -> None:
    assert parts(gpus(8, None)) == (0, 0, 0, 8, 0)


def test_field_report_14_more_held_than_there_is_stays_visible_and_free_is_never_negative() -> None:
    assert parts(gpus(8, 5, "8")) == (5, 0, 0, 3, 3)
    assert parts(gpus(0, 0, "2")) == (0, 0, 0, 0, 2)


def test_free_gpus_of_a_node_that_is_not_ready_are_no_free_gpus() -> None:
    assert parts(gpus(held="2", ready="False")) == (2, 0, 0, 6, 0)
    assert parts(gpus(held="2", ready="Unknown", cordoned=True)) == (2, 0, 0, 6, 0)


def test_shares_of_gpus_are_exact() -> None:
    assert parts(gpus(held="1.2")) == (Decimal("1.2"), Decimal("6.8"), 0, 0, 0)


@given(
    st.integers(0, 16),
    st.one_of(st.none(), st.integers(0, 16)),
    st.decimals(0, 20, places=4),
    st.booleans(),
    st.sampled_from(["True", "False", "Unknown"]),
)
def test_the_parts_add_up_whatever_a_node_reports(
    capacity: int, allocatable: int | None, held: Decimal, cordoned: bool, ready: str
) -> None:
    found = node_gpus(capacity=capacity, allocatable=allocatable, held=held, cordoned=cordoned, ready=ready)

    assert found.allocated + found.free + found.cordoned + found.unhealthy == found.total == capacity
    assert found.allocated + found.over == held
    assert min(parts(found)) >= 0
    assert len(cells_of(found)) == capacity


def test_field_report_12_a_gpu_is_counted_once_however_many_pools_its_node_matches(
    admin: User, cluster: Cluster
) -> None:
    add_node(cluster, "shared", labels={"pool-a": "1", "pool-b": "1"})

    assert gpu_strip(admin, cluster).total == 8


def test_field_report_14_pods_on_a_node_that_is_gone_are_over_use(admin: User, cluster: Cluster) -> None:
    add_node(cluster, "n1")
    add_pod(cluster, "p1", "n1", "2")
    add_pod(cluster, "p2", "removed", "4")
    add_pod(cluster, "p3", "", "4")  # waits: holds nothing (field report 11)
    add_pod(cluster, "p4", "n1", "4", phase="Succeeded")

    strip = gpu_strip(admin, cluster)

    assert (strip.total, strip.allocated, strip.free, strip.over) == (8, 2, 6, 4)


@pytest.mark.parametrize(
    ("asked", "devices", "memory", "gpus"),
    [
        ("20000", "1", 80_000, "0.25"),
        ("20000", "2", 80_000, "0.5"),
        ("80000", "1", 80_000, "1"),
        ("20000", "1", None, None),
        ("20000", "1", 0, None),
        ("much", "1", 80_000, None),
        ("-1", "1", 80_000, None),
    ],
)
def test_field_report_9_gpu_memory_is_a_part_of_the_nodes_device_or_not_known(
    asked: str, devices: str, memory: int | None, gpus: str | None
) -> None:
    assert memory_share(asked, devices, memory) == (Decimal(gpus) if gpus else None)


def test_field_report_9_pods_that_cannot_be_counted_are_said_not_taken_as_zero(
    admin: User, cluster: Cluster, client_of: Any
) -> None:
    node = add_node(cluster, "n1", gpu_memory_mib=None)
    add_node(cluster, "n2")
    add_pod(cluster, "p1", "n1", "0", scheduling={"gpuMemory": "20000"})
    add_pod(cluster, "p2", "n2", "0")  # asks for no GPU at all
    add_pod(cluster, "p3", "", "0", scheduling={"gpuMemory": "20000"})  # holds nothing yet

    page = client_of(admin).get(f"/nodes/{node.pk}/").content.decode()
    listed = client_of(admin).get("/nodes/").content.decode()

    assert gpu_strip(admin, cluster).uncounted == 1
    assert gpu_strip(admin, nodes=Node.objects.filter(name="n2")).uncounted == 0
    assert "1 pod asks for GPU memory, and the memory of the GPUs is not known" in page
    assert "1 pod with GPU memory not counted" in listed


def test_field_report_44_a_mig_node_is_listed_with_its_slices_and_no_whole_gpus(admin: User, cluster: Cluster) -> None:
    add_node(cluster, "mig", gpu_capacity=0, gpu_allocatable=0, mig={"nvidia.com/mig-1g.12gb": 2})

    strip = gpu_strip(admin, cluster)

    assert (strip.total, strip.nodes, dict(strip.mig)) == (0, 1, {"nvidia.com/mig-1g.12gb": 2})
    assert node_rows(admin, cluster).get().state == "Ready"  # type: ignore[attr-defined]


def test_field_report_49_cpu_nodes_and_no_nodes_have_0_gpus(admin: User, cluster: Cluster) -> None:
    assert gpu_strip(admin, cluster).total == 0
    add_node(cluster, "cpu", gpu_capacity=0, gpu_allocatable=0, gpu_type="")
    assert (gpu_strip(admin, cluster).total, gpu_strip(admin, cluster).nodes) == (0, 1)


def test_a_strip_of_chosen_nodes_does_not_count_what_lies_elsewhere(admin: User, cluster: Cluster) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    add_pod(cluster, "p", "b", "3")

    strip = gpu_strip(admin, nodes=Node.objects.filter(name="a"))

    assert (strip.total, strip.allocated, strip.over) == (8, 0, 0)


def test_two_clusters_with_equal_node_names_do_not_mix(admin: User, cluster: Cluster) -> None:
    other = Cluster.objects.create(name="cluster-b", server="https://b", credential=b"")
    for row in (cluster, other):
        add_node(row, "n1")
    add_pod(other, "p", "n1", "8")

    assert gpu_strip(admin, cluster).allocated == 0
    assert gpu_strip(admin, other).allocated == 8
    assert {row.cluster_id: row.held for row in node_rows(admin)} == {cluster.pk: 0, other.pk: 8}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({}, "Ready"),
        ({"gpu_allocatable": 7}, "Unhealthy"),
        ({"gpu_allocatable": None}, "Unhealthy"),
        ({"cordoned": True}, "Cordoned"),
        ({"ready": "False", "cordoned": True}, "NotReady"),
        ({"ready": "Unknown"}, "Unknown"),
        ({"ready": ""}, "Unknown"),
    ],
)
def test_the_state_of_a_node(admin: User, cluster: Cluster, columns: dict[str, Any], state: str) -> None:
    add_node(cluster, "n", **columns)

    assert node_rows(admin, cluster).get().state == state  # type: ignore[attr-defined]


def test_a_partly_held_gpu_is_a_cell_of_its_own() -> None:
    assert [(cell.state, cell.value) for cell in cells_of(gpus(4, 3, "1.25"))] == [
        ("held", 100),
        ("held", 25),
        ("free", None),
        ("unhealthy", None),
    ]


def test_measured_cells_stand_by_device_and_zero_is_not_unmeasured() -> None:
    devices = Devices({0: 90, 1: 0, 2: None, 3: 0, 4: 0, 5: 0, 6: 0}, held=frozenset({0, 1, 2}))

    cells = cells_of(gpus(8, 7, "3"), devices)

    assert [(cell.state, cell.value) for cell in cells] == [
        ("measured", 90),
        ("measured", 0),
        ("unknown", None),
        *[("free", None)] * 4,
        ("unhealthy", None),  # the device that the exporter does not list
    ]
    assert [count for _label, count in histogram(cells)] == [1, *[0] * 8, 1, 0]


def test_the_histogram_counts_every_figure_once() -> None:
    cells = [Cell("measured", value) for value in (0, 1, 10, 11, 90, 91, 100)]

    counted = dict(histogram(cells))

    assert (counted["0"], counted["0–10"], counted["10–20"], counted["80–90"], counted["90–100"]) == (1, 2, 1, 1, 2)
    assert sum(counted.values()) == len(cells)


def test_a_cordoned_node_shows_its_figures_and_its_rest_as_cordoned() -> None:
    devices = Devices({0: 50, 1: 0}, held=frozenset({0}))

    assert [cell.state for cell in cells_of(gpus(2, 2, "1", cordoned=True), devices)] == ["measured", "cordoned"]


def map_node(name: str, **labels: str) -> MapNode:
    return MapNode(1, name, labels, gpus(), "Ready", "")


def test_nodes_stand_in_their_domains_and_those_without_a_label_apart() -> None:
    nodes = [map_node("a", zone="z1", rack="r1"), map_node("b", zone="z1"), map_node("c", zone="z1", rack="r1")]

    (group,) = grouped(nodes, ["zone", "rack"])

    assert [(rack.name, rack.outside, [n.name for n in rack.nodes]) for rack in group.racks] == [
        ("r1", False, ["a", "c"]),
        ("", True, ["b"]),
    ]


def cluster_with(**streams: dict[str, Any]) -> Cluster:
    heard = {"eventAt": (NOW - dt.timedelta(seconds=10)).isoformat(), "error": "", "served": True}
    return Cluster(
        name="c",
        watcher="w",
        watcher_until=NOW + dt.timedelta(seconds=20),
        streams={kind: heard | state for kind, state in streams.items()},
    )


def test_what_was_heard_a_moment_ago_is_current() -> None:
    assert not watch_state(cluster_with(nodes={}, pods={}), now=NOW).stale


def test_a_kind_that_is_not_served_makes_nothing_stale() -> None:
    cluster = cluster_with(nodes={}, topologies={"served": False, "error": "404 page not found"})

    assert not watch_state(cluster, now=NOW).stale


def test_one_failing_stream_makes_only_its_kind_stale() -> None:
    cluster = cluster_with(nodes={}, pods={"error": "etcd is down"})

    assert not watch_state(cluster, "nodes", now=NOW).stale
    assert watch_state(cluster, "pods", now=NOW).reason == "etcd is down"
    assert watch_state(cluster, now=NOW).failed == (("pods", "etcd is down"),)


def test_silence_and_a_lost_watcher_are_stale() -> None:
    later = NOW + dt.timedelta(minutes=2)
    cluster = cluster_with(nodes={})

    assert watch_state(cluster, now=later).reason == "NoWatcher"
    cluster.watcher_until = later + dt.timedelta(seconds=20)
    assert watch_state(cluster, now=later).reason == "NothingHeard"
    assert watch_state(Cluster(name="new"), now=NOW).since is None
