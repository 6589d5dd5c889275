"""Shapes of the agreement between the engine and a cluster's scheduler."""

from typing import Annotated, Literal

from msgspec import Meta

from core.api.shapes import UNSET, Shape, UnsetType
from workloads.api.placement_shapes import Verdict

SchedulerVersion = Annotated[str, Meta(examples=["v0.16.0"])]
EngineVersion = Annotated[str, Meta(examples=["5c1f0a7be4d2"])]


class ReasonCount(Shape):
    """Why so many predictions are not comparable."""

    code: Annotated[str, Meta(examples=["stale"])]
    count: int


class TallyShape(Shape):
    """Outcomes under one version of the scheduler; `compared` are the right and the wrong ones."""

    scheduler_version: SchedulerVersion
    right: int
    wrong: int
    compared: int
    not_comparable: int
    open: int
    last_predicted_at: str | None
    reasons: list[ReasonCount]


class SchedulerAgreement(Shape):
    """How often the engine was right, by version of the scheduler, the last one first."""

    cluster_uuid: str
    engine_version: EngineVersion
    versions: list[TallyShape]


class PredictionShape(Shape):
    """What the engine said of one start of a workload, and what came of it. Who may not read the workload is told no
    name and no id of it."""

    id: str
    cluster_uuid: str
    workload_name: Annotated[str, Meta(examples=["qwen"])]
    workload_id: str | None
    node_pool: Annotated[str, Meta(examples=["default"])]
    scheduler_version: SchedulerVersion
    engine_version: EngineVersion
    predicted_at: str | None
    decided_at: str | None
    age_seconds: int | None
    shard_digest: str
    verdict: Verdict | None
    pods: int
    pods_expected: int
    pods_placed: int | None
    equal_answers: int
    outcome: Literal["open", "right", "wrong", "notComparable"]
    reasons: Annotated[list[str], Meta(examples=[[]])]
    message: Annotated[str, Meta(examples=["The scheduler has not decided yet."])]
    case_state: Literal["", "kept", "tooLarge", "dropped", "notReplayable"]


class PredictionList(Shape):
    """Predictions; `next` is the offset of the next page."""

    predictions: list[PredictionShape]
    next: int | UnsetType = UNSET
