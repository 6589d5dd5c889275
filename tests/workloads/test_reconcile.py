"""A workload's row made true in a cluster: create, repair, nothing twice, failures, suspension, deletion."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from clusters import kinds
from clusters.kube.errors import GatewayError, Unavailable
from clusters.models import ClusterObject, Pod
from clusters.names import OWNER_LABEL, WORKLOAD_LABEL
from core.conditions import find, merge
from core.reconciling import Outcome
from tests.workloads.samples import MULTINODE
from workloads import services
from workloads.document import edit
from workloads.models import Workload
from workloads.reconcile import sync_workload
from workloads.words import condition_view

DGD = kinds.DYNAMO_GRAPH_DEPLOYMENT
NAMESPACE = "runai-assistant"
RACK = "topology.kubernetes.io/rack"
REQUIRED = edit(
    MULTINODE,
    {("spec", "annotations"): {"kai.scheduler/topology-required-placement": RACK}},
)


@pytest.fixture
def workload(submit: Callable[..., Workload], gateway: Any) -> Workload:
    gateway.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    return submit(REQUIRED)


def condition(outcome: Outcome, type_: str) -> dict[str, Any]:
    found = find([c.as_dict() for c in outcome.conditions], type_)
    assert found is not None, type_
    return found


def test_it_creates_the_graph_with_queue_and_placement(workload: Workload, gateway: Any) -> None:
    outcome = sync_workload(workload, gateway)

    graph = gateway.object(DGD, "qwen", NAMESPACE)
    assert graph["metadata"]["labels"][OWNER_LABEL] == f"workloads.Workload.{workload.pk}"
    assert graph["metadata"]["annotations"]["nvidia.com/kai-scheduler-queue"] == "assistant"
    assert graph["spec"]["labels"]["kai.scheduler/queue"] == "assistant"
    assert graph["spec"]["annotations"]["kai.scheduler/topology-required-placement"] == RACK
    assert outcome.phase == "Creating"
    assert len(gateway.writes) == 1


def test_a_second_run_writes_nothing(workload: Workload, gateway: Any) -> None:
    sync_workload(workload, gateway)
    before = len(gateway.writes)

    outcome = sync_workload(workload, gateway)

    assert len(gateway.writes) == before
    assert condition(outcome, "InSync")["status"] == "True"


def test_drift_is_repaired_and_named(workload: Workload, gateway: Any) -> None:
    sync_workload(workload, gateway)
    gateway.edit(DGD, "qwen", NAMESPACE, metadata={"annotations": {"nvidia.com/kai-scheduler-queue": "other"}})

    outcome = sync_workload(workload, gateway)

    graph = gateway.object(DGD, "qwen", NAMESPACE)
    assert graph["metadata"]["annotations"]["nvidia.com/kai-scheduler-queue"] == "assistant"
    repaired = condition(outcome, "InSync")
    assert repaired["reason"] == "DriftRepaired"


def test_a_graph_that_somebody_deleted_is_made_again_and_told(workload: Workload, gateway: Any) -> None:
    first = sync_workload(workload, gateway)
    workload.conditions = merge([], first.conditions, generation=workload.generation, now="2026-11-30T10:00:00Z")
    gateway.delete(DGD, "qwen", NAMESPACE)

    told = condition(sync_workload(workload, gateway), "InSync")

    assert (told["status"], told["reason"]) == ("False", "DeletionRepaired")
    assert condition_view(told).text == "Somebody had deleted DynamoGraphDeployment qwen; it was made again."
    assert gateway.names(DGD) == ["qwen"]


@pytest.mark.parametrize(
    ("served", "written", "holds"),
    [
        (["v1alpha1"], "nvidia.com/v1alpha1", "services"),
        (["v1alpha1", "v1beta1"], "nvidia.com/v1beta1", "components"),
    ],
)
def test_the_version_that_the_cluster_serves_is_written(
    submit: Callable[..., Workload], gateway: Any, served: list[str], written: str, holds: str
) -> None:
    gateway.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    gateway.serve(DGD, served)

    sync_workload(submit(), gateway)

    graph = gateway.object(DGD, "vllm-disagg", NAMESPACE)
    assert graph["apiVersion"] == written
    assert len(graph["spec"][holds]) == 3


def test_what_the_served_version_lacks_is_named_and_nothing_is_written(workload: Workload, gateway: Any) -> None:
    gateway.serve(DGD, ["v1alpha1"])

    outcome = sync_workload(workload, gateway)

    assert condition(outcome, "Accepted")["status"] == "False"
    assert "minAvailable" in condition(outcome, "Accepted")["message"]
    assert gateway.writes == []


def test_a_cluster_without_dynamo_says_so(workload: Workload, gateway: Any) -> None:
    gateway.serve(DGD, [])

    with pytest.raises(GatewayError, match="operator is not installed"):
        sync_workload(workload, gateway)


def test_a_transient_failure_keeps_the_spec_and_is_raised(workload: Workload, gateway: Any) -> None:
    gateway.fail_at(1, Unavailable("connection refused"))

    with pytest.raises(Unavailable):
        sync_workload(workload, gateway)
    sync_workload(workload, gateway)

    assert gateway.names(DGD, NAMESPACE) == ["qwen"]


def test_somebody_elses_graph_is_left_alone_and_named(workload: Workload, gateway: Any) -> None:
    theirs = {
        "apiVersion": DGD.api_version,
        "kind": DGD.kind,
        "metadata": {"name": "qwen", "namespace": NAMESPACE},
        "spec": {"components": []},
    }
    gateway.put(DGD, theirs, manager="helm")

    outcome = sync_workload(workload, gateway)

    accepted = condition(outcome, "Accepted")
    assert accepted is not None
    assert (accepted["status"], accepted["reason"]) == ("False", "NameTaken")
    assert "helm" in accepted["message"]
    assert gateway.writes == []


def test_deletion_waits_for_the_graph_and_its_pods(workload: Workload, gateway: Any, admin: Any, actor: Any) -> None:
    sync_workload(workload, gateway)
    gateway.edit(DGD, "qwen", NAMESPACE, metadata={"finalizers": ["nvidia.com/finalizer"]})
    gateway.put(kinds.POD, a_pod("qwen-0-decode-abcde"))
    services.delete_workload(actor(admin), workload=workload)

    first = sync_workload(workload, gateway)
    gateway.release(DGD, "qwen", NAMESPACE)
    second = sync_workload(workload, gateway)
    gateway.delete(kinds.POD, "qwen-0-decode-abcde", NAMESPACE)
    third = sync_workload(workload, gateway)

    assert (first.gone, first.phase) == (False, "Deleting")
    assert "DynamoGraphDeployment" in first.conditions[0].message
    assert (second.gone, "1 pods" in second.conditions[0].message) == (False, True)
    assert third.gone


def test_suspension_takes_the_graph_away_and_resuming_makes_it_anew(
    workload: Workload, gateway: Any, admin: Any, actor: Any
) -> None:
    sync_workload(workload, gateway)
    services.suspend_workload(actor(admin), workload=workload)

    stopped = sync_workload(workload, gateway)

    assert (stopped.phase, gateway.names(DGD, NAMESPACE)) == ("Stopped", [])
    assert stopped.columns["gpus_held"] == 0
    services.resume_workload(actor(admin), workload=workload)
    sync_workload(workload, gateway)
    assert gateway.names(DGD, NAMESPACE) == ["qwen"]


CRASHES = [(intent, k, way) for intent in ("create", "suspend", "delete") for k in range(1, 8) for way in (0, 1)]


@pytest.mark.parametrize("crash", CRASHES, ids=str)
def test_wherever_a_call_fails_the_next_runs_finish_the_intent(
    workload: Workload, gateway: Any, admin: Any, actor: Any, crash: tuple[str, int, int]
) -> None:
    intent, k, lose_answer = crash
    if intent != "create":
        sync_workload(workload, gateway)
        act = services.suspend_workload if intent == "suspend" else services.delete_workload
        act(actor(admin), workload=workload)
    (gateway.lose_answer_at if lose_answer else gateway.fail_at)(k, Unavailable("reset"))

    outcome = None
    for _ in range(3):
        try:
            outcome = sync_workload(workload, gateway)
        except Unavailable:
            continue

    assert outcome is not None
    if intent == "create":
        assert gateway.names(DGD, NAMESPACE) == ["qwen"]
    else:
        assert gateway.names(DGD, NAMESPACE) == []
        assert outcome.gone is (intent == "delete")


# What was observed becomes status.


def a_pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"nvidia.com/dynamo-graph-deployment-name": "qwen"},
        },
    }


def observe_pods(workload: Workload, *nodes: str, ready: bool = True, **facts: Any) -> None:
    """One frontend and four pods of decode, on the nodes given, the rest pending."""
    for index in range(5):
        node = nodes[index] if index < len(nodes) else ""
        Pod.objects.create(
            cluster=workload.cluster,
            uid=f"uid-{index}",
            name=f"qwen-0-{index}",
            namespace=NAMESPACE,
            resource_version="1",
            created_at=timezone.now(),
            phase="Running" if node else "Pending",
            ready=bool(node) and ready,
            node_name=node,
            gpus=Decimal(4 if index else 0),
            workload=str(workload.pk),
            graph="qwen",
            component="decode" if index else "frontend",
            pod_group="pg-qwen",
            **facts,
        )


def observe_group(
    workload: Workload,
    *,
    queue: str = "assistant",
    constraint: Any = None,
    message: str = "",
    name: str = "pg-qwen",
) -> None:
    wanted = {"topology": "topology-1", "requiredTopologyLevel": RACK, "preferredTopologyLevel": RACK}
    status = {"schedulingConditions": [{"status": "True", "message": message}]} if message else {}
    ClusterObject.objects.create(
        cluster=workload.cluster,
        uid=f"uid-{name}",
        name=name,
        namespace=NAMESPACE,
        resource_version="1",
        created_at=timezone.now(),
        group=kinds.KAI_POD_GROUP.group,
        plural=kinds.KAI_POD_GROUP.plural,
        manifest={
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {WORKLOAD_LABEL: str(workload.pk)}},
            "spec": {"queue": queue, "topologyConstraint": wanted if constraint is None else constraint},
            "status": status,
        },
    )


def test_a_gang_in_one_rack_runs_and_its_placement_is_kept(workload: Workload, gateway: Any) -> None:
    observe_pods(workload, *["z1-r1-n1"] * 3, *["z1-r1-n2"] * 2)
    observe_group(workload)

    outcome = sync_workload(workload, gateway)

    assert outcome.phase == "Running"
    assert outcome.columns["gpus_held"] == 16
    assert outcome.columns["placement"]["state"] == "kept"
    assert outcome.columns["placement"]["domains"] == ["z1-r1"]
    assert outcome.columns["waiting_since"] is None
    assert [c.status for c in outcome.conditions if c.type.endswith("Arrived")] == ["True", "True", "True"]


def test_queue_and_placement_that_did_not_arrive_are_said(workload: Workload, gateway: Any) -> None:
    observe_pods(workload)
    observe_group(workload, queue="default-queue", constraint={})

    outcome = sync_workload(workload, gateway)

    queue, placement = condition(outcome, "QueueArrived"), condition(outcome, "PlacementArrived")
    assert queue is not None
    assert placement is not None
    assert queue["arguments"] == {"wanted": "assistant", "found": "default-queue"}
    assert (queue["status"], placement["status"]) == ("False", "False")


def test_a_pod_group_without_the_placement_is_told_though_another_one_has_it(workload: Workload, gateway: Any) -> None:
    observe_pods(workload)
    observe_group(workload)
    observe_group(workload, name="pg-qwen-scaled", constraint={})
    Pod.objects.filter(name="qwen-0-4").update(pod_group="pg-qwen-scaled")

    placement = condition(sync_workload(workload, gateway), "PlacementArrived")

    assert placement is not None
    assert (placement["status"], placement["reason"]) == ("False", "NotOnPodGroup")
    assert condition_view(placement).text == (
        "The placement did not arrive on every pod group: topology topology-1, one rack required was asked for; "
        "some have none, others have topology topology-1, one rack required."
    )


def test_a_gang_too_large_for_any_rack_says_which_level_is_short_by_how_many(
    workload: Workload, gateway: Any, nodes: Any
) -> None:
    type(nodes[0]).objects.update(gpu_capacity=4, gpu_allocatable=4)
    observe_pods(workload)
    observe_group(
        workload,
        message="topology topology-1, requirement topology.kubernetes.io/rack couldn't be satisfied for job <a>",
    )

    outcome = sync_workload(workload, gateway)

    reason = outcome.columns["waiting_reason"]
    assert outcome.phase == "Pending"
    assert outcome.columns["placement"]["state"] == "waits"
    assert reason["code"] == "LevelTooSmall"
    assert (reason["arguments"]["level"], reason["arguments"]["asked"]) == (RACK, "16")
    assert (reason["arguments"]["largest"], reason["arguments"]["short"]) == ("8", "8")


def test_waiting_since_stays_while_it_waits(workload: Workload, gateway: Any) -> None:
    since = timezone.now()
    workload.waiting_since = since
    observe_pods(workload)

    assert sync_workload(workload, gateway).columns["waiting_since"] == since


def test_31_gated_pods_are_said_to_be_gated(workload: Workload, gateway: Any) -> None:
    observe_pods(workload, gated=True)

    reason = sync_workload(workload, gateway).columns["waiting_reason"]

    assert (reason["code"], reason["arguments"]["gated"]) == ("Gated", "5")


def test_22_a_missing_queue_is_named(workload: Workload, gateway: Any) -> None:
    observe_pods(workload)
    observe_group(workload, message="Queue 'assistant' does not exist")

    assert sync_workload(workload, gateway).columns["waiting_reason"]["code"] == "QueueDoesNotExist"


def test_an_operator_that_found_no_queue_is_quoted(workload: Workload, gateway: Any) -> None:
    sync_workload(workload, gateway)
    message = "failed to reconcile: queue 'assistant' not found in cluster"
    status = {"state": "failed", "conditions": [{"type": "Ready", "status": "False", "message": message}]}
    gateway.set_status(DGD, "qwen", NAMESPACE, status=status)

    outcome = sync_workload(workload, gateway)

    assert outcome.phase == "Failed"
    assert outcome.columns["waiting_reason"]["arguments"] == {"queue": "assistant"}


def test_an_image_that_cannot_be_pulled_is_the_reason(workload: Workload, gateway: Any) -> None:
    observe_pods(workload, *["z1-r1-n1"] * 5, ready=False, reason="ImagePullBackOff", message="not found")

    outcome = sync_workload(workload, gateway)

    assert outcome.phase == "Initializing"
    assert outcome.columns["waiting_reason"]["code"] == "Container"
