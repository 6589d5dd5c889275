"""Situations of topology, nodes and eviction."""

from tests.workloads.causes import (
    NO_SCHEDULER,
    Situation,
    add_nodes,
    all_act,
    annotated,
    freed,
    held,
    nodes_patched,
    of_role,
    one_rack,
    pods_grouped,
    queue_patched,
    quickly,
    racked,
    then,
    verdict,
    written_back,
)
from tests.workloads.causes_acts import (
    TAKES_NONE,
    before_it,
    delayed,
    ended,
    evicting,
    full_of_training,
    judged_all,
    judged_group,
    made_ready,
    occupant,
    only_required,
    placed_otherwise,
    probed,
    selecting,
    shunning,
    some_run,
    topology_there,
    undelayed,
)
from tests.workloads.simulated import RACK, ZONE, four_nodes, node
from tests.workloads.test_diagnosis import TAINT, broken, graph, unready
from tests.workloads.waiting import QUEUES

TOPOLOGY: dict[str, Situation] = {
    "its topology is missing": Situation(("TopologyMissing",), topology_there, source=racked(2), topology=False),
    "no level is named": Situation(("LevelUnset",), written_back, document=annotated(topology="topology-1")),
    "a level that does not exist": Situation(
        ("LevelUnknown",),
        written_back,
        source=racked(2),
        document=annotated(topology="topology-1", required="topology.kubernetes.io/Rack"),
    ),
    "it prefers a broader level than it requires": Situation(
        ("LevelsReversed",),
        written_back,
        source=racked(2),
        document=annotated(topology="topology-1", required=RACK, preferred=ZONE),
    ),
    "somebody else's placement is on its pod group": Situation(
        ("PlacementNotArrived",), all_act, idle=NO_SCHEDULER, after=placed_otherwise, seen=probed
    ),
    "field report 37: nodes without the rack's label": Situation(
        ("NodesUnlabelled",),
        nodes_patched({"metadata": {"labels": {RACK: "r0"}}}),
        source=racked(2),
        nodes=lambda: [node(f"n{n}", "z1.") for n in range(4)],
    ),
    "a rack too small": Situation(
        ("LevelTooSmall",),
        lambda stage: add_nodes(stage, node("n4", "z1.r0")),
        source=racked(3),
        pods=3,
    ),
    "defect: all nodes share a domain below the required level": Situation(
        ("SingleDomain",),
        written_back,
        source=racked(2).replace(RACK, ZONE),
        nodes=one_rack(2),
        document=only_required(ZONE),
    ),
    "defect: unequal pods are counted as the largest": Situation(
        ("UnequalPods",),
        lambda stage: add_nodes(stage, node("n2", "z1.r0")),
        source=racked(1) + of_role("prefill", 2),
        nodes=lambda: [node("n0", "z1.r0"), node("n1", "z1.r0", gpus=4)],
    ),
    "more pods than it must start with, pinned to a full rack": Situation(
        ("Pinned",),
        lambda stage: add_nodes(stage, node("n4", "z1.r0"), node("n5", "z1.r1")),
        source=racked(3).replace("minAvailable: 3", "minAvailable: 1"),
        seen=then(some_run(2), verdict),
        pods=3,
    ),
    "a full rack": Situation(("LevelFull",), freed("n0"), source=racked(2), before=held(n0=8, n2=8)),
    "a rack whose free GPUs are in pieces": Situation(
        ("LevelFragmented",), freed("n0"), source=racked(2, 6), before=held(n0=4, n2=4)
    ),
}

NODES: dict[str, Situation] = {
    "the pool has no node": Situation(
        ("PoolEmpty",), lambda stage: add_nodes(stage, *four_nodes()), nodes=list, seen=judged_group
    ),
    "field report 17: unhealthy GPUs": Situation(
        ("DevicesUnhealthy",),
        nodes_patched({"metadata": {"annotations": {"simulator.muster/unhealthy-gpus": "0"}}}),
        nodes=lambda: [broken(f"n{n}", f"z1.r{n // 2}") for n in range(4)],
    ),
    "a pod larger than any node": Situation(
        ("PodTooLarge",),
        lambda stage: add_nodes(stage, *[node(f"big{n}", "z1.r0") for n in range(2)]),
        nodes=one_rack(4, gpus=4),
    ),
    "nodes that are not ready": Situation(
        ("NodesNotReady",),
        made_ready,
        nodes=lambda: [unready(f"n{n}", f"z1.r{n // 2}") for n in range(4)],
    ),
    "cordoned nodes": Situation(
        ("NodesCordoned",),
        nodes_patched({"spec": {"unschedulable": None}}),
        nodes=lambda: [{**each, "spec": TAKES_NONE["spec"]} for each in four_nodes()],
    ),
    "a taint": Situation(
        ("NodesTainted",),
        nodes_patched({"spec": {"taints": None}}),
        nodes=lambda: [node(f"n{n}", f"z1.r{n // 2}", taints=[TAINT]) for n in range(4)],
    ),
    "a node selector that matches nothing": Situation(
        ("SelectorMatchesTooFew",), nodes_patched({"metadata": {"labels": {"gpu": "h200"}}}), document=selecting
    ),
    "terms on other pods": Situation(
        ("OtherPodsTerms",),
        ended("guard"),
        queues={**QUEUES, "other": {}},
        before=occupant("guard", 1, "other"),
        document=shunning,
    ),
    "a pool too small": Situation(
        ("PoolTooSmall",), lambda stage: add_nodes(stage, node("n1", "z1.r0")), nodes=lambda: [node("n0", "z1.r0")]
    ),
    "a full pool": Situation(("PoolFull",), freed("n0", "n1"), nodes=lambda: four_nodes()[:2], before=held(n0=8, n1=8)),
    "a pool whose free GPUs are in pieces": Situation(
        ("PoolFragmented",),
        freed("n0", "n1"),
        source=graph(gpus=6),
        nodes=one_rack(3),
        before=held(n0=4, n1=4, n2=4),
    ),
}

EVICTION: dict[str, Situation] = {
    "it may not evict yet": Situation(
        ("PreemptionDelay",),
        undelayed,
        source=evicting(graph()),
        nodes=lambda: four_nodes()[:2],
        before=full_of_training,
        document=delayed,
    ),
    "those whom it could evict may run on": Situation(
        ("MinRuntime",),
        queue_patched("assistant", {"spec": {"preemptMinRuntime": "0s"}}),
        source=evicting(graph()),
        nodes=lambda: four_nodes()[:2],
        before=then(full_of_training, queue_patched("assistant", {"spec": {"preemptMinRuntime": "1h"}})),
    ),
    "others come first": Situation(
        ("Ahead",),
        then(ended("rival-1", "rival-2"), quickly),
        nodes=lambda: four_nodes()[:2],
        before=before_it,
        seen=then(pods_grouped, judged_all),
        options={"termination_s": 600.0},
    ),
}

SITUATIONS = {**TOPOLOGY, **NODES, **EVICTION}
