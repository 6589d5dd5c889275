"""What a diagnosis says: causes as codes with numbers and the objects that prove them. No sentences.

Amounts: GPUs in devices, CPU in millicores, memory in bytes. Pods and pod groups are named ``namespace/name``.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from scheduling.diagnosis_scene import Outcome, Scene


class Code(StrEnum):
    """Why a pod group waits, in the order in which the causes block."""

    POOL_WRONG = "PoolWrong"
    QUEUE_WRONG = "QueueNotArrived"
    SHARD_MISSING = "ShardMissing"
    SCHEDULER_HANGS = "SchedulerHangs"
    QUEUE_UNSET = "QueueUnset"
    QUEUE_MISSING = "QueueMissing"
    QUEUE_OTHER_POOL = "QueueOtherPool"
    QUEUE_PARENT_MISSING = "QueueParentMissing"
    QUEUE_NOT_LEAF = "QueueNotLeaf"
    BACKED_OFF = "BackedOff"
    SUBGROUP_UNKNOWN = "SubGroupUnknown"
    SCALED_BELOW = "ScaledBelowMinimum"
    PODS_MISSING = "PodsMissing"
    PODS_GATED = "PodsGated"
    OVER_LIMIT = "OverLimit"
    OVER_QUOTA = "NonPreemptibleOverQuota"
    TOPOLOGY_MISSING = "TopologyMissing"
    LEVEL_UNSET = "LevelUnset"
    LEVEL_UNKNOWN = "LevelUnknown"
    LEVELS_REVERSED = "LevelsReversed"
    PLACEMENT_WRONG = "PlacementNotArrived"
    POOL_EMPTY = "PoolEmpty"
    LEVEL_TOO_SMALL = "LevelTooSmall"
    DEVICES_UNHEALTHY = "DevicesUnhealthy"
    POD_TOO_LARGE = "PodTooLarge"
    NODES_NOT_READY = "NodesNotReady"
    NODES_CORDONED = "NodesCordoned"
    NODES_TAINTED = "NodesTainted"
    NODES_UNLABELLED = "NodesUnlabelled"
    SELECTOR = "SelectorMatchesTooFew"
    OTHER_PODS = "OtherPodsTerms"
    SINGLE_DOMAIN = "SingleDomain"
    UNEQUAL_PODS = "UnequalPods"
    PINNED = "Pinned"
    POOL_TOO_SMALL = "PoolTooSmall"
    PREEMPTION_DELAY = "PreemptionDelay"
    MIN_RUNTIME = "MinRuntime"
    AHEAD = "Ahead"
    LEVEL_FULL = "LevelFull"
    LEVEL_FRAGMENTED = "LevelFragmented"
    POOL_FULL = "PoolFull"
    POOL_FRAGMENTED = "PoolFragmented"
    UNEXPLAINED = "Unexplained"


ORDER = {code: rank for rank, code in enumerate(Code)}


class NodeNote(msgspec.Struct, frozen=True):
    """A node as evidence: what is wrong with it (a taint, a label that is missing), its GPUs."""

    name: str
    note: str = ""
    gpus: float = 0.0


def all_noted(nodes: Sequence[NodeNote]) -> list[str]:
    """What the notes of these nodes name, each once."""
    return sorted({each for node in nodes for each in node.note.split(", ") if each})


class Holder(msgspec.Struct, frozen=True):
    """Who holds what is waited for. ``amount`` is of the resource of the cause; GPUs unless it names another."""

    group: str
    queue: str
    amount: float
    pods: int
    preemptible: bool
    priority: int
    nodes: tuple[str, ...] = ()


class DomainRow(msgspec.Struct, frozen=True):
    """One domain of a level. GPUs: ``usable`` by these pods when empty, ``free`` of them now; ``pods`` that fit now."""

    name: str
    usable: float
    free: float
    pods: int
    capacity: int = 0
    """Pods that would fit if it were empty."""
    path: str = ""
    """The values from the broadest level, joined by a point: names alone may be equal."""
    unhealthy: float = 0.0
    cordoned: int = 0
    not_ready: int = 0
    tainted: int = 0
    unmatched: int = 0


class Cause(msgspec.Struct, frozen=True):
    """One cause. ``permanent``: waiting cannot help. ``starts_when``: sets of pod groups; when all of one set have
    ended, it runs (each set checked by the engine)."""

    code: Code
    permanent: bool = False
    names: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    nodes: tuple[NodeNote, ...] = ()
    domains: tuple[DomainRow, ...] = ()
    holders: tuple[Holder, ...] = ()
    starts_when: tuple[tuple[str, ...], ...] = ()


Cure = Callable[[Scene], Scene]


class Obstacle(msgspec.Struct, frozen=True):
    """A cause together with the change that takes it, and nothing else, away."""

    cause: Cause
    cure: Cure


class Diagnosis(msgspec.Struct, frozen=True):
    """Why a pod group waits: causes by what blocks first; without any it runs by itself (``outcome``) or is placed.

    All causes together are what has to go: with every one of them cured it runs, with one left it does not. Where the
    engine was not ``asked`` the causes are true, and there may be others.
    """

    causes: tuple[Cause, ...]
    outcome: Outcome | None = None
    obstacles: tuple[Obstacle, ...] = ()
    waiting: int = 0
    """Pods without a place."""
    asked: bool = True
