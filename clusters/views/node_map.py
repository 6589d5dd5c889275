"""The GPU map and its data."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, When
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from clusters import node_presenting, presenting, selectors
from clusters.gpu_map import MAX_HTML_CELLS, Group, as_canvas, grouped
from clusters.kinds import KAI_TOPOLOGY
from clusters.models import Cluster, ClusterObject
from clusters.names import HOSTNAME_LABEL

BY_POOL = "pool"


@require_GET
def node_map(request: HttpRequest) -> HttpResponse:
    """One cell a GPU: drawn here up to 2,000 cells, by a canvas above."""
    require(request.user, "nodes:read")
    cluster = _cluster(request)
    groupings = _groupings(cluster)
    grouping = request.GET.get("group", "") or (next(iter(groupings)))
    levels = groupings.get(grouping, [])
    groups = _groups(request, cluster, levels)
    strip = selectors.gpu_strip(request.user, cluster)
    data_url = f"{reverse('clusters:node-map-data')}?{request.GET.urlencode()}"
    drawn_here = strip.total <= MAX_HTML_CELLS
    stale = selectors.stale_clusters(request.user, cluster, "nodes", "pods") if cluster else []
    context = {
        "cluster": cluster,
        "strip": strip,
        "tiles": node_presenting.gpu_tiles(strip),
        "groups": node_presenting.map_groups(groups) if drawn_here else [],
        "canvas_url": "" if drawn_here else data_url,
        "groupings": [(key, _("node pool") if key == BY_POOL else key, key == grouping) for key in groupings],
        "legend": node_presenting.map_legend(strip),
        "findings": node_presenting.nodes_to_look_at(selectors.node_rows(request.user, cluster)),
        "stale": presenting.stale_sentences(stale),
        "topics": " ".join(presenting.observed_topics(request.user, cluster, "Node", "Pod")),
    }
    return render(request, "clusters/node_map.html", context)


@require_GET
def node_map_data(request: HttpRequest) -> JsonResponse:
    """What the canvas draws."""
    require(request.user, "nodes:read")
    cluster = _cluster(request)
    groups = _groups(request, cluster, _groupings(cluster).get(request.GET.get("group", ""), []))
    return JsonResponse(as_canvas(groups, node_presenting.map_words()))


def _cluster(request: HttpRequest) -> Cluster | None:
    """The chosen cluster, or the first: places and pools of several clusters do not mix."""
    chosen = selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    return chosen or Cluster.objects.visible_to(request.user).order_by("name").first()


def _groupings(cluster: Cluster | None) -> dict[str, list[str]]:
    """Ways to group: each topology of the cluster by its name, and node pools. → label keys, broadest first."""
    ways: dict[str, list[str]] = {}
    topologies = ClusterObject.objects.filter(cluster=cluster, group=KAI_TOPOLOGY.group, plural=KAI_TOPOLOGY.plural)
    for name, manifest in topologies.order_by(Case(When(owner="", then=1), default=0), "name").values_list(
        "name", "manifest"
    ):
        levels: Sequence[Any] = (manifest.get("spec") or {}).get("levels") or ()
        keys = [str(level.get("nodeLabel", "")) for level in levels if isinstance(level, dict)]
        ways[name] = [key for key in keys if key and key != HOSTNAME_LABEL]
    return {name: keys for name, keys in ways.items() if keys} | {BY_POOL: []}


def _groups(request: HttpRequest, cluster: Cluster | None, levels: Sequence[str]) -> list[Group]:
    return grouped(selectors.map_nodes(request.user, cluster), levels) if cluster else []
