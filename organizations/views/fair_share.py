"""The fair-share page: one node pool and resource, its what-if, its history, its CSV."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from clusters import presenting as cluster_presenting
from clusters import selectors as cluster_selectors
from clusters.models import Cluster
from core.csv import csv_line
from core.fragments import render_fragment
from organizations import fair_share_presenting as presenting
from organizations.fair_share import RESOURCES, Board, Row, board_rows, board_totals, fair_share_board
from organizations.fair_share_changes import WhatIf, read_what_if
from organizations.fair_share_figures import history_figure
from organizations.fair_share_history import EVERY, history, series
from organizations.fair_share_steps import steps_of
from organizations.fair_share_words import people
from organizations.models import Department, Project
from organizations.quota import UNLIMITED
from topology.models import NodePool

RIGHT = "project:read"
# So many queues are drawn and have their history to choose, and so many have their sentence and fields of the what-if;
# a search finds the others. With them the page has about 2,400 elements.
MOST_ROWS = 45
MOST_SENTENCES = 30
HOURS = ("6", "24", "168", "336")


@require_GET
def fair_share(request: HttpRequest) -> HttpResponse:
    """Every queue of a pool: what it deserves, gets, holds and asks, and why."""
    require(request.user, RIGHT)
    clusters = list(Cluster.objects.visible_to(request.user).order_by("name"))
    chosen = cluster_selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    cluster = chosen or next(iter(clusters), None)
    pools = _pools(request, cluster) if cluster else []
    wanted = request.GET.get("pool", "")
    pool = next((pool for pool in pools if pool.name == wanted), pools[0] if pools else None)
    resource = request.GET.get("resource", "gpu")
    resource = resource if resource in RESOURCES else "gpu"
    context: dict[str, Any] = {
        "clusters": clusters,
        "cluster": cluster,
        "pools": pools,
        "pool": pool,
        "resource": resource,
        "resources": [("gpu", "GPU"), ("cpu", "CPU"), ("memory", _("Memory"))],
        "unit": {"gpu": _("GPUs"), "cpu": _("cores"), "memory": "GB"}[resource],
    }
    if pool is None or cluster is None:
        return render(request, "organizations/fair_share.html", context)
    board = fair_share_board(request.user, pool, now=timezone.now())
    rows = board_rows(board, resource)
    if request.GET.get("format") == "csv":
        return _csv(pool, resource, rows)
    asked = request.GET.get("q", "").strip()[:60]
    found = _found(rows, asked)
    context |= _stale(cluster) | _board_context(request, board, resource, rows)
    context |= _history(request, board, resource, rows, found[:MOST_ROWS])
    context |= {"q": asked, "lines": presenting.lines_of(board, found[:MOST_ROWS])}
    context |= {"more_lines": max(len(found) - MOST_ROWS, 0), "nothing_found": not found}
    context["sentences"] = presenting.sentences_of(board, resource, found)[:MOST_SENTENCES]
    context |= _what_if(request, board, resource, found[:MOST_SENTENCES])
    return render(request, "organizations/fair_share.html", context)


def _pools(request: HttpRequest, cluster: Cluster) -> list[NodePool]:
    rows = NodePool.objects.visible_to(request.user).filter(cluster=cluster, deletion_requested_at=None)
    return sorted(rows.select_related("cluster"), key=lambda pool: (not pool.is_default, pool.name))


@require_GET
def project_fair_share(request: HttpRequest, pk: str) -> HttpResponse:
    """A fragment: the project's sentence on every pool."""
    require(request.user, RIGHT)
    project = Project.objects.select_related("cluster").get_visible(request.user, pk=pk)
    return _owner_sentences(request, project)


@require_GET
def department_fair_share(request: HttpRequest, pk: str) -> HttpResponse:
    """A fragment: the department's sentence on every pool."""
    require(request.user, "department:read")
    department = Department.objects.select_related("cluster").get_visible(request.user, pk=pk)
    return _owner_sentences(request, department)


def _owner_sentences(request: HttpRequest, owner: Department | Project) -> HttpResponse:
    said = []
    for quota in owner.quotas.select_related("node_pool__cluster").order_by("node_pool__name"):
        board = fair_share_board(request.user, quota.node_pool, now=timezone.now())
        row = next((row for row in board_rows(board, "gpu") if row.queue == quota.queue_name), None)
        if row is not None:
            said.append((quota.node_pool, presenting.sentence_of(board, "gpu", row)))
    context = {"said": said, "cluster": owner.cluster}
    return render_fragment(request, "organizations/_fair_share_sentences.html", context, crumbs=_crumbs_of(owner))


def _crumbs_of(owner: Department | Project) -> list[dict[str, str]]:
    kind, label = ("department", _("Departments")) if isinstance(owner, Department) else ("project", _("Projects"))
    return [
        {"label": label, "url": reverse(f"organizations:{kind}-list")},
        {"label": owner.name, "url": reverse(f"organizations:{kind}-detail", args=[owner.pk])},
    ]


