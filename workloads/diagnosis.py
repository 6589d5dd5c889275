"""Why a workload waits: what the engine finds on the observed rows, and what no scheduler can see. Reads only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from clusters.kept import LARGE_NODES, kept
from clusters.models import Node, Pod
from clusters.selectors import watch_state
from core.errors import InvalidInput
from scheduling.diagnosis_structs import Code, Diagnosis
from scheduling.elsewhere import Elsewhere, look_elsewhere
from scheduling.remedies import find_remedies
from scheduling.remedy_structs import Remedy
from workloads import observed
from workloads.diagnosis_ground import ground_of
from workloads.diagnosis_outside import GRACE_SECONDS, Facts, Finding, find_outside
from workloads.diagnosis_ruled import Ruled, ruled_out
from workloads.graph import parse_graph
from workloads.models import DesiredPhase, Workload
from workloads.verdicts import group_texts, is_noise

STREAMS = ("nodes", "pods", "podgroups", "queues", "topologies")
MAX_GROUPS = 3
"""So many waiting pod groups of one workload are looked into; the others mostly wait for these."""
MAX_WORDS = 12
MANY_WAITING = "manyWaiting"
"""Code of `WorkloadDiagnosis.unknown`: so many pods wait in the pool that the engine was not asked."""
TOLD_BY_EVENTS = ("PodGrouperWarning", "FailedMount")
"""What no status says."""
KEPT_SECONDS = 20
LARGE_SECONDS = 60
"""So long an answer stays: on a large cluster it took some seconds of work."""


@dataclass(frozen=True, slots=True)
class GroupDiagnosis:
    """One pod group (``namespace/name``), why it waits, what would let it run, and what other pools have for it."""

    key: str
    diagnosis: Diagnosis
    remedies: tuple[Remedy, ...] = ()
    ruled: tuple[Ruled, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkloadDiagnosis:
    """`state`: runs, stopped, unknown (nothing may be said: the data is old), waits, starts (nothing is wrong).

    `outside` are causes beside the scheduler's; `words` what KAI said; `unknown` codes of what could not be taken
    into account (`clusters.snapshot`). `settling`: its pods are so young that operators are still at work on them.
    """

    state: str
    outside: tuple[Finding, ...] = ()
    groups: tuple[GroupDiagnosis, ...] = ()
    words: tuple[str, ...] = ()
    observed_at: datetime | None = None
    unknown: tuple[str, ...] = ()
    settling: bool = False


def diagnose_workload(workload: Workload, *, now: datetime) -> WorkloadDiagnosis:
    """Why it does not run, from what was observed last. On a large cluster the answer is kept for some seconds."""
    if workload.is_being_deleted or workload.desired_phase == DesiredPhase.STOPPED:
        return WorkloadDiagnosis("stopped")
    if workload.phase == "Running":
        return WorkloadDiagnosis("runs")
    state = watch_state(workload.cluster, *STREAMS, now=now)
    if state.stale:
        return WorkloadDiagnosis("unknown", observed_at=state.since, unknown=(state.reason,))
    nodes = Node.objects.filter(cluster=workload.cluster_id).count()
    version = (workload.generation, int(now.timestamp() // LARGE_SECONDS)) if nodes > LARGE_NODES else None
    return kept(("why", workload.pk), version, partial(_diagnosed, workload, now))


def _diagnosed(workload: Workload, now: datetime) -> WorkloadDiagnosis:
    pods = list(observed.pods_of(workload))
    found = _looked_into(workload, pods, now)
    return replace(found, settling=_age(workload, pods, now) < GRACE_SECONDS)


def _looked_into(workload: Workload, pods: Sequence[Pod], now: datetime) -> WorkloadDiagnosis:
    groups = observed.groups_of(workload, pods)
    outside = find_outside(_facts(workload, pods, groups, now))
    words = _words(workload, pods, groups)
    waiting = waiting_groups(workload, pods, groups)
    if not waiting or any(each.code in ("Refused", "NotSynced", "WebhookDown", "KindNotServed") for each in outside):
        return WorkloadDiagnosis("waits", tuple(outside), (), words, now)
    return _with_engine(workload, now, (outside, words, waiting))


def _with_engine(
    workload: Workload, now: datetime, told: tuple[list[Finding], tuple[str, ...], Sequence[str]]
) -> WorkloadDiagnosis:
    outside, words, waiting = told
    ground = ground_of(workload, now)
    outside += [Finding("Unreadable", True, {"object": name}) for name in ground.unreadable]
    known = {group.key for group in ground.snapshot.podgroups}
    found = []
    for key in waiting[:MAX_GROUPS]:
        if key in known:
            scene = ground.scene(key)
            diagnosis = ground.diagnose(scene)
            elsewhere = look_elsewhere(scene, diagnosis, ground.open_pools())
            remedies = find_remedies(scene, diagnosis, elsewhere)
            ruled = tuple(ruled_out(scene, diagnosis.causes))
            found.append(GroupDiagnosis(key, diagnosis, remedies, ruled, elsewhere))
    found.sort(key=lambda group: is_gated(group.diagnosis))
    blocked = outside or any(each.diagnosis.causes for each in found)
    unasked = not all(each.diagnosis.asked for each in found)
    state = "waits" if blocked or unasked or not found else "starts"
    unknown = (*ground.unknown, MANY_WAITING) if unasked else ground.unknown
    return WorkloadDiagnosis(state, tuple(outside), tuple(found), words, ground.observed_at, unknown)


def is_gated(found: Diagnosis) -> bool:
    """Whether a gang waits behind gates, that is for another one: what that waits for is said first."""
    return any(cause.code is Code.PODS_GATED for cause in found.causes)


def waiting_groups(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Keys of the pod groups of which a pod waits, those with most waiting pods first."""
    known = {group["metadata"]["name"] for group in groups}
    counts: dict[str, int] = {}
    for pod in pods:
        if not pod.node_name and pod.deletion_requested_at is None and pod.pod_group in known:
            counts[pod.pod_group] = counts.get(pod.pod_group, 0) + 1
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return [f"{workload.project.namespace}/{name}" for name in order]


