"""What is done to a simulated cluster in situations that the scheduler sees."""

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
    POOL,
    Act,
    Document,
    add_nodes,
    all_act,
    annotated,
    create,
    delete,
    groups_of,
    patch,
    patch_all,
    pods_grouped,
    queue_patched,
    scheduled_pod,
)
from tests.workloads.simulated import HOST, ZONE, four_nodes, node, queue
from tests.workloads.stage import LEVELS, SPACE, Stage
from tests.workloads.test_diagnosis import graph
from tests.workloads.waiting import QUEUES

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