def _found(rows: list[Row], text: str) -> list[Row]:
    """Rows whose name holds the text; with a search for queues only, not for those that have no name."""
    return [row for row in rows if text.lower() in row.name.text.lower() and row.name.text] if text else rows


def _stale(cluster: Cluster) -> dict[str, Any]:
    state = cluster_selectors.watch_state(cluster, "queues", "pods", "podgroups", "nodes")
    return {"stale": cluster_presenting.stale_sentences([(cluster, state)] if state.stale else [])}


def _board_context(request: HttpRequest, board: Board, resource: str, rows: list[Row]) -> dict[str, Any]:
    totals = board_totals(board, resource)
    seen = cluster_presenting.observed_topics(request.user, board.pool.cluster, "Node", "Pod")
    pairs, more = presenting.pairs_of(board, resource)
    tops = (max(row.held, row.asked, row.fair, row.deserved) for row in rows if not row.depth)
    return {
        "observed_at": board.shard.observed_at,
        "notices": presenting.notices_of(board),
        "totals": totals,
        "tiles": presenting.tiles_of(totals),
        "scale": max([*tops, totals.shared]) or 1,
        "steps": steps_of(board, resource, totals),
        "pairs": pairs,
        "more_pairs": more,
        "topics": " ".join(("organizations.Project", "organizations.Department", *seen)),
    }


def _what_if(request: HttpRequest, board: Board, resource: str, rows: list[Row]) -> dict[str, Any]:
    asked: WhatIf = read_what_if(request.GET.dict(), board, resource)
    then = board
    if not (asked.is_empty or asked.faults):
        then = fair_share_board(request.user, board.pool, now=timezone.now(), changes=asked.changes)
    total = people(resource, getattr(board.shares.total, resource))
    would_total = people(resource, getattr(then.shares.total, resource))
    granted = sum((row.fair for row in board_rows(then, resource) if not row.depth), Decimal(0))
    return {
        "what_if": asked,
        "compared": presenting.compared(rows, then, resource, asked.given),
        "would_total": would_total,
        "would_granted": granted,
        "beyond": max(granted - would_total, Decimal(0)),
        "total_value": asked.given.get("total", "") or _plain(total),
    }


def _plain(amount: Any) -> str:
    return f"{amount.normalize():f}"


def _history(request: HttpRequest, board: Board, resource: str, rows: list[Row], drawn: list[Row]) -> dict[str, Any]:
    hours = request.GET.get("hours", "")
    chosen = int(hours) if hours in HOURS else 24
    queues = [row for row in rows if row.queue]
    wanted = request.GET.get("queue", "")
    queue = next((row for row in queues if row.queue == wanted), next((row for row in queues if row.leaf), None))
    context: dict[str, Any] = {
        "hours": chosen,
        "hour_choices": [(6, _("6 hours")), (24, _("24 hours")), (168, _("7 days")), (336, _("14 days"))],
        "history_queues": [row for row in queues if row in drawn or row is queue],
        "history_queue": queue,
    }
    if queue is not None:
        context["figure"] = queue_figure(board.pool, resource, queue.queue, timedelta(hours=chosen))
    return context


def queue_figure(pool: NodePool, resource: str, queue: str, span: timedelta) -> dict[str, Any] | None:
    """The chart of one queue; None where nothing was recorded."""
    points = series(list(history(pool, timezone.now() - span)), queue, resource)
    if not any(amounts for _at, amounts in points):
        return None
    labels = {"fair": _("fair share"), "held": _("held"), "asked": _("asked"), "deserved": _("deserved")}
    lines = {
        key: [(at, _point(resource, getattr(amounts, key)) if amounts else None) for at, amounts in points]
        for key in labels
    }
    step = max(EVERY.total_seconds(), span.total_seconds() / 1000)
    return history_figure(lines, labels, gap_seconds=step * 3)


def _point(resource: str, amount: float) -> float | None:
    return None if amount == UNLIMITED else float(people(resource, amount))


def _csv(pool: NodePool, resource: str, rows: list[Row]) -> HttpResponse:
    unit = {"gpu": _("GPUs"), "cpu": _("cores"), "memory": "GB"}[resource]
    amounts = ("deserved", "limit", "fair", "held", "fixed", "asked")
    words = (_("Deserved"), _("Limit"), _("Fair share"), _("Held"), _("Not preemptible"), _("Asked"))
    head = [_("Queue"), _("Name"), _("State"), _("Priority"), _("Weight"), *(f"{word} ({unit})" for word in words)]
    lines = [csv_line(head)]
    for row in rows:
        cells = [row.queue, presenting.row_label(row), row.state, row.priority, row.weight]
        lines.append(csv_line([*cells, *(getattr(row, name) for name in amounts)]))
    response = HttpResponse("\ufeff" + "".join(lines), content_type="text/csv; charset=utf-8")
    stamp = timezone.now().strftime("%Y-%m-%d-%H%M")
    name = f"{slugify(f'fair-share-{pool.cluster.name}-{pool.name}-{resource}')}-{stamp}.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response
