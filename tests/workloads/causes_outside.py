"""What no scheduler can see: the row, the cluster's software, gates, images, secrets, lost nodes."""

import datetime as dt
from typing import Any

from clusters.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    DYNAMO_GRAPH_DEPLOYMENT,
    EVENT,
    GROVE_POD_CLIQUE_SET,
    KAI_QUEUE,
    NODE,
    SECRET,
)
from clusters.operators.grove.pods import INIT_CONTAINER, INIT_IMAGE
from organizations.models import Quota
from simulator.fleets.platform import COMPONENTS, deployment
from tests.simulator.actors.conftest import is_ready, manifest
from tests.workloads.causes import (
    Situation,
    add_nodes,
    all_act,
    create,
    delete,
    fault,
    healed,
    healed_and_written,
    nothing,
    of_role,
    pods_grouped,
    quickly,
    scaled,
    then,
    written_back,
)
from tests.workloads.simulated import node, queue
from tests.workloads.stage import SPACE, Stage
from tests.workloads.test_diagnosis import graph
from tests.workloads.waiting import QUEUES

GROVE_DOWN = "grove-operator"


def without_quota(stage: Stage) -> None:
    """The project loses its quota on the pool."""
    Quota.objects.filter(project=stage.workload.project).delete()


def with_quota(stage: Stage) -> None:
    """It has one again, and the workload is reconciled."""
    Quota.objects.create(
        cluster=stage.workload.cluster,
        project=stage.workload.project,
        node_pool=stage.workload.node_pool,
        queue_name="assistant",
        gpu_deserved=32,
    )
    stage.reconcile()


def refused(stage: Stage) -> None:
    """Until the operator says no."""

    async def said(cluster: Any) -> bool:
        (found,) = await cluster.objects(DYNAMO_GRAPH_DEPLOYMENT, SPACE)
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any(each["status"] == "False" and each.get("message") for each in conditions)

    stage.wait("the operator's refusal", said)


def packed_nowhere(document: dict[str, Any]) -> None:
    """It is to be packed by a topology that Grove does not know: its webhook refuses what the operator makes of it."""
    constraint = {"topologyName": "nowhere", "pack": {"required": "rack"}}
    document["spec"]["providerOverride"] = {
        "apiVersion": GROVE_POD_CLIQUE_SET.api_version,
        "target": GROVE_POD_CLIQUE_SET.kind,
        "value": {"spec": {"template": {"topologyConstraint": constraint}}},
    }


def pods_made(stage: Stage) -> None:
    """Until the pods are there."""

    async def made(cluster: Any) -> bool:
        return len(await cluster.pods(SPACE)) == 2

    stage.wait("pods", made)


def pods_say(reason: str) -> Any:
    """Until a container waits for this reason."""

    async def said(cluster: Any) -> bool:
        pods = await cluster.pods(SPACE)
        return any(reason in str(pod["status"].get("containerStatuses")) for pod in pods)

    return lambda stage: stage.wait(reason, said)


def grove_arrives(stage: Stage) -> None:
    """Grove is installed, and acts."""
    for each in COMPONENTS:
        if each.namespace == "grove-system":
            create(stage, DEPLOYMENT, deployment(each))
    healed(stage)


def unreadable_queue(stage: Stage) -> None:
    """A queue from a time when no webhook refused such a duration."""
    create(stage, KAI_QUEUE, queue("odd"))
    without_webhook(stage, "1d")


def without_webhook(stage: Stage, preempt_min_runtime: str) -> None:
    """Change that queue past KAI's webhook, which decodes what was there too and so lets nobody mend or delete it."""
    key = ("scheduling.run.ai", "queues")

    def change() -> None:
        stored = stage.api.server.store.collection(key).entries[("", "odd")].object
        spec = {**stored["spec"], "preemptMinRuntime": preempt_min_runtime}
        stage.api.server.store.put(key, ("", "odd"), {**stored, "metadata": dict(stored["metadata"]), "spec": spec})

    stage.api.call(change)


def long_ago(stage: Stage) -> None:
    """The cluster's clock is two minutes behind, so that what is made now is two minutes old."""
    stage.api.server.time = lambda: dt.datetime.now(dt.UTC) - dt.timedelta(minutes=2)


def node_gone(stage: Stage) -> None:
    """A node falls silent once the gang runs, and is then taken out of the cluster."""
    stage.runs(2)
    stage.api.call(stage.api.server.faults.switch_on, "node-lost", {"node": "n0"})

    async def unready(cluster: Any) -> bool:
        return not all(map(is_ready, await cluster.pods(SPACE)))

    stage.wait("an unready pod", unready)
    delete(stage, NODE, "n0")


