"""Recorded fair-share divisions (fairshare.jsonl): the input as claims, and the comparison with what KAI gave."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from scheduling.fairshare import Claim, QueueClaims, divide_tree
from scheduling.structs import Resources

Json = Mapping[str, Any]
RESOURCES = ("gpu", "cpu", "memory")
TOLERANCE = 1e-6


def shares_of(case: Json) -> dict[str, Resources]:
    """The engine's division of a recorded input, by queue uid."""
    queues = [
        QueueClaims(row["uid"], row["parent"], *(_claim_of(row, name) for name in RESOURCES))
        for row in case["input"]["queues"]
    ]
    return divide_tree(Resources(**case["input"]["total"]), case["input"]["k"], queues)


def compare_division(case: Json) -> dict[str, list[str]]:
    """Misses of aspect ``share``: queues whose share differs by more than 1e-6, absolute and relative.

    Where KAI's own result hung on the order of a hash map (``variants``), any of the recorded results will do.
    """
    shares = shares_of(case)
    misses = _misses(shares, case["output"])
    if misses and any(not _misses(shares, variant) for variant in case.get("variants") or ()):
        misses = []
    return {"share": misses} if misses else {}


def _misses(shares: Mapping[str, Resources], recorded: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [
        f"{uid} {name}: recorded {amounts[name]}, got {getattr(shares[uid], name)}"
        for uid, amounts in recorded.items()
        for name in RESOURCES
        if not math.isclose(getattr(shares[uid], name), amounts[name], rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    ]


def _claim_of(queue: Json, resource: str) -> Claim:
    part = queue[resource]
    return Claim(
        queue["uid"],
        part["deserved"],
        part["limit"],
        part["weight"],
        part["request"],
        (queue.get("usage") or {}).get(resource, 0.0),
        queue["priority"],
        datetime.fromisoformat(queue["created"]).timestamp(),
    )
