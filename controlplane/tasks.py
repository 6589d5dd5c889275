"""The tasks of the workers. Each may be lost or run twice; what is due is in the database."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import structlog
from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.utils import timezone

from clusters.models import Cluster
from controlplane import jobs, retention
from controlplane.celery import TICK_SECONDS
from controlplane.reconcilers import RECONCILERS, by_label, wake_failed
from core import leases
from core.reconciling import Reconciler, give_up, reconcile_claimed

log = structlog.get_logger(__name__)

# How long one task stays with one cluster, and how long a single row may take before the cluster counts as slow:
# what is left stays due, and the other clusters' tasks get their turn.
BUDGET_SECONDS = 30.0
SLOW_SECONDS = 5.0
# After this long a cluster's task counts as dead with its worker, and the next tick sends another one. Should it live
# after all, the rows' own leases keep the two apart.
CLUSTER_LEASE = leases.LEASE / 2
# A tick takes milliseconds; one that died with its worker must not keep the next ones from being done.
TICK_LEASE = timedelta(seconds=3 * TICK_SECONDS)
BATCH = 50
CLUSTER_JOB = "reconcile.cluster/"


@shared_task(name="reconcile.row")
def reconcile_row(label: str, pk: str) -> bool:
    """Reconcile one row if it is due and free. False: it was not, or is gone."""
    reconciler = by_label(label)
    taken = leases.claim(reconciler.model, pk) if reconciler else None
    return reconciler is not None and taken is not None and _reconcile(reconciler, pk, taken)


@shared_task(name="reconcile.tick")
def reconcile_tick() -> int:
    """Send one task per cluster that has due rows and is not being worked on; returns how many.

    One query per kind of row, whatever their number.
    """
    interval = timedelta(seconds=TICK_SECONDS * 0.8)
    with jobs.lease("reconcile.tick", at_most=TICK_LEASE, not_sooner_than=interval) as ours:
        clusters = _clusters_with_due_rows() if ours else []
    for cluster in clusters:
        reconcile_cluster.apply_async((cluster,), expires=60)
    return len(clusters)


@shared_task(name="reconcile.cluster")
def reconcile_cluster(cluster: str) -> int:
    """Reconcile the due rows of one cluster until there are none or the time is up; returns how many were done."""
    done = 0
    deadline = time.monotonic() + BUDGET_SECONDS
    with jobs.lease(f"{CLUSTER_JOB}{cluster}", at_most=CLUSTER_LEASE) as ours:
        for reconciler, pk, taken in _claims(cluster) if ours else ():
            started = time.monotonic()
            _reconcile(reconciler, pk, taken)
            done += 1
            now = time.monotonic()
            if now > deadline or now - started > SLOW_SECONDS:
                log.info("cluster left for the next tick", cluster=cluster, done=done, seconds=now - started)
                break
    return done


@shared_task(name="reconcile.recovered")
def recovered(cluster: str) -> int:
    """The cluster answers again: look at it, and at what failed on it meanwhile; returns how many rows that makes."""
    failed = wake_failed(cluster)
    leases.poke(Cluster, [cluster])
    return failed


@shared_task(name="maintenance.retain")
def retain() -> dict[str, int]:
    """Delete what has outlived its time; returns counts by table."""
    with jobs.lease("maintenance.retain", at_most=leases.LEASE, not_sooner_than=timedelta(seconds=200)) as ours:
        return retention.delete_outdated(timezone.now()) if ours else {}


def _reconcile(reconciler: Reconciler, pk: Any, taken: leases.Claim) -> bool:
    """One row. A mistake of ours costs that row only; running out of time ends the task."""
    try:
        return reconcile_claimed(reconciler, pk, taken)
    except SoftTimeLimitExceeded:
        raise
    except Exception as error:  # the process edge: whatever it is, the other rows go on
        log.exception("reconcile broke", row=reconciler.label, pk=str(pk))
        return give_up(reconciler, pk, taken, error)


def _clusters_with_due_rows() -> list[str]:
    now = timezone.now()
    found: set[Any] = set()
    for reconciler in RECONCILERS:
        rows = reconciler.model._default_manager.filter(leases.due(now))
        found.update(rows.order_by().values_list(reconciler.cluster_lookup, flat=True).distinct())
    busy = jobs.taken(CLUSTER_JOB) if found else frozenset()
    return sorted(str(cluster) for cluster in found if f"{CLUSTER_JOB}{cluster}" not in busy)


def _claims(cluster: str) -> Iterator[tuple[Reconciler, Any, leases.Claim]]:
    """Rows of the cluster, claimed one at a time when the caller asks for the next; ends when nothing is due."""
    claimed = True
    while claimed:
        claimed = False
        for reconciler in _by_wait(cluster):
            scope = {reconciler.cluster_lookup: cluster}
            for pk, taken in leases.claim_due(reconciler.model, limit=BATCH, scope=scope):
                claimed = True
                yield reconciler, pk, taken


def _by_wait(cluster: str) -> list[Reconciler]:
    """The kinds that have due rows on the cluster, the one whose row waits longest first: where a task ends early again
    and again, no kind waits behind the others' resyncs for ever. The cluster's own row goes before all, because what
    is wrong with the others is often what it finds."""
    now = timezone.now()
    waits = []
    for order, reconciler in enumerate(RECONCILERS):
        rows = reconciler.model._default_manager.filter(leases.due(now), **{reconciler.cluster_lookup: cluster})
        since = rows.order_by("next_check_at").values_list("next_check_at", flat=True).first()
        if since is not None:
            waits.append((reconciler.model is not Cluster, since, order))
    return [RECONCILERS[order] for _other, _since, order in sorted(waits)]
