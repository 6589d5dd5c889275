"""The page of what others made in a cluster: compare, take over, give back."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.permissions import require
from accounts.requests import actor_of
from clusters import live, presenting, selectors
from clusters.models import Adoption, Cluster
from controlplane import adopting
from core.errors import Conflict

KINDS = ("topologies", "queues")


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_adopt(request: HttpRequest, pk: str) -> HttpResponse:
    """What can be taken over; a POST compares what is chosen, or with `adopt` takes it over."""
    cluster = _cluster(request, pk)
    picked = adopting.chosen(cluster, request.POST.getlist("object"))
    if picked and "adopt" in request.POST:
        _tell(request, adopting.adopt(actor_of(request), picked))
        return redirect("cluster-adopt", cluster.pk)
    wrong = request.method == "POST" and not picked
    context: dict[str, Any] = {
        "error": _("Choose at least one object.") if wrong else "",
        "comparisons": live.compare(cluster, picked),
        "candidates": adopting.candidates_of(cluster),
        **_about(cluster),
    }
    return render(request, "controlplane/adopt.html", context, status=422 if wrong else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_release(request: HttpRequest, pk: str) -> HttpResponse:
    """Give one object back: the row is deleted, the object stays as it was."""
    cluster = _cluster(request, pk)
    uid = request.POST.get("object", "").replace("\x00", "")
    adoption = Adoption.objects.filter(cluster=cluster, uid=uid).first()
    if adoption is not None:
        try:
            adopting.release(actor_of(request), adoption)
        except Conflict as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("%(name)s is being given back.") % {"name": adoption.name})
    elif request.method == "POST":
        messages.error(request, _("It was not taken over, or was given back."))
    return redirect("cluster-adopt", cluster.pk)


def _cluster(request: HttpRequest, pk: str) -> Cluster:
    require(request.user, "cluster:read")
    cluster = Cluster.objects.get_visible(request.user, pk=pk)
    require(request.user, "cluster:update", cluster.scope)
    return cluster


def _about(cluster: Cluster) -> dict[str, Any]:
    state = selectors.watch_state(cluster, *KINDS)
    return {
        "cluster": cluster,
        "crumbs": presenting.cluster_crumbs(cluster),
        "adoptions": adopting.adoptions_of(cluster),
        "krm": adopting.kept_by_krm(cluster),
        "read": all((cluster.streams.get(kind) or {}).get("listedAt") for kind in KINDS),
        "stale": presenting.stale_sentences([(cluster, state)] if state.stale else []),
    }


def _tell(request: HttpRequest, done: list[adopting.Done]) -> None:
    taken = [one for one in done if one.row is not None]
    if taken:
        text = ngettext("%(n)d object is being taken over.", "%(n)d objects are being taken over.", len(taken))
        messages.success(request, text % {"n": len(taken)})
    for one in done:
        if one.error:
            messages.error(request, f"{one.name}: {one.error}")
