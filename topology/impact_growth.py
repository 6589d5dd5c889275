"""Whether an edit does more now than when its effects were shown: who confirms should have seen all of it. Pure."""

from collections.abc import Mapping

from topology.impact_names import Shown

NOTHING: Shown = {"workloads": [], "queues": [], "moreWorkloads": 0, "unchecked": 0}
HARMLESS = "starts"
"""The effect that nobody needs to be asked about."""

Key = tuple[str, str, str, str]


def grown(before: Mapping[str, object] | None, after: Shown) -> bool:
    """Whether `after` hits a workload, a queue or a node that `before` did not, or more of one. None: nothing was
    shown. Hidden ones are compared by their GPUs in all."""
    then = {**NOTHING, **(before or {})}
    if _more(_gpus(then), _gpus(after)):
        return True
    if after["moreWorkloads"] + after["unchecked"] > then["moreWorkloads"] + then["unchecked"]:
        return True
    if _moves(after) - _moves(then):
        return True
    return bool(set(after.get("nodesOutside", ())) - set(then.get("nodesOutside", ())))


def _gpus(shown: Shown) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for entry in shown["workloads"]:
        if entry["effect"] != HARMLESS:
            key = (entry["effect"], entry["pool"], entry["project"] or "", entry["name"] or "")
            found[key] = found.get(key, 0.0) + float(entry["gpus"])
    return found


def _more(before: Mapping[Key, float], after: Mapping[Key, float]) -> bool:
    return any(key not in before or amount > before[key] + 1e-6 for key, amount in after.items())


def _moves(shown: Shown) -> set[tuple[str, str, str]]:
    """Queues that come to stand above or below their fair share."""
    return {
        (entry["pool"], entry["name"] or "", entry["after"])
        for entry in shown["queues"]
        if entry["after"] in ("over", "under") and entry["after"] != entry["before"]
    }
