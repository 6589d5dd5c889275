"""Every recorded answer of a real server is still its answer, and the simulator's too."""

from typing import Any

import pytest

from tests.contract import recordings
from tests.contract.client import Api
from tests.contract.differences import DIFFERENCES, PAGE, as_table

SCENARIOS = [
    pytest.param(subject, name, id=f"{subject}: {name}")
    for subject, found in recordings.all_scenarios().items()
    for name in found
]


def test_there_are_at_least_250_answers_recorded() -> None:
    answers = [one for subject in recordings.all_scenarios() for one in recordings.recorded(subject).values()]
    assert sum(map(len, answers)) >= 250


def test_the_page_about_the_simulator_gives_the_reason_of_every_difference() -> None:
    known = {f"{subject}: {name}" for subject, found in recordings.all_scenarios().items() for name in found}
    assert {scenario for scenario, _ in DIFFERENCES} <= known
    assert as_table() in PAGE.read_text(), "run python -m tests.contract.differences"


@pytest.mark.parametrize(("subject", "name"), SCENARIOS)
def test_the_answers_are_the_recorded_ones(api: Api, subject: str, name: str) -> None:
    steps = recordings.all_scenarios()[subject][name]
    expected = recordings.recorded(subject)[name]

    found = recordings.play(api, steps)

    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if api.name == "simulator" and (f"{subject}: {name}", number) in DIFFERENCES:
            assert one != other, f"step {number} of {name} is listed as a difference and is none any more"
            continue
        assert _steady(one, name) == _steady(other, name), one["request"]


def _steady(answer: dict[str, Any], scenario: str) -> Any:
    """What does not hang on how fast a real cluster's node controllers and garbage collector are: the collector takes
    its own finalizer `orphan` away, before the next request or after it."""
    if scenario == "foreground and orphan":
        metadata = {key: part for key, part in answer["body"]["metadata"].items() if key != "resourceVersion"}
        return answer | {"body": answer["body"] | {"metadata": metadata}}
    if scenario != "a node":
        return answer
    body = answer["body"]
    return answer["status"], body.get("message"), (body.get("metadata") or {}).get("labels")
