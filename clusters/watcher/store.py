"""Writes what a stream has read into the observed tables: one transaction a batch, changed rows only.

The transaction repeats the lease on the cluster, so a watcher that lost it cannot write any more.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from clusters.models import Cluster, ClusterEvent, ClusterObject, Node, Observed, Pod
from clusters.names import OWNER_LABEL, QUEUE_LABEL, WORKLOAD_LABEL
from clusters.watcher.changes import Change
from clusters.watcher.memory import charge, charge_again
from clusters.watcher.observed import ObservedKind
from clusters.watcher.pending import Batch
from clusters.watcher.rows import GRAPH_LABEL
from core.live import publish

LEASE = timedelta(seconds=30)
CHUNK = 500
GPU_COUNTS = ("gpu_capacity", "gpu_allocatable")
KEPT_CHANGES = 10
VERSIONS = {
    Node: {"nodes_version": F("nodes_version") + 1},
    Pod: {"pods_version": F("pods_version") + 1},
    ClusterObject: {"objects_version": F("objects_version") + 1},
}


class LeaseLost(Exception):
    """Another watcher has the cluster now: nothing was written, and nothing may be."""


def known_versions(cluster_id: UUID, kind: ObservedKind) -> dict[str, str]:
    """uid → resource version of the rows of one kind. One query."""
    rows = kind.model._default_manager.filter(cluster_id=cluster_id, **kind.scope)
    return dict(rows.values_list("uid", "resource_version"))


def claim(cluster_id: UUID, watcher: str) -> bool:
    """Take or keep the lease on a cluster; False: another watcher has it."""
    now = timezone.now()
    free = Cluster.objects.filter(pk=cluster_id).exclude(watcher_until__gt=now, watcher__gt="")
    mine = Cluster.objects.filter(pk=cluster_id, watcher=watcher)
    lease = {"watcher": watcher, "watcher_until": now + LEASE}
    return bool(mine.update(**lease) or free.update(**lease))


def release(cluster_id: UUID, watcher: str) -> None:
    """Give the lease back, so that another watcher can go on at once."""
    Cluster.objects.filter(pk=cluster_id, watcher=watcher).update(watcher="", watcher_until=None)


def write_batch(cluster_id: UUID, watcher: str, kind: ObservedKind, batch: Batch) -> list[Change]:
    """Make the batch true in the database; what changed. Raises `LeaseLost`, and the database's errors.

    An empty batch costs no statement.
    """
    if not batch:
        return []
    with transaction.atomic():
        lease = {"watcher_until": timezone.now() + LEASE, **VERSIONS.get(kind.model, {})}
        if not Cluster.objects.filter(pk=cluster_id, watcher=watcher).update(**lease):
            raise LeaseLost
        changes = _delete(cluster_id, kind, batch.deletes)
        items = iter(batch.upserts.values())
        while chunk := list(islice(items, CHUNK)):
            changes += _upsert(cluster_id, kind, chunk)
        if changes:
            publish(f"{kind.model._meta.label}@{cluster_id}")
    return changes


def _upsert(cluster_id: UUID, kind: ObservedKind, items: Sequence[Any]) -> list[Change]:
    """Rows are made for a chunk at a time: those of a whole list at once would be most of the watcher's memory."""
    manager = kind.model._default_manager
    rows = [kind.row(item) for item in items]
    columns = ("uid", *GPU_COUNTS, "gpu_changes", "gpu_memory_mib") if kind.model is Node else ("uid",)
    found = manager.filter(cluster_id=cluster_id, uid__in=[row.uid for row in rows])
    old: dict[str, list[Any]] = {uid: rest for uid, *rest in found.values_list(*columns)}
    for row in rows:
        row.cluster_id = cluster_id
        if kind.model is Node:
            row.gpu_changes = _gpu_changes(row, old.get(row.uid))
    if kind.model is Pod:
        charge(cluster_id, rows)
    manager.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=("cluster", "uid"),
        update_fields=_columns(kind.model),
    )
    if kind.model is Node:
        charge_again(cluster_id, [row for row in rows if [row.gpu_memory_mib] != old.get(row.uid, [None])[-1:]])
    return [_change(kind, row, "modified" if row.uid in old else "added") for row in rows]


def _gpu_changes(node: Node, old: Sequence[Any] | None) -> list[str]:
    """When the node's GPU counts changed last, this time included; nothing for a node that was not known."""
    if old is None:
        return []
    *counts, changes, _memory = old
    if counts == [getattr(node, name) for name in GPU_COUNTS]:
        return list(changes)
    return [*changes, timezone.now().isoformat(timespec="seconds")][-KEPT_CHANGES:]


def _delete(cluster_id: UUID, kind: ObservedKind, uids: frozenset[str]) -> list[Change]:
    changes = []
    ordered = sorted(uids)
    for start in range(0, len(ordered), CHUNK):
        doomed = kind.model._default_manager.filter(cluster_id=cluster_id, uid__in=ordered[start : start + CHUNK])
        changes += [_change(kind, row, "deleted") for row in doomed]
        doomed.delete()
    return changes


def _columns(model: type[Observed]) -> list[str]:
    return [f.name for f in model._meta.concrete_fields if f.name not in ("id", "cluster", "uid")]


def _change(kind: ObservedKind, row: Any, type_: Any) -> Change:
    labels: dict[str, str] = {}
    owner = namespace = ""
    about = ("", "")
    if isinstance(row, Node):
        labels, owner = row.labels, row.labels.get(OWNER_LABEL, "")
    elif isinstance(row, ClusterObject):
        labels = row.manifest["metadata"].get("labels") or {}
        owner, namespace = row.owner, row.namespace
    elif isinstance(row, Pod | ClusterEvent):
        namespace = row.namespace
        labels = _pod_labels(row) if isinstance(row, Pod) else {}
    if isinstance(row, ClusterEvent):
        about = (row.involved_kind, row.involved_name)
    return Change(kind.versions[0], type_, row.name, namespace, row.uid, labels, owner, about)


def _pod_labels(pod: Pod) -> dict[str, str]:
    """The labels that are kept of a pod."""
    kept = {WORKLOAD_LABEL: pod.workload, QUEUE_LABEL: pod.queue, GRAPH_LABEL: pod.graph}
    return {key: value for key, value in kept.items() if value}
