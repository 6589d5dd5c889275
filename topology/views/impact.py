"""What cordoning or removing nodes of a pool would do. Muster changes no node: kubectl does, this page looks first."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.permissions import require
from clusters.models import Node
from topology import presenting
from topology.impact import node_changes
from topology.impact_words import impact_items
from topology.selectors import pool_figures
from topology.views.pools import pools_of

MOST_NODES = 500


@require_GET
def node_pool_impact(request: HttpRequest, pk: str) -> HttpResponse:
    """`?cordon=` and `?remove=` name nodes; the answer is whom it would hit."""
    require(request.user, "nodepools:read")
    pool = pools_of(request.user).get_visible(request.user, pk=pk)
    nodes = Node.objects.filter(cluster=pool.cluster, node_pool=pool.shard).order_by("name")
    names = list(nodes.values_list("name", flat=True))
    cordon, remove = (_named(request, key, names) for key in ("cordon", "remove"))
    shown = node_changes(request.user, pool, cordon=cordon, remove=remove, now=timezone.now())
    asked = bool(cordon or remove)
    nothing = {"status": "ok", "text": _("No workload is hit and no fair share changes."), "detail": ""}
    context = {
        **presenting.pool_head(request.user, pool, pool_figures([pool])[pool.pk], "nodes"),
        "nodes": [(name, name in cordon, name in remove) for name in names[:MOST_NODES]],
        "more": max(len(names) - MOST_NODES, 0),
        "asked": asked,
        "totals": shown["pools"],
        "findings": (impact_items(shown) or [nothing]) if asked else [],
    }
    return render(request, "topology/node_pool_impact.html", context)


def _named(request: HttpRequest, key: str, names: list[str]) -> list[str]:
    """The nodes of the pool that the parameter names; others are ignored."""
    given = {name for text in request.GET.getlist(key) for name in text.split(",")}
    return [name for name in names if name in given]
