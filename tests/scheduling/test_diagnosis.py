"""One situation per cause, with numbers worked out by hand, and some in which several causes meet."""

import msgspec
import pytest

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code, Diagnosis
from scheduling.structs import Node, Pod, Queue, Resources, SubGroup, Taint, Toleration, TopologyConstraint
from tests.scheduling.build import RACKS, Cluster, node, queue, within

KEY = "default/g"


def of(cluster: Cluster, **more: object) -> Diagnosis:
    now = more.pop("now", 0.0)
    return diagnose(Scene(cluster.snapshot(now=now), KEY, **more))


def only(found: Diagnosis) -> Cause:
    (cause,) = found.causes
    return cause


def four(**more: object) -> list[Node]:
    """Two zones of one rack each, of two nodes of 8 GPUs."""
    return [node(f"n{index}", 8, f"z{index // 2}.r{index // 2}", **more) for index in range(4)]


def held(cause: Cause) -> list[str]:
    return [holder.group for holder in cause.holders]


def test_what_runs_has_no_cause_but_a_place() -> None:
    found = of(Cluster(*four()).gang("g", 8, 8, topology=within("rack", "rack")))
    assert found.causes == ()
    assert found.outcome is not None
    assert set(found.outcome.nodes) == {"default/g-0", "default/g-1"}


def test_what_already_runs_waits_for_nothing() -> None:
    found = of(Cluster(*four()).gang("g", 8, on=("n0",)))
    assert (found.causes, found.outcome, found.waiting) == ((), None, 0)


def test_a_level_that_is_too_small_for_good_is_named_with_its_largest_domain() -> None:
    cause = only(of(Cluster(*four(), topologies=(RACKS,)).gang("g", 8, 8, 8, topology=within("rack"))))
    assert (cause.code, cause.permanent) == (Code.LEVEL_TOO_SMALL, True)
    assert (cause.numbers["asked"], cause.numbers["largest"], cause.numbers["short"]) == (24, 16, 8)
    assert {(row.name, row.usable, row.free) for row in cause.domains} == {("r0", 16, 16), ("r1", 16, 16)}


def test_a_level_and_a_pool_that_are_too_small_are_told_by_the_domains_that_there_are() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,)).gang("g", 8, 8, 8, 8, 8, topology=within("rack"))
    level, pool = of(cluster).causes
    assert (level.code, pool.code) == (Code.LEVEL_TOO_SMALL, Code.POOL_TOO_SMALL)
    assert {(row.name, row.usable) for row in level.domains} == {("r0", 16), ("r1", 16)}
    assert (level.names["domain"], level.numbers["largest"], level.numbers["short"]) == ("r0", 16, 24)
    assert (pool.numbers["largest"], pool.numbers["short"]) == (32, 8)


def test_a_level_that_is_full_for_now_names_who_holds_it_and_whose_end_lets_it_run() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,))
    cluster.gang("a", 8, 8, on=("n0", "n1")).gang("b", 8, on=("n2",)).gang("g", 8, 8, topology=within("rack", "rack"))
    cause = only(of(cluster))
    assert (cause.code, cause.permanent) == (Code.LEVEL_FULL, False)
    assert (cause.numbers["asked"], cause.numbers["free"], cause.numbers["short"]) == (16, 8, 8)
    assert cause.names["domain"] == "r1"
    assert held(cause) == ["default/b"]
    assert cause.starts_when == (("default/b",),)


def test_free_gpus_in_pieces_are_not_called_too_few() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,))
    for index in range(4):
        cluster.gang(f"a{index}", 4, on=(f"n{index}",), preemptible=False)
    cause = only(of(cluster.gang("g", 8, topology=within("rack", "rack"))))
    assert cause.code is Code.LEVEL_FRAGMENTED
    assert (cause.numbers["asked"], cause.numbers["free"], cause.numbers["largestPod"]) == (8, 8, 8)
    assert cause.starts_when == (("default/a0",), ("default/a1",))


