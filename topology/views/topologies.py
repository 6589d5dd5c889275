"""Network topologies: list, detail, events, YAML, what distance costs, delete."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import has_right, require
from accounts.requests import actor_of
from accounts.stored_now import StoredNow, stored_now
from clusters import presenting as cluster_presenting
from clusters import selectors as cluster_selectors
from clusters.kept import kept
from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY
from clusters.names import owner_label_value
from clusters.selectors import observed_versions
from core.edit_forms import is_outdated, opened_generation, tell_saved
from core.errors import Conflict, InvalidInput, NotFound, Stale
from core.tables import build_table, table_response
from topology import presenting, services
from topology.drawing import Chosen, draw
from topology.findings import Severity, find
from topology.fragmentation import SIZES
from topology.history import timeline
from topology.impact import topology_deletion
from topology.impact_words import grew, hits_of, sealed, was_shown
from topology.manifests import TopologySpec, binding_manifest, topology_manifest
from topology.models import NetworkTopology, NodePool
from topology.placed import place
from topology.placing import distance_rows, fragment_rows
from topology.selectors import TopologyRow, foreign_topologies, node_facts, pool_figures, tree_of, visible_topologies
from topology.selectors.placed import placed_choices, placed_pods
from topology.selectors.topologies import find_topology
from topology.suggestions import NodeFacts
from topology.tables import TOPOLOGIES
from topology.tree import Tree
from topology.wording import condition_item, finding_item, short_key

Kept = TypeVar("Kept")
LINK_FIGURES = ("latencyMicroseconds", "bandwidthGigabytesPerSecond")


@require_GET
def topology_list(request: HttpRequest) -> HttpResponseBase:
    """Ours in the list; what others made in the cluster beneath it."""
    require(request.user, "network-topologies:read")
    cluster = cluster_selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = visible_topologies(request.user)
    foreign = foreign_topologies(request.user)
    if cluster is not None:
        rows = rows.filter(cluster=cluster)
        foreign = [row for row in foreign if row.cluster == cluster]
    table = build_table(request, rows, TOPOLOGIES, present=presenting.own_topology_rows)
    context = {
        "foreign": presenting.topology_list_rows(foreign),
        "may_create": has_right(request.user, "network-topologies:create"),
        "stale": cluster_presenting.stale_sentences(
            cluster_selectors.stale_clusters(request.user, cluster, "nodes", "topologies")
        ),
        "topics": "topology.NetworkTopology topology.NodePool",
    }
    return table_response(request, "topology/topology_list.html", table, context)


@require_GET
def topology_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """The live tree, levels, findings, pools."""
    row, facts, head = _head(request, pk, "overview")
    chosen = _chosen(request, row, head["tree"])
    at = request.GET.getlist("at")
    drawn = (
        draw(head["tree"], at, node_url=node_url, chosen=chosen)
        if at or chosen
        else _kept(row, "drawn", head["version"], lambda: draw(head["tree"], node_url=node_url))
    )
    findings = _kept(row, "findings", head["version"], lambda: find(row.levels, facts))
    context = {
        **head,
        "drawn": drawn,
        "chosen": chosen,
        "choices": placed_choices(request.user, row.cluster),
        "distances": distance_rows(chosen.placed, row) if chosen else [],
        "fragments": _kept(row, "fragments", head["version"], lambda: fragment_rows(head["tree"])),
        "sizes": SIZES,
        "levels": _levels(row, head["tree"]),
        "findings": [finding_item(finding) for finding in findings],
        "to_act_on": sum(finding.severity in (Severity.BAD, Severity.WAIT) for finding in findings),
        "pools": _pools(row),
        "conditions": [condition_item(condition) for condition in row.row.conditions] if row.row else [],
    }
    return render(request, "topology/topology_detail.html", context)


def _chosen(request: HttpRequest, row: TopologyRow, tree: Tree) -> Chosen | None:
    """The workload that `?pods=` names, if it holds GPUs and may be seen."""
    key = request.GET.get("pods", "").replace("\x00", "")[:320]
    pods = placed_pods(request.user, row.cluster, key) if key else []
    return Chosen(key, place(tree, pods)) if pods else None


@require_GET
def topology_nodes(request: HttpRequest, pk: str) -> HttpResponse:
    """Every node with its value at each level; those outside first."""
    row, facts, head = _head(request, pk, "nodes")
    outside = {found.node.name: found.missing for found in head["tree"].outside}
    nodes = [
        {"facts": node, "values": [node.labels.get(key) for key in row.levels], "missing": outside.get(node.name, ())}
        for node in facts
    ]
    nodes.sort(key=lambda node: (not node["missing"], node["facts"].name))
    keys = [short_key(key) for key in row.levels]
    return render(request, "topology/topology_nodes.html", {**head, "nodes": nodes, "keys": keys})


@require_GET
def topology_events(request: HttpRequest, pk: str) -> HttpResponse:
    """What happened to it."""
    row, _facts, head = _head(request, pk, "events")
    objects = [(KAI_TOPOLOGY.kind, row.name), (GROVE_CLUSTER_TOPOLOGY_BINDING.kind, row.name)]
    events = timeline(request.user, row.row, objects) if row.row else []
    return render(request, "topology/topology_events.html", {**head, "events": events})


@require_GET
def topology_yaml(request: HttpRequest, pk: str) -> HttpResponse:
    """What we apply, what the cluster has, the difference."""
    row, _facts, head = _head(request, pk, "yaml")
    owner = owner_label_value("topology.NetworkTopology", row.id)
    spec = TopologySpec(row.name, row.levels, owner)
    wanted = [
        (KAI_TOPOLOGY, topology_manifest(spec)),
        (GROVE_CLUSTER_TOPOLOGY_BINDING, binding_manifest(spec)),
    ]
    compared = presenting.comparison(row.cluster.pk, wanted if row.row else [])
    return render(request, "topology/topology_yaml.html", {**head, **compared})


@require_http_methods(["GET", "HEAD", "POST"])
def topology_links(request: HttpRequest, pk: str) -> HttpResponse:
    """Edit latency and bandwidth of each level."""
    row, _facts, head = _head(request, pk, "overview")
    if row.row is None:
        raise NotFound
    require(request.user, "network-topologies:update", row.row.scope)
    error = ""
    stored: list[dict[str, StoredNow]] = []
    if request.method == "POST":
        before, links = row.row.generation, _posted_links(request, row)
        if is_outdated(request, row.row):
            stored = _stored_links(request, row.row, links)
        try:
            services.update_links(
                actor_of(request),
                topology=row.row,
                links=links,
                expected_generation=opened_generation(request, row.row),
            )
        except (InvalidInput, Conflict, Stale) as refused:
            error = refused.message
        else:
            tell_saved(request, row.row, before, _("Latency and bandwidth are saved."))
            return redirect("topology:topology-detail", row.id)
    levels = _levels(row, head["tree"])
    if error:  # what was typed stays
        levels = [{**level, "link": link} for level, link in zip(levels, links, strict=True)]
    levels = [{**level, "stored": found} for level, found in zip_longest(levels, stored)]
    context = {**head, "levels": levels, "error": error, "generation": opened_generation(request, row.row)}
    return render(request, "topology/topology_links.html", context, status=422 if error else 200)


def _posted_links(request: HttpRequest, row: TopologyRow) -> list[dict[str, Any]]:
    """The fields of each level; a figure that was not touched stays an assumption."""
    before = row.row.links if row.row else []
    links = []
    for index in range(len(row.levels)):
        link: dict[str, Any] = {
            "latencyMicroseconds": request.POST.get(f"latency-{index}", "").strip(),
            "bandwidthGigabytesPerSecond": request.POST.get(f"bandwidth-{index}", "").strip(),
        }
        old = before[index] if index < len(before) else {}
        untouched = all(str(old.get(key)) == value for key, value in link.items())
        links.append({**link, "assumed": untouched and bool(old.get("assumed"))})
    return links


def _stored_links(
    request: HttpRequest, topology: NetworkTopology, links: list[dict[str, Any]]
) -> list[dict[str, StoredNow]]:
    """What is stored now of each figure that differs, by level."""
    written = stored_now(request.user, topology, {("links",): "0"})[("links",)]
    return [
        {key: replace(written, text=str(old[key])) for key in LINK_FIGURES if str(old[key]) != link[key]}
        for link, old in zip(links, topology.links, strict=False)
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def topology_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, with what it hits and the name to type; then asks the cluster."""
    row = find_topology(request.user, pk)
    if row.row is None:
        raise NotFound
    require(request.user, "network-topologies:delete", row.row.scope)
    error = ""
    shown = topology_deletion(request.user, row.row, now=timezone.now())
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() != row.name:
            error = _("This is not its name.")
        elif not was_shown(request, row.row, shown):
            error = grew()["text"]
        else:
            try:
                services.delete_topology(actor_of(request), topology=row.row, impact=shown)
            except (Conflict, Stale) as refused:
                error = refused.message
            else:
                messages.success(request, _("%(name)s is being deleted.") % {"name": row.name})
                return redirect("topology:topology-list")
    context = {
        "title": _("Delete network topology %(name)s") % {"name": row.name},
        "hits": [*_hits(row), *hits_of(shown)],
        "obstacles": _obstacles(row),
        "impact": sealed(request, row.row, shown),
        "name": row.name,
        "act": _("Delete topology"),
        "action_url": reverse("topology:topology-delete", args=[row.id]),
        "back_url": reverse("topology:topology-detail", args=[row.id]),
        "error": error,
    }
    return render(request, "confirm.html", context, status=422 if error else 200)


