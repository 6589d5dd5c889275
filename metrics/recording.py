"""Reads a cluster's exporters and keeps what they say: a frame a minute for hours, a roll-up for days."""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from clusters.models import Cluster, Pod
from core.errors import MusterError
from core.live import publish
from metrics.frames import (
    Frame,
    Layout,
    carried_over,
    extend,
    frame_of,
    mean_of,
    pack,
    unpack_bytes,
    unpack_flags,
    unpack_owners,
)
from metrics.models import MetricFrame, MetricSource
from metrics.scrape import ROUND_SECONDS, Round, Source, Target, find_targets, read_round

STEP = 60
ROLLUP = 600
KEEP = {STEP: timedelta(hours=6), ROLLUP: timedelta(days=7)}
TARGETS_AGE = timedelta(minutes=2)
AT_MOST = timedelta(seconds=100)
LONG_ROUND_SECONDS = 5.0
LONGEST = timedelta(minutes=10)
CARRIED_FOR = timedelta(minutes=10)
LAST = "~"  # after every time
MOST_GONE = 500
TOPIC = MetricFrame._meta.label


def interval_of(source: MetricSource, shortest: timedelta) -> timedelta:
    """The time between the beginnings of two rounds: where they take long, twice what the last one took, so that a
    large cluster is not read all the time."""
    if source.round_seconds < LONG_ROUND_SECONDS:
        return shortest
    return min(max(shortest, timedelta(seconds=2 * source.round_seconds)), LONGEST)


def take_turn(cluster: Cluster, *, not_sooner_than: timedelta) -> MetricSource | None:
    """The cluster's source where nobody reads it now and the last round began long enough ago; else None."""
    now = timezone.now()
    known, _made = MetricSource.objects.get_or_create(cluster=cluster)
    free = (Q(busy_until=None) | Q(busy_until__lte=now)) & (
        Q(started_at=None) | Q(started_at__lte=now - interval_of(known, not_sooner_than))
    )
    taken = MetricSource.objects.filter(free, cluster=cluster).update(busy_until=now + AT_MOST, started_at=now)
    return MetricSource.objects.get(cluster=cluster) if taken else None


def record(source: MetricSource, gateway: Source, *, seconds: float = ROUND_SECONDS) -> int:
    """One round: ask, keep, give the turn back; returns how many GPUs were read. A failure is kept with its reason
    and leaves what was known before, with its age; so does a turn that does not come within `seconds`, and the next
    round begins with those."""
    began = time.monotonic()
    try:
        targets = _targets(source, gateway)
        waited = sorted(targets, key=lambda target: source.waiting.get(target.node, LAST))
        result = read_round(gateway, waited, seconds=seconds - (time.monotonic() - began))
    except MusterError as error:
        MetricSource.objects.filter(pk=source.pk).update(error=error.message, busy_until=None)
        return 0
    counted = sum(len(gpus) for gpus in result.readings.values())
    now = timezone.now()
    failure = "" if result.readings else _nothing(targets, result)
    waiting = _waiting(source, result)
    status: dict[str, Any] = {"error": failure, "failures": result.failures, "waiting": waiting, "busy_until": None}
    if result.readings:
        layout = _layout(source, result)
        owners = owner_keys(source.cluster_id, result)
        frame = frame_of(layout, result.readings, owners)
        _keep(source.cluster_id, layout, _with_waiting(source, layout, frame, waiting), now)
        mig = [part for part in source.mig if waiting.get(part["node"])] + _mig(result, owners)
        status |= {"nodes": list(layout.nodes), "read_at": now, "mig": mig}
    status["round_seconds"] = time.monotonic() - began
    MetricSource.objects.filter(pk=source.pk).update(**status)
    publish(f"{TOPIC}@{source.cluster_id}")
    return counted


def _waiting(source: MetricSource, result: Round) -> dict[str, str]:
    """When the nodes whose turn did not come were last read; "" for never, or so long ago that it says nothing."""
    oldest = (timezone.now() - CARRIED_FOR).isoformat()
    read_at = source.read_at.isoformat() if source.read_at else ""
    before = set(source.nodes) - set(source.failures)
    waiting = {}
    for node in sorted(result.waiting):
        last = source.waiting.get(node, read_at if node in before else "")
        waiting[node] = last if last > oldest else ""
    return waiting


def _with_waiting(source: MetricSource, layout: Layout, frame: Frame, waiting: Mapping[str, str]) -> Frame:
    """The frame with the last figures of the nodes that still wait: older, which pages say, and not unmeasured."""
    nodes = [node for node, last in waiting.items() if last]
    row = MetricFrame.objects.filter(cluster=source.cluster_id, step=STEP).order_by("-at").first() if nodes else None
    if row is None:
        return frame
    figures = {name: unpack_bytes(getattr(row, name), layout.size) for name in ("utilisation", "memory", "temperature")}
    present, owner = unpack_flags(bytes(row.present), layout.size), unpack_owners(bytes(row.owner), layout.size)
    before = Frame(**figures, present=present, owner=owner, owners=tuple(row.owners))
    return carried_over(frame, layout, before=before, nodes=nodes)