def test_a_full_pool_names_every_set_of_workloads_whose_end_is_enough() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("a", 8, on=("n0",)).gang("b", 4, 4, on=("n1", "n1"))
    cause = only(of(cluster.gang("g", 4, 4)))
    assert (cause.code, cause.numbers["asked"], cause.numbers["free"]) == (Code.POOL_FULL, 8, 0)
    assert cause.starts_when == (("default/a",), ("default/b",))


def test_several_must_end_where_one_is_not_enough() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("a", 8, on=("n0",)).gang("b", 8, on=("n1",))
    assert only(of(cluster.gang("g", 8, 8))).starts_when == (("default/a", "default/b"),)


def test_more_than_the_whole_pool_is_impossible_and_says_how_many_nodes_are_lacking() -> None:
    cause = only(of(Cluster(*four()).gang("g", *[8] * 6)))
    assert (cause.code, cause.permanent) == (Code.POOL_TOO_SMALL, True)
    assert (cause.numbers["asked"], cause.numbers["largest"], cause.numbers["nodesMore"]) == (48, 32, 2)


def test_field_report_17_nine_gpus_on_nodes_of_eight_are_impossible_not_pending() -> None:
    cause = only(of(Cluster(*four()).gang("g", 9)))
    assert (cause.code, cause.permanent) == (Code.POD_TOO_LARGE, True)
    assert (cause.numbers["asked"], cause.numbers["largest"], cause.names["resource"]) == (9, 8, "gpu")


def test_field_report_17_more_than_the_limit_is_impossible_not_pending() -> None:
    cause = only(of(Cluster(*four(), queues=(queue("q", limit=8),)).gang("g", 8, 8)))
    assert (cause.code, cause.permanent) == (Code.OVER_LIMIT, True)
    assert (cause.numbers["bound"], cause.numbers["held"], cause.numbers["asked"]) == (8, 0, 16)


def test_memory_and_gpus_that_no_single_node_has_together() -> None:
    nodes = (node("gpus", 8), Node("memory", msgspec.structs.replace(node("x", 0).allocatable, memory=2.0**41)))
    cluster = Cluster(*nodes).gang("g", 8)
    pods = [msgspec.structs.replace(cluster.pods[0], requests=msgspec.structs.replace(nodes[1].allocatable, gpu=8.0))]
    cluster.pods = pods
    cause = only(of(cluster))
    assert (cause.code, cause.names["resource"], cause.names["node"], cause.names["alone"]) == (
        Code.POD_TOO_LARGE,
        "memory",
        "gpus",
        "",
    )


def test_a_limit_that_others_use_up_passes_when_they_end() -> None:
    queues = (queue("d", limit=16), queue("q", "d"), queue("p", "d"))
    cluster = Cluster(*four(), queues=queues).gang("a", 8, 4, on=("n0", "n1"), queue="p", preemptible=False)
    cause = only(of(cluster.gang("g", 8)))
    assert (cause.code, cause.permanent, cause.names["queue"], cause.names["place"]) == (
        Code.OVER_LIMIT,
        False,
        "d",
        "ancestor",
    )
    assert (cause.numbers["held"], cause.numbers["asked"], cause.numbers["short"]) == (12, 8, 4)
    assert [(holder.group, holder.amount) for holder in cause.holders] == [("default/a", 12)]


def test_every_quota_that_a_non_preemptible_gang_passes_is_named_at_project_and_department() -> None:
    queues = (queue("d", quota=4), queue("q", "d", quota=8))
    found = of(Cluster(*four(), queues=queues).gang("g", 8, 8, preemptible=False))
    assert [(cause.code, cause.names["queue"], cause.numbers["bound"]) for cause in found.causes] == [
        (Code.OVER_QUOTA, "q", 8),
        (Code.OVER_QUOTA, "d", 4),
    ]


