"""What a preview is asked and what it answers. Keys of gangs and pods are ``namespace/name``."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from scheduling.structs import Eviction, Pod, PodGroup, Reason, Resources


class Verdict(StrEnum):
    """What would become of a gang."""

    NOW = "now"
    """Its minimum is placed on what is free."""
    EVICTING = "evicting"
    """It is placed, and others have to go or to move for it."""
    RELEASING = "releasing"
    """It is promised places of pods that are ending already."""
    WAITING = "waiting"
    """It would run on these nodes were nobody else there: when something finishes."""
    NEVER = "never"
    """It would not even run were nobody else there."""


class Gang(msgspec.Struct, frozen=True):
    """A pod group that does not exist yet, with its pods. ``waits_for``: key of a gang that has to run first.
    ``arrivals``: keys of gated pods whose gates open one after the other, each after the cycle before it."""

    group: PodGroup
    pods: tuple[Pod, ...]
    waits_for: str = ""
    arrivals: tuple[str, ...] = ()


class LevelReached(msgspec.Struct, frozen=True):
    """Where a (sub)group with a constraint would lie. ``reached`` is the narrowest level that its nodes share, "" for
    none; ``domain`` its label values joined by "."; ``equal`` how many domains of that level are as good for it."""

    subgroup: str
    topology: str
    required: str
    preferred: str
    reached: str = ""
    domain: str = ""
    equal: int = 1
    kept: bool = True
    """What was asked is met: the required level, and the preferred one."""


class GangPreview(msgspec.Struct, frozen=True):
    """What would become of one gang. ``placed`` are the nodes of its pods, those of the minimum and as many of the
    others as find a place; ``evicted`` who goes (or moves) for it; ``reasons`` KAI's words where it is not placed;
    ``room_after`` running gangs whose end makes room, each entry enough by itself."""

    key: str
    verdict: Verdict
    placed: Mapping[str, str] = {}
    pods: int = 0
    evicted: tuple[Eviction, ...] = ()
    levels: tuple[LevelReached, ...] = ()
    reasons: tuple[Reason, ...] = ()
    room_after: tuple[tuple[str, ...], ...] = ()
    waits_for: str = ""


class QueueAfter(msgspec.Struct, frozen=True):
    """A queue of the gangs, or one above: what it holds before and after. -1 is unlimited."""

    name: str
    deserved: Resources
    limit: Resources
    fair_share: Resources
    before: Resources
    after: Resources
    non_preemptible: Resources
    """Held by pods that cannot be evicted, afterwards."""


class Preview(msgspec.Struct, frozen=True):
    """The answer for all gangs, in the order in which they were given."""

    gangs: tuple[GangPreview, ...]
    queues: tuple[QueueAfter, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of the gangs' verdicts."""
        order = list(Verdict)
        return max((gang.verdict for gang in self.gangs), key=order.index, default=Verdict.NOW)
