"""Why a workload waits: what the engine finds on the observed rows, and what no scheduler can see. Reads only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from django.utils import timezone

from clusters.kept import LARGE_NODES, kept
from clusters.kinds import KAI_SCHEDULING_SHARD
from clusters.models import Node, Pod
from clusters.selectors import watch_state
from clusters.snapshot import pools_of, shard_snapshot
from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code, Diagnosis
from scheduling.remedies import find_remedies
from scheduling.remedy_structs import Remedy
from scheduling.structs import Pod as EnginePod
from scheduling.structs import SchedulerConfig, Snapshot
from topology.models import NodePool
from workloads import observed
from workloads.diagnosis_outside import GRACE_SECONDS, Facts, Finding, find_outside
from workloads.diagnosis_ruled import Ruled, ruled_out
from workloads.diagnosis_words import sentence_code
from workloads.models import DesiredPhase, Workload
from workloads.verdicts import Reason, group_texts, is_noise
from workloads.words import FIRST_CAUSES, REASONS

STREAMS = ("nodes", "pods", "podgroups", "queues", "topologies")
MAX_GROUPS = 3
"""So many waiting pod groups of one workload are looked into; the others mostly wait for these."""
MAX_WORDS = 12
LARGE_BUDGET = 400
"""Bound of the eviction searches on a large cluster; a page must not take minutes as the scheduler may."""
LARGE_EFFORT, MAX_EFFORT = 4, 24
"""So many ends of others and remedies are tried."""
KEPT_SECONDS = 20
FIRST_NODES = 64
"""On larger clusters lists say what the scheduler says; the engine is asked by the page only."""


@dataclass(frozen=True, slots=True)
class GroupDiagnosis:
    """One pod group (``namespace/name``), why it waits, and what would let it run."""

    key: str
    diagnosis: Diagnosis
    remedies: tuple[Remedy, ...] = ()
    ruled: tuple[Ruled, ...] = ()


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
    large = Node.objects.filter(cluster=workload.cluster_id).count() > LARGE_NODES
    version = (workload.generation, int(now.timestamp() // KEPT_SECONDS)) if large else None
    return kept(("why", workload.pk), version, partial(_diagnosed, workload, now, large))


def _diagnosed(workload: Workload, now: datetime, large: bool) -> WorkloadDiagnosis:
    pods = list(observed.pods_of(workload))
    found = _looked_into(workload, pods, now, large)
    return replace(found, settling=_age(workload, pods, now) < GRACE_SECONDS)


def _looked_into(workload: Workload, pods: Sequence[Pod], now: datetime, large: bool) -> WorkloadDiagnosis:
    groups = observed.groups_of(workload, pods)
    outside = find_outside(_facts(workload, pods, groups, now))
    words = _words(workload, pods, groups)
    waiting = _waiting_groups(workload, pods, groups)
    if not waiting or any(each.code in ("Refused", "NotSynced", "WebhookDown", "KindNotServed") for each in outside):
        return WorkloadDiagnosis("waits", tuple(outside), (), words, now)
    return _with_engine(workload, now, large, (outside, words, waiting))


def _with_engine(
    workload: Workload, now: datetime, large: bool, told: tuple[list[Finding], tuple[str, ...], Sequence[str]]
) -> WorkloadDiagnosis:
    outside, words, waiting = told
    ground = ground_of(workload, now)
    outside += [Finding("Unreadable", True, {"object": name}) for name in ground.unreadable]
    config = msgspec.structs.replace(ground.config, search_budget=LARGE_BUDGET) if large else ground.config
    known = {group.key for group in ground.snapshot.podgroups}
    found = []
    for key in waiting[:MAX_GROUPS]:
        if key in known:
            scene = replace(ground.scene(key), config=config, effort=LARGE_EFFORT if large else MAX_EFFORT)
            diagnosis = diagnose(scene)
            remedies = () if large and len(diagnosis.causes) > 1 else find_remedies(scene, diagnosis, ground.pools)
            ruled = tuple(ruled_out(scene, diagnosis.causes))
            found.append(GroupDiagnosis(key, diagnosis, remedies, ruled))
    found.sort(key=lambda group: _gated(group.diagnosis))
    blocked = outside or any(each.diagnosis.causes for each in found)
    state = "waits" if blocked or not found else "starts"
    return WorkloadDiagnosis(state, tuple(outside), tuple(found), words, ground.observed_at, ground.unknown)


def _gated(found: Diagnosis) -> bool:
    """Whether a gang waits behind gates, that is for another one: what that waits for is said first."""
    return any(cause.code is Code.PODS_GATED for cause in found.causes)


def quiet_reason(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> Reason | None:
    """What stops a workload of which the scheduler has judged and says nothing: a wrong level, a queue with children.

    None where it has not judged yet, where nothing is found, and on large clusters, whose page says it.
    """
    judged = any((group.get("status") or {}).get("schedulingConditions") for group in groups)
    found = _first_diagnosis(workload, pods, groups, LARGE_NODES) if judged else None
    return _reason_of(found, ()) if found and found.causes else None


def first_reason(
    workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], words: tuple[str, ...]
) -> Reason | None:
    """The first cause that the page tells, with the scheduler's `words`; None where lists cannot say it, or where the
    engine was not asked (clusters of more than 64 nodes, whose pages do not wait for it either).

    While the scheduler says the same of it, the answer is kept for some seconds: it repeats itself every few.
    """
    state = (workload.generation, workload.node_pool.network_topology_id, words, len(pods))
    version = (state, int(timezone.now().timestamp() // KEPT_SECONDS))
    return kept(("first", workload.pk), version, partial(_first_reason, workload, pods, groups, words))


def _first_reason(
    workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], words: tuple[str, ...]
) -> Reason | None:
    found = _first_diagnosis(workload, pods, groups, FIRST_NODES)
    if found is None:
        return None
    if not found.causes:
        return Reason("Fits", {}, words) if found.outcome else None
    reason = _reason_of(found, words)
    known = reason.code in FIRST_CAUSES or reason.code not in REASONS
    return reason if known and found.causes[0].code is not Code.UNEXPLAINED else None


def _first_diagnosis(
    workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], nodes: int
) -> Diagnosis | None:
    waiting = _waiting_groups(workload, pods, groups)
    if not waiting or Node.objects.filter(cluster=workload.cluster_id).count() > nodes:
        return None
    now = timezone.now()
    if watch_state(workload.cluster, *STREAMS, now=now).stale:
        return None
    ground = ground_of(workload, now)
    known = {group.key for group in ground.snapshot.podgroups}
    found = [diagnose(ground.scene(key)) for key in waiting[:1] if key in known]
    if found and _gated(found[0]):
        found += [diagnose(ground.scene(key)) for key in waiting[1:MAX_GROUPS] if key in known]
    return min(found, key=_gated, default=None)


def _reason_of(found: Diagnosis, words: tuple[str, ...]) -> Reason:
    """The first cause as a row holds it: without names of others' pod groups and of nodes, which not all may see."""
    cause = found.causes[0]
    numbers = {name: f"{value:.12g}" for name, value in cause.numbers.items()}
    names = {name: value for name, value in cause.names.items() if name not in ("groups", "node")}
    domain = names.get("domain", "")
    arguments = {"largestDomain": domain, "freeDomain": domain, **numbers, **names}
    return Reason(sentence_code(cause.code, cause.names, cause.numbers, others=len(found.causes) - 1), arguments, words)