def test_preemptible_holders_do_not_use_up_the_quota_of_non_preemptible_work() -> None:
    cluster = Cluster(*four(), queues=(queue("q", quota=8),)).gang("a", 8, 8, on=("n0", "n1"))
    assert of(cluster.gang("g", 8, preemptible=False)).causes == ()


def test_field_report_20_a_department_as_queue_is_said_to_be_no_leaf() -> None:
    queues = (queue("d"), queue("q", "d"))
    cause = only(of(Cluster(*four(), queues=queues).gang("g", 8, queue="d")))
    assert (cause.code, dict(cause.names)) == (Code.QUEUE_NOT_LEAF, {"queue": "d", "children": "q"})


def test_field_report_22_a_queue_of_another_pool_is_said_to_be_one() -> None:
    queues = (queue("q"), msgspec.structs.replace(queue("workers"), pool="worker-nodes"))
    found = of(Cluster(*four(), queues=queues).gang("g", 8, queue="workers"))
    assert (only(found).code, only(found).names["queuePool"]) == (Code.QUEUE_OTHER_POOL, "worker-nodes")


def test_field_report_22_a_pool_label_that_did_not_arrive_is_named_before_the_queue() -> None:
    queues = (msgspec.structs.replace(queue("workers"), pool="worker-nodes"),)
    nodes = [node("n0", 8, labels={"kai.scheduler/node-pool": "worker-nodes"})]
    found = of(Cluster(*nodes, queues=queues).gang("g", 8, queue="workers"), wanted_pool="worker-nodes")
    assert (only(found).code, only(found).names["wanted"]) == (Code.POOL_WRONG, "worker-nodes")


def test_field_report_23_a_missing_queue_is_named() -> None:
    cause = only(of(Cluster(*four()).gang("g", 8, queue="reserach")))
    assert (cause.code, cause.names["queue"]) == (Code.QUEUE_MISSING, "reserach")


def test_field_report_24_a_workload_that_failed_once_in_its_pool_is_said_to_be_left_alone() -> None:
    cause = only(of(Cluster(*four()).gang("g", 8, scheduling_backoff=1, backed_off=True)))
    assert cause.code is Code.BACKED_OFF


@pytest.mark.parametrize(("level", "meant"), [("Rack", "rack"), ("example.com/rack", "rack"), ("row", "")])
def test_field_report_36_an_unknown_level_names_the_valid_ones(level: str, meant: str) -> None:
    cause = only(of(Cluster(*four(), topologies=(RACKS,)).gang("g", 8, topology=within(level))))
    assert (cause.code, cause.names["known"], cause.names["meant"]) == (Code.LEVEL_UNKNOWN, "zone, rack", meant)


def test_field_report_36_levels_in_the_wrong_order_are_said_to_be() -> None:
    cause = only(of(Cluster(*four()).gang("g", 8, topology=within("rack", "zone"))))
    assert cause.code is Code.LEVELS_REVERSED


def test_field_report_37_a_label_that_all_nodes_lack_is_named() -> None:
    cause = only(of(Cluster(node("n0", 8), node("n1", 8)).gang("g", 8, topology=within("zone", "zone"))))
    assert (cause.code, cause.permanent, cause.numbers["nodes"], cause.numbers["of"]) == (
        Code.NODES_UNLABELLED,
        True,
        2,
        2,
    )


def test_field_report_39_a_node_that_lacks_the_middle_level_is_named_with_it() -> None:
    odd = node("odd", 8, labels={"zone": "z0"})
    cause = only(of(Cluster(node("n0", 8, "z0.r0"), odd).gang("g", 8, 8, topology=within("zone", "zone"))))
    assert (cause.code, [(note.name, note.note) for note in cause.nodes]) == (Code.NODES_UNLABELLED, [("odd", "rack")])


