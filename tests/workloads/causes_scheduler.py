"""What the scheduler sees and says little of: pool, shard, queue, gang, limits, topology, nodes, room, eviction."""

from collections.abc import Callable
from typing import Any

from clusters.kinds import (
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    KAI_TOPOLOGY,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY_CLASS,
)
from tests.simulator.actors.conftest import manifest
from tests.workloads.causes import (
    ELSEWHERE,
    NO_SCHEDULER,
    POOL,
    Act,
    Document,
    Situation,
    add_nodes,
    all_act,
    annotated,
    create,
    delete,
    fault,
    freed,
    groups_of,
    groups_patched,
    healed,
    held,
    nodes_patched,
    of_role,
    one_rack,
    patch,
    patch_all,
    pods_grouped,
    queue_patched,
    racked,
    scheduled_pod,
    then,
    verdict,
    written_back,
)
from tests.workloads.simulated import HOST, RACK, ZONE, four_nodes, node, queue
from tests.workloads.stage import LEVELS, SPACE, Stage
from tests.workloads.test_diagnosis import MULTINODE, QUEUES, TAINT, broken, graph, unready

H200 = {"research-h200": {}, "assistant-h200": {"parent": "research-h200"}, **QUEUES}
GATE = "grove.io/podgang-pending-creation"


def pooled(body: Document) -> Document:
    """An object of pool h200."""
    metadata = {**body["metadata"], "labels": {**body["metadata"].get("labels", {}), POOL: "h200"}}
    return {**body, "metadata": metadata}


def h200_nodes() -> list[Document]:
    """Two nodes of pool h200."""
    return [pooled(node(f"n{index}", "z1.r0")) for index in range(2)]


def shard(stage: Stage) -> None:
    """A scheduler runs for pool h200."""
    create(
        stage,
        KAI_SCHEDULING_SHARD,
        {**manifest(KAI_SCHEDULING_SHARD, "h200"), "spec": {"partitionLabelValue": "h200"}},
    )


def h200_queues(stage: Stage) -> None:
    """The queues of pool h200 belong to it."""
    for name in ("research-h200", "assistant-h200"):
        patch(stage, KAI_QUEUE, name, {"metadata": {"labels": {POOL: "h200"}}})


def label_lost(document: Document) -> None:
    """The pool's label does not arrive."""
    document["spec"]["labels"].pop(POOL)


def probe(stage: Stage) -> None:
    """A pod that nothing keeps from running, grouped: once it runs the scheduler went through all that waits."""
    create(stage, KAI_QUEUE, queue("probe"))
    create(stage, NAMESPACE, manifest(NAMESPACE, "probe"))
    body = scheduled_pod("probe", 0, "probe")
    body["metadata"]["namespace"] = "probe"
    body["spec"]["containers"][0]["resources"] = {}
    create(stage, POD, body)

    async def made(cluster: Any) -> bool:
        return bool(await cluster.objects(KAI_POD_GROUP, "probe"))

    stage.wait("the probe's group", made)


def probed(stage: Stage) -> None:
    """Until the probe has run."""
    stage.run(stage.cluster.running(1, "probe"))
    delete(stage, POD, "probe", "probe")


def judged_all(stage: Stage) -> None:
    """Until the scheduler went through all that waits."""
    probe(stage)
    probed(stage)


def without_queue_name(stage: Stage) -> None:
    """Its pod group names no queue."""
    pods_grouped(stage)
    patch_all(stage, KAI_POD_GROUP, {"spec": {"queue": ""}})
    all_act(stage)


def in_another_queue(stage: Stage) -> None:
    """Its pod group is in a queue whose limit it does not fit."""
    pods_grouped(stage)
    patch_all(stage, KAI_POD_GROUP, {"spec": {"queue": "other"}})
    all_act(stage)


def queue_gone(stage: Stage) -> None:
    """Its queue goes once the pods are grouped."""
    pods_grouped(stage)
    delete(stage, KAI_QUEUE, "assistant")
    all_act(stage)


def circle(stage: Stage) -> None:
    """Two queues are parents of each other, and a pod waits in one of them."""
    create(stage, NAMESPACE, manifest(NAMESPACE, ELSEWHERE))
    create(stage, KAI_QUEUE, queue("x", "y"))
    create(stage, KAI_QUEUE, queue("y", "x"))
    create(stage, POD, scheduled_pod("caught", 0, "x"))

    async def caught(cluster: Any) -> bool:
        return bool(await cluster.objects(KAI_POD_GROUP, ELSEWHERE))

    stage.wait("the group of the pod that is caught", caught)