def _hits(row: TopologyRow) -> list[dict[str, Any]]:
    return [{"text": _("the KAI Topology %(name)s, and Grove’s binding of it") % {"name": row.name}, "icon": "network"}]


def _obstacles(row: TopologyRow) -> list[dict[str, Any]]:
    """What forbids its deletion, with the name of the pools, as `services.delete_topology` refuses it."""
    if not row.pools:
        return []
    text = ngettext(
        "It is attached to the node pool %(pools)s: detach it there first.",
        "It is attached to the node pools %(pools)s: detach it there first.",
        len(row.pools),
    )
    return [{"text": text % {"pools": ", ".join(row.pools)}, "icon": "layers"}]


def _head(request: HttpRequest, pk: str, tab: str) -> tuple[TopologyRow, list[NodeFacts], dict[str, Any]]:
    require(request.user, "network-topologies:read")
    row = find_topology(request.user, pk)
    version = observed_versions([row.cluster.pk]).get(row.cluster.pk)
    facts = kept(("facts", row.cluster.pk), version, lambda: node_facts(row.cluster.pk))
    tree = kept(("tree", row.cluster.pk, row.levels), version, lambda: tree_of(row, facts))
    head = presenting.topology_head(request.user, row, tree, tab)
    head["version"] = version
    state = cluster_selectors.watch_state(row.cluster, "nodes")
    head["stale"] = cluster_presenting.stale_sentences([(row.cluster, state)] if state.stale else [])
    return row, facts, head


