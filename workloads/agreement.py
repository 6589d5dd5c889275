"""Whether the engine was right: what it says of a workload as it starts, held against what the scheduler then does.

A prediction is made by a worker, from the observed rows without the workload's own objects, beside the writing of the
graph and never before it. It is compared as soon as the scheduler has decided on every pod of the gangs that start at
once. Where anything else of the shard changed in between, the two do not speak of the same and are not compared.
"""

import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction

from clusters.models import ClusterEvent
from clusters.snapshot import NOT_READ, STALE, Shard, shard_snapshot
from core.errors import InvalidInput
from core.live import publish
from scheduling.field import Question, Seen, answer, misses
from scheduling.preview_structs import Verdict
from scheduling.version import engine_version
from workloads import agreement_shards as shards
from workloads.agreement_case import case_of, forget_old_cases
from workloads.agreement_pods import OwnPods, are_others, decided, own_pods, seen_places
from workloads.agreement_shards import Evidence, Spared
from workloads.agreement_tally import TOPIC, scheduler_version
from workloads.graph import parse_graph
from workloads.models import Agreement, DesiredPhase, Prediction, Workload
from workloads.placement import MOST_PODS, surroundings_of
from workloads.placement_gangs import render_gangs
from workloads.reconcile.preview import rendered_manifest

MOST_OPEN = 20
"""Of one cluster at a time: more starts at once change the shard for each other, so that none could be compared."""
MAKE_ROOM = (Verdict.EVICTING, Verdict.RELEASING)


class NotComparable(Exception):
    """A prediction that cannot be made or held against anything; the argument is the code that says why."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What came of a comparison."""

    outcome: Agreement
    reasons: list[str]
    seen: Seen | None = None
    case: bytes | None = None
    case_state: str = ""


def predict(pk: UUID | str, *, now: datetime) -> Prediction | None:
    """Say what will become of a workload that was just submitted or resumed. None where it is gone, was spoken of
    before, or predictions are switched off. One engine cycle for each answer that is equally good."""
    workload = _starting(pk)
    if workload is None or not settings.PREDICTION_DAYS:
        return None
    row = Prediction(
        cluster=workload.cluster,
        workload=workload,
        project=workload.project,
        workload_name=workload.name,
        generation=workload.generation,
        node_pool=workload.node_pool.name,
        scheduler_version=scheduler_version(workload.cluster),
        engine_version=engine_version(),
        predicted_at=now,
    )
    try:
        _say(row, workload, now)
    except NotComparable as reason:
        row.outcome, row.reasons, row.decided_at = Agreement.NOT_COMPARABLE, [str(reason)], now
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:  # the task ran twice
        return None
    return row


def compare(pk: UUID | str, *, now: datetime) -> Agreement | None:
    """Hold a prediction against what is seen now; None where the scheduler has not decided, or it was compared."""
    rows = Prediction.objects.select_related("workload__project", "workload__node_pool", "cluster")
    row = rows.filter(pk=pk, outcome=Agreement.OPEN).defer("evidence").first()
    if row is None:
        return None
    try:
        found = _verify(row, now)
    except NotComparable as reason:
        found = Verified(Agreement.NOT_COMPARABLE, [str(reason)])
    if found is not None:
        _settle(row, found, now)
    return found.outcome if found else None


def _starting(pk: UUID | str) -> Workload | None:
    rows = Workload.objects.select_related("cluster", "project", "node_pool__network_topology")
    workload = rows.filter(pk=pk, deletion_requested_at=None, desired_phase=DesiredPhase.RUNNING).first()
    known = workload and Prediction.objects.filter(workload=workload, generation=workload.generation).exists()
    return None if known else workload


def _say(row: Prediction, workload: Workload, now: datetime) -> None:
    """Fill in what the engine says. The shard is read first: from then on it does not matter what happens."""
    if Prediction.objects.filter(cluster=row.cluster_id, outcome=Agreement.OPEN).count() >= MOST_OPEN:
        raise NotComparable("busy")
    if parse_graph(workload.manifest).pods > MOST_PODS:
        raise NotComparable("tooManyPods")
    shard, own = shard_snapshot(workload.cluster, workload.node_pool.shard, now=now), own_pods(workload)
    row.age_seconds = max(int((now - shard.observed_at).total_seconds()), 0) if shard.observed_at else None
    question = _question(workload, shard, own, now)
    row.shard_digest = shards.digest(question.snapshot)
    found = answer(question)
    row.verdict = found.verdict.value
    row.pods = sum(len(gang.pods) for gang in question.gangs)
    row.pods_expected = found.expected[0].pods
    row.equal_answers = len(found.expected)
    row.evidence = shards.pack(Evidence(question, found))


