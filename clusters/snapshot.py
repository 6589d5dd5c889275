"""One shard of a cluster as the engine reads it, from the observed rows alone.

The structs of a cluster's rows are kept in this process and read again where a row's resource version changed, so
that a large cluster costs one narrow query a table and what really moved. What rows cannot tell is named.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_TOPOLOGY, NODE, POD
from clusters.models import Cluster
from clusters.operators.objects import mapping_of
from clusters.selectors import watch_state
from clusters.snapshot_rows import ClusterRows, known_pod_labels
from scheduling.objects import UnreadableObject, merge_equal_names, shard_config
from scheduling.shards import pool_of_labels
from scheduling.structs import FINISHED, Pod, SchedulerConfig, Snapshot

KINDS = (NODE, POD, KAI_QUEUE, KAI_POD_GROUP, KAI_TOPOLOGY)
MOST = 4

# Codes of `Shard.unknown`.
OTHER_PODS = "otherPods"
"""CPU, memory and pod slots of pods that ask for no GPU and belong to no queue; they are not mirrored."""
SCHEDULER_FLAGS = "schedulerFlags"
"""Command-line settings of the scheduler (staleness grace, search bounds, usage database)."""
POD_LABELS = "podLabels"
"""A pod has terms on labels of other pods that the mirror does not keep."""
STALE = "stale"
"""The watcher does not hear the cluster: what is known is old."""
NOT_READ = "notRead"
"""`notRead:<plural>`: the cluster's list of this kind failed, or is not served."""


@dataclass(frozen=True, slots=True)
class Shard:
    """What the scheduler of one node pool sees, as far as rows tell. `observed_at`: the oldest moment at which a
    stream was heard, None before the first list; `unknown`: codes above; `unreadable`: objects that blind KAI's typed
    readers, so that its scheduler decides nothing until they are mended."""

    snapshot: Snapshot
    config: SchedulerConfig
    observed_at: datetime | None
    unknown: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def shard_snapshot(cluster: Cluster, pool: str, *, now: datetime) -> Shard:
    """The shard of a pool ("" is the default one: nodes, queues and pod groups without the label). At most 7 queries
    where something changed, 1 where nothing did."""
    rows = _rows_of(cluster.pk)
    with rows.lock:
        rows.refresh()
        nodes = tuple(node for node in rows.nodes() if pool_of_labels(node.labels) == pool)
        groups = {group.key: group for group in rows.pod_groups() if group.pool == pool}
        pods = _pods_of(rows, set(groups), {node.name for node in nodes})
        pods = merge_equal_names(groups, pods)
        snapshot = Snapshot(
            nodes=nodes,
            queues=tuple(queue for queue in rows.queues() if queue.pool == pool),
            podgroups=tuple(groups.values()),
            pods=tuple(pods),
            topologies=tuple(rows.topologies()),
            now=now.timestamp(),
            pool=pool,
        )
        config, unreadable = _config(rows, pool)
    observed_at, unheard = _heard(cluster, now)
    return Shard(snapshot, config, observed_at, (*unheard, *_unknown(snapshot)), unreadable)


def pools_of(cluster: Cluster) -> tuple[str, ...]:
    """The pools that a scheduler works on: the default one, and one per SchedulingShard with a value. 1 query."""
    rows = _rows_of(cluster.pk)
    with rows.lock:
        rows.refresh()
        values = {_pool_of(shard) for shard in rows.shards()}
    return ("", *sorted(values - {""}))


def _pods_of(rows: ClusterRows, groups: set[str], names: set[str]) -> list[Pod]:
    return [pod for pod in rows.pods() if pod.podgroup in groups or (pod.node in names and pod.phase not in FINISHED)]


def _shard_of(rows: ClusterRows, pool: str) -> dict[str, object] | None:
    shards = rows.shards()
    return next((shard for shard in shards if _pool_of(shard) == pool), None)


def _config(rows: ClusterRows, pool: str) -> tuple[SchedulerConfig, tuple[str, ...]]:
    """The settings of a pool's scheduler, KAI's own where its shard cannot be read, and all that cannot be read."""
    try:
        return shard_config(_shard_of(rows, pool)), rows.unreadable()
    except UnreadableObject as error:
        return shard_config(None), tuple(sorted((*rows.unreadable(), str(error))))


def _pool_of(shard: dict[str, Any]) -> str:
    return str(mapping_of(shard.get("spec")).get("partitionLabelValue") or "")


def _heard(cluster: Cluster, now: datetime) -> tuple[datetime | None, tuple[str, ...]]:
    """When the streams were heard, the oldest of them, and which were not."""
    streams = {kind.plural: cluster.streams.get(kind.plural) or {} for kind in KINDS}
    moments = [parse_datetime(state.get("eventAt") or state.get("listedAt") or "") for state in streams.values()]
    unheard = [
        f"{NOT_READ}:{plural}"
        for plural, state in streams.items()
        if not state.get("listedAt") or state.get("error") or not state.get("served", True)
    ]
    stale = [STALE] if watch_state(cluster, *streams, now=now).stale else []
    return min((moment for moment in moments if moment), default=None), (*stale, *unheard)


def _unknown(snapshot: Snapshot) -> tuple[str, ...]:
    terms = (term for pod in snapshot.pods for term in (*pod.anti_affinity, *pod.pod_affinity))
    keys = {requirement.key for term in terms for requirement in term.match}
    return (OTHER_PODS, SCHEDULER_FLAGS, *([POD_LABELS] if keys - known_pod_labels() else []))


@dataclass(slots=True)
class _Kept:
    rows: "OrderedDict[UUID, ClusterRows]" = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)


_kept = _Kept()


def _rows_of(cluster_id: UUID) -> ClusterRows:
    """The kept structs of a cluster; those of the `MOST` clusters used last stay."""
    with _kept.lock:
        rows = _kept.rows.setdefault(cluster_id, ClusterRows(cluster_id))
        _kept.rows.move_to_end(cluster_id)
        while len(_kept.rows) > MOST:
            _kept.rows.popitem(last=False)
        return rows
