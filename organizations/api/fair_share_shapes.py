"""Shapes of the division of a pool among its queues. GPUs in devices, CPU in cores, memory in GB (10^9 bytes); a null
bound is unlimited, a null queue one that the asker may not name."""

from typing import Literal

from core.api.shapes import UNSET, Shape, UnsetType

Amount = int | float


class QueueOwner(Shape):
    """The department or project of a queue."""

    type: Literal["department", "project"]
    id: str
    name: str


class QueueRow(Shape):
    """What one queue deserves, has and asks for; from `total` on, how its part came about, where it was computed."""

    queue: str | None
    hidden: int
    depth: int
    deserved: Amount | None
    limit: Amount | None
    over_quota_weight: Amount | None
    priority: int | None
    fair_share: Amount
    allocated: Amount
    allocated_non_preemptible: Amount
    requested: Amount
    state: str | None
    owner: QueueOwner | UnsetType = UNSET
    total: Amount | UnsetType = UNSET
    guaranteed: Amount | UnsetType = UNSET
    over_quota: Amount | UnsetType = UNSET
    unused: Amount | UnsetType = UNSET
    weights: Amount | UnsetType = UNSET
    bound: str | UnsetType = UNSET
    reclaimable: Amount | UnsetType = UNSET
    sentence: str | UnsetType = UNSET


class Debt(Shape):
    """What a queue that lacks of its part could take back from one that holds more than its own."""

    starved: str | None
    borrower: str | None
    amount: Amount
    by_quota: bool


class Gift(Shape):
    """What a queue was given in one step."""

    queue: str | None
    amount: Amount
    part: Amount


class Round(Shape):
    """A division of what was left over among the queues of one priority, by their weights."""

    priority: int
    left_over: Amount
    gifts: list[Gift]


class Level(Shape):
    """The division among the children of one queue, in its steps."""

    parent: str | None
    total: Amount
    unused: Amount
    quotas: list[Gift]
    rounds: list[Round]
    odd_units: list[Gift]
