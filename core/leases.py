"""Leases on desired-state rows: the only place that writes lease columns and `next_check_at` (services excepted).

A claim is one conditional UPDATE that repeats the whole condition, so two claimers can never both win, on SQLite
and PostgreSQL alike. After dstack's PIPELINES.md; see docs/reconcile.md.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Case, F, Q, When
from django.utils import timezone

from core.models import DesiredState

# Longer than any reconcile takes; a killed worker's rows wait this long for another one.
LEASE = timedelta(seconds=settings.LEASE_SECONDS)


class Claim(NamedTuple):
    """A lease that is ours. `until` is also what the claim wrote into `next_check_at`."""

    token: uuid.UUID
    until: datetime


def due(now: datetime) -> Q:
    """The one eligibility rule: the time has come and nobody holds the lease."""
    return Q(next_check_at__lte=now) & (Q(lease_token=None) | Q(lease_expires_at__lte=now))


def claim(model: type[DesiredState], pk: Any) -> Claim | None:
    """Take the lease of one due row. None: it is not due, is gone, or somebody else was first."""
    now = timezone.now()
    taken = Claim(uuid.uuid4(), now + LEASE)
    # next_check_at moves to the lease's end: whoever makes the row due meanwhile leaves a trace for finish().
    claimed = model._default_manager.filter(due(now), pk=pk).update(
        lease_token=taken.token, lease_expires_at=taken.until, next_check_at=taken.until
    )
    return taken if claimed == 1 else None


def claim_due(
    model: type[DesiredState], *, limit: int, scope: Mapping[str, Any] | None = None
) -> Iterator[tuple[Any, Claim]]:
    """Claim up to `limit` due rows of `scope`, the longest overdue first; yields (pk, claim) one at a time."""
    rows = model._default_manager.filter(due(timezone.now()), **(scope or {}))
    for pk in list(rows.order_by("next_check_at", "pk").values_list("pk", flat=True)[:limit]):
        taken = claim(model, pk)
        if taken is not None:
            yield pk, taken


def finish(
    model: type[DesiredState],
    pk: Any,
    taken: Claim,
    *,
    seen: int,
    status: Mapping[str, Any],
    check_again_at: datetime,
) -> bool:
    """Write `status` and give the lease back. False: the lease was lost, nothing was written.

    `next_check_at` moves to `check_again_at` only where nobody made the row due since the claim and the spec is
    still the one that was seen: an edit or a poke made meanwhile keeps the row due.
    """
    untouched = When(next_check_at=taken.until, generation=seen, then=check_again_at)
    rows = model._default_manager.filter(pk=pk, lease_token=taken.token)
    return (
        rows.update(
            **status,
            lease_token=None,
            lease_expires_at=None,
            next_check_at=Case(untouched, default=F("next_check_at")),
        )
        == 1
    )


def finish_gone(model: type[DesiredState], pk: Any, taken: Claim) -> bool:
    """Delete the row whose objects are gone from the cluster. False: the lease was lost, the row stays."""
    deleted, _ = model._default_manager.filter(pk=pk, lease_token=taken.token).delete()
    return deleted > 0


def poke(model: type[DesiredState], pks: Iterable[Any]) -> int:
    """Make rows due now, because something they depend on changed. Returns how many there are."""
    return model._default_manager.filter(pk__in=list(pks)).update(next_check_at=timezone.now())


def poke_failed(model: type[DesiredState], scope: Mapping[str, Any]) -> int:
    """Make the rows of `scope` due now whose last try failed, because what they failed on works again. One UPDATE,
    however many there are; what was due before stays before them."""
    now = timezone.now()
    return model._default_manager.filter(failures__gt=0, next_check_at__gt=now, **scope).update(next_check_at=now)


def break_all(model: type[DesiredState]) -> int:
    """Free every lease of rows of this kind and make them due. Only where no worker can be running."""
    held = model._default_manager.exclude(lease_token=None)
    return held.update(lease_token=None, lease_expires_at=None, next_check_at=timezone.now())
