"""Hand-calculated cases: the scheduler's rules and the defects that the engine copies."""

import pytest

from scheduling.cycle import run_cycle
from scheduling.structs import Resources, SchedulerConfig, SubGroup, Taint, Toleration
from tests.scheduling.build import RACKS, Cluster, node, nodes_used, queue, within


def two_racks(*, gpu: float = 8, topology: object = RACKS, **more: object) -> Cluster:
    """One zone, racks r0 and r1 with two nodes each."""
    names = [node(f"{rack}{index}", gpu, f"z.{rack}") for rack in ("r0", "r1") for index in (0, 1)]
    return Cluster(*names, topologies=(topology,), **more)


def reasons(result: object, name: str) -> set[str]:
    return {reason.message for reason in result.conditions[f"default/{name}"].reasons}


def test_fewest_free_gpus_first_then_the_name() -> None:
    cluster = Cluster(node("n10", 8), node("n1", 8), node("n2", 4)).gang("a", 2).gang("b", 4)

    assert dict(run_cycle(cluster.snapshot()).bound) == {"default/a-0": "n2", "default/b-0": "n1"}


def test_pods_without_gpu_go_to_nodes_without_gpus() -> None:
    cluster = Cluster(node("a", 8), node("b", 0)).gang("cpu", 0)

    assert dict(run_cycle(cluster.snapshot()).bound) == {"default/cpu-0": "b"}


def test_spread_takes_the_highest_free_fraction() -> None:
    cluster = Cluster(node("a", 8), node("b", 4)).gang("x", 2, on=("a",)).gang("y", 1)
    config = SchedulerConfig(gpu_placement="spread", cpu_placement="spread")

    assert dict(run_cycle(cluster.snapshot(), config).bound) == {"default/y-0": "b"}


def test_a_gang_that_does_not_fit_gets_nothing() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("g", 4, 4, 4, 4, 4)

    result = run_cycle(cluster.snapshot())

    assert result.bound == {}
    assert reasons(result, "g") == {
        "Resources were found for 4 pods while 5 are required for gang scheduling. Additional pods cannot be "
        "scheduled due to: no nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs."
    }


def test_surplus_pods_come_after_the_minimum_of_every_job() -> None:
    cluster = Cluster(node("n0", 8)).gang("a", *[1] * 8, min_member=2).gang("b", *[1] * 4, min_member=4)

    bound = run_cycle(cluster.snapshot()).bound

    assert sum(key.startswith("default/b") for key in bound) == 4
    assert sum(key.startswith("default/a") for key in bound) == 4


def test_required_rack_takes_the_fuller_rack_that_fits() -> None:
    cluster = two_racks().gang("x", 4, on=("r00",)).gang("g", 4, 4, 4, topology=within("rack"))

    assert set(nodes_used(run_cycle(cluster.snapshot()).bound)) == {"r00", "r01"}


def test_too_big_for_any_rack_waits_and_names_the_level() -> None:
    cluster = two_racks().gang("g", *[8] * 3, topology=within("rack", "rack"))

    result = run_cycle(cluster.snapshot())

    assert result.bound == {}
    assert "topology topo, requirement rack couldn't be satisfied for job <default/g>" in reasons(result, "g")
    assert "node-group z.r0 can allocate only 2 of 3 required pods" in reasons(result, "g")


def test_preferred_rack_falls_back_and_fills_from_the_back() -> None:
    """6 pods of 4 GPUs in two racks of 16 GPUs: the last rack takes 4 (recorded as d002)."""
    cluster = two_racks().gang("g", *[4] * 6, topology=within("", "rack"))

    assert nodes_used(run_cycle(cluster.snapshot()).bound) == {"r10": 2, "r11": 2, "r00": 2}


def test_single_domain_defect_hides_capacity_and_preferred_cures_it() -> None:
    """All nodes share a rack below the required zone: never placed, although it fits (c013, c017)."""
    nodes = [node(f"n{index}", 8, "z.r") for index in range(2)]
    alone = Cluster(*nodes, topologies=(RACKS,)).gang("g", 4, 4, topology=within("zone"))
    cured = Cluster(*nodes, topologies=(RACKS,)).gang("g", 4, 4, topology=within("zone", "zone"))

    stuck = run_cycle(alone.snapshot())

    assert stuck.bound == {}
    assert reasons(stuck, "g") == {
        "node-group(s) didn't have enough resources: GPUs, node-group(s) didn't have enough resources: pods",
        "topology topo, requirement zone couldn't be satisfied for job <default/g>",
    }
    assert len(run_cycle(cured.snapshot()).bound) == 2


