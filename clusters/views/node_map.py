"""The GPU map and its data."""

import gzip
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from clusters import node_presenting, presenting, selectors
from clusters.colours import Colour, measured_colours
from clusters.gpu_map import MAX_HTML_CELLS, Drawn, Group, as_canvas, drawn, grouped
from clusters.kept import kept
from clusters.models import Cluster
from clusters.selectors import Viewer

BY_POOL = "pool"
ALLOCATION = "allocation"


@dataclass(slots=True)
class MapView:
    """What one request asks to draw: a cluster, a way to group, a colour, and the version of what they come from (None:
    not to be kept)."""

    cluster: Cluster | None
    grouping: str
    groupings: dict[str, list[str]]
    colour: Colour | None
    version: tuple[Hashable, ...] | None

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What distinguishes it from other maps."""
        cluster = self.cluster.pk if self.cluster else None
        return cluster, tuple(self.groupings[self.grouping]), self.colour.key if self.colour else ""


@require_GET
def node_map(request: HttpRequest) -> HttpResponse:
    """One cell a GPU: drawn here up to 2,000 cells, by a canvas above."""
    require(request.user, "nodes:read")
    view = _view(request)
    strip = selectors.gpu_strip(request.user, view.cluster)
    drawn_here = strip.total <= MAX_HTML_CELLS
    unit = view.colour.unit if view.colour else "%"
    stale = selectors.stale_clusters(request.user, view.cluster, "nodes", "pods") if view.cluster else []
    groups = _groups(request.user, view) if drawn_here else []
    figures = drawn(groups) if drawn_here else _figures(request, view)
    context = {
        "cluster": view.cluster,
        "strip": strip,
        "groups": node_presenting.map_groups(groups, unit),
        "canvas_url": "" if drawn_here else _data_url(view),
        "groupings": [(k, _("node pool") if k == BY_POOL else k, k == view.grouping) for k in view.groupings],
        "colours": _colour_choices(view),
        "colour": view.colour,
        "histogram": node_presenting.map_histogram(figures.histogram) if view.colour else [],
        "unmeasured": figures.unmeasured if view.colour else 0,
        "legend": node_presenting.map_legend(strip),
        "findings": node_presenting.nodes_to_look_at(selectors.node_rows(request.user, view.cluster)),
        "stale": presenting.stale_sentences(stale),
        "topics": " ".join(presenting.observed_topics(request.user, view.cluster, "Node", "Pod")),
    }
    return render(request, "clusters/node_map.html", context)


@require_GET
def node_map_data(request: HttpRequest) -> HttpResponse:
    """What the canvas draws: kept compressed as it is sent, until the cluster's nodes, pods or figures change.

    Nothing in it is a secret and nothing is the sender's, so its length gives nothing away (BREACH).
    """
    require(request.user, "nodes:read")
    view = _view(request)
    key = ("map", get_language(), *view.key)
    content = kept(key, view.version, lambda: gzip.compress(msgspec.json.encode(_canvas(request, view)), mtime=0))
    headers = {"Content-Type": "application/json", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(gzip.decompress(content), headers=headers)
    return HttpResponse(content, headers=headers | {"Content-Encoding": "gzip"})


def _view(request: HttpRequest) -> MapView:
    """The chosen cluster, or the first: places and pools of several clusters do not mix. Coloured by the chosen
    figure, or the first that is measured, or else by allocation."""
    chosen = selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    cluster = chosen or Cluster.objects.visible_to(request.user).order_by("name").first()
    groupings = _groupings(cluster)
    wanted = request.GET.get("group", "")
    grouping = wanted if wanted in groupings else next(iter(groupings))
    colour, measured_at = _measured(cluster, request.GET.get("colour", ""))
    observed = selectors.observed_version(request.user, cluster) if cluster else None
    version = None if observed is None else (*observed, measured_at)
    return MapView(cluster, grouping, groupings, colour, version)


def _groups(user: Viewer, view: MapView) -> list[Group]:
    """The nodes with their cells."""
    if view.cluster is None:
        return []
    measured = view.colour.read(view.cluster) if view.colour else None
    return grouped(selectors.map_nodes(user, view.cluster, measured), view.groupings[view.grouping])


def _figures(request: HttpRequest, view: MapView) -> Drawn:
    return kept(("figures", *view.key), view.version, lambda: drawn(_groups(request.user, view)))


def _canvas(request: HttpRequest, view: MapView) -> dict[str, Any]:
    return as_canvas(_groups(request.user, view), node_presenting.map_words())


def _measured(cluster: Cluster | None, wanted: str) -> tuple[Colour | None, Hashable]:
    """The colour, and the version of its figures."""
    offered = {colour.key: colour for colour in measured_colours()}
    colour = offered.get(wanted) or (None if wanted == ALLOCATION else next(iter(offered.values()), None))
    version = colour.version(cluster) if colour and cluster else None
    return (colour, version) if version is not None else (None, None)


def _colour_choices(view: MapView) -> list[tuple[str, object, bool]]:
    chosen = view.colour.key if view.colour else ALLOCATION
    offered = [(colour.key, colour.label, colour.key == chosen) for colour in measured_colours()]
    return [*offered, (ALLOCATION, _("Allocation"), chosen == ALLOCATION)]


def _data_url(view: MapView) -> str:
    choice = {
        "cluster": str(view.cluster.pk) if view.cluster else "",
        "group": view.grouping,
        "colour": view.colour.key if view.colour else ALLOCATION,
    }
    return f"{reverse('clusters:node-map-data')}?{urlencode(choice)}"


def _groupings(cluster: Cluster | None) -> dict[str, list[str]]:
    """Ways to group: each topology of the cluster by its name, and node pools. → label keys, broadest first."""
    return (selectors.topology_levels(cluster) if cluster else {}) | {BY_POOL: []}
