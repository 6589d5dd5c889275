"""Quota rows: one per department or project and node pool of its cluster, made where missing, never by hand."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils import timezone

from clusters.kinds import KAI_QUEUE
from clusters.models import Cluster, ClusterObject
from clusters.names import GPU_RESOURCE
from clusters.quantities import parse_quantity
from core.errors import InvalidInput
from organizations.models import Department, Project, Quota
from organizations.queue_names import queue_name
from organizations.quota import DEFAULTS
from topology.models import NodePool

USAGE = ("allocated", "allocatedNonPreemptible", "requested")
_PER_CORE = Decimal(1000)
_PER_BYTE = Decimal(1) / Decimal(10) ** 6


def ensure_quota_rows(owner: Department | Project) -> list[Quota]:
    """The owner's rows on every pool that is not being deleted, the missing ones made with the defaults."""
    field = "department" if isinstance(owner, Department) else "project"
    there = set(owner.quotas.values_list("node_pool_id", flat=True))
    missing = NodePool.objects.filter(cluster=owner.cluster_id, deletion_requested_at=None).exclude(pk__in=there)
    new = list(missing.order_by("pk"))
    if new:
        taken = taken_queue_names(owner.cluster)
        for pool in new:
            name = queue_name(field, owner.name, pool.name, taken)
            taken.add(name)
            Quota.objects.get_or_create(
                **{field: owner},
                node_pool=pool,
                defaults={"cluster_id": owner.cluster_id, "queue_name": name, **DEFAULTS},
            )
    return list(owner.quotas.select_related("node_pool").order_by("node_pool_id"))


def queue_names(owner: Department | Project) -> list[str]:
    """Names of the owner's queues, one a pool."""
    return list(owner.quotas.order_by("node_pool_id").values_list("queue_name", flat=True))


def taken_queue_names(cluster: Cluster) -> set[str]:
    """Names of queues in the cluster: of our rows, and of what others made there."""
    foreign = observed_queues(cluster).filter(owner="").values_list("name", flat=True)
    return {*Quota.objects.filter(cluster=cluster).values_list("queue_name", flat=True), *foreign}


def observed_queues(cluster: Cluster) -> "Any":
    """Queues as the watcher saw them last."""
    return ClusterObject.objects.filter(cluster=cluster, group=KAI_QUEUE.group, plural=KAI_QUEUE.plural)


def store_usage(cluster: Cluster, queues: Iterable[Mapping[str, Any]]) -> int:
    """Copy the status of Queues into the rows that they belong to. Returns how many rows changed.

    KAI's queue controller writes nothing into the status of an idle queue, so nothing means 0 where the controller
    is known to write in this cluster, and "not known" where it is not. Values are text in the units of `Quota`.
    """
    statuses = {str(queue["metadata"]["name"]): queue.get("status") or {} for queue in queues}
    works = any(map(_is_written, statuses.values())) or _controller_works(cluster)
    changed = 0
    for quota in Quota.objects.filter(cluster=cluster, queue_name__in=statuses):
        usage = usage_of(statuses[quota.queue_name], idle=works)
        if usage != quota.usage:
            changed += Quota.objects.filter(pk=quota.pk).update(usage=usage, usage_at=timezone.now())
    return changed


def _is_written(status: Mapping[str, Any]) -> bool:
    return any(status.get(key) for key in (*USAGE, "childQueues"))


def _controller_works(cluster: Cluster) -> bool:
    """Whether the queue controller has written into any queue of the cluster: usage, or a parent's children."""
    written = Q(manifest__status__allocated__isnull=False) | Q(manifest__status__childQueues__isnull=False)
    found: bool = observed_queues(cluster).filter(written).exists()
    return found


def usage_of(status: Mapping[str, Any], *, idle: bool = False) -> dict[str, dict[str, str]]:
    """A Queue's status in devices, millicores and MB. What is absent is left out, or 0 with `idle`."""
    found = {kind: status.get(kind) for kind in USAGE}
    if idle:
        return {kind: _amounts(amounts or {}) for kind, amounts in found.items()}
    return {kind: _amounts(amounts) for kind, amounts in found.items() if isinstance(amounts, Mapping)}


def _amounts(found: Mapping[str, Any]) -> dict[str, str]:
    gpu = _sum(found, (GPU_RESOURCE,))
    return {
        "gpu": f"{gpu.normalize():f}",
        "cpu": f"{(_sum(found, ('cpu',)) * _PER_CORE).normalize():f}",
        "memory": f"{(_sum(found, ('memory',)) * _PER_BYTE).normalize():f}",
    }


def _sum(found: Mapping[str, Any], names: tuple[str, ...]) -> Decimal:
    amount = Decimal(0)
    for name in names:
        try:
            amount += parse_quantity(found.get(name, 0))
        except InvalidInput:
            continue
    return amount


def used(quota: Quota, kind: str = "allocated") -> dict[str, Decimal]:
    """One kind of usage by resource; empty: not known."""
    found: dict[str, str] = (quota.usage or {}).get(kind) or {}
    return {resource: Decimal(text) for resource, text in found.items()}