def owner_keys(cluster_id: Any, result: Round) -> Mapping[tuple[str, str], str]:
    """For each pod that the exporters name: its workload's id, else nothing (the pod's own name is used)."""
    named = {
        owner.pod
        for gpus in result.readings.values()
        for gpu in gpus
        for owner in (gpu.owner, *(part.owner for part in gpu.mig))
        if owner is not None
    }
    rows = Pod.objects.filter(cluster=cluster_id, gpus__gt=0).exclude(workload="")
    return {
        (namespace, name): workload
        for namespace, name, workload in rows.values_list("namespace", "name", "workload").iterator()
        if name in named
    }


def _layout(source: MetricSource, result: Round) -> Layout:
    """The layout with the nodes of this round. When most of what it holds is gone, it begins anew, and so does the
    history: positions mean nothing across layouts."""
    known = Layout(tuple(source.nodes))
    gone = len(set(known.nodes) - set(result.readings) - set(result.failures) - result.waiting)
    if gone > max(MOST_GONE, 2 * len(result.readings)):
        MetricFrame.objects.filter(cluster=source.cluster_id).delete()
        known = Layout(())
    return extend(known, list(result.readings))


def _targets(source: MetricSource, gateway: Source) -> tuple[Target, ...]:
    now = timezone.now()
    if source.targets_at is not None and source.targets_at > now - TARGETS_AGE and source.targets:
        return tuple(Target(**target) for target in source.targets)
    targets = find_targets(gateway)
    MetricSource.objects.filter(pk=source.pk).update(targets=[target.as_dict() for target in targets], targets_at=now)
    return targets


def _nothing(targets: tuple[Target, ...], result: Round) -> str:
    if not targets:
        return "The cluster has no dcgm-exporter pod."
    why = next(iter(result.failures.values()), "no GPU" if not result.waiting else "the time was over")
    return f"None of {len(targets)} exporters answered: {why}"


def _mig(result: Round, owners: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    return [
        {
            "node": node,
            "gpu": gpu.index,
            "instance": part.instance,
            "profile": part.profile,
            "utilisation": part.utilisation,
            "owner": owners.get((part.owner.namespace, part.owner.pod), f"{part.owner.namespace}/{part.owner.pod}")
            if part.owner
            else "",
        }
        for node, gpus in sorted(result.readings.items())
        for gpu in gpus
        for part in gpu.mig
    ]


def _keep(cluster_id: Any, layout: Layout, frame: Frame, now: datetime) -> None:
    """Store the frame of this minute; when a roll-up's time is over, make it; delete what is too old."""
    minute = _floor(now, STEP)
    _store(cluster_id, STEP, minute, _columns(frame))
    begin = _floor(now, ROLLUP) - timedelta(seconds=ROLLUP)
    if not MetricFrame.objects.filter(cluster=cluster_id, step=ROLLUP, at=begin).exists():
        _roll_up(cluster_id, layout, begin)
        for step, age in KEEP.items():
            MetricFrame.objects.filter(cluster=cluster_id, step=step, at__lt=now - age).delete()


def _roll_up(cluster_id: Any, layout: Layout, begin: datetime) -> None:
    end = begin + timedelta(seconds=ROLLUP)
    rows = list(MetricFrame.objects.filter(cluster=cluster_id, step=STEP, at__gte=begin, at__lt=end).order_by("at"))
    if not rows:
        return
    last = rows[-1]
    columns: dict[str, Any] = {"present": last.present, "owner": last.owner, "owners": last.owners}
    for name in ("utilisation", "memory", "temperature"):
        columns[name] = pack(mean_of([unpack_bytes(getattr(row, name), layout.size) for row in rows]))
    _store(cluster_id, ROLLUP, begin, columns)


def _store(cluster_id: Any, step: int, at: datetime, columns: Mapping[str, Any]) -> None:
    rows = MetricFrame.objects.filter(cluster=cluster_id, step=step, at=at)
    if rows.update(**columns):
        return
    try:
        with transaction.atomic():
            MetricFrame.objects.create(cluster_id=cluster_id, step=step, at=at, **columns)
    except IntegrityError:  # another process made it first
        rows.update(**columns)


def _columns(frame: Frame) -> dict[str, Any]:
    return {
        "utilisation": pack(frame.utilisation),
        "memory": pack(frame.memory),
        "temperature": pack(frame.temperature),
        "present": pack(frame.present),
        "owner": pack(frame.owner),
        "owners": list(frame.owners),
    }


def _floor(moment: datetime, step: int) -> datetime:
    seconds = int(moment.timestamp()) // step * step
    return datetime.fromtimestamp(seconds, tz=moment.tzinfo)