def test_unequal_pods_count_as_the_largest() -> None:
    """1×8 + 2×4 GPUs need 16, an empty rack has 16: refused (c029); with a pod without GPU it fits (c030)."""
    unequal = two_racks().gang("g", 8, 4, 4, topology=within("rack", "rack"))
    mixed = two_racks().gang("g", 8, 4, 4, 0, topology=within("rack", "rack"))

    assert run_cycle(unequal.snapshot()).bound == {}
    assert len(run_cycle(mixed.snapshot()).bound) == 4


def test_cordoned_nodes_count_as_capacity_of_their_domain() -> None:
    """Rack r0 looks fuller and is tried first; its node is cordoned, so r1 takes the gang (j020)."""
    nodes = [
        node("r00", 8, "z.r0", unschedulable=True),
        node("r01", 4, "z.r0"),
        node("r10", 8, "z.r1"),
        node("r11", 8, "z.r1"),
    ]
    cluster = Cluster(*nodes, topologies=(RACKS,)).gang("g", 4, 4, 4, topology=within("rack"))

    assert set(nodes_used(run_cycle(cluster.snapshot()).bound)) == {"r10", "r11"}


def test_surplus_is_pinned_to_the_required_domain() -> None:
    """The minimum of 2 picks the rack with exactly 2 places; 2 surplus pods wait beside an empty rack (c027)."""
    cluster = two_racks(gpu=2).gang("x", 2, on=("r00",)).gang("g", 1, 1, 1, 1, min_member=2, topology=within("rack"))

    assert nodes_used(run_cycle(cluster.snapshot()).bound) == {"r01": 2}


def test_a_node_without_one_label_takes_no_constrained_pod_even_when_preferred() -> None:
    bare = node("n0", 8, labels={"zone": "z"})
    cluster = Cluster(bare, topologies=(RACKS,)).gang("g", 1, topology=within("", "rack"))

    result = run_cycle(cluster.snapshot())

    assert result.bound == {}
    assert reasons(result, "g") == {
        "topology topo, requirement  couldn't be satisfied for job <default/g>: "
        "not enough resources in the cluster to allocate the job"
    }


@pytest.mark.parametrize(
    "constraint",
    [within("shelf"), within("rack", "zone"), within()],
    ids=["unknown level", "preferred above required", "no level"],
)
def test_a_wrong_level_is_not_explained(constraint: object) -> None:
    cluster = two_racks().gang("g", 1, topology=constraint)

    result = run_cycle(cluster.snapshot())

    assert result.bound == {}
    assert result.conditions["default/g"].message == "Unable to schedule podgroup"
    assert result.conditions["default/g"].reasons == ()
    assert result.pod_conditions["default/g-0"].message == "Unable to schedule pod"


def test_unknown_topology_is_named() -> None:
    cluster = two_racks().gang("g", 1, topology=within("rack", topology="nope"))

    assert reasons(run_cycle(cluster.snapshot()), "g") == {"Requested topology nope does not exist"}


def test_each_subgroup_lies_in_one_rack_of_its_own() -> None:
    inner = within("rack", "rack")
    subgroups = ((SubGroup("a", 2, topology=inner), 2), (SubGroup("b", 2, topology=inner), 2))
    cluster = two_racks().gang("g", 8, 8, 8, 8, subgroups=subgroups, topology=within("zone", "zone"))

    bound = run_cycle(cluster.snapshot()).bound

    racks = [{bound[f"default/g-{index}"][:2] for index in pair} for pair in ((0, 1), (2, 3))]
    assert [len(each) for each in racks] == [1, 1]
    assert racks[0] != racks[1]


def test_a_limit_stops_the_gang_as_a_whole() -> None:
    cluster = Cluster(node("n0", 16), queues=(queue("q", limit=8),)).gang("g", *[1] * 9)

    assert reasons(run_cycle(cluster.snapshot()), "g") == {
        "q quota has reached the allowable limit of GPUs. Limit is 8 GPUs, currently 0 GPUs allocated and "
        "workload requested 9 GPUs"
    }


def test_non_preemptible_needs_the_quota_of_every_ancestor() -> None:
    """The child has quota, the parent has none: the text names the parent (h007)."""
    queues = (queue("d", quota=0), queue("q", "d", quota=8))
    cluster = Cluster(node("n0", 8), queues=queues).gang("g", 1, preemptible=False, priority=125)

    assert reasons(run_cycle(cluster.snapshot()), "g") == {
        "Non-preemptible workload is over quota. Workload requested 1 GPUs, but d quota is 0 GPUs, while 0 GPUs "
        "are already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
    }