def test_a_topology_without_a_level_and_one_that_does_not_exist() -> None:
    unset = only(of(Cluster(*four()).gang("g", 8, topology=TopologyConstraint("topo"))))
    gone = only(of(Cluster(*four()).gang("g", 8, topology=within("rack", topology="none"))))
    assert (unset.code, gone.code, gone.names["known"]) == (Code.LEVEL_UNSET, Code.TOPOLOGY_MISSING, "topo")


def test_the_defect_of_the_single_domain_is_told_from_a_full_level() -> None:
    """c013: required zone, all nodes in one rack of it."""
    nodes = (node("n0", 8, "z.r"), node("n1", 8, "z.r"))
    cause = only(of(Cluster(*nodes).gang("g", 8, 8, topology=within("zone"))))
    assert (cause.code, cause.names["level"]) == (Code.SINGLE_DOMAIN, "zone")


def test_unequal_pods_are_said_to_be_counted_as_the_largest() -> None:
    """c029: 1×8 + 2×4 GPUs do not fit an empty rack of 16."""
    cluster = Cluster(*four(), topologies=(RACKS,))
    cause = only(of(cluster.gang("g", 8, 4, 4, topology=within("rack", "rack"))))
    assert cause.code is Code.UNEQUAL_PODS
    assert (cause.numbers["asked"], cause.numbers["counted"], cause.numbers["largest"]) == (16, 24, 8)


def test_surplus_pods_are_said_to_be_pinned_beside_an_empty_rack() -> None:
    """c026."""
    cluster = Cluster(*four(), topologies=(RACKS,)).gang("a", 8, on=("n1",), preemptible=False)
    cluster.gang("g", 8, 8, topology=within("rack"), min_member=1)
    cluster.pods[1] = msgspec.structs.replace(cluster.pods[1], node="n0", phase="Running")
    cause = only(of(cluster))
    assert (cause.code, cause.names["domain"], cause.numbers["free"]) == (Code.PINNED, "r0", 0)


def test_cordoned_nodes_that_the_scheduler_counts_as_room_are_named() -> None:
    """j020."""
    nodes = [*four(unschedulable=True)[:2], *four()[2:]]
    cluster = Cluster(*nodes, topologies=(RACKS,)).gang("a", 8, on=("n2",), preemptible=False)
    cause = only(of(cluster.gang("g", 8, 8, topology=within("rack", "rack"))))
    assert (cause.code, [note.name for note in cause.nodes]) == (Code.NODES_CORDONED, ["n0", "n1"])


def test_devices_that_are_not_allocatable_are_told_from_a_small_node() -> None:
    cause = only(of(Cluster(node("n0", 5)).gang("g", 8), unhealthy={"n0": 3.0}))
    assert (cause.code, cause.numbers["gpus"], [note.name for note in cause.nodes]) == (
        Code.DEVICES_UNHEALTHY,
        3,
        ["n0"],
    )


def test_a_selector_names_the_values_that_there_are() -> None:
    nodes = [node("n0", 8, labels={"gpu": "h100"}), node("n1", 8, labels={"gpu": "a100"})]
    cause = only(of(Cluster(*nodes).gang("g", 8, pod={"node_selector": {"gpu": "h200"}})))
    assert (cause.code, cause.names["value"], cause.names["values"]) == (Code.SELECTOR, "h200", "a100, h100")
    assert (cause.numbers["nodes"], cause.numbers["of"]) == (0, 2)


def test_a_tolerated_taint_is_no_cause() -> None:
    nodes = four(taints=(Taint("dedicated", "NoSchedule", "ml"),))
    tolerating = {"tolerations": (Toleration("dedicated", "Exists"),)}
    assert of(Cluster(*nodes).gang("g", 8, pod=tolerating)).causes == ()
    assert only(of(Cluster(*nodes).gang("g", 8))).names["notes"] == "dedicated=ml:NoSchedule"


