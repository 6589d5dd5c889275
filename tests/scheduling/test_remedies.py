"""Remedies: each is what the engine did with the change, the shortest come first, none is offered that fails."""

from collections import Counter

import msgspec
import pytest

from scheduling.cycle import run_cycle
from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code
from scheduling.elsewhere import OtherPool, look_elsewhere
from scheduling.remedies import find_remedies
from scheduling.remedy_structs import Act, Remedy
from scheduling.structs import Level, QueueResource, Resources, SubGroup, Taint, Topology
from tests.scheduling.build import RACKS, Cluster, node, queue, within
from tests.scheduling.healthy import KEY
from tests.scheduling.situations import situation


def of(cluster: Cluster, pools: dict[str, OtherPool] | None = None) -> dict[Act, Remedy]:
    """Remedies of one step, by act."""
    scene = Scene(cluster.snapshot(), KEY)
    found = diagnose(scene)
    elsewhere = look_elsewhere(scene, found, pools or {})
    return {each.steps[0].act: each for each in find_remedies(scene, found, elsewhere) if len(each.steps) == 1}


H200 = [node(f"h{index}", 8, labels={"kai.scheduler/node-pool": "h200"}) for index in range(3)]
QUEUES = (queue("q"), msgspec.structs.replace(queue("q-h200"), pool="h200"))


def four(**more: object) -> list[object]:
    return [node(f"n{index}", 8, f"z{index // 2}.r{index // 2}", **more) for index in range(4)]


def test_a_rack_too_small_may_be_preferred_or_the_gang_made_smaller() -> None:
    found = of(Cluster(*four(), topologies=(RACKS,)).gang("g", 8, 8, 8, topology=within("rack")))
    assert len(found[Act.PREFER].outcome.nodes) == 3
    assert (found[Act.FEWER_PODS].steps[0].numbers["from"], found[Act.FEWER_PODS].steps[0].numbers["to"]) == (3, 2)
    assert Act.BROADER_LEVEL not in found, "a zone is no larger than its one rack"


def test_fewer_pods_are_counted_by_role() -> None:
    roles = ((SubGroup("prefill", 2), 2), (SubGroup("decode", 3), 3))
    cluster = Cluster(*four()).gang("g", 8, 8, 8, 8, 8, subgroups=roles)
    scene = Scene(cluster.snapshot(), KEY)
    steps = [each.steps[0] for each in find_remedies(scene, diagnose(scene)) if each.steps[0].act is Act.FEWER_PODS]
    assert [(step.names["subgroup"], step.numbers["to"]) for step in steps] == [("prefill", 1), ("decode", 2)]


def test_as_few_nodes_as_suffice_are_uncordoned() -> None:
    found = of(Cluster(*four(unschedulable=True)).gang("g", 8, 8))
    assert [note.name for note in found[Act.UNCORDON].steps[0].nodes] == ["n0", "n1"]


@pytest.mark.parametrize(
    ("state", "taint", "act"),
    [
        ({"unschedulable": True}, "unschedulable", Act.UNCORDON),
        ({"ready": False}, "unreachable", Act.REPAIR_NODES),
        ({"ready": False}, "memory-pressure", Act.REPAIR_NODES),
    ],
)
def test_the_taint_that_kubernetes_gives_for_a_state_is_no_cause_beside_it(
    state: dict[str, bool], taint: str, act: Act
) -> None:
    """It goes with the state, and whoever took it off alone would find it there again."""
    nodes = four(**state, taints=(Taint(f"node.kubernetes.io/{taint}", "NoSchedule"),))
    cluster = Cluster(*nodes).gang("g", 8)
    assert len(diagnose(Scene(cluster.snapshot(), KEY)).causes) == 1
    assert len(of(cluster)[act].steps) == 1


def test_all_taints_that_keep_it_away_are_tolerated_or_removed() -> None:
    found = of(Cluster(*four(taints=(Taint("a", "NoSchedule"), Taint("b", "NoSchedule")))).gang("g", 8))
    assert found[Act.TOLERATE].steps[0].names["taints"] == "a:NoSchedule, b:NoSchedule"
    assert found[Act.UNTAINT].steps[0].names["notes"] == "a:NoSchedule, b:NoSchedule"