def test_a_queue_without_share_uses_free_gpus_all_the_same() -> None:
    cluster = Cluster(node("n0", 8), queues=(queue("q", weight=0),)).gang("g", *[1] * 8)

    assert len(run_cycle(cluster.snapshot()).bound) == 8


def test_missing_queue_is_named_and_a_parent_used_as_leaf_is_not_explained() -> None:
    queues = (queue("d"), queue("q", "d"))
    cluster = Cluster(node("n0", 8), queues=queues).gang("lost", 1, queue="x").gang("inner", 1, queue="d")

    result = run_cycle(cluster.snapshot())

    assert reasons(result, "lost") == {"Queue 'x' does not exist"}
    assert result.conditions["default/inner"].message == "Unable to schedule podgroup"


def test_a_cycle_of_queues_does_not_hang_and_counts_as_missing() -> None:
    queues = (queue("a", "b"), queue("b", "a"), queue("q"))
    cluster = Cluster(node("n0", 8), queues=queues).gang("g", 1, queue="a").gang("h", 1)

    result = run_cycle(cluster.snapshot())

    assert reasons(result, "g") == {"Queue 'a' does not exist"}
    assert set(result.bound) == {"default/h-0"}


def test_preemption_takes_the_newest_job_of_the_lowest_priority() -> None:
    cluster = Cluster(node("n0", 8)).gang("old", 4, on=("n0",)).gang("new", 4, on=("n0",)).gang("hi", 4, priority=75)

    result = run_cycle(cluster.snapshot())

    assert [each.pod for each in result.evicted] == ["default/new-0"]
    assert result.evicted[0].message == "Pod default/new-0 was preempted by higher priority workload default/hi"
    assert dict(result.pipelined) == {"default/hi-0": "n0"}
    assert result.bound == {}


def test_a_gang_loses_everything_even_for_one_gpu() -> None:
    cluster = Cluster(node("n0", 4)).gang("lo", 1, 1, 1, 1, on=("n0",) * 4).gang("hi", 1, priority=75)

    assert len(run_cycle(cluster.snapshot()).evicted) == 4


def test_an_elastic_victim_loses_surplus_first() -> None:
    cluster = Cluster(node("n0", 4)).gang("lo", 1, 1, 1, 1, on=("n0",) * 4, min_member=1).gang("hi", 1, priority=75)

    assert [each.pod for each in run_cycle(cluster.snapshot()).evicted] == ["default/lo-3"]


def test_no_eviction_without_success() -> None:
    cluster = Cluster(node("n0", 4)).gang("lo", 1, 1, 1, 1, on=("n0",) * 4).gang("hi", 4, 4, priority=75)

    assert run_cycle(cluster.snapshot()).evicted == ()


def test_reclaim_gives_a_queue_its_quota_back() -> None:
    queues = (queue("a", quota=4), queue("b", quota=4, created=1.0))
    cluster = Cluster(node("n0", 8), queues=queues)
    for index in range(8):
        cluster.gang(f"a{index}", 1, on=("n0",), queue="a")
    cluster.gang("b0", 2, queue="b")

    result = run_cycle(cluster.snapshot())

    assert {each.pod for each in result.evicted} == {"default/a7-0", "default/a6-0"}
    assert result.evicted[0].message == (
        "Pod default/a7-0 was preempted by workload default/b0.\n"
        "a uses <GPU: 8, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 4, CPU: Unlimited (cores), memory: "
        "Unlimited (GB)>, fair-share of <GPU: 6, CPU: 0 (cores), memory: 0 (GB)> and queue priority of <100>.\n"
        "b uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 4, CPU: Unlimited (cores), memory: "
        "Unlimited (GB)>, fair-share of <GPU: 2, CPU: 0 (cores), memory: 0 (GB)> and queue priority of <100>."
    )


def test_consolidation_moves_a_pod_to_make_room() -> None:
    cluster = Cluster(node("n0", 4), node("n1", 4)).gang("a", 2, on=("n0",)).gang("b", 2, on=("n1",)).gang("c", 4)

    result = run_cycle(cluster.snapshot())

    assert [(each.action, each.moved_to) for each in result.evicted] == [("Consolidation", "n0")]
    assert result.pipelined["default/c-0"] == "n1"


def test_minimum_runtime_protects_a_gang() -> None:
    protected = queue("q", preempt_min_runtime=600.0)
    cluster = Cluster(node("n0", 4), queues=(protected,))
    cluster.gang("lo", 4, on=("n0",), last_start=1000.0).gang("hi", 4, priority=75)

    assert run_cycle(cluster.snapshot(now=1599.0)).evicted == ()
    assert len(run_cycle(cluster.snapshot(now=1600.0)).evicted) == 1