def _question(workload: Workload, shard: Shard, own: OwnPods, now: datetime) -> Question:
    """What the engine is asked. Raises `NotComparable` where its answer would mean nothing."""
    if not shard.snapshot.nodes:
        raise NotComparable("noNodes")
    if shard.unreadable:
        raise NotComparable("schedulerBlind")
    if any(code == STALE or code.startswith(f"{NOT_READ}:") for code in shard.unknown):
        raise NotComparable("stale")
    if own.told:
        raise NotComparable("tooLate")
    manifest = rendered_manifest(workload)
    try:
        if manifest is None:
            raise NotComparable("notRendered")
        rendered = render_gangs(manifest, surroundings_of(workload.cluster), now=now.timestamp())
    except InvalidInput as error:
        raise NotComparable("notRendered") from error
    gangs = tuple(gang for gang in rendered.gangs if not gang.waits_for)
    if not gangs:
        raise NotComparable("notRendered")
    return Question(shards.without(shard.snapshot, own.groups, own.keys), shard.config, gangs)


def _verify(row: Prediction, now: datetime) -> Verified | None:
    """What came of it; None while the scheduler has not decided. Raises `NotComparable`."""
    workload = row.workload
    if workload is None or workload.is_being_deleted:
        raise NotComparable("deleted")
    if workload.generation != row.generation:
        raise NotComparable("edited")
    own = own_pods(workload)
    # What is large is read and unpacked only where it may be needed.
    evidence = _evidence(row) if own.told >= row.pods else None
    if evidence is None or not decided(evidence.question.gangs, own):
        if now - row.predicted_at > timedelta(seconds=settings.PREDICTION_WAIT_SECONDS):
            raise NotComparable("waited")
        return None
    if scheduler_version(row.cluster) != row.scheduler_version:
        raise NotComparable("schedulerChanged")
    if are_others(evidence.question.gangs, own):
        raise NotComparable("otherPods")
    shard = shard_snapshot(row.cluster, workload.node_pool.shard, now=now)
    seen = _seen(row, evidence, own, shard)
    wrong = misses(evidence.answer.expected, seen)
    if not wrong:
        return Verified(Agreement.RIGHT, [], seen)
    case, state = case_of(row, evidence.question, seen)
    return Verified(Agreement.WRONG, list(wrong), seen, case, state)


def _seen(row: Prediction, evidence: Evidence, own: OwnPods, shard: Shard) -> Seen:
    """What the scheduler did, if it acted on what the engine was asked about. Raises `NotComparable`."""
    before, after = evidence.question.snapshot, shards.without(shard.snapshot, own.groups, own.keys)
    gangs = {pod.podgroup for pod in before.pods if pod.key in evidence.answer.victims} | _evicted(row)
    spared = Spared(frozenset(gangs), ending=evidence.answer.verdict in MAKE_ROOM)
    changed = shards.changes(before, after, spared)
    if shard.config != evidence.question.config:
        changed.append("settings")
    if changed:
        raise NotComparable(f"changed:{','.join(changed)}")
    return seen_places(evidence.question.gangs, own, shards.victims(before, after, gangs))


def _evicted(row: Prediction) -> set[str]:
    """Keys of the gangs of which the scheduler says that it has evicted pods since; Events count whole seconds."""
    since = row.predicted_at.replace(microsecond=0)
    events = ClusterEvent.objects.filter(
        cluster=row.cluster_id, involved_kind="PodGroup", reason="Evict", last_seen_at__gte=since
    )
    return {f"{space}/{name}" for space, name in events.values_list("namespace", "involved_name")}


def _evidence(row: Prediction) -> Evidence:
    try:
        return shards.unpack(bytes(row.evidence or b""))
    except (msgspec.DecodeError, zlib.error) as error:  # another version stored it
        raise NotComparable("edited") from error


def _settle(row: Prediction, found: Verified, now: datetime) -> None:
    columns: dict[str, Any] = {
        "outcome": found.outcome,
        "reasons": found.reasons,
        "decided_at": now,
        "pods_placed": found.seen.pods if found.seen else None,
        "evidence": None,
        "case": found.case,
        "case_state": found.case_state,
    }
    with transaction.atomic():
        if Prediction.objects.filter(pk=row.pk, outcome=Agreement.OPEN).update(**columns):
            publish(f"{TOPIC}@{row.cluster_id}")
    if found.case:
        forget_old_cases(row.cluster_id)
