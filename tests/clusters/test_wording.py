"""What is said about a cluster: the same as reconcile says in English, and in the viewer's language."""

import pytest
from django.utils import translation

from clusters.components import BY_KEY, find_components
from clusters.wording import component_text, condition_text

CONTROLLER = {
    "metadata": {"name": "kai-scheduler-default", "namespace": "kai-scheduler"},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "ghcr.io/kai/scheduler:v0.17.0"}]}}},
    "status": {"readyReplicas": 1},
}


@pytest.mark.parametrize("controllers", [[], [CONTROLLER]])
def test_a_component_is_described_as_reconcile_found_it(controllers: list[object]) -> None:
    found = find_components(controllers, {})  # type: ignore[arg-type]

    assert {item.key: component_text(BY_KEY[item.key], item.as_dict()) for item in found} == {
        item.key: item.message for item in found
    }


def test_conditions_are_said_in_the_viewers_language() -> None:
    condition = {
        "type": "Reachable",
        "reason": "Answered",
        "message": "The API server answers; it runs Kubernetes v1.35.",
        "arguments": {"version": "v1.35"},
    }

    assert condition_text(condition) == condition["message"]
    with translation.override("zh-hans"):
        assert condition_text(condition) == "API 服务器有响应；运行 Kubernetes v1.35。"


def test_a_condition_without_a_sentence_or_without_arguments_keeps_its_message() -> None:
    assert (
        condition_text({"type": "Reachable", "reason": "Timeout", "message": "no answer in 5 s"}) == "no answer in 5 s"
    )
    assert condition_text({"type": "Reachable", "reason": "Answered", "message": "It answers."}) == "It answers."
