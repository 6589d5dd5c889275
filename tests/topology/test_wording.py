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


Stored = dict[tuple[str, str], dict[str, str]]


def stored_conditions(folder: str) -> Stored:
    """(type, reason) of every condition that a reconcile makes, with the arguments stored, read from its source."""
    found: Stored = {}
    for path in (ROOT / folder).glob("*.py"):
        tree = ast.parse(path.read_text())
        for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Module)):
            names = _assigned(scope)
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Condition", "_about"):
                    type_, _status, reason = (getattr(argument, "value", None) for argument in node.args[:3])
                    if isinstance(type_, str) and isinstance(reason, str):
                        found.setdefault((type_, reason), {}).update(_stored(node, names))
    return found


def _assigned(scope: ast.AST) -> dict[str, ast.expr]:
    pairs = [(node.targets[0], node.value) for node in ast.walk(scope) if isinstance(node, ast.Assign)]
    return {target.id: value for target, value in pairs if isinstance(target, ast.Name)}


def _stored(call: ast.Call, names: dict[str, ast.expr]) -> dict[str, str]:
    """The arguments that one call stores: pairs of a tuple, or keywords of `_about`, which adds those of the nodes."""
    if getattr(call.func, "id", "") == "_about":
        kept = [("nodes", "a,b"), ("count", "2"), *((each.arg, "w") for each in call.keywords if each.arg)]
        more = [names[each.value.id] for each in call.keywords if each.arg is None and isinstance(each.value, ast.Name)]
        kept += [(key.value, "w") for each in more for key in getattr(each, "keys", ())]
        return {str(name): value for name, value in kept}
    given = next((each.value for each in call.keywords if each.arg == "arguments"), None)
    given = names.get(given.id) if isinstance(given, ast.Name) else given
    pairs = getattr(given, "elts", ())
    return {pair.elts[0].value: "w" for pair in pairs if isinstance(getattr(pair, "elts", [None])[0], ast.Constant)}


@pytest.mark.parametrize(
    ("folder", "sentences"),
    [("topology/reconcile", None), ("organizations/reconcile", organizations.wording.SENTENCES)],
)
def test_every_stored_condition_has_a_sentence_that_its_own_arguments_fill(folder: str, sentences: Any) -> None:
    given = {} if sentences is None else {"sentences": sentences}
    stored = stored_conditions(folder)
    assert len(stored) >= 8

    for (type_, reason), arguments in sorted(stored.items()):
        condition = {"type": type_, "status": "False", "reason": reason, "message": "Stored", "arguments": arguments}
        with translation.override("zh-hans"):
            text = condition_item(condition, **given)["text"]
        assert text != "Stored", (type_, reason, arguments)
        assert "%(" not in text, (type_, reason)


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


def test_what_a_sentence_says_is_not_said_again_in_a_detail() -> None:
    message = "1 node is outside topology dc: n1 lacks rack."
    arguments = {"nodes": "n1", "count": "1", "topology": "dc", "told": "n1 (rack)"}
    condition = {"type": "TopologyMismatch", "status": "True", "reason": "TopologyMismatch", "message": message}

    item = condition_item({**condition, "arguments": arguments})
    assert ("n1 (rack)" in item["text"], item["detail"]) == (True, "")
    with translation.override("zh-hans"):
        item = condition_item({**condition, "arguments": arguments})
    assert item["detail"] == ""
    assert "n1 (rack)" in item["text"]


def test_a_condition_that_an_older_version_stored_without_arguments_is_told_in_its_own_words() -> None:
    condition = {"type": "InSync", "status": "False", "reason": "DriftRepaired", "message": "Something was put back."}

    assert condition_item(condition)["text"] == "Something was put back."


def _with_subclasses(kind: type[GatewayError]) -> set[type[GatewayError]]:
    return {kind}.union(*(_with_subclasses(each) for each in kind.__subclasses__()))
