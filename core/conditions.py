"""Conditions in the shape of Kubernetes' metav1.Condition, as immutable values. Pure.

Source: kubernetes/community, api-conventions.md ("Typical status properties").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

Status = Literal["True", "False", "Unknown"]
TOLD_FOR = timedelta(minutes=10)
# Reasons of `InSync`: somebody had changed what Muster wrote, and it was put right.
REPAIRS = frozenset({"DriftRepaired", "DeletionRepaired", "LevelsReplaced"})


@dataclass(frozen=True, slots=True)
class Condition:
    """One fact about an object. `reason` is CamelCase; `message` is a sentence for people, untranslated.

    `arguments` holds the numbers and names of the message, so that pages can say it in the viewer's language.
    """

    type: str
    status: Status
    reason: str
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""
    arguments: tuple[tuple[str, str], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON that rows and the API hold (camelCase keys)."""
        return {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "observedGeneration": self.observed_generation,
            "lastTransitionTime": self.last_transition_time,
            "arguments": dict(self.arguments),
        }


def merge(
    old: Sequence[dict[str, Any]], new: Iterable[Condition], *, generation: int, now: str
) -> list[dict[str, Any]]:
    """The conditions to store: `new` replaces by type, in its order; a type that `new` lacks is dropped.

    `lastTransitionTime` moves only where `status` changed. `now` is RFC 3339 in UTC. When nothing but the time
    would change, the result equals `old`, so that callers can skip the write.
    """
    before = {condition["type"]: condition for condition in old}
    merged = []
    for condition in new:
        entry = condition.as_dict() | {"observedGeneration": generation, "lastTransitionTime": now}
        previous = before.get(condition.type)
        if previous is not None and previous["status"] == condition.status:
            entry["lastTransitionTime"] = previous["lastTransitionTime"]
        merged.append(entry)
    return merged


def with_repairs(old: Sequence[dict[str, Any]], new: Sequence[Condition], *, now: datetime) -> list[Condition]:
    """`new`, where a repair of drift that `old` tells of is told on for `TOLD_FOR`: the next look finds nothing wrong,
    and nobody would ever read of it."""
    before = last_repair(old)
    if before is None:
        return list(new)
    since = datetime.fromisoformat(before["lastTransitionTime"])
    if not timedelta(0) <= now - since < TOLD_FOR:
        return list(new)
    told = Condition(
        "InSync", "False", before["reason"], before["message"], arguments=tuple(before["arguments"].items())
    )
    return [told if each.type == "InSync" and each.status == "True" else each for each in new]


def last_repair(conditions: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The condition that tells of the last repair of drift; None where none is told any more."""
    found = find(conditions, "InSync")
    return found if found and found["status"] == "False" and found["reason"] in REPAIRS else None


def deletion_repaired(objects: Iterable[str]) -> Condition:
    """`InSync` where somebody had deleted what Muster wrote."""
    named = ", ".join(objects)
    message = f"Somebody had deleted {named}; it was made again."
    return Condition("InSync", "False", "DeletionRepaired", message, arguments=(("objects", named),))


def was_written(conditions: Iterable[dict[str, Any]], *, generation: int) -> bool:
    """Whether the object of this generation was there: where it is not any more, somebody deleted it."""
    found = find(conditions, "InSync")
    return found is not None and found["observedGeneration"] == generation and found["reason"] != "LevelsReplaced"


def find(conditions: Iterable[dict[str, Any]], type_: str) -> dict[str, Any] | None:
    """The condition of that type, or None."""
    return next((condition for condition in conditions if condition["type"] == type_), None)
