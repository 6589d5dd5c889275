"""Queues in the clusters as the watcher saw them: what others made, and what is wrong, whoever made them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from accounts.permissions import reach
from clusters.models import Cluster
from organizations.queue_findings import QueueFinding, find_faults
from organizations.quota_rows import observed_queues


@dataclass(frozen=True, slots=True)
class ForeignQueue:
    """A queue that somebody else made: read-only."""

    name: str
    cluster: Cluster
    made_by: str
    parent: str
    quota: float | None
    limit: float | None


def foreign_queues(clusters: Sequence[Cluster]) -> list[ForeignQueue]:
    """Queues of others in the clusters, by name."""
    found = []
    for cluster in clusters:
        for row in observed_queues(cluster).filter(owner="").order_by("name"):
            spec = row.manifest.get("spec") or {}
            gpu = (spec.get("resources") or {}).get("gpu") or {}
            parent = str(spec.get("parentQueue") or "")
            quota, limit = _number(gpu.get("quota")), _number(gpu.get("limit"))
            found.append(ForeignQueue(row.name, cluster, row.made_by, parent, quota, limit))
    return found


def _number(value: Any) -> float | None:
    """None for what is none: a CRD of another version lets in texts."""
    return value if isinstance(value, int | float) else None


def queue_faults(clusters: Sequence[Cluster]) -> list[tuple[Cluster, QueueFinding]]:
    """What is wrong with the queues of the clusters, whoever made them."""
    return [
        (cluster, fault)
        for cluster in clusters
        for fault in find_faults(row.manifest for row in observed_queues(cluster))
    ]


def readable_clusters(user: User | AnonymousUser, chosen: Cluster | None) -> list[Cluster]:
    """Clusters of which `user` may read everything about departments, for what is not ours to scope."""
    where = reach(user, "department:read")
    rows = Cluster.objects.all() if where.everywhere else Cluster.objects.filter(pk__in=where.clusters)
    return list(rows.filter(pk=chosen.pk) if chosen else rows.order_by("name"))
