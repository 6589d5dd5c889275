"""Shapes of previews: where a submission would land, and how often such predictions were right."""

from typing import Annotated, Literal

from msgspec import Meta

from core.api.shapes import UNSET, Shape, UnsetType

Verdict = Literal["now", "evicting", "releasing", "waiting", "never"]
Level = Annotated[str, Meta(examples=["example.org/rack"])]
Domain = Annotated[str, Meta(examples=["block-1.rack-3"])]
Role = Annotated[str, Meta(examples=["decode"])]


class AgreementShape(Shape):
    """Predictions under the scheduler's present version: right ones of those that could be compared."""

    scheduler_version: Annotated[str, Meta(examples=["v0.16.0"])]
    right: int
    compared: int
    not_comparable: int


class PlacedComponent(Shape):
    """A role of the graph, its pods, and how many of them find a place."""

    name: Role
    pods: int
    placed: int


class LevelShape(Shape):
    """Where a gang or one of its subgroups would lie: the narrowest level that its nodes share, and whether what was
    asked is met. `equal`: so many domains are as good."""

    subgroup: Annotated[str, Meta(examples=["decode"])]
    topology: Annotated[str, Meta(examples=["dc"])]
    required: Level
    preferred: Annotated[str, Meta(examples=[""])]
    reached: Level
    domain: Domain
    equal: int
    kept: bool


class RunningGroup(Shape):
    """A gang that runs, by its workload; null where one may not see its project."""

    project: Annotated[str | None, Meta(examples=["assistant"])]
    name: Annotated[str | None, Meta(examples=["llama"])]
    gpus: int | float


class Victim(RunningGroup):
    """One that has to go; `moved` of its pods get another place at once."""

    pods: int
    moved: int
    action: Annotated[str, Meta(examples=["Reclaim"])]


class GangShape(Shape):
    """What would become of one gang. `roomAfter`: running groups whose end makes room, each entry enough by itself.
    `waitsFor`: the gang that starts before it, empty for none."""

    name: Annotated[str, Meta(examples=["qwen-0"])]
    verdict: Verdict
    pods: int
    placed: int
    gpus: int | float
    components: list[PlacedComponent]
    levels: list[LevelShape]
    reasons: Annotated[list[str], Meta(examples=[["4 node(s) didn't have enough resources: GPUs."]])]
    evicted: list[Victim]
    room_after: list[list[RunningGroup]]
    waits_for: Annotated[str, Meta(examples=[""])]


class NodeComponent(Shape):
    """So many pods of a role."""

    name: Role
    pods: int


class UsedNode(Shape):
    """A node and what would stand on it; `domains` in the order of `levels`."""

    node: Annotated[str, Meta(examples=["gpu-1"])]
    domains: Annotated[list[str], Meta(examples=[["block-1", "rack-3", "gpu-1"]])]
    components: list[NodeComponent]
    gpus: int | float


class DistanceShape(Shape):
    """The farthest pair of a prefill and a decode pod, and what moving `bytes` between them takes at best: estimates.
    Figures that the topology does not have are null."""

    level: Level
    pairs: int
    farthest_pairs: int
    latency_microseconds: float | None
    bandwidth_gigabytes_per_second: float | None
    assumed: bool
    model: Annotated[str, Meta(examples=["Qwen/Qwen3-0.6B"])]
    tokens: int
    bytes: int
    milliseconds: float | None


class RoomShape(Shape):
    """The domain with the most free GPUs afterwards; without a level the whole pool."""

    level: Level
    domain: Annotated[str, Meta(examples=["rack-3"])]
    gpus: int | float


class QueueAfterwards(Shape):
    """GPUs of a queue: what it deserves, its limit and fair share (−1 is unlimited), held before and after."""

    name: Annotated[str, Meta(examples=["assistant"])]
    project: Annotated[str | None, Meta(examples=["assistant"])]
    deserved: int | float
    limit: int | float
    fair_share: int | float
    before: int | float
    after: int | float


class Alternative(Shape):
    """One change after which it would run now; `field` and `value` are those of the submission form."""

    change: Literal["preferred", "broader", "preemptible", "pool", "replicas", "gpus"]
    field: Annotated[str, Meta(examples=["required_level"])]
    value: Annotated[str, Meta(examples=["example.org/block"])]
    role: Annotated[str, Meta(examples=[""])]
    before: Annotated[str, Meta(examples=["example.org/rack"])]
    after: Annotated[str, Meta(examples=["example.org/block"])]
    level: Level
    domain: Domain


Unsaid = Literal["NotRendered", "NoReplicas", "TooManyPods", "NoQueue", "NoNodes", "SchedulerBlind"]


class PlacementPreview(Shape):
    """Where a submission would land now. An unknown one has a `reason` and none of what an answer has; `equalAnswers`:
    so many placements are as good; `unknown`: what could not be taken into account."""

    node_pool: Annotated[str, Meta(examples=["default"])]
    workload: Annotated[str, Meta(examples=["qwen"])]
    agreement: AgreementShape
    verdict: Literal["now", "evicting", "releasing", "waiting", "never", "unknown"]
    alternatives: list[Alternative]
    reason: Unsaid | UnsetType = UNSET
    message: str | UnsetType = UNSET
    observed_at: str | UnsetType | None = UNSET
    age_seconds: int | UnsetType | None = UNSET
    unknown: Annotated[list[str] | UnsetType, Meta(examples=[[]])] = UNSET
    gangs: list[GangShape] | UnsetType = UNSET
    levels: Annotated[list[str] | UnsetType, Meta(examples=[["example.org/block", "example.org/rack"]])] = UNSET
    nodes: list[UsedNode] | UnsetType = UNSET
    distance: DistanceShape | UnsetType | None = UNSET
    room_left: list[RoomShape] | UnsetType = UNSET
    queues: list[QueueAfterwards] | UnsetType = UNSET
    equal_answers: int | UnsetType = UNSET
