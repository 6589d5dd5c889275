"""Leases on jobs: two beats or a repeated task never do the same work twice at once."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from controlplane.models import Job


@contextmanager
def lease(name: str, *, at_most: timedelta, not_sooner_than: timedelta = timedelta(0)) -> Iterator[bool]:
    """Whether this process may do job `name` now; the lease ends with the block, or after `at_most`.

    False while somebody else is at it, and within `not_sooner_than` of its last start.
    """
    token = _take(name, at_most, not_sooner_than)
    try:
        yield token is not None
    finally:
        if token is not None:
            Job.objects.filter(name=name, token=token).update(token=None, until=None)


def taken(prefix: str) -> frozenset[str]:
    """The names of all jobs that begin with `prefix` and are being done right now."""
    rows = Job.objects.filter(name__startswith=prefix, until__gt=timezone.now())
    return frozenset(rows.values_list("name", flat=True))


def break_all() -> int:
    """Free every job. Only where no process that does any can be running. Returns how many were held."""
    return Job.objects.exclude(token=None).update(token=None, until=None)


def _take(name: str, at_most: timedelta, not_sooner_than: timedelta) -> uuid.UUID | None:
    now, token = timezone.now(), uuid.uuid4()
    free = Q(token=None) | Q(until__lte=now)
    rows = Job.objects.filter(free, name=name, started_at__lte=now - not_sooner_than)
    if rows.update(token=token, until=now + at_most, started_at=now):
        return token
    if Job.objects.filter(name=name).exists():
        return None
    try:
        with transaction.atomic():
            Job.objects.create(name=name, token=token, until=now + at_most, started_at=now)
    except IntegrityError:  # another process made the row first
        return None
    return token
