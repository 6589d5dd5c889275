"""Pages about nodes: list, detail."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_GET

from accounts.permissions import Scope, has_right, require
from clusters import node_presenting, presenting, selectors
from clusters.tables import NODES
from core.tables import build_table, table_response

EVENTS = 50
PODS = 200


@require_GET
def node_list(request: HttpRequest) -> HttpResponseBase:
    """Nodes of one or all clusters."""
    require(request.user, "nodes:read")
    cluster = selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = selectors.node_rows(request.user, cluster)
    table = build_table(request, rows, NODES, keep=selectors.keep_node_ids(request.user, cluster))
    stale = selectors.stale_clusters(request.user, cluster, "nodes", "pods")
    context = {
        "cluster": cluster,
        "stale": presenting.stale_sentences(stale),
        "unread": [row for row, _state in stale if not row.streams.get("nodes", {}).get("listedAt")],
        "tiles": node_presenting.gpu_tiles(selectors.gpu_strip(request.user, cluster)),
        "topics": " ".join(presenting.observed_topics(request.user, cluster, "Node", "Pod")),
    }
    return table_response(request, "clusters/node_list.html", table, context)


@require_GET
def node_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """One node: GPUs, pods, conditions, labels, events."""
    require(request.user, "nodes:read")
    node = selectors.get_node(request.user, pk)
    sees_pods = has_right(request.user, "workloads:read", Scope(node.cluster_id))
    state = selectors.watch_state(node.cluster, "nodes", "pods")
    context = {
        "node": node,
        "crumbs": node_presenting.node_crumbs(node),
        "heading": node.name,
        "facts": node_presenting.node_facts(node, selectors.topology_levels(node.cluster)),
        "topics": f"clusters.Node@{node.cluster_id} clusters.Pod@{node.cluster_id}",
        "cells": node_presenting.node_cells(node),
        "cells_left": max(node.gpu_capacity - node_presenting.NODE_CELLS, 0),
        "labels": sorted(node.labels.items()),
        "findings": node_presenting.node_problems(node, selectors.uncounted_on(node)),
        "conditions": node_presenting.node_condition_views(node),
        "sees_pods": sees_pods,
        "pods": selectors.pods_on(node)[:PODS] if sees_pods else [],
        "events": node_presenting.event_views(selectors.events_of_node(node)[:EVENTS]),
        "stale": presenting.stale_sentences([(node.cluster, state)] if state.stale else []),
        "metrics_url": _metrics_url(node.pk),
    }
    return render(request, "clusters/node_detail.html", context)


def _metrics_url(pk: int) -> str:
    """The fragment with the node's series, where the installation has metrics."""
    try:
        return reverse("metrics:node-gpus", args=[pk])
    except NoReverseMatch:
        return ""