def test_memory_is_told_in_amounts_that_can_be_written_and_suffice() -> None:
    """A limit in whole megabytes, not less than asked; a pod in whole gibibytes, not more than the node has."""
    limited = msgspec.structs.replace(queue("q"), memory=QueueResource(0, 1e9, 1))
    asked = Cluster(node("n0", 8), queues=(limited,)).gang("g", 1)
    asked.pods = [msgspec.structs.replace(pod, requests=Resources(1, 0, 3 * 2.0**30)) for pod in asked.pods]
    assert of(asked)[Act.RAISE_LIMIT].steps[0].numbers["to"] == 3_222e6

    odd = msgspec.structs.replace(node("n0", 8), allocatable=Resources(8, 64_000, 250.7 * 2**30))
    large = Cluster(odd).gang("g", 1)
    large.pods = [msgspec.structs.replace(pod, requests=Resources(1, 0, 2.0**40)) for pod in large.pods]
    assert of(large)[Act.SMALLER_PODS].steps[0].numbers["largest"] == 250 * 2.0**30


def test_no_pod_is_made_smaller_than_one_gpu_where_no_node_has_any() -> None:
    assert of(Cluster(node("n0", 0)).gang("g", 8)) == {}
    assert of(Cluster(node("n0", 4)).gang("g", 8))[Act.SMALLER_PODS].steps[0].numbers["largest"] == 4


def test_waiting_for_minimum_runtimes_ends_when_the_last_of_those_who_are_needed_is_over() -> None:
    """Both nodes are needed: at 650 the first of them may be taken, and only at 680 the other as well."""
    protected = msgspec.structs.replace(queue("q"), preempt_min_runtime=600.0)
    cluster = Cluster(node("n0", 8), node("n1", 8), node("n2", 8), queues=(protected,))
    for index, start in enumerate((50.0, 80.0, 95.0)):
        cluster.gang(f"a{index}", 8, on=(f"n{index}",), last_start=start)
    waits = cluster.gang("g", 8, 8, priority=75).snapshot(now=100.0)
    scene = Scene(waits, KEY)
    (remedy,) = [each for each in find_remedies(scene, diagnose(scene)) if each.steps[0].act is Act.WAIT_UNTIL]
    assert remedy.steps[0].numbers["until"] == 680.0
    assert remedy.outcome.evicted == ("default/a0", "default/a1")
    ran = [run_cycle(msgspec.structs.replace(waits, now=now)).evicted for now in (679.0, 680.0)]
    assert [len(evicted) for evicted in ran] == [0, 2]


def test_queues_below_its_own_are_removed() -> None:
    """Other queues are other projects': no workload of this one can be put there."""
    cluster = Cluster(*four(), queues=(queue("q"), queue("child", "q"), queue("other"))).gang("g", 8)
    found = of(cluster)
    assert set(found) == {Act.REMOVE_QUEUES}
    assert found[Act.REMOVE_QUEUES].steps[0].names["children"] == "child"


def test_a_quota_is_raised_to_what_is_asked_or_the_work_made_preemptible() -> None:
    found = of(Cluster(*four(), queues=(queue("q", quota=4),)).gang("g", 8, 8, preemptible=False))
    assert (found[Act.RAISE_QUOTA].steps[0].numbers["from"], found[Act.RAISE_QUOTA].steps[0].numbers["to"]) == (4, 16)
    assert Act.MAKE_PREEMPTIBLE in found


def test_another_pool_is_offered_where_it_fits_there_and_only_there() -> None:
    fits = of(Cluster(node("n0", 8), *H200, queues=QUEUES).gang("g", 8, 8, 8), {"h200": OtherPool("q-h200")})
    too_many = of(Cluster(node("n0", 8), *H200, queues=QUEUES).gang("g", *[8] * 4), {"h200": OtherPool("q-h200")})
    assert set(fits[Act.OTHER_POOL].outcome.nodes.values()) == {"h0", "h1", "h2"}
    assert Act.OTHER_POOL not in too_many


def test_another_pool_is_no_way_out_for_a_gang_of_which_as_much_runs_already() -> None:
    """There it starts anew: three of its four pods run here, and no more than three would there."""
    home = [node(f"n{index}", 8) for index in range(3)]
    cluster = Cluster(*home, *H200, queues=QUEUES).gang("g", 8, 8, 8, 8, on=("n0", "n1", "n2", ""), min_member=1)
    cluster.pods[-1] = msgspec.structs.replace(cluster.pods[-1], phase="Pending")

    assert Act.OTHER_POOL not in of(cluster, {"h200": OtherPool("q-h200")})
    more = Cluster(*home[:2], *H200, queues=QUEUES).gang("g", 8, 8, 8, on=("n0", "n1", ""), min_member=1)
    more.pods[-1] = msgspec.structs.replace(more.pods[-1], phase="Pending")
    assert len(of(more, {"h200": OtherPool("q-h200")})[Act.OTHER_POOL].outcome.nodes) == 3


