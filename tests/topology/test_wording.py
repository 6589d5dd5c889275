"""Stored conditions in sentences."""

import ast
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation

import clusters.fighting  # noqa: F401 - its error is one of those
import organizations.wording
from clusters.kube.errors import GatewayError
from topology.wording import condition_item, worst_sentence


@pytest.mark.parametrize(("retry", "said"), [("yes", "It will be tried again."), ("no", "Trying again will not help.")])
def test_a_failed_reconcile_says_whether_it_is_tried_again(retry: str, said: str) -> None:
    condition = {
        "type": "Synced",
        "status": "False",
        "reason": "Unavailable",
        "message": "The API server does not answer",
        "arguments": {"retry": retry},
    }

    item = condition_item(condition)

    assert (item["status"], item["text"]) == ("bad", f"The API server does not answer. {said}")
    assert item["detail"] == ""
    assert worst_sentence([condition]) == item["text"]


ROOT = Path(__file__).parents[2]


def stored_reasons(folder: str) -> set[tuple[str, str]]:
    """(type, reason) of every condition that a reconcile makes, read from its source."""
    found = set()
    for path in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Condition", "_about"):
                type_, _status, reason = (getattr(argument, "value", None) for argument in node.args[:3])
                if isinstance(type_, str) and isinstance(reason, str):
                    found.add((type_, reason))
    return found


@pytest.mark.parametrize(
    ("folder", "sentences"),
    [("topology/reconcile", None), ("organizations/reconcile", organizations.wording.SENTENCES)],
)
def test_no_stored_condition_stays_english_on_a_chinese_page(folder: str, sentences: Any) -> None:
    kept = {"fields": "f", "objects": "o", "name": "n", "madeBy": "m", "key": "k", "topology": "t", "nodes": "a,b"}
    kept |= {"pools": "p", "queue": "q", "parent": "r", "chain": "c", "names": "s", "pool": "p"}
    given = {} if sentences is None else {"sentences": sentences}
    reasons = stored_reasons(folder)
    assert len(reasons) >= 8

    for type_, reason in sorted(reasons):
        condition = {"type": type_, "status": "False", "reason": reason, "message": "In English", "arguments": kept}
        with translation.override("zh-hans"):
            assert condition_item(condition, **given)["text"] != "In English", (type_, reason)


def test_every_failure_of_a_cluster_has_a_sentence_and_the_clusters_own_words_stay_beside_it() -> None:
    reasons = {error.reason for error in _with_subclasses(GatewayError)}
    assert {"Fought", "Forbidden", "Unavailable"} <= reasons

    for reason in sorted(reasons):
        condition = {"type": "Synced", "status": "False", "reason": reason, "message": "nodes is forbidden"}
        with translation.override("zh-hans"):
            item = condition_item({**condition, "arguments": {"retry": "yes"}})
        assert not item["text"].startswith("nodes is forbidden"), reason
        assert item["detail"] == "nodes is forbidden", reason
        assert item["text"].endswith("。将会重试。"), item["text"]


def test_what_is_said_in_chinese_has_no_english_detail() -> None:
    message = "1 node is outside topology dc: n1 lacks rack."
    arguments = {"nodes": "n1", "count": "1", "topology": "dc"}
    condition = {"type": "TopologyMismatch", "status": "True", "reason": "TopologyMismatch", "message": message}

    assert condition_item({**condition, "arguments": arguments})["detail"] == message
    with translation.override("zh-hans"):
        assert condition_item({**condition, "arguments": arguments})["detail"] == ""


def test_a_condition_that_an_older_version_stored_without_arguments_is_told_in_its_own_words() -> None:
    condition = {"type": "InSync", "status": "False", "reason": "DriftRepaired", "message": "Something was put back."}

    assert condition_item(condition)["text"] == "Something was put back."


def _with_subclasses(kind: type[GatewayError]) -> set[type[GatewayError]]:
    return {kind}.union(*(_with_subclasses(each) for each in kind.__subclasses__()))