@dataclass(frozen=True, slots=True)
class Ground:
    """The cluster as the engine sees it: every pool, the settings of the workload's shard, what is not known.

    `pools` maps other pools on which the project has quota to its queue there.
    """

    snapshot: Snapshot
    config: SchedulerConfig
    wanted_pool: str
    shards: frozenset[str] | None
    unhealthy: Mapping[str, float]
    pools: Mapping[str, str]
    observed_at: datetime | None
    unknown: tuple[str, ...]
    unreadable: tuple[str, ...]

    def scene(self, key: str) -> Scene:
        """One pod group on this ground."""
        return Scene(self.snapshot, key, self.config, self.wanted_pool, self.shards, self.unhealthy)


def ground_of(workload: Workload, now: datetime) -> Ground:
    """The ground of a workload's diagnosis."""
    cluster, pool = workload.cluster, workload.node_pool
    wanted = pool.shard
    running = pools_of(cluster)
    names = {*running, *_pool_names(workload), wanted}
    shards = {name: shard_snapshot(cluster, name, now=now) for name in sorted(names)}
    own = shards[wanted]
    merged = _merged([shard.snapshot for shard in shards.values()])
    gpus = Node.objects.filter(cluster=cluster, gpu_allocatable__isnull=False).values_list(
        "name", "gpu_capacity", "gpu_allocatable"
    )
    quotas = workload.project.quotas.select_related("node_pool")
    queues = {quota.node_pool.shard: quota.queue_name for quota in quotas}
    served = (cluster.streams.get(KAI_SCHEDULING_SHARD.plural) or {}).get("listedAt")
    return Ground(
        merged,
        own.config,
        wanted,
        frozenset(running) if served else None,
        {name: float(total - (usable or 0)) for name, total, usable in gpus if total > (usable or 0)},
        {name: queue for name, queue in queues.items() if name != wanted},
        own.observed_at,
        own.unknown,
        own.unreadable,
    )


def _pool_names(workload: Workload) -> set[str]:
    pools = NodePool.objects.filter(cluster=workload.cluster_id)
    return {pool.shard for pool in pools}


def _merged(shards: Sequence[Snapshot]) -> Snapshot:
    """All pools together; a pod that two shards see is one pod."""
    pods: dict[str, EnginePod] = {pod.key: pod for shard in shards for pod in shard.pods}
    return msgspec.structs.replace(
        shards[0],
        nodes=tuple(node for shard in shards for node in shard.nodes),
        queues=tuple(queue for shard in shards for queue in shard.queues),
        podgroups=tuple(group for shard in shards for group in shard.podgroups),
        pods=tuple(pods.values()),
        pool="",
    )


def _waiting_groups(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Keys of the pod groups of which a pod waits, those with most waiting pods first."""
    known = {group["metadata"]["name"] for group in groups}
    counts: dict[str, int] = {}
    for pod in pods:
        if not pod.node_name and pod.deletion_requested_at is None and pod.pod_group in known:
            counts[pod.pod_group] = counts.get(pod.pod_group, 0) + 1
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return [f"{workload.project.namespace}/{name}" for name in order]


def _facts(workload: Workload, pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]], now: datetime) -> Facts:
    known = {group["metadata"]["name"] for group in groups}
    events = observed.events_of(workload).filter(reason="PodGrouperWarning").values_list("reason", "message")[:20]
    return Facts(
        pods=observed.pod_facts(pods),
        wanted_pods=sum(role.get("desired", 0) for role in workload.roles),
        grouped=sum(pod.pod_group in known for pod in pods),
        conditions=workload.conditions,
        components={each["key"]: each for each in workload.cluster.components},
        served=workload.cluster.served,
        graph=observed.graph_of(workload),
        lost=tuple((workload.placement or {}).get("lost", ())),
        events=tuple(events),
        age=_age(workload, pods, now),
    )


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
