"""Why a workload waits, as a part of its page: told at once on small clusters, fetched by the page on large ones."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from clusters.models import Node
from workloads import selectors
from workloads.diagnosis_telling import told_to
from workloads.diagnosis_words import cause_short
from workloads.models import Workload
from workloads.selectors import Person
from workloads.words import reason_short

INLINE_NODES = 64
"""On larger clusters the page does not wait for the diagnosis."""
SILENT = ("Running", "Stopped", "Stopping", "Deleting", "Completed")


@require_GET
def workload_why(request: HttpRequest, pk: str) -> HttpResponse:
    """The part alone, and with it the few words of the header: the two never say different things."""
    workload = selectors.workload_of(request.user, pk)
    told = told_to(request.user, workload)
    return render(request, "workloads/_why_part.html", {"told": told, "workload": workload, **_phrase(told)})


def why_context(user: Person, workload: Workload) -> dict[str, Any]:
    """What the workload's page needs of it: the diagnosis, or where to fetch it."""
    if workload.phase in SILENT or workload.is_being_deleted:
        return {"shows_why": False}
    if Node.objects.filter(cluster=workload.cluster_id).count() > INLINE_NODES:
        return {"shows_why": True, "why_url": reverse("workloads:why", args=[workload.pk])}
    told = told_to(user, workload)
    return {"shows_why": True, "told": told, **_phrase(told)}


def _phrase(told: Mapping[str, Any]) -> dict[str, str]:
    """The few words beside the phase: those of the first cause, so that they never say another thing."""
    if told["causes"]:
        first = told["causes"][0]
        return {"why": cause_short(first["code"], first["names"], first["numbers"])}
    return {"why": reason_short({"code": "Fits"})} if told["state"] == "starts" else {}
