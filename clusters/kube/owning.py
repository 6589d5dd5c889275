"""Who owns which field of a live object (`metadata.managedFields`), and taking a part of it from all others. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any


def without_others(entries: Sequence[Mapping[str, Any]], section: str, manager: str) -> list[dict[str, Any]]:
    """The entries of `managedFields` where nobody but `manager` owns `section`, a key of the object, or part of it.

    What is written through a subresource (the scale of an autoscaler, say) stays its writer's; who owns nothing else
    has no entry any more.
    """
    kept: list[dict[str, Any]] = []
    for entry in entries:
        fields = entry.get("fieldsV1") or {}
        if entry.get("manager") == manager or entry.get("subresource") or f"f:{section}" not in fields:
            kept.append(dict(entry))
            continue
        left = {key: inner for key, inner in fields.items() if key != f"f:{section}"}
        if left:
            kept.append({**entry, "fieldsV1": left})
    return kept
