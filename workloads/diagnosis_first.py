"""The first cause, as lists and headers say it: what workers store with the row, so that no page waits for it."""

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

from django.utils import timezone

from clusters.kept import kept
from clusters.models import Node, Pod
from clusters.selectors import watch_state
from scheduling.diagnosis_structs import Code, Diagnosis
from workloads.diagnosis import KEPT_SECONDS, MAX_GROUPS, STREAMS, is_gated, waiting_groups
from workloads.diagnosis_ground import ground_of
from workloads.diagnosis_sentences import CAUSES
from workloads.diagnosis_words import sentence_code
from workloads.models import Workload
from workloads.verdicts import Reason
from workloads.words import FIRST_CAUSES, REASONS

SMALL_NODES = 64
"""Up to so many nodes the engine is asked whenever the scheduler says something new."""
REST = 9.0
"""On larger ones it rests so many times as long as it thought: lists take a tenth of a process's time at most."""


class Turns:
    """When this process may ask the engine again for the lists of a large cluster."""

    def __init__(self) -> None:
        self._until: dict[Hashable, float] = {}
        self._lock = Lock()

    def take(self, cluster: Hashable, now: float) -> bool:
        """Whether it is time; if so nobody else has a turn before `end`. `now` is in seconds of a steady clock."""
        with self._lock:
            if now < self._until.get(cluster, 0.0):
                return False
            self._until[cluster] = math.inf
            return True

    def end(self, cluster: Hashable, began: float, now: float) -> None:
        """The turn that began then is over."""
        with self._lock:
            self._until[cluster] = now + REST * (now - began)


_turns = Turns()


def quiet_reason(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> Reason | None:
    """What stops a workload of which the scheduler has judged and says nothing: a wrong level, a queue with children.

    None where it has not judged yet and where nothing is found.
    """
    judged = any((group.get("status") or {}).get("schedulingConditions") for group in groups)
    return first_reason(workload, pods, groups, ()) if judged else None


def first_reason(
    workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], words: tuple[str, ...]
) -> Reason | None:
    """The first cause that the page tells, with the scheduler's `words`; None where lists cannot say it.

    While the scheduler says the same of it, the answer is kept for some seconds: it repeats itself every few. On
    clusters of more than 64 nodes the workloads take turns; until its next turn a workload keeps what it was told,
    and before its first one it has the scheduler's verdict.
    """
    state = (workload.generation, workload.node_pool.network_topology_id, words, len(pods))
    nodes = Node.objects.filter(cluster=workload.cluster_id).count()
    if nodes <= SMALL_NODES:
        version = (state, int(timezone.now().timestamp() // KEPT_SECONDS))
        return kept(("first", workload.pk), version, partial(_asked, workload, pods, groups, words))
    began, cluster = time.monotonic(), (workload.cluster_id, workload.cluster.created_at)
    if not _turns.take(cluster, began):
        return _told_before(workload, words)
    try:
        return _asked(workload, pods, groups, words)
    finally:
        _turns.end(cluster, began, time.monotonic())


def _told_before(workload: Workload, words: tuple[str, ...]) -> Reason | None:
    """What the row says, where the engine said so and the scheduler has not said anything else since."""
    before = workload.waiting_reason or {}
    if before.get("code") not in _TOLD or tuple(before.get("words", ())) != words:
        return None
    return Reason(str(before["code"]), dict(before.get("arguments") or {}), words)


_TOLD = frozenset(CAUSES) | {"Fits"}


def _asked(
    workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], words: tuple[str, ...]
) -> Reason | None:
    found = _first_diagnosis(workload, pods, groups)
    if found is None:
        return None
    if not found.causes:
        return Reason("Fits", {}, words) if found.outcome and words else None
    reason = _reason_of(found, words)
    known = reason.code in FIRST_CAUSES or reason.code not in REASONS
    return reason if known and found.causes[0].code is not Code.UNEXPLAINED else None


def _first_diagnosis(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> Diagnosis | None:
    """Without looking for whose end would help: lists do not say it."""
    waiting = waiting_groups(workload, pods, groups)
    now = timezone.now()
    if not waiting or watch_state(workload.cluster, *STREAMS, now=now).stale:
        return None
    ground = ground_of(workload, now)
    known = {group.key for group in ground.snapshot.podgroups}
    scenes = [ground.scene(key, tries=0) for key in waiting[:MAX_GROUPS] if key in known]
    found = [ground.diagnose(scene) for scene in scenes[:1]]
    if found and is_gated(found[0]):
        found += [ground.diagnose(scene) for scene in scenes[1:]]
    return min(found, key=is_gated, default=None)


def _reason_of(found: Diagnosis, words: tuple[str, ...]) -> Reason:
    """The first cause as a row holds it: without others' pod groups, queues and nodes, which not all may see."""
    cause = found.causes[0]
    numbers = {name: f"{value:.12g}" for name, value in cause.numbers.items()}
    names = {name: value for name, value in cause.names.items() if name not in ("groups", "queues", "node")}
    domain = names.get("domain", "")
    arguments = {"largestDomain": domain, "freeDomain": domain, **numbers, **names}
    return Reason(sentence_code(cause.code, cause.names, cause.numbers, others=len(found.causes) - 1), arguments, words)
