"""Reads GPU metrics: one task a cluster and round, however many GPUs it has. A lost task is made up by the next."""

from datetime import timedelta

from celery import shared_task

from clusters.connections import gateway_for
from clusters.models import Cluster
from metrics.recording import record, take_turn

ROUND_SECONDS = 15.0


@shared_task(name="metrics.tick")
def tick() -> int:
    """Send one task per cluster that answers; returns how many."""
    clusters = Cluster.objects.filter(deletion_requested_at=None).exclude(last_contact_at=None)
    pks = list(clusters.values_list("pk", flat=True))
    for pk in pks:
        scrape.apply_async((str(pk),), expires=ROUND_SECONDS * 2)
    return len(pks)


@shared_task(name="metrics.scrape")
def scrape(pk: str) -> int:
    """One round over a cluster's exporters; returns how many GPUs were read."""
    cluster = Cluster.objects.filter(pk=pk).first()
    source = take_turn(cluster, not_sooner_than=timedelta(seconds=ROUND_SECONDS * 0.8)) if cluster else None
    return record(source, gateway_for(cluster)) if cluster and source else 0