def test_a_preemption_delay_says_until_when() -> None:
    """k037."""
    cluster = Cluster(node("n0", 8)).gang("a", 8, on=("n0",)).gang("g", 8, priority=75, preemption_delay=300.0)
    cause = only(of(cluster, now=100.0))
    assert (cause.code, cause.numbers["until"]) == (Code.PREEMPTION_DELAY, 301.0)


def test_an_empty_pool_says_what_it_must_hold() -> None:
    cause = only(of(Cluster().gang("g", 8, 4)))
    assert (cause.code, cause.numbers) == (Code.POOL_EMPTY, {"pods": 2, "largestPod": 8})


def test_every_taint_of_a_node_that_is_not_tolerated_is_named() -> None:
    taints = (Taint("a", "NoSchedule", "1"), Taint("b", "NoExecute"), Taint("c", "PreferNoSchedule"))
    cluster = Cluster(*four(taints=taints)).gang("g", 8)
    assert only(of(cluster)).names["notes"] == "a=1:NoSchedule, b:NoExecute"
    one = {"tolerations": (Toleration("a", "Exists"),)}
    assert only(of(Cluster(*four(taints=taints)).gang("g", 8, pod=one))).names["notes"] == "b:NoExecute"


def test_of_many_queues_below_another_some_are_named() -> None:
    queues = (queue("d"), *(queue(f"q{index:02d}", "d") for index in range(20)))
    cause = only(of(Cluster(*four(), queues=queues).gang("g", 8, queue="d")))
    assert cause.names["children"] == ", ".join(f"q{index:02d}" for index in range(12)) + ", …"
    assert cause.numbers["children"] == 20


def test_those_who_would_be_evicted_are_named_where_nothing_is_wrong() -> None:
    found = of(Cluster(node("n0", 8)).gang("a", 8, on=("n0",)).gang("g", 8, priority=75))
    assert found.outcome is not None
    assert found.outcome.evicted == ("default/a",)


def test_whoever_comes_first_is_named_where_there_is_room_for_one() -> None:
    cause = only(of(Cluster(node("n0", 8)).gang("a", 8, priority=75).gang("g", 8)))
    assert (cause.code, cause.names["groups"]) == (Code.AHEAD, "default/a")


def test_a_circle_of_queues_somewhere_else_stops_everybody() -> None:
    """h902."""
    circle = msgspec.structs.replace(queue("self"), parent="self")
    cluster = Cluster(node("n0", 8), queues=(queue("q"), circle)).gang("a", 0, queue="self").gang("g", 8)
    assert only(of(cluster)).code is Code.SCHEDULER_HANGS


def test_a_pool_without_a_scheduler_is_named() -> None:
    """l006."""
    nodes = [node("n0", 8, labels={"kai.scheduler/node-pool": "b"})]
    queues = (Queue("q", pool="b", gpu=queue("x").gpu, cpu=queue("x").cpu, memory=queue("x").memory),)
    found = of(Cluster(*nodes, queues=queues).gang("g", 8, pool="b"), shards=frozenset({""}))
    assert (only(found).code, only(found).names["pool"]) == (Code.SHARD_MISSING, "b")


def test_gates_and_missing_pods_are_told_apart_by_subgroup() -> None:
    subgroups = ((SubGroup("prefill", 1), 1), (SubGroup("decode", 3), 2))
    cluster = Cluster(*four()).gang("g", 2, 2, 2, subgroups=subgroups)
    cluster.pods[0] = msgspec.structs.replace(cluster.pods[0], gated=True)
    found = of(cluster)
    assert [(cause.code, cause.names["subgroup"]) for cause in found.causes] == [
        (Code.PODS_MISSING, "decode"),
        (Code.PODS_GATED, "prefill"),
    ]
    assert (found.causes[0].numbers["found"], found.causes[0].numbers["needed"]) == (2, 3)


