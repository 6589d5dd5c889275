"""KAI's words taken apart."""

from pathlib import Path

import pytest

from scheduling.cycle import run_cycle
from scheduling.explain import CauseKind, explain_text
from scheduling.golden import read_cases
from scheduling.shards import of_pool
from scheduling.structs import PodGroup, Queue
from tests.scheduling.build import RACKS, Cluster, node, queue, within

DATA = Path(__file__).parent / "data"


def recorded_texts() -> set[str]:
    return {
        reason["message"]
        for name in ("scheduling-replay", "scheduling-live")
        for case in read_cases(DATA / f"{name}.jsonl.xz")
        for row in _conditions(case["result"])
        for reason in row.get("reasons") or ()
    }


def _conditions(result: dict) -> list[dict]:
    rows = [
        row for cycle in result.get("cycles", ()) for each in (cycle.get("conditions") or {}).values() for row in each
    ]
    for step in result.get("steps", ()):
        for workload in (step.get("workloads") or {}).values():
            for group in workload.get("podgroups") or ():
                rows.extend(group.get("schedulingConditions") or ())
    return rows


def test_every_recorded_reason_is_understood() -> None:
    texts = recorded_texts()

    assert len(texts) > 500
    assert [text for text in texts if explain_text(text).kind is CauseKind.OTHER] == []


def test_a_limit_is_read_with_its_numbers() -> None:
    cause = explain_text(
        "q quota has reached the allowable limit of memory. Limit is 2 GB, currently 1.073 GB allocated and "
        "workload requested 1.073 GB"
    )

    assert (cause.kind, cause.queue, cause.resource) == (CauseKind.OVER_LIMIT, "q", "memory")
    assert (cause.limit, cause.used, cause.requested) == (2.0, 1.073, 1.073)


def test_a_quota_is_read_with_its_numbers() -> None:
    cause = explain_text(
        "Non-preemptible workload is over quota. Workload requested 4 CPU cores, but d0 quota is 2 cores, while 0 "
        "cores are already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
    )

    assert (cause.kind, cause.queue, cause.resource) == (CauseKind.OVER_QUOTA, "d0", "CPU cores")
    assert (cause.limit, cause.used, cause.requested) == (2.0, 0.0, 4.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "topology topo, requirement rack couldn't be satisfied for job <w/g>, subgroup s0: not enough resources "
            "in z0 to allocate the job",
            ("topo", "rack", "s0", "z0"),
        ),
        (
            "topology topo, requirement rack couldn't be satisfied for job <w/g>, subgroup s0",
            ("topo", "rack", "s0", ""),
        ),
        (
            "topology topo, requirement  couldn't be satisfied for job <w/g>: not enough resources in the cluster to "
            "allocate the job",
            ("topo", "", "", ""),
        ),
    ],
)
def test_a_level_is_read_with_its_place(text: str, expected: tuple[str, str, str, str]) -> None:
    cause = explain_text(text)

    assert cause.kind is CauseKind.LEVEL_UNSATISFIED
    assert (cause.topology, cause.level, cause.subgroup, cause.domain) == expected


def test_node_refusals_are_counted() -> None:
    cause = explain_text(
        "Resources were found for 3 pods while 8 are required for gang scheduling. Additional pods cannot be scheduled "
        "due to: no nodes with enough resources were found: 1 node is unschedulable. \n4 node(s) didn't have enough "
        "resources: GPUs."
    )

    assert (cause.kind, cause.found, cause.needed) == (CauseKind.GANG_SHORT, 3, 8)
    assert [(each.nodes, each.resource) for each in cause.refusals] == [(1, ""), (4, "GPUs")]


def test_a_text_that_says_nothing_is_unexplained_and_a_pool_prefix_is_ignored() -> None:
    assert explain_text("Unable to schedule podgroup").kind is CauseKind.UNEXPLAINED
    assert explain_text("Node-Pool 'a': Queue 'x' does not exist").queue == "x"


def test_what_the_engine_says_can_be_read_back() -> None:
    cluster = Cluster(node("n0", 8, "z.r0"), node("n1", 8, "z.r1"), topologies=(RACKS,))
    cluster.gang("g", *[4] * 3, topology=within("rack", "rack"))

    reasons = run_cycle(cluster.snapshot()).conditions["default/g"].reasons
    causes = [explain_text(reason.message) for reason in reasons]

    kinds = {cause.kind for cause in causes}
    assert kinds == {CauseKind.LEVEL_UNSATISFIED, CauseKind.DOMAIN_FULL}
    full = next(cause for cause in causes if cause.kind is CauseKind.DOMAIN_FULL)
    assert (full.found, full.needed) == (2, 3)


def test_a_pool_is_a_label_value_and_the_default_pool_its_absence() -> None:
    """A label value ``default`` is not the default pool (l007, l008)."""
    nodes = [node("plain", 8), node("named", 8, labels={"kai.scheduler/node-pool": "a"})]
    nodes.append(node("trap", 8, labels={"kai.scheduler/node-pool": "default"}))
    queues: tuple[Queue, ...] = (queue("q"), queue("qa", pool="a"), queue("qd", pool="default"))
    cluster = Cluster(*nodes, queues=queues)
    cluster.gang("g", 1).gang("ga", 1, queue="qa", pool="a").gang("gd", 1, queue="q", pool="default")
    whole = cluster.snapshot()

    default, pool = of_pool(whole, ""), of_pool(whole, "a")

    assert dict(run_cycle(default).bound) == {"default/g-0": "plain"}
    assert dict(run_cycle(pool).bound) == {"default/ga-0": "named"}
    assert [group.name for group in default.podgroups] == ["g"]
    assert all(isinstance(group, PodGroup) for group in pool.podgroups)


def test_pods_of_another_pool_on_a_node_of_this_one_take_its_room() -> None:
    cluster = Cluster(node("n0", 8)).gang("alien", 6, on=("n0",), pool="a").gang("g", 4)

    assert run_cycle(of_pool(cluster.snapshot(), "")).bound == {}
