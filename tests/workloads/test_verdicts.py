"""KAI's texts, as recorded on the real scheduler, become codes with numbers."""

import pytest

from workloads.verdicts import group_texts, is_noise, read_texts

# Recorded: golden c002.
RACK = (
    "Unable to schedule podgroup: node-group z0.r0 can allocate only 4 of 5 required pods. \n"
    "node-group z0.r1 can allocate only 4 of 5 required pods. \n"
    "topology topo, requirement rack couldn't be satisfied for job <ns/pg-g>."
)


@pytest.mark.parametrize(
    ("text", "code", "arguments"),
    [
        (RACK, "TopologyUnsatisfied", {"topology": "topo", "level": "rack"}),
        ("topology topo, requirement  couldn't be satisfied for job <ns/pg-g>", "TopologyUnsatisfied", {"level": ""}),
        ("Queue 'team-x' does not exist", "QueueDoesNotExist", {"queue": "team-x"}),
        ("Requested topology dc does not exist", "TopologyDoesNotExist", {"topology": "dc"}),
        (
            "Non-preemptible workload is over quota. Workload requested 16 GPUs, but q quota is 8 GPUs, while 0 GPUs "
            "are already allocated for non-preemptible pods. Use a preemptible workload to go over quota.",
            "NonPreemptibleOverQuota",
            {"requested": "16", "queue": "q", "limit": "8", "allocated": "0", "resource": "GPUs"},
        ),
        (
            "q quota has reached the allowable limit of GPUs. Limit is 8 GPUs, currently 4 GPUs allocated and workload "
            "requested 8 GPUs",
            "OverLimit",
            {"queue": "q", "limit": "8", "allocated": "4", "requested": "8", "resource": "GPUs"},
        ),
        (
            "The pod ns/p requires GPU: 16, CPU: 0 (cores), memory: 0 (GB), pods: 1. Max GPU resources available in a "
            "single node in the default node-pool is topped at 8.",
            "PodTooLarge",
            {"requested": "16", "limit": "8"},
        ),
        (
            "Job is not ready for scheduling. Waiting for 4 pods, currently 3 exist, 2 are gated",
            "NotReady",
            {"minimum": "4", "found": "3"},
        ),
        (
            "Resources were found for 2 pods while 3 are required for gang scheduling. Additional pods cannot be "
            "scheduled due to: no nodes with enough resources were found: 3 node(s) didn't have enough resources: "
            "GPUs.",
            "GangIncomplete",
            {"found": "2", "minimum": "3"},
        ),
        ("something new", "Scheduler", {}),
    ],
)
def test_a_text_becomes_a_code_with_its_numbers(text: str, code: str, arguments: dict[str, str]) -> None:
    reason = read_texts([text])

    assert reason is not None
    assert reason.code == code
    assert arguments.items() <= dict(reason.arguments).items()


def test_no_text_is_no_reason() -> None:
    assert read_texts([]) is None
    assert read_texts(["", "Unable to schedule podgroup"]) is None


def test_a_condition_without_text_is_read_from_its_reasons_and_a_false_one_not_at_all() -> None:
    group = {
        "status": {
            "schedulingConditions": [
                {"status": "False", "message": "Queue 'old' does not exist"},
                {
                    "status": "True",
                    "message": "Unable to schedule podgroup",
                    "reasons": [{"reason": "QueueDoesNotExist", "message": "Queue 'q' does not exist"}],
                },
            ]
        }
    }

    reason = read_texts(group_texts(group))

    assert reason is not None
    assert reason.words == ("Queue 'q' does not exist",)


def test_23_the_podgroupers_harmless_warnings_are_noise() -> None:
    assert is_noise("PodGrouperWarning", 'podgroups.scheduling.run.ai "pg-x" already exists')
    assert is_noise("PodGrouperWarning", 'Pod "x" not found')
    assert not is_noise("PodGrouperWarning", "invalid batch-min-member")