def test_in_another_pool_the_levels_of_its_own_topology_hold() -> None:
    """What is required stays required: where the topology there has no such level, that is why it would wait."""
    blocks = Topology("blocks", (Level("block"),))
    labelled = [msgspec.structs.replace(each, labels={**each.labels, "block": "b0"}) for each in H200]
    cluster = Cluster(*four(), *labelled, queues=QUEUES, topologies=(RACKS, blocks))
    scene = Scene(cluster.gang("g", 8, 8, 8, topology=within("rack")).snapshot(), KEY)

    (there,) = look_elsewhere(scene, diagnose(scene), {"h200": OtherPool("q-h200", "blocks", ("block",))})

    assert there.scene.outcome is None
    assert [(cause.code, cause.names["level"]) for cause in there.causes] == [(Code.LEVEL_UNKNOWN, "rack")]


def test_field_report_24_each_other_pool_says_why_it_would_wait_there_until_that_is_gone() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8), *H200, queues=QUEUES).gang("g", 8, 8, 8)
    pools = {"h200": OtherPool("q-h200")}
    full = cluster.gang("other", 8, on=("h0",), queue="q-h200", pool="h200", preemptible=False)
    scene = Scene(full.snapshot(), KEY)

    (there,) = look_elsewhere(scene, diagnose(scene), pools)

    assert there.scene.outcome is None
    assert [(cause.code, cause.numbers["asked"], cause.numbers["free"]) for cause in there.causes] == [
        (Code.POOL_FULL, 24, 16)
    ]
    freed = scene.without(("default/other",))
    (then,) = look_elsewhere(freed, diagnose(freed), pools)
    assert set(then.scene.outcome.nodes.values()) == {"h0", "h1", "h2"}


def test_the_defect_of_the_single_domain_has_its_way_round() -> None:
    found = of(Cluster(node("n0", 8, "z.r"), node("n1", 8, "z.r")).gang("g", 8, 8, topology=within("zone")))
    assert set(found) == {Act.PREFER_AS_REQUIRED}


def test_a_topology_without_levels_is_no_way_out() -> None:
    """KAI's CRD asks for one level at least; one of another version may not."""
    bare = Topology("bare", ())
    cluster = Cluster(*four(), topologies=(bare, RACKS)).gang("g", 8, 8, topology=within("rack", topology="gone"))
    scene = Scene(cluster.snapshot(), KEY)
    named = [step.names for each in find_remedies(scene, diagnose(scene)) for step in each.steps]
    assert [names["topology"] for names in named if "topology" in names] == ["topo"]


def test_a_remedy_for_two_causes_has_a_step_for_each() -> None:
    cluster = Cluster(*four(unschedulable=True), queues=(queue("q", limit=8),)).gang("g", 8, 8)
    scene = Scene(cluster.snapshot(), KEY)
    first = find_remedies(scene, diagnose(scene))[0]
    assert sorted(step.act for step in first.steps) == [Act.RAISE_LIMIT, Act.UNCORDON]


@pytest.mark.parametrize("seed", range(120))
def test_every_generated_situation_has_a_way_out_and_all_pods_have_a_node_then(seed: int) -> None:
    _, broken, _ = situation(seed)
    found = find_remedies(broken, diagnose(broken))
    assert found, seed
    for remedy in found:
        used = Counter(remedy.outcome.nodes.values())
        assert used, remedy
        assert not any(name == "" for name in used)


def test_waiting_for_an_end_is_what_the_engine_says_of_the_cluster_after_it() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("a", 8, on=("n0",)).gang("b", 4, 4, on=("n1", "n1"))
    found = of(cluster.gang("g", 4, 4))
    ended = msgspec.structs.replace(
        cluster.snapshot(), pods=tuple(pod for pod in cluster.pods if not pod.name.startswith("a-"))
    )
    assert found[Act.WAIT_FOR_END].steps[0].names["groups"] in ("default/a", "default/b")
    assert run_cycle(ended).bound == {"default/g-0": "n0", "default/g-1": "n0"}
