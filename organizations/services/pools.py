"""What a new or a deleted node pool means to departments and projects."""

from core import leases
from core.hints import hint_reconcile
from organizations.models import Department, Project
from organizations.quota_rows import ensure_quota_rows
from topology.models import NodePool


def node_pool_changed(pool: NodePool) -> None:
    """Every department and project of the cluster gets its quota row on a new pool, or loses its queue on one that
    is being deleted. Runs in the transaction of the change."""
    departments = Department.objects.filter(cluster=pool.cluster_id, deletion_requested_at=None)
    projects = Project.objects.filter(cluster=pool.cluster_id, deletion_requested_at=None)
    for owner in [*departments.select_related("cluster"), *projects.select_related("cluster")]:
        if not pool.is_being_deleted:
            ensure_quota_rows(owner)
        leases.poke(type(owner), [owner.pk])
        hint_reconcile(owner)