def one_try(stage: Stage) -> None:
    """It asks for one try only, fails while there is one node, and then there are more."""
    pods_grouped(stage)
    patch_all(stage, KAI_POD_GROUP, {"spec": {"schedulingBackoff": 1}})
    all_act(stage)

    judged_group(stage)
    add_nodes(stage, *four_nodes()[1:])


def judged_group(stage: Stage) -> None:
    """Until the scheduler has said no to its pod group."""

    async def failed(cluster: Any) -> bool:
        groups = await cluster.objects(KAI_POD_GROUP, SPACE)
        return bool(groups) and all((each.get("status") or {}).get("schedulingConditions") for each in groups)

    stage.wait("the scheduler's no", failed)


def lost_subgroup(stage: Stage) -> None:
    """A pod names a subgroup that the group has not; the podgrouper does not put it right for now."""
    pods_grouped(stage)
    probe(stage)
    stage.halt()
    first = stage.run(stage.cluster.pods(SPACE))[0]["metadata"]["name"]
    patch(stage, POD, first, {"metadata": {"labels": {"kai.scheduler/subgroup-name": "decoder"}}})
    stage.act(but=frozenset({"podgrouper", "grove"}))


def lost_pod(stage: Stage) -> None:
    """A pod goes, and Grove does not make another one for now."""
    pods_grouped(stage)
    stage.halt()
    first = stage.run(stage.cluster.pods(SPACE))[0]["metadata"]["name"]
    stage.run(stage.cluster.client.delete(POD, first, SPACE, grace_period_seconds=0))
    stage.act(but=frozenset({"grove"}))


def base_only(stage: Stage) -> None:
    """The first replica runs; Grove does not open the gates of the second one for now."""

    async def made(cluster: Any) -> bool:
        pods = await cluster.pods(SPACE)
        marked = [pod for pod in pods if "pod-group-name" in (pod["metadata"].get("annotations") or {})]
        free = [pod for pod in pods if not pod["spec"].get("schedulingGates")]
        return len(pods) == len(marked) == 4 and len(free) == 2

    stage.wait("four pods, two of them gated", made)
    stage.act(but=frozenset({"grove"}))


def some_run(count: int) -> Act:
    """Until so many of its pods run."""

    async def running(cluster: Any) -> bool:
        pods = await cluster.pods(SPACE)
        return sum(pod["status"].get("phase") == "Running" for pod in pods) == count

    return lambda stage: stage.wait(f"{count} running pods", running)


def selecting(document: Document) -> None:
    """Its pods select nodes by a label."""
    document["spec"]["components"][0]["podTemplate"]["spec"]["nodeSelector"] = {"gpu": "h200"}


