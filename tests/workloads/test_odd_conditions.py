"""Conditions of the cluster's objects in any order, and those that are False, are read for what they say."""

from collections.abc import Callable
from typing import Any

from clusters import kinds
from clusters.models import ClusterObject
from tests.workloads.test_reconcile import NAMESPACE, REQUIRED, observe_group, observe_pods
from workloads.models import Workload
from workloads.reconcile import sync_workload


def test_t2_the_order_of_conditions_and_those_that_are_false_change_nothing(
    submit: Callable[..., Workload], gateway: Any
) -> None:
    gateway.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    workload = submit(REQUIRED)
    sync_workload(workload, gateway)
    failed = {"type": "Failed", "status": "False", "message": "Queue 'old' does not exist"}
    ready = {"type": "Ready", "status": "True", "message": "all good"}
    observe_pods(workload, *["z1-r1-n1"] * 3, *["z1-r1-n2"] * 2)
    observe_group(workload)
    group = ClusterObject.objects.get(plural=kinds.KAI_POD_GROUP.plural)
    phases = []

    for conditions in ([failed, ready], [ready, failed]):
        gateway.set_status(kinds.DYNAMO_GRAPH_DEPLOYMENT, "qwen", NAMESPACE, status={"conditions": conditions})
        group.manifest["status"] = {"schedulingConditions": conditions}
        group.save(update_fields=["manifest"])
        outcome = sync_workload(workload, gateway)
        phases.append((outcome.phase, outcome.columns["waiting_reason"]))

    assert phases == [("Running", {})] * 2