def _facts(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], now: datetime) -> Facts:
    known, graph = {group["metadata"]["name"] for group in groups}, observed.graph_of(workload)
    events = observed.events_of(workload).filter(reason__in=TOLD_BY_EVENTS).values_list("reason", "message")[:20]
    return Facts(
        pods=observed.pod_facts(pods),
        wanted_pods=_wanted_pods(workload, graph),
        grouped=sum(pod.pod_group in known for pod in pods),
        conditions=workload.conditions,
        components={each["key"]: each for each in workload.cluster.components},
        served=workload.cluster.served,
        graph=graph,
        lost=tuple((workload.placement or {}).get("lost", ())),
        events=tuple(events),
        age=_age(workload, pods, now),
    )


def _wanted_pods(workload: Workload, graph: Mapping[str, Any] | None) -> int:
    """What the cluster's graph asks for, which others may have scaled; without it what the document does."""
    try:
        return parse_graph(graph or workload.manifest).pods
    except InvalidInput:
        return parse_graph(workload.manifest).pods


def _age(workload: Workload, pods: Sequence[Pod], now: datetime) -> float:
    """Seconds since the oldest pod that waits was made; without pods since the workload began to wait."""
    made = [pod.created_at for pod in pods if not pod.node_name and pod.deletion_requested_at is None]
    since = min(made, default=workload.waiting_since or workload.created_at)
    return (now - since).total_seconds()


def _words(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """KAI's own texts, each once: conditions of the groups, of their pods, events."""
    return tuple(dict.fromkeys(_all_words(workload, pods, groups)))[:MAX_WORDS]


def _all_words(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for group in groups:
        yield from filter(None, group_texts(group))
    for pod in pods:
        if not pod.node_name and pod.message and pod.reason in ("Unschedulable", "SchedulingGated", ""):
            yield pod.message
    reasons = ("NotReady", "Unschedulable", "PodGrouperWarning")
    for event in observed.events_of(workload).filter(reason__in=reasons)[:10]:
        if not is_noise(event.reason, event.message):
            yield event.message