def shunning(document: Document) -> None:
    """Its pods go to no zone in which a pod of another queue stands."""
    term = {
        "labelSelector": {"matchLabels": {"kai.scheduler/queue": "other"}},
        "namespaces": [ELSEWHERE],
        "topologyKey": ZONE,
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    document["spec"]["components"][0]["podTemplate"]["spec"]["affinity"] = affinity


def occupant(name: str, gpus: int, queue_name: str, **spec: Any) -> Act:
    """Another one's pod runs already."""

    def act(stage: Stage) -> None:
        if not stage.run(stage.cluster.client.get(NAMESPACE, ELSEWHERE)):
            create(stage, NAMESPACE, manifest(NAMESPACE, ELSEWHERE))
        create(stage, POD, scheduled_pod(name, gpus, queue_name, **spec))

        async def runs(cluster: Any) -> bool:
            pod = await cluster.client.get(POD, name, ELSEWHERE)
            return bool(pod["status"].get("phase") == "Running")

        stage.wait(f"{name} running", runs)

    return act


def ended(*names: str) -> Act:
    """These pods of another one end."""

    def act(stage: Stage) -> None:
        for name in names:
            delete(stage, POD, name, ELSEWHERE)

    return act


def classes(stage: Stage) -> None:
    """KAI's priority classes that matter here."""
    for name, value in (("train", 50), ("build-preemptible", 75)):
        create(stage, PRIORITY_CLASS, {**manifest(PRIORITY_CLASS, name), "value": value})


def evicting(source: str) -> str:
    """The graph with a priority above that of training."""
    return source.replace("annotations: {}", "labels: {priorityClassName: build-preemptible}")


def delayed(document: Document) -> None:
    """It may evict nobody for an hour."""
    document["spec"].setdefault("annotations", {})["kai.scheduler/preemption-delay"] = "1h"


def undelayed(stage: Stage) -> None:
    """It may at once."""
    for each in groups_of(stage):
        patch(stage, KAI_POD_GROUP, each["metadata"]["name"], {"spec": {"preemptionDelay": "0s"}})


def full_of_training(stage: Stage) -> None:
    """Training of its own queue holds both nodes."""
    classes(stage)
    for name in ("first", "second"):
        occupant(name, 8, "assistant", priorityClassName="train", labels={"priorityClassName": "train"})(stage)


def before_it(stage: Stage) -> None:
    """Training ends slowly; a rival of higher priority waits for its room already when the graph comes."""
    classes(stage)
    for name in ("first", "second"):
        occupant(name, 8, "assistant", labels={"priorityClassName": "train"})(stage)
    for name in ("first", "second"):
        delete(stage, POD, name, ELSEWHERE)
    for name in ("rival-1", "rival-2"):
        create(stage, POD, scheduled_pod(name, 8, "assistant", labels={"priorityClassName": "build-preemptible"}))


def topology_there(stage: Stage) -> None:
    """The topology is made."""
    levels = {"levels": [{"nodeLabel": label} for label in LEVELS]}
    create(stage, KAI_TOPOLOGY, manifest(KAI_TOPOLOGY, "topology-1", levels))


def placed_otherwise(stage: Stage) -> None:
    """Its pod group asks for one host; the podgrouper does not put it right for now."""
    pods_grouped(stage)
    probe(stage)
    stage.halt()
    constraint = {"topology": "topology-1", "requiredTopologyLevel": HOST, "preferredTopologyLevel": None}
    patch_all(stage, KAI_POD_GROUP, {"spec": {"topologyConstraint": constraint}})
    stage.act(but=frozenset({"podgrouper"}))


def made_ready(stage: Stage) -> None:
    """The kubelets are well again."""
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    for each in stage.run(stage.cluster.objects(NODE)):
        name = each["metadata"]["name"]
        stage.run(stage.cluster.client.patch(NODE, name, None, status, subresource="status"))


def only_required(level: str) -> Callable[[Document], object]:
    """A level required and none preferred, as others write it."""
    return annotated(topology="topology-1", required=level)


def unlimited(name: str) -> Act:
    """A queue without a limit."""
    return queue_patched(name, {"spec": {"resources": {"gpu": {"limit": -1}}}})


NON_PREEMPTIBLE = graph().replace("annotations: {}", "labels: {kai.scheduler/preemptibility: non-preemptible}")
TAKES_NONE = {"spec": {"unschedulable": True}}

BEFORE_NODES: dict[str, Situation] = {
    "its pods are in another pool than it was meant for": Situation(
        ("PoolWrong",),
        groups_patched({"metadata": {"labels": {POOL: "h200"}}}),
        pool="h200",
        nodes=h200_nodes,
        queues=H200,
        before=then(shard, h200_queues),
        document=label_lost,
    ),
    "no scheduler runs for its pool": Situation(
        ("ShardMissing",), shard, pool="h200", nodes=h200_nodes, queues=H200, before=h200_queues, seen=pods_grouped
    ),
    "its pod group is in another queue": Situation(
        ("QueueNotArrived",),
        groups_patched({"spec": {"queue": "assistant"}}),
        queues={**QUEUES, "other": {"limit": 4}},
        idle=NO_SCHEDULER,
        after=in_another_queue,
    ),
    "queues in a circle hang the scheduler": Situation(
        ("SchedulerHangs",), queue_patched("x", {"spec": {"parentQueue": None}}), before=circle, seen=pods_grouped
    ),
    "its pod group names no queue": Situation(
        ("QueueUnset",),
        groups_patched({"spec": {"queue": "assistant"}}),
        idle=NO_SCHEDULER,
        after=without_queue_name,
        seen=judged_all,
    ),
    "its queue is gone": Situation(
        ("QueueMissing",),
        lambda stage: create(stage, KAI_QUEUE, queue("assistant", "research")),
        idle=NO_SCHEDULER,
        after=queue_gone,
    ),
    "its queue belongs to another pool": Situation(
        ("QueueOtherPool",),
        queue_patched("assistant", {"metadata": {"labels": {POOL: None}}}),
        before=queue_patched("assistant", {"metadata": {"labels": {POOL: "h200"}}}),
    ),
    "its queue's parent is missing": Situation(
        ("QueueParentMissing",),
        lambda stage: create(stage, KAI_QUEUE, queue("research")),
        queues={"assistant": {"parent": "research"}},
    ),
    "field report 20: its queue has queues below it": Situation(
        ("QueueNotLeaf",),
        lambda stage: delete(stage, KAI_QUEUE, "child"),
        queues={**QUEUES, "child": {"parent": "assistant"}},
        seen=judged_all,
    ),
    "it asked for one try": Situation(
        ("BackedOff",),
        groups_patched({"spec": {"schedulingBackoff": -1}}),
        nodes=lambda: four_nodes()[:1],
        idle=NO_SCHEDULER,
        after=one_try,
        seen=judged_all,
    ),
    "a pod names an unknown subgroup": Situation(
        ("SubGroupUnknown",), all_act, idle=NO_SCHEDULER, after=lost_subgroup, seen=probed
    ),
    "a pod of the gang is missing": Situation(
        ("PodsMissing",), all_act, idle=NO_SCHEDULER, after=lost_pod, seen=judged_all
    ),
    "field report 31: gates stay shut": Situation(
        ("PodsGated",), all_act, source=MULTINODE, idle=NO_SCHEDULER, after=base_only, seen=some_run(2), pods=4
    ),
    "the limit of its queue": Situation(
        ("OverLimit",), unlimited("assistant"), queues={"research": {}, "assistant": {"parent": "research", "limit": 8}}
    ),
    "the limit of its department": Situation(
        ("OverLimit",), unlimited("research"), queues={"research": {"limit": 8}, "assistant": {"parent": "research"}}
    ),
    "not preemptible, over the department's quota": Situation(
        ("NonPreemptibleOverQuota",),
        queue_patched("research", {"spec": {"resources": {"gpu": {"quota": 16}}}}),
        source=NON_PREEMPTIBLE,
        queues={"research": {"quota": 8}, "assistant": {"parent": "research", "quota": 32}},
    ),
}

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
        ended("rival-1", "rival-2"),
        nodes=lambda: four_nodes()[:2],
        before=before_it,
        seen=then(pods_grouped, judged_all),
        options={"termination_s": 6.0},
    ),
}


