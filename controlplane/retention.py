"""How long rows are kept that nobody asked to keep."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model, Q, QuerySet

from accounts import audit_chain
from accounts.models import SignInFailures
from clusters.models import ClusterEvent
from controlplane.models import Heartbeat, Job
from core.models import IdempotentAnswer

EVENTS = timedelta(days=1)
PROCESSES = timedelta(days=1)
CHUNK = 1000


def delete_outdated(now: datetime) -> dict[str, int]:
    """Delete in chunks, so that no write lock is held long; returns how many rows went, by table."""
    audit_chain.seal()
    pruned = audit_chain.prune(now - timedelta(days=settings.AUDIT_DAYS))
    return {"audit": pruned} | {name: sum(_delete_in_chunks(rows)) for name, rows in _outdated(now).items()}


def _outdated(now: datetime) -> dict[str, QuerySet[Model]]:
    return {
        "events": ClusterEvent.objects.filter(
            Q(last_seen_at__lt=now - EVENTS) | Q(last_seen_at__gt=now, created_at__lt=now - EVENTS)
        ),
        "sessions": Session.objects.filter(expire_date__lt=now),
        "sign-in failures": SignInFailures.objects.filter(until__lt=now),
        "idempotent answers": IdempotentAnswer.objects.filter(expires_at__lt=now),
        "heartbeats": Heartbeat.objects.filter(at__lt=now - PROCESSES),
        "jobs": Job.objects.filter(started_at__lt=now - PROCESSES),
    }


def _delete_in_chunks(rows: QuerySet[Model]) -> Iterator[int]:
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        deleted, _ = rows.model._default_manager.filter(pk__in=keys).delete()
        yield deleted
