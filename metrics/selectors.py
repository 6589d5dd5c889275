"""Reads recorded GPU metrics: per cluster, pool, node, project, workload and GPU; now and over the last hours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from django.contrib.auth.models import AnonymousUser
from django.db.models import Sum
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.models import User
from clusters.models import Cluster, Node
from clusters.selectors import running_pods
from metrics.frames import UNMEASURED, Layout, unpack_bytes, unpack_flags, unpack_owners
from metrics.models import MetricFrame, MetricSource
from metrics.recording import KEEP, ROLLUP, STEP, interval_of
from metrics.series import (
    Moment,
    Point,
    Summary,
    node_positions,
    owned_by,
    owner_positions,
    point,
    positions,
    summary,
    together,
    with_expected,
)
from topology.models import NodePool
from workloads.models import Workload

# Frames × GPU positions that one chart reads.
MOST_POSITIONS = 8_000_000
STALE_AFTER = timedelta(seconds=90)
Person = User | AnonymousUser


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old what is known is. `state`: fresh, stale (with the reason), or unknown (nothing was ever read).

    `waiting` nodes were not reached in the last round: their figures are as old as `oldest_at`, or unknown.
    """

    state: str
    read_at: datetime | None = None
    error: str = ""
    failing: int = 0
    waiting: int = 0
    oldest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GpuNow:
    """One GPU now: None = not measured."""

    index: int
    utilisation: int | None
    memory: int | None
    temperature: int | None
    owner: str


@dataclass(frozen=True, slots=True)
class Group:
    """A row of the utilisation page: a pool, project, workload or node."""

    key: str
    label: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Series:
    """A named line."""

    name: str
    points: tuple[Point, ...] = field(default=())


def freshness(cluster: Cluster, *, node: str = "") -> Freshness:
    """Whether the GPU metrics of the cluster, or of one node of it, are current. A large cluster is read less often."""
    source = MetricSource.objects.filter(cluster=cluster).first()
    if source is None or source.read_at is None:
        return Freshness("unknown", None, source.error if source else "")
    may_be_old = max(STALE_AFTER, 3 * interval_of(source, timedelta(0)))
    read_at = source.read_at
    waiting = [moment for text in source.waiting.values() if (moment := parse_datetime(text))]
    if node in source.waiting:
        found = parse_datetime(source.waiting[node])
        if found is None:
            return Freshness("unknown", None, source.error)
        read_at = found
    state = "stale" if timezone.now() - read_at > may_be_old else "fresh"
    left = 0 if node else len(source.waiting)
    return Freshness(state, read_at, source.error, len(source.failures), left, min(waiting, default=None))


def layout_of(cluster: Cluster) -> Layout:
    """Which GPU stands where in the cluster's frames."""
    nodes = MetricSource.objects.filter(cluster=cluster).values_list("nodes", flat=True).first()
    return Layout(tuple(nodes or ()))


def latest(cluster: Cluster, layout: Layout) -> Moment | None:
    """The newest frame; None where there is none."""
    row = MetricFrame.objects.filter(cluster=cluster, step=STEP).order_by("-at").first()
    return _whole(row, layout) if row else None


