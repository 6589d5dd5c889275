"""What monitoring asks: `/healthz` (the web process answers), `/readyz` (each part by name), `/metrics`.

Names of parts, which hold names of clusters, are for monitoring (MUSTER_MONITORING_TOKEN) and administrators, signed in
or with a token of theirs; everybody else is told the status alone.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from accounts import tokens
from accounts.permissions import reach
from controlplane import health
from controlplane.reconcilers import RECONCILERS
from core import leases


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while this process answers at all; asks nobody else."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when every required part is healthy, else 503; to who may know, each part, its age in seconds and why."""
    found = health.parts()
    ready = health.is_ready(found)
    body: dict[str, Any] = {"status": "ok" if ready else "failed"}
    if _may_know(request):
        body["parts"] = [_part(part) for part in found]
    return JsonResponse(body, status=200 if ready else 503)


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text: readiness; to who may know, health and age of each part, and how many rows are due."""
    registry = CollectorRegistry()
    found = health.parts()
    Gauge("muster_ready", "Whether every required part is healthy", registry=registry).set(health.is_ready(found))
    if _may_know(request):
        _details(registry, found)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_know(request: HttpRequest) -> bool:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    expected = settings.MONITORING_TOKEN
    if expected and constant_time_compare(token.strip(), expected):
        return True
    try:
        user = tokens.verify(token.strip(), "access")[0] if scheme.lower() == "bearer" else request.user
        return reach(user, "settings:read").everywhere
    except (tokens.InvalidToken, DatabaseError):
        return False


def _part(part: health.Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "healthy": part.healthy,
        "required": part.required,
        "ageSeconds": round(part.age.total_seconds(), 1) if part.age is not None else None,
        "message": part.message,
    }


def _details(registry: CollectorRegistry, found: Sequence[health.Part]) -> None:
    up = Gauge("muster_part_up", "Whether a part of Muster is healthy", ["part"], registry=registry)
    age = Gauge("muster_part_age_seconds", "Time since the part's last sign", ["part"], registry=registry)
    for part in found:
        up.labels(part.name).set(part.healthy)
        if part.age is not None:
            age.labels(part.name).set(part.age.total_seconds())
    _rows(registry)


def _rows(registry: CollectorRegistry) -> None:
    due = Gauge("muster_rows_due", "Desired-state rows that wait for a reconcile", ["kind"], registry=registry)
    failing = Gauge("muster_rows_failing", "Rows whose last reconcile failed", ["kind"], registry=registry)
    try:
        for reconciler in RECONCILERS:
            rows = reconciler.model._default_manager.all()
            due.labels(reconciler.label).set(rows.filter(leases.due(timezone.now())).count())
            failing.labels(reconciler.label).set(rows.filter(failures__gt=0).count())
    except DatabaseError:
        connection.close()
