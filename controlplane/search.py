"""The search of everything, `/search?q=`: objects by name or id across the packages, and pages by name."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from accounts.permissions import ScopedQuerySet
from clusters.models import Cluster, Node
from controlplane.context import NAVIGATION, is_shown
from core.filters import Text
from organizations.models import Department, Project
from topology.models import NetworkTopology, NodePool
from workloads.models import Workload

MAX_LENGTH = 200
MAX_RESULTS = 6


@dataclass(frozen=True, slots=True)
class Searched:
    """A kind of object that can be found. `detail` names the attribute that tells equal names apart."""

    label: Text
    icon: str
    url_name: str
    rows: ScopedQuerySet[Any]
    detail: str = "cluster"


@dataclass(frozen=True, slots=True)
class Result:
    """A line of the answer."""

    label: Text
    url: str
    icon: str
    phase: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """Results of one kind under its heading."""

    label: Text
    results: tuple[Result, ...]


def _kinds() -> tuple[Searched, ...]:
    return (
        Searched(_("Workloads"), "boxes", "workloads:detail", Workload.objects.all(), "project"),
        Searched(_("Projects"), "folder", "organizations:project-detail", Project.objects.all()),
        Searched(_("Departments"), "building-2", "organizations:department-detail", Department.objects.all()),
        Searched(_("Node pools"), "layers", "topology:node-pool-detail", NodePool.objects.all()),
        Searched(_("Network topologies"), "network", "topology:topology-detail", NetworkTopology.objects.all()),
        Searched(_("Nodes"), "cpu", "clusters:node-detail", Node.objects.all()),
        Searched(_("Clusters"), "server", "clusters:cluster-detail", Cluster.objects.all(), ""),
    )


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """What is named like `q`, as lines of the search dialog; a page of its own without script."""
    q = request.GET.get("q", "").replace("\x00", "").strip()[:MAX_LENGTH]
    groups = [group for group in _found(request, q) if group.results] if q else [_pages(request, "")]
    template = "components/search_results.html" if "HX-Request" in request.headers else "search.html"
    return render(request, template, {"groups": groups, "q": q})


def _found(request: HttpRequest, q: str) -> Iterable[ResultGroup]:
    for kind in _kinds():
        rows = kind.rows.visible_to(request.user).filter(_named(kind.rows.model, q))
        if kind.detail:
            rows = rows.select_related(kind.detail)
        yield ResultGroup(kind.label, tuple(_result(kind, row) for row in _best(rows)))
    yield _pages(request, q)


def _named(model: Any, q: str) -> Q:
    """By a part of the name; by the whole id where the key is one."""
    condition = Q(name__icontains=q)
    try:
        key = uuid.UUID(q)
    except ValueError:
        return condition
    return condition | Q(pk=key) if model._meta.pk.get_internal_type() == "UUIDField" else condition


def _best(rows: ScopedQuerySet[Any]) -> Iterable[Any]:
    """The shortest names first: they are nearest to what was typed."""
    return rows.order_by(Length("name"), "name", "pk")[:MAX_RESULTS]


def _result(kind: Searched, row: Any) -> Result:
    detail = str(getattr(row, kind.detail).name) if kind.detail else ""
    return Result(row.name, reverse(kind.url_name, args=[row.pk]), kind.icon, getattr(row, "phase", ""), detail)


def _pages(request: HttpRequest, q: str) -> ResultGroup:
    pages = (page for _label, entries in NAVIGATION for page in entries if is_shown(page, request.user))
    return ResultGroup(
        _("Pages"),
        tuple(
            Result(page.label, reverse(page.url_name), page.icon)
            for page in pages
            if q.casefold() in str(page.label).casefold()
        ),
    )
