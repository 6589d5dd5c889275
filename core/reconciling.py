"""Runs one reconcile of one desired-state row: claim → reconcile → write status → give the lease back.

Level-triggered: the reconcile function sees the row and the cluster, never what changed. No database transaction
is open while it talks to the cluster.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from core import leases, live
from core.conditions import Condition, merge, with_repairs
from core.errors import MusterError
from core.models import DesiredState
from core.moments import rfc3339

log = structlog.get_logger(__name__)

RESYNC = timedelta(seconds=60)
BACKOFF_FIRST = timedelta(seconds=2)
BACKOFF_LAST = timedelta(minutes=5)


class ReconcileBroke(MusterError):
    """A mistake in Muster, not a state of the cluster."""

    retryable = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile found: the conditions and phase to store, and when to look again.

    `columns` are further status columns of the row. `gone`: every object of a row under deletion has left the
    cluster, so the row goes too.
    """

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    check_again_after: timedelta = RESYNC
    columns: Mapping[str, Any] = field(default_factory=dict)
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Reconciler:
    """One kind of desired-state row and the function that reconciles it. `cluster_lookup` is the ORM path from
    the row to its cluster's id, by which due rows are grouped into one task per cluster. `on_gone(row)` is told that
    the row is deleted, in the transaction of it."""

    model: type[DesiredState]
    reconcile: Callable[[Any], Outcome]
    cluster_lookup: str = "cluster_id"
    on_gone: Callable[[Any], None] | None = None

    @property
    def label(self) -> str:
        """`app_label.ModelName`, as tasks carry it."""
        return self.model._meta.label


def backoff(failures: int) -> timedelta:
    """Time to the next try after `failures` tries in a row failed: exponential, bounded, with ±20 % jitter."""
    doublings: int = min(failures - 1, 16)
    delay = min(BACKOFF_FIRST * 2.0**doublings, BACKOFF_LAST)
    return delay * random.uniform(0.8, 1.2)  # noqa: S311 (spreading load, not a secret)


def reconcile_claimed(reconciler: Reconciler, pk: Any, taken: leases.Claim) -> bool:
    """Reconcile a row whose lease is ours. False: the row or the lease was lost, nothing was written."""
    row = reconciler.model._default_manager.filter(pk=pk).first()
    if row is None:
        return False
    try:
        outcome = reconciler.reconcile(row)
    except MusterError as error:
        return _finish_failed(reconciler, row, taken, error)
    if outcome.gone:
        log.info("reconcile gone", row=reconciler.label, pk=str(pk))
        return _finish_gone(reconciler, row, taken)
    return _finish(row, taken, _status(row, outcome), outcome.check_again_after)


def give_up(reconciler: Reconciler, pk: Any, taken: leases.Claim, error: Exception) -> bool:
    """Note on the row that Muster itself failed on it, and try again later; the other rows go on."""
    row = reconciler.model._default_manager.filter(pk=pk).first()
    if row is None:
        return False
    ours = ReconcileBroke(f"Muster failed on this object ({type(error).__name__}); its log says where.")
    return _finish_failed(reconciler, row, taken, ours)


@transaction.atomic
def _finish_gone(reconciler: Reconciler, row: DesiredState, taken: leases.Claim) -> bool:
    deleted = leases.finish_gone(reconciler.model, row.pk, taken)
    if deleted and reconciler.on_gone is not None:
        reconciler.on_gone(row)
    live.publish_row(row)
    return deleted


def _finish(row: DesiredState, taken: leases.Claim, status: dict[str, Any], check_again_after: timedelta) -> bool:
    """Write the status, give the lease back, and tell open pages where the status differs from what it was."""
    again = timezone.now() + check_again_after
    written = leases.finish(type(row), row.pk, taken, seen=row.generation, status=status, check_again_at=again)
    if written and any(getattr(row, column) != value for column, value in status.items()):
        live.publish_row(row)
    return written


def _status(row: DesiredState, outcome: Outcome) -> dict[str, Any]:
    now = timezone.now()
    found = with_repairs(row.conditions, outcome.conditions, now=now)
    return {
        **outcome.columns,
        "phase": outcome.phase,
        "conditions": merge(row.conditions, found, generation=row.generation, now=rfc3339(now)),
        "observed_generation": row.generation,
        "failures": 0,
    }


def _finish_failed(reconciler: Reconciler, row: DesiredState, taken: leases.Claim, error: MusterError) -> bool:
    """Keep what is known of the row, add `Synced=False` with the reason, and say when it is tried again."""
    failures = row.failures + 1
    again = backoff(failures) if error.retryable else RESYNC
    log.warning("reconcile failed", row=reconciler.label, pk=str(row.pk), reason=error.reason, error=error.message)
    kept = [c for c in row.conditions if c["type"] != "Synced"]
    synced = Condition(
        "Synced",
        "False",
        error.reason,
        error.message,
        arguments=(("retry", "yes" if error.retryable else "no"),),
    )
    previous = [c for c in row.conditions if c["type"] == "Synced"]
    conditions = kept + merge(previous, [synced], generation=row.generation, now=rfc3339(timezone.now()))
    return _finish(row, taken, {"conditions": conditions, "failures": failures}, again)