def history(cluster: Cluster, layout: Layout, hours: int, *, owners: bool = False) -> list[Moment]:
    """The frames of the last hours, oldest first: minutes while they are kept, else roll-ups. Of a large cluster
    only every second, third … frame is read, so that a chart costs the same. `owners`: with the owners' keys."""
    step = STEP if timedelta(hours=hours) <= KEEP[STEP] else ROLLUP
    since = timezone.now() - timedelta(hours=hours)
    rows = MetricFrame.objects.filter(cluster=cluster, step=step, at__gte=since).order_by("at")
    stride = max(1, rows.count() * layout.size // MOST_POSITIONS)
    if stride > 1:
        chosen = list(rows.order_by("-at").values_list("pk", flat=True))[::stride]
        rows = rows.filter(pk__in=chosen)
    left_out = ("memory", "temperature") if owners else ("memory", "temperature", "owners")
    return [_moment(row, layout, owners=owners) for row in rows.defer(*left_out).iterator(chunk_size=50)]


def utilisation_over_time(clusters: Iterable[Cluster], hours: int = 6) -> list[Series]:
    """For the overview: per cluster the average over all measured GPUs, in percent."""
    found = []
    for cluster in clusters:
        layout = layout_of(cluster)
        moments = history(cluster, layout, hours)
        if moments:
            found.append(Series(cluster.name, tuple(point(moment) for moment in moments)))
    return found


def cluster_series(moments: Sequence[Moment]) -> list[Series]:
    """All GPUs, and those that somebody holds."""
    return [
        Series("all", tuple(point(moment) for moment in moments)),
        Series("held", tuple(point(moment, held_only=True) for moment in moments)),
    ]


def node_gpus(node: Node) -> tuple[GpuNow, ...]:
    """The GPUs of a node now, in their order; empty where its exporter never answered."""
    layout = layout_of(node.cluster)
    moment = latest(node.cluster, layout)
    if moment is None or node.name not in layout.nodes:
        return ()
    start = layout.nodes.index(node.name) * layout.slots
    gpus = [_gpu_now(moment, start + slot, slot) for slot in range(layout.slots) if moment.present[start + slot]]
    return tuple(gpus)


def node_series(node: Node, hours: int) -> list[Series]:
    """One line per GPU of the node."""
    layout = layout_of(node.cluster)
    if node.name not in layout.nodes:
        return []
    start = layout.nodes.index(node.name) * layout.slots
    moments = history(node.cluster, layout, hours)
    slots = [slot for slot in range(layout.slots) if any(moment.present[start + slot] for moment in moments)]
    return [Series(str(slot), tuple(_one(moment, start + slot) for moment in moments)) for slot in slots]


def pool_now(pool: NodePool) -> Summary | None:
    """The GPUs of a node pool now; None where nothing was recorded."""
    layout = layout_of(pool.cluster)
    moment = latest(pool.cluster, layout)
    if moment is None:
        return None
    group = _node_groups(pool.cluster, moment, layout, "pool")
    return next((found.summary for found in group if found.key == ("default" if pool.is_default else pool.name)), None)


def pool_series(pool: NodePool, hours: int) -> list[Series]:
    """All GPUs of the pool, and those that somebody holds."""
    layout = layout_of(pool.cluster)
    mask = positions(layout, _pool_nodes(pool))
    moments = history(pool.cluster, layout, hours)
    every = tuple(point(moment, mask) for moment in moments)
    held = tuple(point(moment, mask, held_only=True) for moment in moments)
    return [Series("all", every), Series("held", held)] if any(p.measured for p in every) else []


def _pool_nodes(pool: NodePool) -> list[str]:
    label = pool.shard
    return list(Node.objects.filter(cluster=pool.cluster_id, node_pool=label).values_list("name", flat=True))


def workload_series(workload: Workload, hours: int) -> list[Series]:
    """The GPUs that the workload held at each moment: their average and maximum."""
    layout = layout_of(workload.cluster)
    moments = history(workload.cluster, layout, hours, owners=True)
    points = tuple(point(moment, owned_by(moment, [str(workload.pk)])) for moment in moments)
    return [Series(workload.name, points)] if any(p.measured for p in points) else []


def workload_now(workload: Workload) -> Summary | None:
    """The GPUs that the workload holds now; None where nothing was recorded."""
    layout = layout_of(workload.cluster)
    moment = latest(workload.cluster, layout)
    if moment is None:
        return None
    figures = summary(moment, owned_by(moment, [str(workload.pk)]))
    return with_expected(figures, gpus=int(workload.gpus_held), held=int(workload.gpus_held))


def cluster_now(cluster: Cluster, moment: Moment) -> Summary:
    """Figures now over the cluster, with the GPUs that no exporter lists as unmeasured."""
    gpus = Node.objects.filter(cluster=cluster).aggregate(gpus=Sum("gpu_capacity"))["gpus"] or 0
    return with_expected(summary(moment), gpus=gpus, held=int(sum(_held_by(cluster, "node_name").values())))


def groups_now(user: Person, cluster: Cluster, moment: Moment, layout: Layout, by: str) -> list[Group]:
    """Figures now per pool, node, project or workload, the emptiest held GPUs first. What the viewer may not see is
    one group without a name. GPUs that no exporter lists count as unmeasured."""
    if by in ("pool", "node"):
        found = _node_groups(cluster, moment, layout, by)
    else:
        found = _owner_groups(user, cluster, moment, by)
    return sorted((group for group in found if group.summary.gpus), key=_emptiest)


def _node_groups(cluster: Cluster, moment: Moment, layout: Layout, by: str) -> list[Group]:
    held = _held_by(cluster, "node_name")
    names: dict[str, list[tuple[str, int]]] = {}
    for name, pool, gpus in Node.objects.filter(cluster=cluster).values_list("name", "node_pool", "gpu_capacity"):
        names.setdefault((pool or "default") if by == "pool" else name, []).append((name, gpus))
    found, places = [], node_positions(layout)
    for key, nodes in names.items():
        figures = summary(moment, together(places, [name for name, _gpus in nodes]))
        taken = int(sum(held.get(name, 0) for name, _gpus in nodes))
        found.append(Group(key, key, with_expected(figures, gpus=sum(gpus for _name, gpus in nodes), held=taken)))
    return found


def _held_by(cluster: Cluster, column: str) -> dict[str, Decimal]:
    """GPUs that bound pods hold, by a column of the pods."""
    rows = running_pods().filter(cluster=cluster, gpus__gt=0).exclude(node_name="")
    return dict(rows.values_list(column).annotate(Sum("gpus")))


def _owner_groups(user: Person, cluster: Cluster, moment: Moment, by: str) -> list[Group]:
    visible = Workload.objects.visible_to(user).filter(cluster=cluster).select_related("project")
    known = {str(row.pk): row for row in visible}
    held = {workload: int(gpus) for workload, gpus in _held_by(cluster, "workload").items() if workload}
    keys: dict[tuple[str, str], list[str]] = {}
    for owner in dict.fromkeys((*moment.owners, *held)):
        keys.setdefault(_owner_label(owner, known, by), []).append(owner)
    found, places = [], owner_positions(moment)
    for (key, label), owners in keys.items():
        taken = sum(held.get(owner, 0) for owner in owners)
        found.append(
            Group(key, label, with_expected(summary(moment, together(places, owners)), gpus=taken, held=taken))
        )
    return found


def _owner_label(owner: str, known: Mapping[str, Workload], by: str) -> tuple[str, str]:
    row = known.get(owner)
    if row is None:
        return ("", "")
    return (str(row.project_id), row.project.name) if by == "project" else (owner, row.name)


def _emptiest(group: Group) -> tuple[bool, float, str]:
    average = group.summary.held_average
    return (average is None, average or 0.0, group.label)


def _moment(row: MetricFrame, layout: Layout, *, owners: bool) -> Moment:
    """The utilisation of a frame, unpacked; memory and temperature are left empty."""
    size = layout.size
    nothing = np.empty(0, np.uint8)
    return Moment(
        at=row.at,
        utilisation=unpack_bytes(bytes(row.utilisation), size),
        memory=nothing,
        temperature=nothing,
        present=unpack_flags(bytes(row.present), size),
        owner=unpack_owners(bytes(row.owner), size),
        owners=tuple(row.owners) if owners else (),
    )


def _whole(row: MetricFrame, layout: Layout) -> Moment:
    """The frame unpacked."""
    size = layout.size
    return Moment(
        at=row.at,
        utilisation=unpack_bytes(bytes(row.utilisation), size),
        memory=unpack_bytes(bytes(row.memory), size),
        temperature=unpack_bytes(bytes(row.temperature), size),
        present=unpack_flags(bytes(row.present), size),
        owner=unpack_owners(bytes(row.owner), size),
        owners=tuple(row.owners),
    )


def _gpu_now(moment: Moment, at: int, slot: int) -> GpuNow:
    number = int(moment.owner[at])
    return GpuNow(
        slot,
        _known(moment.utilisation[at]),
        _known(moment.memory[at]),
        _known(moment.temperature[at]),
        moment.owners[number - 1] if number else "",
    )


def _one(moment: Moment, at: int) -> Point:
    value = _known(moment.utilisation[at])
    return Point(moment.at, value, value, 0 if value is None else 1)


def _known(value: Any) -> int | None:
    return None if value == UNMEASURED else int(value)
