"""GPUs shared by several pods, calculated by hand."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.cycle import run_cycle
from scheduling.golden import after
from scheduling.structs import Pod, Snapshot, TopologyConstraint
from tests.scheduling.build import Cluster, node, queue


def sharing(*fractions: float, memory: int = 0, devices: int = 1, on: tuple[str, ...] = (), **more: object) -> Cluster:
    """One gang per fraction on two nodes of two GPUs."""
    cluster = Cluster(node("n0", 2, gpu_memory_mib=80_000), node("n1", 2, gpu_memory_mib=40_000))
    for index, fraction in enumerate(fractions):
        cluster.gang(
            f"g{index}",
            0.0,
            on=on,
            pod={"gpu_fraction": fraction, "gpu_memory_mib": memory, "fraction_devices": devices},
            **more,
        )
    return cluster


def devices_of(snapshot: Snapshot) -> dict[tuple[str, str], float]:
    """What is given away of each shared device."""
    used: dict[tuple[str, str], float] = {}
    for pod in snapshot.pods:
        for group in pod.gpu_groups:
            used[pod.node, group] = used.get((pod.node, group), 0.0) + pod.gpu_fraction
    return used


def test_two_halves_share_a_device_and_a_third_opens_another() -> None:
    result = run_cycle(sharing(0.5, 0.5, 0.5).snapshot())

    groups = [result.gpu_groups[f"default/g{index}-0"] for index in range(3)]
    assert set(result.bound.values()) == {"n0"}
    assert groups[0] == groups[1] != groups[2]


def test_the_fullest_device_with_room_is_taken() -> None:
    """0.7 and 0.4 on two devices; 0.3 goes to the first, 0.6 to the second."""
    result = run_cycle(sharing(0.7, 0.4, 0.3, 0.6).snapshot())

    groups = [result.gpu_groups[f"default/g{index}-0"] for index in range(4)]
    assert groups[2] == groups[0]
    assert groups[3] == groups[1]


def test_queues_count_the_fraction_of_every_device() -> None:
    result = run_cycle(sharing(0.5, devices=2).snapshot())

    assert len(set(result.gpu_groups["default/g0-0"])) == 2
    assert result.fair_share["q"].gpu == 1.0


def test_a_whole_device_is_not_given_where_somebody_shares_it() -> None:
    cluster = Cluster(node("n0", 2))
    cluster.gang("shared", 0.0, pod={"gpu_fraction": 0.1}).gang("whole", 2.0)

    result = run_cycle(cluster.snapshot())

    assert set(result.bound) == {"default/shared-0"}
    text = "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs."
    assert text in result.conditions["default/whole"].message


def test_memory_is_a_part_of_the_device_it_lands_on() -> None:
    """40 GB are half a device on n0, a whole one on n1; queues count them by the smaller device."""
    result = run_cycle(sharing(0.0, 0.0, 0.0, 0.0, 0.0, memory=40_000).snapshot())

    assert sorted(result.bound.values()) == ["n0", "n0", "n0", "n0", "n1"]
    assert result.fair_share["q"].gpu == 4.0


def test_more_memory_than_a_device_has_fits_nowhere_else() -> None:
    result = run_cycle(sharing(0.0, memory=60_000).snapshot())

    assert result.bound == {"default/g0-0": "n0"}


def test_a_running_pod_keeps_its_own_device_and_others_may_join() -> None:
    cluster = Cluster(node("n0", 2), node("n1", 2))
    cluster.gang("old", 0.0, on=("n1",), pod={"gpu_fraction": 0.5, "gpu_groups": ("device-a",)})
    cluster.gang("new", 0.0, pod={"gpu_fraction": 0.5})

    result = run_cycle(cluster.snapshot())

    assert result.bound == {"default/new-0": "n1"}
    assert result.gpu_groups["default/new-0"] == ("device-a",)


def test_a_pod_is_evicted_from_a_full_device_for_a_better_one() -> None:
    """k014: one device, two halves; a half of higher priority takes the place of one."""
    cluster = Cluster(node("n0", 1), queues=(queue("q", quota=-1.0),))
    for name in ("a", "b"):
        half = {"gpu_fraction": 0.5, "gpu_groups": ("device",)}
        cluster.gang(name, 0.0, on=("n0",), pod=half)
    cluster.gang("hi", 0.0, pod={"gpu_fraction": 0.5}, priority=75)

    result = run_cycle(cluster.snapshot())

    assert len(result.evicted) == 1
    assert result.pipelined == {"default/hi-0": "n0"}


@pytest.mark.parametrize("limit", [0.0, 0.5, 1.0, 1.5])
def test_a_limit_holds_for_fractions(limit: float) -> None:
    cluster = Cluster(node("n0", 8), queues=(queue("q", limit=limit),))
    for index in range(4):
        cluster.gang(f"g{index}", 0.0, pod={"gpu_fraction": 0.5})

    result = run_cycle(cluster.snapshot())

    assert len(result.bound) == int(limit / 0.5)


def test_a_fraction_counts_in_hundredths() -> None:
    """Eight eighths fill a device; queues count 0.13 for each, of which seven are within a limit of 1."""
    cluster = Cluster(node("n0", 1), queues=(queue("q", limit=1.0),))
    for index in range(8):
        cluster.gang(f"g{index}", 0.0, pod={"gpu_fraction": 0.125})

    result = run_cycle(cluster.snapshot())

    assert len(result.bound) == 7
    assert "currently 0.91 GPUs allocated and workload requested 0.13 GPUs" in result.conditions["default/g7"].message


RACK = TopologyConstraint("topo", "rack", "rack")


def test_what_is_left_of_shared_devices_is_no_free_room_of_a_domain() -> None:
    """Both racks have one free device; r0 beside it most of a shared one. They are equally full: r0 by its name."""
    cluster = Cluster(node("a", 2, "z.r0"), node("b", 1, "z.r1"))
    cluster.gang("old", 0.0, on=("a",), pod={"gpu_fraction": 0.1, "gpu_groups": ("device",)})
    cluster.gang("new", 0.0, pod={"gpu_fraction": 0.5}, topology=RACK)

    assert run_cycle(cluster.snapshot()).bound == {"default/new-0": "a"}


def test_pods_by_memory_are_not_counted_against_a_domains_devices() -> None:
    """Four pods of 30 GB share the two devices of 80 GB; by the pool's smallest device each would be 3/4 of one."""
    cluster = Cluster(node("a", 2, "z.r0", gpu_memory_mib=80_000), node("b", 1, "z.r1", gpu_memory_mib=40_000))
    cluster.gang("g", 0.0, 0.0, 0.0, 0.0, pod={"gpu_memory_mib": 30_000}, topology=RACK)

    assert set(run_cycle(cluster.snapshot()).bound.values()) == {"a"}


