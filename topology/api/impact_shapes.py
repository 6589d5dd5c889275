"""Shapes of impacts: whom a change would hit, before it is made."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from core.api.shapes import ACCEPTED, UNSET, Accepted, Shape, UnsetType

Pool = Annotated[str, Meta(examples=["default"])]


class ImpactEvictor(Shape):
    """Whom a workload goes for; null where one may not see the project."""

    name: Annotated[str | None, Meta(examples=["llama"])]
    project: Annotated[str | None, Meta(examples=["assistant"])]


class ImpactWorkload(Shape):
    """A workload that is hit, and how; null names where one may not see the project. `levels` are those of the
    `topology` that its constraint is about."""

    name: Annotated[str | None, Meta(examples=["qwen"])]
    project: Annotated[str | None, Meta(examples=["research"])]
    pool: Pool
    effect: Literal[
        "reclaimed", "loses-nodes", "queue-gone", "stops-fitting", "loses-constraint", "gains-constraint",
        "changes-constraint", "starts", "ends",
    ]  # fmt: skip
    gpus: int | float
    pods: int
    running: bool
    evictor: ImpactEvictor | UnsetType = msgspec.field(name="for", default=UNSET)
    topology: Annotated[str | UnsetType, Meta(examples=["dc"])] = UNSET
    levels: list[str] | UnsetType = UNSET


Standing = Literal["under", "within", "over"]


class ImpactQueue(Shape):
    """A queue whose fair share of GPUs moves, and how it stands to it; null: there is no such queue then."""

    name: Annotated[str | None, Meta(examples=["research"])]
    pool: Pool
    held: int | float
    fair_share_before: int | float | None
    fair_share_after: int | float | None
    before: Standing | None
    after: Standing | None


class GpusMoved(Shape):
    """GPUs of a pool that can be shared out."""

    before: int | float
    after: int | float


class ImpactPool(Shape):
    """A pool that was looked at."""

    pool: Pool
    gpus: GpusMoved


class ImpactShape(Shape):
    """Whom a change would hit. `moreWorkloads` are not listed, `unchecked` not looked at; `unknown` says what could not
    be taken into account; `whenAsked`: not at once, but when the new project asks for what it is to deserve.
    `nodesOutside` lack a label of the topology that a pool is to have."""

    is_empty: bool
    workloads: list[ImpactWorkload]
    more_workloads: int
    queues: list[ImpactQueue]
    pools: list[ImpactPool]
    unchecked: int
    observed_at: str | None
    unknown: Annotated[list[str], Meta(examples=[[]])]
    when_asked: bool | UnsetType = UNSET
    nodes_outside: Annotated[list[str] | UnsetType, Meta(examples=[["gpu-7"]])] = UNSET


class Hitting(Shape):
    """What a dry run of a deletion answers: whom it would hit."""

    impact: ImpactShape


class AcceptedDeletion(Accepted):
    """A deletion that goes on in the background; its dry run says whom it would hit."""

    impact: ImpactShape | UnsetType = UNSET


DELETING = AcceptedDeletion(code=ACCEPTED.code, message=ACCEPTED.message)