def _kept(row: TopologyRow, name: str, version: Hashable, compute: Callable[[], Kept]) -> Kept:
    """What depends on the nodes and pods of a large cluster alone is worked out once for each state of them."""
    return kept((name, row.cluster.pk, row.levels, get_language()), version, compute)


def _levels(row: TopologyRow, tree: Any) -> list[dict[str, Any]]:
    """Lines of the table of levels."""
    links = row.row.links if row.row else []
    return [
        {
            "number": index + 1,
            "key": key,
            "name": short_key(key),
            "domains": tree.counts[index],
            "covered": tree.covered[index],
            "parts": [("running", tree.covered[index]), ("pending", tree.total_nodes - tree.covered[index])],
            "link": links[index] if index < len(links) else {},
        }
        for index, key in enumerate(row.levels)
    ]


def _pools(row: TopologyRow) -> list[dict[str, Any]]:
    """Lines of the attached pools."""
    if row.row is None:
        return []
    pools = list(NodePool.objects.filter(network_topology=row.row).select_related("network_topology", "cluster"))
    figures = pool_figures(pools)
    return [{"pool": pool, "figures": figures[pool.pk]} for pool in pools]


def node_url(node: NodeFacts) -> str:
    """The page of a node."""
    return f"{_node_pages()}{node.id}/" if node.id else ""


@cache
def _node_pages() -> str:
    """Where the pages of nodes are: to resolve it for each of thousands costs more than all else of a drawing."""
    return reverse("clusters:node-detail", args=[0]).removesuffix("0/")