@st.composite
def mixed(draw: st.DrawFn) -> Snapshot:
    cluster = Cluster(
        *(node(f"n{index}", draw(st.integers(0, 3))) for index in range(draw(st.integers(1, 3)))),
        queues=(queue("q", quota=2.0), queue("r", quota=draw(st.sampled_from([0.0, 1.0, 4.0])))),
    )
    for index in range(draw(st.integers(1, 8))):
        name, priority = f"g{index}", draw(st.sampled_from([50, 75, 125]))
        share = {
            "gpu_fraction": draw(st.sampled_from([0.0, 0.2, 0.3, 0.5, 0.7])),
            "fraction_devices": draw(st.integers(1, 2)),
        }
        gpus = [0.0 if share["gpu_fraction"] else float(draw(st.integers(0, 2)))] * draw(st.integers(1, 3))
        owner = draw(st.sampled_from(["q", "r"]))
        cluster.gang(name, *gpus, queue=owner, priority=priority, preemptible=priority < 100, pod=share)
    return cluster.snapshot()


@given(mixed())
@settings(deadline=None, max_examples=60)
def test_no_device_is_given_away_twice(snapshot: Snapshot) -> None:
    for _ in range(3):
        result = run_cycle(snapshot)
        snapshot = after(snapshot, result)
        given_away = devices_of(snapshot)
        assert all(used <= 1.0 + 1e-9 for used in given_away.values())
        for each in snapshot.nodes:
            whole = sum(pod.requests.gpu for pod in snapshot.pods if pod.node == each.name and not pod.gpu_fraction)
            opened = sum(1 for name, _ in given_away if name == each.name)
            assert whole + opened <= each.allocatable.gpu
        shared = [pod for pod in snapshot.pods if pod.node and pod.gpu_fraction]
        assert all(len(set(pod.gpu_groups)) == pod.fraction_devices for pod in shared)


@given(mixed())
@settings(deadline=None, max_examples=60)
def test_a_cycle_with_shared_devices_is_repeatable(snapshot: Snapshot) -> None:
    first = run_cycle(snapshot)
    again = run_cycle(msgspec.structs.replace(snapshot, pods=tuple(reversed(snapshot.pods))))

    assert first == run_cycle(snapshot)
    assert first.bound == again.bound


def test_pods_that_are_not_ours_hold_their_part() -> None:
    cluster = Cluster(node("n0", 1))
    cluster.gang("new", 1.0)
    foreign = Pod("other", node="n0", phase="Running", gpu_fraction=0.5)
    snapshot = cluster.snapshot()

    result = run_cycle(msgspec.structs.replace(snapshot, pods=(*snapshot.pods, foreign)))

    assert result.bound == {}
