"""Shapes of diagnoses: why a workload waits, with evidence and remedies."""

from typing import Annotated, Literal

from msgspec import Meta

from core.api.shapes import UNSET, Shape, UnsetType

Names = Annotated[dict[str, str], Meta(examples=[{"queue": "research", "resource": "gpu"}])]
Numbers = Annotated[dict[str, int | float], Meta(examples=[{"bound": 8, "held": 6, "asked": 4, "short": 2}])]


class CauseNode(Shape):
    """A node that takes no pod of it, and what is wrong with it."""

    name: Annotated[str, Meta(examples=["gpu-7"])]
    note: Annotated[str, Meta(examples=["maintenance=true:NoSchedule"])]
    gpus: int | float


class CauseDomain(Shape):
    """A domain with its GPUs: usable, free and held ones, and in words what does not count. `…Part` is in percent."""

    name: Annotated[str, Meta(examples=["rack-3"])]
    path: Annotated[str, Meta(examples=["block-1.rack-3"])]
    usable: int | float
    free: int | float
    held: int | float
    not_counted: Annotated[str, Meta(examples=["1 node cordoned"])]
    held_part: int
    usable_part: int
    asked_part: int


class CauseHolder(Shape):
    """Who holds what it lacks. Of a project that one may not see only the amounts are told."""

    name: Annotated[str, Meta(examples=["another project"])]
    url: Annotated[str, Meta(examples=[""])]
    project: Annotated[str, Meta(examples=[""])]
    amount: int | float
    amount_text: Annotated[str, Meta(examples=["1"])]
    pods: int
    preemptible: bool


class CauseShape(Shape):
    """One cause. `permanent`: it does not pass by itself. Of nodes, domains and holders the first twelve are shown."""

    code: Annotated[str, Meta(examples=["OverLimit"])]
    permanent: bool
    title: Annotated[str, Meta(examples=["Over the limit"])]
    text: Annotated[
        str, Meta(examples=["The limit of queue research is 8 GPUs; 6 are held and this asks for 4: 2 too many."])
    ]
    names: Names
    numbers: Numbers
    words: Annotated[list[str], Meta(examples=[[]])]
    nodes: list[CauseNode]
    domains: list[CauseDomain]
    holders: list[CauseHolder]
    starts_when: Annotated[list[str], Meta(examples=[["llama, 2 of other projects"]])]
    nodes_in_all: int | UnsetType = UNSET


class RemedyStep(Shape):
    """One thing to do. `url`: the page on which it is done; empty where there is none, or one may not."""

    act: Annotated[str, Meta(examples=["RaiseLimit"])]
    text: Annotated[str, Meta(examples=["Raise the limit of queue research from 8 to 10 GPUs"])]
    names: Names
    numbers: Numbers
    url: Annotated[str, Meta(examples=["/projects/50/edit/"])]


class RemedyShape(Shape):
    """Steps after which it runs, as the engine tried, and where. `nodes`: pods by node, for who may see nodes. `gang`:
    the one that it lets run, where several wait."""

    steps: list[RemedyStep]
    outcome: Annotated[str, Meta(examples=["Then 4 pods run on gpu-1, gpu-2."])]
    nodes: Annotated[dict[str, int], Meta(examples=[{"gpu-1": 2, "gpu-2": 2}])]
    gang: Annotated[str, Meta(examples=[""])]


class OtherPoolShape(Shape):
    """Another node pool on which the project has quota: where the gang would stand there, or why it would wait."""

    pool: Annotated[str, Meta(examples=["training"])]
    fits: bool
    text: Annotated[str, Meta(examples=["Then 4 pods run on gpu-9, gpu-10."])]


class DiagnosisShape(Shape):
    """Why a workload waits. `settling`: the cluster is still at work on it. `notConsidered`: what is not known."""

    workload_id: str
    state: Literal["waits", "starts", "runs", "stopped", "unknown"]
    settling: bool
    observed_at: str | None
    verdict: Annotated[
        str, Meta(examples=["The limit of queue research is 8 GPUs; 6 are held and this asks for 4: 2 too many."])
    ]
    causes: list[CauseShape]
    remedies: list[RemedyShape]
    other_pools: list[OtherPoolShape]
    ruled_out: Annotated[list[str], Meta(examples=[["Queue research exists and has no queues below it"]])]
    scheduler_words: Annotated[list[str], Meta(examples=[["Workload requested 4 GPUs, but research quota is 8"]])]
    not_considered: Annotated[list[str], Meta(examples=[[]])]
