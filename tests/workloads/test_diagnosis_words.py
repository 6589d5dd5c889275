"""The sentences: every code has one, none lacks a number or a name, none shows float noise."""

import re

import pytest

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_structs import Code
from scheduling.remedies import find_remedies
from scheduling.remedy_structs import Act
from tests.scheduling.situations import situation
from workloads.diagnosis_sentences import ACTS, CAUSES
from workloads.diagnosis_words import act_sentence, amount, cause_sentence, cause_title

MAY_BE_EMPTY = ("QueueUnset", "TopologyMissing", "LevelUnknown")


def test_every_code_and_every_act_has_its_words() -> None:
    assert {str(code) for code in Code} <= CAUSES.keys()
    assert {str(act) for act in Act} <= ACTS.keys()


@pytest.mark.parametrize("seed", range(60))
def test_sentences_lack_nothing_and_have_no_float_noise(seed: int) -> None:
    _, broken, _ = situation(seed)
    found = diagnose(broken)
    for cause in found.causes:
        text = cause_sentence(cause.code, cause.names, cause.numbers)
        assert cause_title(cause.code)
        assert "–" not in text or cause.code in MAY_BE_EMPTY, text
        assert "%(" not in text
        assert not re.search(r"\d\.\d{4,}", text), text
    for remedy in find_remedies(broken, found):
        for step in remedy.steps:
            names = {**step.names, "nodeList": "n0"}
            text = act_sentence(step.act, names, step.numbers)
            assert "–" not in text, (step.act, text)


@pytest.mark.parametrize(
    ("seconds", "day"), [(253402300800.0, "9999-12-30"), (1e300, "9999-12-30"), (-1e300, "0001-01-02")]
)
def test_a_moment_beyond_the_calendar_is_told_as_the_nearest_day(seconds: float, day: str) -> None:
    assert day in cause_sentence("PreemptionDelay", {}, {"until": seconds})


@pytest.mark.parametrize(
    ("value", "values", "text"),
    [
        ("h100", "h200", "Its node selector gpu=h100 matches 0 of 15 nodes. Values there are: h200."),
        ("h100", "", "Its node selector gpu=h100 matches no node: none of the 15 nodes has the label gpu."),
        ("", "", "Its node affinity (gpu) matches 0 of 15 nodes."),
    ],
)
def test_a_selector_is_told_with_the_values_that_there_are_if_any(value: str, values: str, text: str) -> None:
    names = {"key": "gpu", "value": value, "values": values}
    assert cause_sentence("SelectorMatchesTooFew", names, {"nodes": 0, "of": 15}) == text


def test_amounts_are_in_the_unit_of_their_resource() -> None:
    assert (amount(0.1 + 0.2), amount(-1), amount(1500, "cpu"), amount(3 * 2**30, "memory")) == (
        "0.3",
        "unlimited",
        "1.5",
        "3",
    )


def test_a_memory_quota_is_said_in_the_gb_of_its_form_and_a_node_in_the_gib_of_manifests() -> None:
    names = {"queue": "research", "resource": "memory"}
    numbers = {"bound": 1e9, "held": 0.0, "asked": 3 * 2.0**30, "short": 3 * 2.0**30 - 1e9}
    assert cause_sentence("OverLimit", names, numbers) == (
        "The limit of queue research is 1 GB of memory; 0 are held and this asks for 3.221: 2.221 too many."
    )
    assert act_sentence("RaiseLimit", names, {"from": 1e9, "to": 3.222e9}) == (
        "Raise the limit of queue research from 1 to 3.222 GB of memory"
    )
    assert act_sentence("SmallerPods", {"resource": "memory"}, {"largest": 3 * 2.0**30}) == (
        "Ask for at most 3 GiB of memory per pod"
    )


def test_nodes_for_an_empty_pool_are_told_without_a_largest_node() -> None:
    assert act_sentence("AddFirstNodes", {"pool": ""}, {"pods": 2, "largestPod": 8}) == (
        "Add nodes to node pool default that hold its pods: 2, the largest of them with 8 GPUs"
    )


def test_enough_gpus_in_the_wrong_pieces_are_not_called_too_few() -> None:
    names = {"level": "rack", "domain": "r0"}
    numbers = {"asked": 15.0, "largest": 16.0, "pods": 3.0, "fit": 2.0, "largestPod": 5.0}
    assert cause_sentence("LevelTooSmall", names, numbers) == (
        "Its pods of up to 5 GPUs never fit one rack: of 3 at most 2 fit, even where all 16 GPUs are free. It can never"
        " start as written."
    )


def test_pods_of_no_subgroup_are_told_with_the_subgroups_that_there_are() -> None:
    names = {"subgroup": "qwen-0-prefil", "known": "qwen-0-prefill, qwen-0-decode"}

    assert cause_sentence("SubGroupUnknown", names, {"pods": 0.0}) == (
        "Pods that name subgroup qwen-0-prefil: 0. The pod group has qwen-0-prefill, qwen-0-decode."
    )
    assert "unknown subgroup" in cause_title("SubGroupUnknown").lower()


@pytest.mark.parametrize(("subgroup", "whom"), [("", "the gang"), ("prefill", "role prefill")])
def test_what_is_short_of_pods_is_told_by_its_role_also_where_none_exists(subgroup: str, whom: str) -> None:
    numbers = {"found": 0.0, "needed": 3.0}

    assert cause_sentence("PodsMissing", {"subgroup": subgroup}, numbers) == (
        f"Pods of {whom} that exist: 0 of the 3 that must start together. The scheduler waits for the rest."
    )
    assert cause_sentence("PodsGated", {"subgroup": subgroup}, {"found": 3.0, "gated": 3.0}).startswith(
        f"Gated pods of {whom}: 3 of 3. "
    )
