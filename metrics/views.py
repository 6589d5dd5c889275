"""GPU utilisation: the page, and the fragments that node and workload pages load."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from clusters.models import Cluster, Node
from clusters.node_presenting import node_crumbs
from core.errors import NotFound
from core.fragments import render_fragment
from metrics import selectors
from metrics.figures import distribution_figure, utilisation_figure
from metrics.recording import ROLLUP, STEP, TOPIC
from metrics.selectors import Series
from metrics.series import distribution
from topology.models import NodePool
from topology.presenting import pool_crumbs
from workloads.models import Workload

HOURS = (1, 6, 24, 168)
MAX_GROUPS = 100
GROUPS = ("pool", "node", "project", "workload")


@require_GET
def gpu_utilisation(request: HttpRequest) -> HttpResponse:
    """One cluster: figures now, the last hours, the distribution, and groups with the emptiest first."""
    require(request.user, "dashboards-analytics:read")
    clusters = list(Cluster.objects.visible_to(request.user).order_by("name"))
    cluster = _chosen(clusters, request.GET.get("cluster", ""))
    hours, by = _hours(request), request.GET.get("by", "pool")
    by = by if by in GROUPS else "pool"
    context: dict[str, Any] = {"clusters": clusters, "cluster": cluster, "hours": hours, "by": by}
    context |= {"hour_choices": _hour_choices(), "group_choices": _group_choices()}
    if cluster is not None:
        context |= _cluster_context(request, cluster, hours, by)
    return render(request, "metrics/gpu_utilisation.html", context)


@require_GET
def node_gpus(request: HttpRequest, pk: str) -> HttpResponse:
    """The GPUs of a node now, and a line each over the last hours."""
    node = Node.objects.select_related("cluster").get_visible(request.user, pk=pk)
    hours = _hours(request)
    context = {
        "gpus": selectors.node_gpus(node),
        "freshness": selectors.freshness(node.cluster, node=node.name),
        "figure": _figure(selectors.node_series(node, hours), hours),
        "labels": _labels(request, node.cluster),
        "capacity": node.gpu_capacity,
        "hours": hours,
    }
    crumbs = [*node_crumbs(node), _crumb(node.name, "clusters:node-detail", node.pk)]
    return render_fragment(request, "metrics/node_gpus.html", context, crumbs=crumbs)


@require_GET
def pool_gpus(request: HttpRequest, pk: str) -> HttpResponse:
    """The GPUs of a node pool: now, and their average over the last hours."""
    pool = NodePool.objects.select_related("cluster").get_visible(request.user, pk=pk)
    hours = _hours(request)
    context = {
        "summary": selectors.pool_now(pool),
        "freshness": selectors.freshness(pool.cluster),
        "figure": _figure(_named(selectors.pool_series(pool, hours)), hours),
        "hours": hours,
    }
    return render_fragment(request, "metrics/workload_gpus.html", context, crumbs=pool_crumbs(pool))


@require_GET
def workload_gpus(request: HttpRequest, pk: str) -> HttpResponse:
    """The GPUs that a workload holds: now, and their average over the last hours."""
    workload = Workload.objects.select_related("cluster", "project").get_visible(request.user, pk=pk)
    hours = _hours(request)
    context = {
        "summary": selectors.workload_now(workload),
        "freshness": selectors.freshness(workload.cluster),
        "figure": _figure(selectors.workload_series(workload, hours), hours),
        "hours": hours,
    }
    crumbs = [_crumb(_("Workloads"), "workloads:list"), _crumb(workload.name, "workloads:detail", workload.pk)]
    return render_fragment(request, "metrics/workload_gpus.html", context, crumbs=crumbs)


def _crumb(label: str, name: str, *arguments: object) -> dict[str, str]:
    return {"label": label, "url": reverse(name, args=arguments)}


def _cluster_context(request: HttpRequest, cluster: Cluster, hours: int, by: str) -> dict[str, Any]:
    layout = selectors.layout_of(cluster)
    moment = selectors.latest(cluster, layout)
    context: dict[str, Any] = {"freshness": selectors.freshness(cluster), "topics": f"{TOPIC}@{cluster.pk}"}
    if moment is None:
        return context
    groups = selectors.groups_now(request.user, cluster, moment, layout, by)
    lines = selectors.cluster_series(selectors.history(cluster, layout, hours))
    tenths = {str(i): f"{i * 10}–{i * 10 + 10}" for i in range(10)} | {"unmeasured": _("not measured")}
    summary = selectors.cluster_now(cluster, moment)
    counted = {**distribution(moment), "unmeasured": summary.unmeasured}
    return context | {
        "summary": summary,
        "figure": _figure(_named(lines), hours),
        "distribution": distribution_figure(counted, tenths),
        "groups": groups[:MAX_GROUPS],
        "more_groups": max(0, len(groups) - MAX_GROUPS),
        "at": moment.at,
    }


def _named(lines: Sequence[Series]) -> list[Series]:
    names = {"all": _("all GPUs"), "held": _("allocated GPUs")}
    return [Series(names[line.name], line.points) for line in lines]


def _figure(lines: Sequence[Series], hours: int) -> dict[str, Any] | None:
    """The chart; None where nothing was recorded."""
    if not lines:
        return None
    step = STEP if hours <= 6 else ROLLUP
    return utilisation_figure([(line.name, line.points) for line in lines], step=step)


def _labels(request: HttpRequest, cluster: Cluster) -> dict[str, str]:
    """Names of the workloads that the viewer may see, by id."""
    rows = Workload.objects.visible_to(request.user).filter(cluster=cluster)
    return {str(pk): name for pk, name in rows.values_list("pk", "name")}


def _chosen(clusters: Sequence[Cluster], text: str) -> Cluster | None:
    if not text:
        return clusters[0] if clusters else None
    for cluster in clusters:
        if text in (str(cluster.pk), cluster.name):
            return cluster
    raise NotFound(_("There is no such cluster."))


def _hours(request: HttpRequest) -> int:
    text = request.GET.get("hours", "")
    return int(text) if text.isdigit() and text.isascii() and len(text) < 4 and int(text) in HOURS else 6


def _hour_choices() -> list[tuple[int, str]]:
    return [(1, _("1 hour")), (6, _("6 hours")), (24, _("1 day")), (168, _("7 days"))]


def _group_choices() -> list[tuple[str, str]]:
    return [("pool", _("Node pool")), ("node", _("Node")), ("project", _("Project")), ("workload", _("Workload"))]