def all_bad(**spec: Any) -> Callable[[], list[Document]]:
    """Four nodes with the same fault in their spec."""
    return lambda: [node(f"n{n}", f"z1.r{n // 2}", **spec) for n in range(4)]


LIMITED = {"research": {}, "assistant": {"parent": "research", "limit": 8}}
UNCORDONED = nodes_patched({"spec": {"unschedulable": None}})
UNTAINTED = nodes_patched({"spec": {"taints": None}})
COMBINED: dict[str, Situation] = {
    "a limit, and cordoned nodes": Situation(
        ("OverLimit", "NodesCordoned"),
        then(unlimited("assistant"), UNCORDONED),
        queues=LIMITED,
        nodes=all_bad(unschedulable=True),
    ),
    "cordoned nodes, and a taint on them": Situation(
        ("NodesCordoned", "NodesTainted"),
        then(UNCORDONED, UNTAINTED),
        nodes=all_bad(unschedulable=True, taints=[TAINT]),
    ),
    "no parent of its queue, and a selector that matches nothing": Situation(
        ("QueueParentMissing", "SelectorMatchesTooFew"),
        then(
            lambda stage: create(stage, KAI_QUEUE, queue("research")),
            nodes_patched({"metadata": {"labels": {"gpu": "h200"}}}),
        ),
        queues={"assistant": {"parent": "research"}},
        document=selecting,
    ),
    "the scheduler is down, and the pool is too small": Situation(
        ("ComponentDown", "PoolTooSmall"),
        then(healed, lambda stage: add_nodes(stage, node("n1", "z1.r0"))),
        nodes=lambda: [node("n0", "z1.r0")],
        before=fault("operator-down", name="kai-scheduler"),
        seen=pods_grouped,
    ),
    "a limit, an unknown level, and nodes that are not ready": Situation(
        ("OverLimit", "LevelUnknown", "NodesNotReady"),
        then(unlimited("assistant"), written_back, made_ready),
        source=racked(2),
        queues=LIMITED,
        nodes=lambda: [unready(f"n{n}", f"z1.r{n // 2}") for n in range(4)],
        document=annotated(topology="topology-1", required="topology.kubernetes.io/Rack"),
    ),
    "a limit, a taint, and a full rack": Situation(
        ("OverLimit", "NodesTainted", "LevelFull"),
        then(unlimited("assistant"), UNTAINTED, freed("n0", "n2")),
        source=racked(2),
        queues=LIMITED,
        nodes=all_bad(taints=[TAINT]),
        before=held(n0=8, n2=8),
    ),
}

SITUATIONS = {**BEFORE_NODES, **TOPOLOGY, **NODES, **EVICTION, **COMBINED}
