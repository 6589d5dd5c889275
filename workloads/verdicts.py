"""Why a group or a pod waits, as a code with numbers, from KAI's texts (taken apart by `scheduling.explain`). Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduling.explain import Cause, CauseKind, explain_text
from scheduling.structs import UNLIMITED

# The first that any text gives wins: what blocks for good stands before what may pass.
CODES: Mapping[CauseKind, str] = {
    CauseKind.QUEUE_MISSING: "QueueDoesNotExist",
    CauseKind.TOPOLOGY_MISSING: "TopologyDoesNotExist",
    CauseKind.OVER_QUOTA: "NonPreemptibleOverQuota",
    CauseKind.OVER_LIMIT: "OverLimit",
    CauseKind.POD_TOO_LARGE: "PodTooLarge",
    CauseKind.NO_SUCH_RESOURCE: "NoGpuNode",
    CauseKind.SUBGROUP_UNKNOWN: "SubGroupUnknown",
    CauseKind.PREEMPTION_DELAY: "PreemptionDelay",
    CauseKind.NOT_READY: "NotReady",
    CauseKind.GATED: "Gated",
    CauseKind.LEVEL_UNSATISFIED: "TopologyUnsatisfied",
    CauseKind.GANG_SHORT: "GangIncomplete",
    CauseKind.DOMAIN_SHORT: "NotEnoughResources",
    CauseKind.DOMAIN_FULL: "NotEnoughResources",
    CauseKind.NODE_FIT: "NotEnoughResources",
    CauseKind.OTHER: "Scheduler",
}
_RANK = {kind: rank for rank, kind in enumerate(CODES)}
_NOTHING = ("", "Unable to schedule podgroup", "Unable to schedule pod")
_PREFIX = re.compile(r"^Unable to schedule pod(?:group)?: ")


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
    """The reason that KAI's texts give; None where there is no text, or none that says anything."""
    words = tuple(dict.fromkeys(_lines(texts)))
    causes = [cause for cause in map(explain_text, words) if cause.kind in CODES]
    if not causes:
        return None
    cause = min(causes, key=lambda found: _RANK[found.kind])
    return Reason(CODES[cause.kind], _arguments(cause), words)


def group_texts(group: Mapping[str, Any]) -> list[str]:
    """The texts of a PodGroup's `schedulingConditions`; empty where KAI has not judged it (or part of it runs)."""
    texts: list[str] = []
    for condition in (group.get("status") or {}).get("schedulingConditions") or ():
        if condition.get("status") != "True":
            continue
        message = str(condition.get("message") or "")
        if message.strip(". ") in _NOTHING:
            texts += [str(reason.get("message") or "") for reason in condition.get("reasons") or ()]
        texts.append(message)
    return texts


def is_noise(reason: str, message: str) -> bool:
    """Whether an event says nothing: the podgrouper's harmless warnings (of about every second workload)."""
    return reason == "PodGrouperWarning" and ("already exists" in message or message.startswith("Pod "))


def _arguments(cause: Cause) -> dict[str, str]:
    """What the sentence of the code needs; amounts as short decimals."""
    found = {name: getattr(cause, name) for name in ("queue", "resource", "topology", "subgroup", "pod", "until")}
    amounts = {"limit": cause.limit, "allocated": cause.used, "requested": cause.requested}
    counts = {"found": cause.found, "minimum": cause.needed}
    arguments = {name: text for name, text in found.items() if text}
    if cause.topology:
        arguments["level"] = cause.level
    arguments |= {name: _amount(value) for name, value in amounts.items() if value is not None}
    return arguments | {name: str(value) for name, value in counts.items() if value is not None}


def _amount(value: float) -> str:
    return "unlimited" if value == UNLIMITED else f"{value:g}"


def _lines(texts: Iterable[str]) -> Sequence[str]:
    """Single statements: KAI joins them by `. \\n` and counts repeated ones in front."""
    lines = []
    for text in texts:
        for line in re.split(r" ?\\?\n", text):
            cleaned = _PREFIX.sub("", line.strip())
            if cleaned.strip(". ") not in _NOTHING:
                lines.append(re.sub(r"\.\.+$", ".", cleaned))
    return lines
