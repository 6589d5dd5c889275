"""What is wrong with the queues of a cluster, whoever made them. Pure: takes Queue manifests.

Each can stop more than itself: a cycle of parents hangs the scheduler, one duration that Go can't parse stops every
typed reader of queues, a missing parent drops a queue with all below it (kai-scheduler.md §1.2).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from organizations.queue_names import parent_cycles
from topology.durations import is_go_duration

DURATIONS = ("preemptMinRuntime", "reclaimMinRuntime")
RESOURCES = ("gpu", "cpu", "memory")


class QueueFault(StrEnum):
    """What a finding says."""

    PARENT_CYCLE = "parent-cycle"
    BAD_DURATION = "bad-duration"
    MISSING_PARENT = "missing-parent"
    BELOW_UNLIMITED = "amount-below-minus-one"
    NO_LIMIT = "absent-limit"


@dataclass(frozen=True, slots=True)
class QueueFinding:
    """`queues` are those concerned, `value` the field or the text that is wrong."""

    fault: QueueFault
    queues: tuple[str, ...]
    value: str = ""


def find_faults(queues: Iterable[Mapping[str, Any]]) -> tuple[QueueFinding, ...]:
    """Findings of all queues, those that stop the whole cluster first."""
    specs = {str(queue["metadata"]["name"]): dict(queue.get("spec") or {}) for queue in queues}
    parents = {name: str(spec.get("parentQueue") or "") for name, spec in specs.items()}
    found = [QueueFinding(QueueFault.PARENT_CYCLE, cycle) for cycle in parent_cycles(parents)]
    found += [
        QueueFinding(QueueFault.BAD_DURATION, (name,), f"{field}: {spec[field]}")
        for name, spec in sorted(specs.items())
        for field in DURATIONS
        if spec.get(field) and not is_go_duration(str(spec[field]))
    ]
    found += [
        QueueFinding(QueueFault.MISSING_PARENT, (name,), parent)
        for name, parent in sorted(parents.items())
        if parent and parent not in specs
    ]
    for name, spec in sorted(specs.items()):
        found += _amount_faults(name, spec.get("resources"))
    return tuple(found)


def _amount_faults(name: str, resources: Any) -> list[QueueFinding]:
    resources = resources if isinstance(resources, Mapping) else {}
    found = []
    for resource in RESOURCES:
        amounts = resources.get(resource)
        amounts = amounts if isinstance(amounts, Mapping) else {}
        for field in ("quota", "limit"):
            value = amounts.get(field)
            if isinstance(value, (int, float)) and value < 0 and value != -1:
                found.append(QueueFinding(QueueFault.BELOW_UNLIMITED, (name,), f"{resource}.{field}: {value}"))
        if "limit" not in amounts:
            found.append(QueueFinding(QueueFault.NO_LIMIT, (name,), resource))
    return found