def needs_secret(document: dict[str, Any]) -> None:
    """Its container reads a secret."""
    container = document["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    container["env"] = [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]


def settings_made(stage: Stage) -> None:
    """The config map is made."""
    metadata = {"name": "settings", "namespace": SPACE}
    create(stage, CONFIG_MAP, {**manifest(CONFIG_MAP, "settings"), "metadata": metadata})


def needs_config(document: dict[str, Any]) -> None:
    """It mounts a config map."""
    spec = document["spec"]["components"][0]["podTemplate"]["spec"]
    spec["volumes"] = [{"name": "settings", "configMap": {"name": "settings"}}]


def after_decode(document: dict[str, Any]) -> None:
    """Prefill starts once decode is ready: Grove's own init container sees to it."""
    spec = document["spec"]["components"][1]["podTemplate"]["spec"]
    spec["initContainers"] = [{"name": INIT_CONTAINER, "image": INIT_IMAGE, "args": ["--podcliques=qwen-0-decode:1"]}]


def crashes(document: dict[str, Any]) -> None:
    """A flag that no Dynamo process knows."""
    document["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["args"].append("--routing-strategy")


SITUATIONS: dict[str, Situation] = {
    "no quota on the pool": Situation(("Refused",), with_quota, before=without_quota, seen=nothing),
    "the kind is not served": Situation(
        ("KindNotServed",),
        then(healed, lambda stage: stage.observe()),
        before=then(fault("version-not-served", group="nvidia.com"), lambda stage: stage.observe()),
        seen=nothing,
    ),
    "a webhook is down": Situation(
        ("WebhookDown",), healed_and_written, before=fault("webhook-down", group="nvidia.com"), seen=nothing
    ),
    "the API server fails": Situation(
        ("NotSynced",),
        healed_and_written,
        before=fault("internal-error", kind="dynamographdeployments"),
        seen=nothing,
    ),
    "field report 23: the operator misses the queue": Situation(
        ("QueueRefused",),
        lambda stage: create(stage, KAI_QUEUE, queue("assistant")),
        queues={"other": {}},
        seen=refused,
    ),
    "the operator refuses the graph": Situation(("NoPods",), written_back, document=packed_nowhere, seen=refused),
    "Grove is not installed": Situation(
        ("ComponentMissing",),
        grove_arrives,
        without=("grove-system",),
        before=fault("operator-down", name=GROVE_DOWN),
        seen=nothing,
    ),
    "the Dynamo operator is down": Situation(
        ("ComponentDown",), healed, before=fault("operator-down", name="dynamo-operator"), seen=nothing
    ),
    "Grove is down": Situation(
        ("ComponentDown",), healed, before=fault("operator-down", name=GROVE_DOWN), seen=nothing
    ),
    "the podgrouper is down": Situation(
        ("ComponentDown",), healed, before=fault("operator-down", name="pod-grouper"), seen=pods_made
    ),
    "the scheduler is down": Situation(
        ("ComponentDown",), healed, before=fault("operator-down", name="kai-scheduler"), seen=pods_grouped
    ),
    "an object that no client of KAI can read": Situation(
        ("Unreadable",),
        lambda stage: without_webhook(stage, "24h"),
        before=unreadable_queue,
        seen=pods_grouped,
        queues=QUEUES,
    ),
    "field report 35: a node of its is gone": Situation(
        ("NodeLost",),
        then(healed, lambda stage: add_nodes(stage, node("n0", "z1.r0"))),
        after=node_gone,
        seen=nothing,
        nodes=lambda: [node(f"n{n}", f"z1.r{n // 2}") for n in range(2)],
        options={"unreachable_eviction_s": 600.0},
    ),
    "nobody groups its pods": Situation(
        ("NotGrouped",), all_act, before=long_ago, idle=frozenset({"podgrouper"}), seen=pods_made
    ),
    "its pods are being grouped": Situation(
        ("Grouping",), all_act, idle=frozenset({"podgrouper"}), seen=pods_made
    ),
    "none of its roles has replicas": Situation(("NoReplicas",), written_back, document=scaled(0, 0), seen=nothing),
    "its pods are being made": Situation(("Making",), all_act, idle=frozenset({"dynamo"}), seen=nothing),
    "a secret is missing": Situation(
        ("SecretMissing",),
        lambda stage: create(
            stage,
            SECRET,
            {**manifest(SECRET, "hf"), "metadata": {"name": "hf", "namespace": SPACE}, "data": {"token": "eA=="}},
        ),
        document=needs_secret,
        seen=pods_say("CreateContainerConfigError"),
    ),
    "a config map is missing": Situation(
        ("SecretMissing",),
        settings_made,
        document=needs_config,
        seen=lambda stage: stage.wait("events", warned),
    ),
    "an image cannot be pulled": Situation(
        ("ImageMissing",), healed, before=fault("image-not-pullable", image="vllm-runtime"),
        seen=pods_say("ImagePullBackOff"),
    ),
    "field report 31: a role waits for its turn": Situation(
        ("StartupOrder",),
        quickly,
        source=graph(replicas=1) + of_role("prefill", 8),
        document=after_decode,
        seen=lambda stage: stage.wait("a pod that waits for its turn", ordered),
        options={"readiness_s": 600.0},
    ),
    "a container fails": Situation(("Container",), written_back, document=crashes, seen=pods_say("CrashLoopBackOff")),
}  # fmt: skip


async def ordered(cluster: Any) -> bool:
    """Whether a pod has its node and waits for its turn."""
    return any("PodInitializing" in str(pod["status"]) for pod in await cluster.pods(SPACE))


async def warned(cluster: Any) -> bool:
    """Whether the kubelet has said what it cannot mount."""
    return any(each["reason"] == "FailedMount" for each in await cluster.objects(EVENT, SPACE))
