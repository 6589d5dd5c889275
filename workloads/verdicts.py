"""Reads KAI's texts: why a group or a pod waits, as a code with numbers. Pure.

Source of the texts: KAI pkg/scheduler/api/unschedule_info.go, common_info, topology plugin; recorded cases.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Patterns = tuple[tuple[str, re.Pattern[str]], ...]

# The first that matches anywhere in the texts wins: what blocks for good stands before what may pass.
PATTERNS: Patterns = tuple(
    (code, re.compile(pattern))
    for code, pattern in (
        ("QueueDoesNotExist", r"Queue '(?P<queue>[^']*)' does not exist"),
        ("TopologyDoesNotExist", r"Requested topology (?P<topology>\S+) does not exist"),
        (
            "NonPreemptibleOverQuota",
            r"Workload requested (?P<requested>\S+) (?P<resource>GPUs|CPU cores|\S*memory\S*), but (?P<queue>\S+) "
            r"quota is (?P<quota>\S+) (?:GPUs|cores|\S+), while (?P<allocated>\S+) ",
        ),
        (
            "OverLimit",
            r"(?P<queue>\S+) quota has reached the allowable limit of (?P<resource>GPUs|CPU cores|memory)\. "
            r"Limit is (?P<limit>\S+) .*?currently (?P<allocated>\S+) .*?requested (?P<requested>\S+)",
        ),
        ("PodTooLarge", r"requires GPU: (?P<requested>[\d.]+),.*topped at (?P<largest>[\d.]+)\."),
        ("NoGpuNode", r"No node in the (?P<pool>\S+) node-pool has GPU resources"),
        ("SubGroupUnknown", r'references subgroup "(?P<subgroup>[^"]*)", which does not exist'),
        ("PreemptionDelay", r"within its preemption delay window \((?P<delay>\S+)\)"),
        (
            "NotReady",
            r"Waiting for (?P<minimum>\d+) pods, currently (?P<present>\d+) exist, (?P<gated>\d+) are gated",
        ),
        (
            "TopologyUnsatisfied",
            r"topology (?P<topology>\S+), requirement (?P<level>\S*) ?couldn't be satisfied",
        ),
        ("GangIncomplete", r"Resources were found for (?P<found>\d+) pods while (?P<minimum>\d+) are required"),
        ("NotEnoughResources", r"(?:enough|Resources were not found)"),
    )
)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something waits: a code with its numbers and names, and KAI's own words."""

    code: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As rows hold it."""
        return {"code": self.code, "arguments": dict(self.arguments), "words": list(self.words)}


def read_texts(texts: Iterable[str]) -> Reason | None:
    """The reason that KAI's texts give; None where there is no text."""
    words = tuple(dict.fromkeys(_lines(texts)))
    if not words:
        return None
    joined = "\n".join(words)
    for code, pattern in PATTERNS:
        match = pattern.search(joined)
        if match:
            return Reason(code, {key: value for key, value in match.groupdict().items() if value is not None}, words)
    return Reason("Scheduler", {}, words)


def group_texts(group: Mapping[str, Any]) -> list[str]:
    """The texts of a PodGroup's `schedulingConditions`; empty where KAI has not judged it (or part of it runs)."""
    texts: list[str] = []
    for condition in (group.get("status") or {}).get("schedulingConditions") or ():
        if condition.get("status") != "True":
            continue
        message = str(condition.get("message") or "")
        if message in ("", "Unable to schedule podgroup"):
            texts += [str(reason.get("message") or "") for reason in condition.get("reasons") or ()]
        texts.append(message)
    return texts


def is_noise(reason: str, message: str) -> bool:
    """Whether an event says nothing: the podgrouper's harmless warnings (of about every second workload)."""
    return reason == "PodGrouperWarning" and ("already exists" in message or message.startswith("Pod "))


def _lines(texts: Iterable[str]) -> Sequence[str]:
    lines = []
    for text in texts:
        for line in re.split(r" ?\\?\n", text):
            cleaned = re.sub(r"^Unable to schedule podgroup: ", "", line.strip())
            if cleaned and cleaned != "Unable to schedule podgroup":
                lines.append(re.sub(r"\.\.+$", ".", cleaned))
    return lines