def test_a_preemption_delay_that_ends_beyond_the_calendar_ends_no_cycle() -> None:
    """Annotations name any moment: here one of which the end of the delay lies in the year 10000."""
    late = 253402300799.0
    cluster = Cluster(node("n0", 4)).gang("lo", 4, on=("n0",))
    cluster.gang("hi", 4, priority=75, preemption_delay=300.0, last_eviction=late)

    result = run_cycle(cluster.snapshot(now=100.0))

    assert result.evicted == ()
    assert (
        "Workload is within its preemption delay window (5m0s) and may not trigger evictions before "
        "9999-12-30T00:00:00Z" in reasons(result, "hi")
    )


def test_preemption_delay_holds_evictions_back_and_says_until_when() -> None:
    cluster = Cluster(node("n0", 4)).gang("lo", 4, on=("n0",)).gang("hi", 4, priority=75, preemption_delay=300.0)

    result = run_cycle(cluster.snapshot(now=100.0))

    assert result.evicted == ()
    assert (
        "Workload is within its preemption delay window (5m0s) and may not trigger evictions before "
        "1970-01-01T00:05:01Z" in reasons(result, "hi")
    )


@pytest.mark.parametrize(("grace", "now", "gone"), [(60.0, 59.0, 0), (60.0, 60.0, 2), (-1.0, 9999.0, 0)])
def test_a_stale_gang_is_evicted_after_its_grace(grace: float, now: float, gone: int) -> None:
    cluster = Cluster(node("n0", 8))
    cluster.gang("g", 1, 1, on=("n0", "n0"), min_member=3, stale_since=0.0, staleness_grace=grace)

    result = run_cycle(cluster.snapshot(now=now))

    assert len(result.evicted) == gone
    assert result.stale_since == {"default/g": 0.0}


def test_gated_pods_make_a_gang_not_ready_without_a_condition() -> None:
    cluster = Cluster(node("n0", 8)).gang("g", 1, 1, pod={"gated": True})

    result = run_cycle(cluster.snapshot())

    assert result.conditions == {}
    assert [(event.reason, event.message) for event in result.events] == [
        ("NotReady", "Job is not ready for scheduling. Waiting for 2 pods, currently 2 exist, 2 are gated")
    ]


def test_taints_selectors_and_readiness_keep_pods_away() -> None:
    nodes = [
        node("a", 8, taints=(Taint("dedicated", "NoSchedule", "infra"),)),
        node("b", 8, ready=False),
        node("c", 8, labels={"disk": "ssd"}),
    ]
    tolerating = {"tolerations": (Toleration("dedicated", "Exists"),)}
    cluster = (
        Cluster(*nodes)
        .gang("plain", 8)
        .gang("picky", 8, pod={"node_selector": {"disk": "hdd"}})
        .gang("tolerant", 8, pod=tolerating)
    )

    result = run_cycle(cluster.snapshot())

    assert dict(result.bound) == {"default/plain-0": "c", "default/tolerant-0": "a"}


def test_a_pod_larger_than_any_node_is_said_with_the_largest_node() -> None:
    cluster = Cluster(node("n0", 8)).gang("g", 16)

    assert (
        "Resources were not found for pod default/g-0 due to: The pod default/g-0 requires GPU: 16, CPU: 0 (cores), "
        "memory: 0 (GB), pods: 1. Max GPU resources available in a single node in the default node-pool is topped "
        "at 8" in reasons(run_cycle(cluster.snapshot()), "g")
    )


def test_pods_of_another_scheduler_take_room_and_shrink_the_total() -> None:
    cluster = Cluster(node("n0", 8)).gang("other", 6, on=("n0",)).gang("g", 4)
    snapshot = cluster.snapshot()
    others = type(snapshot)(snapshot.nodes, snapshot.queues, snapshot.podgroups[1:], snapshot.pods, snapshot.topologies)

    result = run_cycle(others)

    assert result.bound == {}
    assert result.fair_share["q"] == Resources(gpu=2.0)


def test_a_partly_running_group_gets_no_condition_but_its_pods_do() -> None:
    cluster = Cluster(node("n0", 2)).gang("g", 1, 1, 1, min_member=1)

    result = run_cycle(cluster.snapshot())

    assert len(result.bound) == 2
    assert result.conditions == {}
    assert result.pod_conditions["default/g-2"].message == (
        "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs."
    )


def test_a_group_without_minimum_counts_as_one_and_zero_is_elastic() -> None:
    for minimum in (None, 0):
        cluster = Cluster(node("n0", 2)).gang("g", 1, 1, 1, min_member=minimum)
        assert len(run_cycle(cluster.snapshot()).bound) == 2
