"""Where thousands of pods wait beside the one that is asked about: work in counted steps, and what is sure without."""

import cProfile

import msgspec

from scheduling.diagnosis import diagnose, diagnose_unasked
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code
from scheduling.structs import Resources, SchedulerConfig, Snapshot, SubGroup
from tests.scheduling.build import Cluster, node, queue, within


def crowded(each: int) -> Snapshot:
    """Fourteen nodes, each with 8 GPUs, on which a graph of two roles of so many pods has taken the CPU: seven pods of
    1 GPU on every node, and room in GPUs for an eighth. Two pods of 1 GPU and half a node's CPU wait with the rest."""
    roles = tuple((SubGroup(name, min_member=1), each) for name in ("prefill", "decode"))
    hosts = [f"n{index:02d}" for index in range(14)]
    cluster = Cluster(*[node(name, 8, f"z{index // 7}.r{index // 2}") for index, name in enumerate(hosts)])
    cluster.gang("big", *[1] * (2 * each), subgroups=roles)
    placed = [name for name in hosts for _ in range(7)]
    pods = [
        msgspec.structs.replace(
            pod, requests=Resources(1, 9_000), **({"node": placed[at], "phase": "Running"} if at < len(placed) else {})
        )
        for at, pod in enumerate(cluster.pods)
    ]
    cluster.pods = pods
    cluster.gang("asked", 1, 1)
    cluster.pods[-2:] = [msgspec.structs.replace(pod, requests=Resources(1, 32_000)) for pod in cluster.pods[-2:]]
    return cluster.snapshot()


def steps(snapshot: Snapshot, budget: int) -> int:
    """Function calls that a diagnosis takes: the same wherever it runs, and however loaded the machine is."""
    profile = cProfile.Profile()
    profile.runcall(diagnose, Scene(snapshot, "default/asked", SchedulerConfig(search_budget=budget), effort=6))
    return sum(entry.callcount for entry in profile.getstats())


def test_two_thousand_waiting_pods_cost_no_more_than_their_number() -> None:
    """Twenty times the pods are at most ten times the steps, and the answer stays the same."""
    few, many = crowded(50), crowded(1000)

    assert steps(many, 2_000) < min(10 * steps(few, 2_000), 1_200_000)

    found = [diagnose(Scene(each, "default/asked", SchedulerConfig(search_budget=2_000))) for each in (few, many)]
    assert [[cause.code for cause in each.causes] for each in found] == [[Code.POOL_FRAGMENTED]] * 2


def test_unasked_only_what_is_sure_is_a_cause() -> None:
    """The pool is in pieces, which only trying shows; a limit of 1 GPU below the 2 that are asked for is sure."""
    snapshot = crowded(50)
    nothing = diagnose_unasked(Scene(snapshot, "default/asked"))
    assert (nothing.causes, nothing.asked, nothing.waiting) == ((), False, 2)

    limited = msgspec.structs.replace(snapshot, queues=(queue("q"), queue("tight", limit=1.0)))
    (cause,) = diagnose_unasked(Scene(limited, "default/asked").with_group(queue="tight")).causes
    assert cause.code is Code.OVER_LIMIT
    assert (cause.numbers["bound"], cause.numbers["asked"]) == (1.0, 2.0)


def test_what_is_sure_without_a_cycle_is_what_a_cycle_finds() -> None:
    """A missing queue, a missing topology and too large a pod are found either way, in the same order."""
    cluster = Cluster(node("a", 8, "z.r"), node("b", 8, "z.r"))
    cluster.gang("g", 9, queue="gone", topology=within("rack", topology="other"))
    scene = Scene(cluster.snapshot(), "default/g")

    codes = [cause.code for cause in diagnose_unasked(scene).causes]

    assert codes == [Code.QUEUE_MISSING, Code.TOPOLOGY_MISSING, Code.POD_TOO_LARGE]
    assert codes == [cause.code for cause in diagnose(scene).causes]


def test_a_group_that_runs_waits_for_nothing_unasked() -> None:
    cluster = Cluster(node("a", 8, "z.r")).gang("g", 8, on=("a",), queue="gone")
    assert diagnose_unasked(Scene(cluster.snapshot(), "default/g")).causes == ()


def test_a_diagnosis_leaves_what_it_reads_as_it_was() -> None:
    """Every question is asked of the scene's own session and taken back: asked again, it is answered alike."""
    scene = Scene(crowded(50), "default/asked")
    before = scene.session.nodes.idle.copy()
    assert not scene.runs
    assert (scene.session.nodes.idle == before).all()
    assert {task.key for task in scene.tasks} == {"default/asked-0", "default/asked-1"}
    again = Scene(scene.snapshot, scene.key)
    assert [cause.code for cause in diagnose(scene).causes] == [cause.code for cause in diagnose(again).causes]
