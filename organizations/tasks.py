"""Records how pools are divided, a task a cluster and round. A lost task leaves a gap, nothing else."""

from celery import shared_task
from django.utils import timezone

from clusters.models import Cluster
from organizations.fair_share_history import EVERY, delete_outdated, record_fair_shares


@shared_task(name="maintenance.fair-share")
def record_all() -> int:
    """Send one task per cluster that answers, drop what is too old; returns how many were sent."""
    delete_outdated()
    clusters = Cluster.objects.filter(deletion_requested_at=None).exclude(last_contact_at=None)
    pks = list(clusters.values_list("pk", flat=True))
    for pk in pks:
        record_one.apply_async((str(pk),), expires=EVERY.total_seconds())
    return len(pks)


@shared_task(name="maintenance.fair-share-cluster")
def record_one(pk: str) -> int:
    """Write down the pools of one cluster; returns how many."""
    cluster = Cluster.objects.filter(pk=pk).first()
    return record_fair_shares(cluster, now=timezone.now()) if cluster else 0
