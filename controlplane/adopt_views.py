"""The pages of what others made in a cluster: compare and take over; what was taken over, and giving it back."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.permissions import require
from accounts.requests import actor_of
from clusters import live, presenting, selectors
from clusters.models import Adoption, Cluster
from controlplane import adopting
from controlplane.adopt_tables import CANDIDATES, TAKEN
from core.errors import Conflict, Stale
from core.tables import build_table, table_response

KINDS = ("topologies", "queues", "dynamographdeployments")


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_adopt(request: HttpRequest, pk: str) -> HttpResponseBase:
    """What can be taken over; a POST compares what is chosen, or with `adopt` takes it over."""
    cluster = _cluster(request, pk)
    picked = adopting.chosen(cluster, request.POST.getlist("pk"))
    if picked and "adopt" in request.POST:
        _tell(request, adopting.adopt(actor_of(request), picked))
        return redirect("cluster-adopt", cluster.pk)
    wrong = request.method == "POST" and not picked
    candidates = {one.found.pk: one for one in adopting.candidates_of(cluster)}
    table = build_table(
        request,
        adopting.objects_of(candidates.values()),
        CANDIDATES,
        present=lambda rows: [candidates[row.pk] for row in rows],
    )
    context: dict[str, Any] = {
        "error": _("Choose at least one object.") if wrong else "",
        "comparisons": live.compare(cluster, picked),
        "read": all(_is_read(cluster.streams.get(kind) or {}) for kind in KINDS),
        **_about(cluster, "cluster-adopt"),
    }
    response = table_response(request, "controlplane/adopt.html", table, context)
    if wrong:
        response.status_code = 422
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_release(request: HttpRequest, pk: str) -> HttpResponseBase:
    """What was taken over. `?object=` names one by its uid: asks whether to give it back, and with a POST does so."""
    cluster = _cluster(request, pk)
    uid = request.GET.get("object", "").replace("\x00", "")
    adoption = adopting.adoptions_of(cluster).filter(uid=uid, release_requested_at=None).first()
    if adoption is not None:
        return _release(request, cluster, adoption)
    if uid or request.method == "POST":
        messages.error(request, _("It was not taken over, or was given back."))
        return redirect("cluster-release", cluster.pk)
    table = build_table(request, adopting.adoptions_of(cluster), TAKEN, present=adopting.with_rows)
    return table_response(request, "controlplane/adopted.html", table, _about(cluster, "cluster-release"))


def _is_read(stream: Mapping[str, Any]) -> bool:
    """Whether all objects of a kind were read, or there can be none."""
    return bool(stream.get("listedAt")) or not stream.get("served", True)


def _release(request: HttpRequest, cluster: Cluster, adoption: Adoption) -> HttpResponse:
    error = ""
    back = reverse("cluster-release", args=[cluster.pk])
    if request.method == "POST":
        error = _given_back(request, adoption)
        if not error:
            messages.success(request, _("%(name)s is being given back.") % {"name": adoption.name})
            return redirect(back)
    (taken,) = adopting.with_rows([adoption])
    context = {
        "title": _("Give %(name)s back") % {"name": adoption.name},
        "lead": _("The object stays in the cluster, as %(maker)s had it.") % {"maker": adoption.made_by},
        "hits": [{"text": text} for text in adopting.goes_with(taken.row)],
        "name": adoption.name,
        "act": _("Release"),
        "act_icon": "undo-2",
        "action_url": f"{back}?{urlencode({'object': adoption.uid})}",
        "back_url": back,
        "error": error,
    }
    return render(request, "confirm.html", context, status=422 if error else 200)


def _given_back(request: HttpRequest, adoption: Adoption) -> str:
    """Why it is not; empty where it is."""
    if request.POST.get("confirm", "").strip() != adoption.name:
        return _("This is not its name.")
    try:
        adopting.release(actor_of(request), adoption)
    except (Conflict, Stale) as error:
        return error.message
    return ""


def _cluster(request: HttpRequest, pk: str) -> Cluster:
    require(request.user, "cluster:read")
    cluster = Cluster.objects.get_visible(request.user, pk=pk)
    require(request.user, "cluster:update", cluster.scope)
    return cluster


def _about(cluster: Cluster, page: str) -> dict[str, Any]:
    state = selectors.watch_state(cluster, *KINDS)
    parts = {"cluster-adopt": _("Can be taken over"), "cluster-release": _("Taken over")}
    return {
        "cluster": cluster,
        "crumbs": presenting.cluster_crumbs(cluster),
        "tabs": [
            {"label": label, "url": reverse(name, args=[cluster.pk]), "current": name == page}
            for name, label in parts.items()
        ],
        "krm": adopting.kept_by_krm(cluster),
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