def test_a_role_without_pods_that_is_meant_to_have_none_is_told_for_good_and_with_pods_as_it_would_have() -> None:
    """Two nodes of 8 are free for decode's 2 GPUs and the 8 of prefill; a node less, and the pool is too small too."""
    roles = ((SubGroup("prefill", 1), 0), (SubGroup("decode", 1), 1))
    model = Pod("p", subgroup="prefill", requests=Resources(8))
    cluster = Cluster(*four()[:2]).gang("g", 2, subgroups=roles)
    cause = only(of(cluster, scaled_below={"prefill": model}))
    assert (cause.code, cause.permanent, cause.names["subgroup"]) == (Code.SCALED_BELOW, True, "prefill")
    assert (cause.numbers["found"], cause.numbers["needed"]) == (0, 1)
    assert only(of(cluster)).code is Code.PODS_MISSING
    smaller = Cluster(*four()[:1]).gang("g", 2, subgroups=roles)
    found = of(smaller, scaled_below={"prefill": model})
    assert [each.code for each in found.causes] == [Code.SCALED_BELOW, Code.POOL_TOO_SMALL]


def test_a_level_too_small_and_a_pool_that_is_full_besides_are_both_named() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,)).gang("a", 8, 8, on=("n0", "n1"), preemptible=False)
    found = of(cluster.gang("g", 8, 8, 8, topology=within("rack", "rack")))
    assert [cause.code for cause in found.causes] == [Code.LEVEL_TOO_SMALL, Code.POOL_FULL]
    small, full = found.causes
    assert (small.numbers["asked"], small.numbers["largest"], small.numbers["short"]) == (24, 16, 8)
    assert {(row.name, row.usable, row.free) for row in small.domains} == {("r0", 16, 0), ("r1", 16, 16)}
    assert (full.numbers["asked"], full.numbers["free"], full.numbers["usable"]) == (24, 16, 32)


def test_pods_that_never_fit_a_rack_in_pieces_are_told_from_too_few_gpus() -> None:
    """Two nodes of 8 hold one pod of 5 GPUs each: three of them need 15 of a rack's 16."""
    cause = only(of(Cluster(*four(), topologies=(RACKS,)).gang("g", 5, 5, 5, topology=within("rack", "rack"))))
    assert (cause.code, cause.numbers["asked"], cause.numbers["largest"]) == (Code.LEVEL_TOO_SMALL, 15, 16)
    assert (cause.numbers["pods"], cause.numbers["fit"], cause.numbers["largestPod"]) == (3, 2, 5)


def test_a_placement_that_nobody_asked_for_is_named_before_the_level_is_called_too_small() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,)).gang("g", 8, 8, 8, topology=within("rack", "rack"))
    cause = only(of(cluster, wanted_placement=TopologyConstraint()))
    assert (cause.code, cause.names) == (Code.PLACEMENT_WRONG, {"found": "topo rack rack", "wanted": ""})


def test_a_placement_that_does_not_hinder_is_no_cause() -> None:
    cluster = Cluster(*four(), topologies=(RACKS,)).gang("g", 9, topology=within("rack", "rack"))
    assert only(of(cluster, wanted_placement=TopologyConstraint())).code is Code.POD_TOO_LARGE


def test_more_ends_than_one_are_named_from_the_largest_holder_on_and_none_too_many() -> None:
    """Twenty nodes are full, one holder each; three of them have to end."""
    nodes = [node(f"n{index:02d}", 8, f"z0.r{index:02d}") for index in range(20)]
    cluster = Cluster(*nodes)
    for index in range(20):
        cluster.gang(f"h{index:02d}", 8, on=(f"n{index:02d}",), preemptible=False)
    cause = only(of(cluster.gang("g", 8, 8, 8)))
    assert cause.starts_when == (("default/h00", "default/h01", "default/h02"),)


def test_nobody_s_end_is_looked_for_where_no_try_is_left() -> None:
    cluster = Cluster(*four()).gang("h", 8, 8, 8, 8, on=("n0", "n1", "n2", "n3"), preemptible=False).gang("g", 8)
    assert only(of(cluster, effort=0)).starts_when == ()
