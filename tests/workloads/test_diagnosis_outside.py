"""Causes that no scheduler could tell: facts in, findings out."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from workloads.diagnosis_outside import Facts, find_outside
from workloads.progress import PodFacts

CONFIG = "CreateContainerConfigError"
SERVED = {"nvidia.com": {"dynamographdeployments": ["v1beta1"]}}
HEALTHY: dict[str, Any] = {
    "kai-scheduler": {"health": "healthy", "parts": [{"name": "scheduler", "health": "healthy"}]},
    "grove": {"health": "healthy", "parts": [{"name": "operator", "health": "healthy"}]},
    "dynamo": {"health": "healthy", "parts": [{"name": "operator", "health": "healthy"}]},
}


def pod(**more: Any) -> PodFacts:
    return PodFacts(**{"name": "p-0", "component": "decode", "phase": "Pending", "ready": False, "node": "",
                       "gpus": Decimal(8), **more})  # fmt: skip


def facts(*pods: PodFacts, **more: Any) -> Facts:
    base = Facts(pods, 2, len(pods), (), HEALTHY, SERVED, None)
    return replace(base, **more)


def down(component: str, part: str) -> dict[str, Any]:
    broken = {"name": part, "health": "degraded", "ready": 0, "wanted": 1, "object": f"{component}/{part}"}
    return {**HEALTHY, component: {"health": "degraded", "parts": [broken]}}


def false(type_: str, message: str = "", **arguments: str) -> dict[str, Any]:
    return {"type": type_, "status": "False", "reason": "X", "message": message, "arguments": arguments}


def codes(found: Facts) -> list[str]:
    return [each.code for each in find_outside(found)]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert codes(facts(pod(), pod())) == []


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (facts(conditions=(false("Accepted", "no image"),)), ["Refused"]),
        (facts(served={"apps": {"deployments": ["v1"]}}), ["KindNotServed"]),
        (facts(conditions=(false("Synced", "connection refused"),)), ["NotSynced"]),
        (facts(conditions=(false("Synced", 'failed calling webhook "x"'),)), ["WebhookDown"]),
        (facts(conditions=(false("Synced", "conversion webhook for nvidia.com failed"),)), ["WebhookDown"]),
        (facts(), ["NoPods"]),
        (facts(wanted_pods=0), ["NoReplicas"]),
        (facts(components=down("dynamo", "operator")), ["ComponentDown"]),
        (facts(components=down("grove", "operator")), ["ComponentDown"]),
        (facts(components={**HEALTHY, "dynamo": {"health": "missing"}}), ["ComponentMissing"]),
        (facts(components={**HEALTHY, "dynamo": {"health": "unknown"}}), ["NoPods"]),
        (facts(pod(), components=down("kai-scheduler", "scheduler")), ["ComponentDown"]),
        (facts(pod(), components=down("kai-scheduler", "binder")), ["ComponentDown"]),
        (facts(pod(), components=down("dynamo", "operator")), []),
        (facts(pod(), grouped=0), ["NotGrouped"]),
        (facts(pod(), grouped=0, components=down("kai-scheduler", "podgrouper")), ["ComponentDown"]),
        (facts(pod(node="n0", reason="ImagePullBackOff", message="not found")), ["ImageMissing"]),
        (facts(pod(node="n0", reason=CONFIG, message='secret "hf" not found')), ["SecretMissing"]),
        (facts(pod(node="n0", reason="CrashLoopBackOff")), ["Container"]),
        (facts(pod(node="n0", reason="PodInitializing")), ["StartupOrder"]),
        (facts(pod(node="n0", ready=True, reason="Error")), []),
        (facts(pod(node="n0"), events=(("FailedMount", 'configmap "settings" not found'),)), ["SecretMissing"]),
        (facts(pod(node="n0", phase="Running"), events=(("FailedMount", 'secret "hf" not found'),)), []),
        (
            facts(pod(node="n0", reason="ImagePullBackOff"), pod(), components=down("kai-scheduler", "scheduler")),
            ["ImageMissing", "ComponentDown"],
        ),
    ],
)  # fmt: skip
def test_each_is_named_and_nothing_else(found: Facts, wanted: list[str]) -> None:
    assert codes(found) == wanted


def test_field_report_23_the_queue_that_the_operator_misses_is_named() -> None:
    message = "queue 'gpu-intensive' not found in cluster. Ensure the queue exists before using kai-scheduler"
    (found,) = find_outside(facts(graph={"status": {"conditions": [{"status": "False", "message": message}]}}))
    assert (found.code, found.names["queue"], found.words) == ("QueueRefused", "gpu-intensive", (message,))


def test_field_report_23_the_podgrouper_s_noise_is_no_reason() -> None:
    noise = ("PodGrouperWarning", 'Pod "p-0" not found')
    real = ("PodGrouperWarning", "topology name cannot be empty when topology constraints are defined")
    (found,) = find_outside(facts(pod(), grouped=0, events=(noise, real)))
    assert (found.code, found.permanent, found.words) == ("NotGrouped", True, (real[1],))


def test_field_report_35_a_lost_node_is_named_with_what_is_missing() -> None:
    (found,) = find_outside(facts(pod(node="gone"), lost=("gone",)))
    assert (found.code, found.names["nodes"], found.numbers["nodes"]) == ("NodeLost", "gone", 1)


def test_the_same_fault_of_many_pods_is_said_once() -> None:
    pods = [pod(name=f"p-{n}", node="n0", reason="CreateContainerConfigError", message='secret "hf" not found')
            for n in range(9)]  # fmt: skip
    (found,) = find_outside(facts(*pods))
    assert (found.names["kind"], found.names["object"]) == ("secret", "hf")


@pytest.mark.parametrize(("age", "code"), [(0.0, "Grouping"), (59.0, "Grouping"), (60.0, "NotGrouped")])
def test_pods_that_were_just_made_are_being_grouped(age: float, code: str) -> None:
    """Gated pods, and an operator at work: a minute is theirs."""
    (found,) = find_outside(facts(pod(gated=True), pod(gated=True), grouped=0, age=age))
    assert (found.code, found.permanent, found.numbers["pods"]) == (code, False, 2)


@pytest.mark.parametrize(("age", "code"), [(5.0, "Making"), (60.0, "NoPods")])
def test_a_graph_that_was_just_written_has_its_pods_made(age: float, code: str) -> None:
    assert codes(facts(age=age)) == [code]


def test_what_is_known_to_be_wrong_is_said_at_once() -> None:
    warned = (("PodGrouperWarning", "queue of the pod does not exist"),)
    assert codes(facts(pod(), grouped=0, age=1.0, events=warned)) == ["NotGrouped"]
    assert codes(facts(age=1.0, components=down("grove", "operator"))) == ["ComponentDown"]


def test_a_queue_that_is_only_on_its_way_is_not_said_to_block_for_good() -> None:
    failed = {"status": "False", "message": "failed to reconcile: queue 'evals' not found in cluster"}
    refused = facts(graph={"status": {"conditions": [failed]}})
    assert [find_outside(replace(refused, age=age))[0].permanent for age in (2.0, 60.0)] == [False, True]
