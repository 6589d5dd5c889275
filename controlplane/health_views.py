"""What monitoring asks: `/healthz` (the web process answers), `/readyz` (each part by name), `/metrics`."""

from django.contrib.auth.decorators import login_not_required
from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

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
    """200 when every required part is healthy, else 503; the body names each part, its age in seconds and why."""
    found = health.parts()
    ready = health.is_ready(found)
    body = {
        "status": "ok" if ready else "failed",
        "parts": [
            {
                "name": part.name,
                "healthy": part.healthy,
                "required": part.required,
                "ageSeconds": round(part.age.total_seconds(), 1) if part.age is not None else None,
                "message": part.message,
            }
            for part in found
        ],
    }
    return JsonResponse(body, status=200 if ready else 503)


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text: health and age of each part, and how many rows are due. Holds no name of a workload."""
    registry = CollectorRegistry()
    up = Gauge("muster_part_up", "Whether a part of Muster is healthy", ["part"], registry=registry)
    age = Gauge("muster_part_age_seconds", "Time since the part's last sign", ["part"], registry=registry)
    for part in health.parts():
        up.labels(part.name).set(part.healthy)
        if part.age is not None:
            age.labels(part.name).set(part.age.total_seconds())
    _rows(registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


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
