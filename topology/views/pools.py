"""Node pools: list, new, detail, nodes, events, YAML, settings, attach, delete."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import Scope, has_right, require
from accounts.requests import actor_of
from accounts.stored_now import show_stored
from clusters import presenting as cluster_presenting
from clusters import selectors as cluster_selectors
from clusters.kept import kept
from clusters.kinds import KAI_SCHEDULING_SHARD
from clusters.names import owner_label_value
from core.edit_forms import is_outdated, opened_generation, tell_saved
from core.errors import Conflict, InvalidInput, Stale
from core.tables import build_table, table_response
from topology import presenting, services
from topology.drawing import draw
from topology.forms import NodePoolForm, NodePoolSettingsForm, add_faults
from topology.history import timeline
from topology.impact import pool_change, pool_deletion
from topology.impact_words import grew, hits_of, impact_items, sealed, was_shown
from topology.manifests import ShardSpec, shard_manifest
from topology.models import NodePool
from topology.protection import MOST_NAMED, protection_of
from topology.selectors import node_facts, pool_figures
from topology.tables import NODE_POOLS
from topology.tree import Tree, domain_tree
from topology.views.topologies import node_url
from topology.wording import condition_item, short_key

RIGHT = "nodepools:create"


def pools_of(user: Any) -> Any:
    """Pools that `user` may read, with what pages need."""
    return NodePool.objects.visible_to(user).select_related("cluster", "network_topology")


@require_GET
def node_pool_list(request: HttpRequest) -> HttpResponseBase:
    """All pools, those without nodes too."""
    require(request.user, "nodepools:read")
    cluster = cluster_selectors.chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = pools_of(request.user)
    if cluster is not None:
        rows = rows.filter(cluster=cluster)
    table = build_table(request, rows, NODE_POOLS, present=presenting.node_pool_rows)
    context = {
        "may_create": has_right(request.user, RIGHT),
        "stale": cluster_presenting.stale_sentences(
            cluster_selectors.stale_clusters(request.user, cluster, "nodes", "pods")
        ),
        "topics": "topology.NodePool "
        + " ".join(cluster_presenting.observed_topics(request.user, cluster, "Node", "Pod")),
    }
    return table_response(request, "topology/node_pool_list.html", table, context)


@require_http_methods(["GET", "HEAD", "POST"])
def node_pool_new(request: HttpRequest) -> HttpResponse:
    """The form of a new pool."""
    require(request.user, RIGHT)
    given = request.POST.get("cluster") or request.GET.get("cluster", "")
    rows = cluster_selectors.cluster_list(request.user)
    clusters = [row for row in rows if has_right(request.user, RIGHT, Scope(row.pk))]
    cluster = cluster_selectors.chosen_cluster(request.user, given) or (clusters[0] if clusters else None)
    form = NodePoolForm(request.POST or None, cluster=cluster)
    if request.method == "POST" and cluster is not None and form.is_valid():
        try:
            pool = services.create_node_pool(
                actor_of(request), cluster=cluster, name=form.cleaned_data["name"].strip(), settings=form.changes()
            )
        except InvalidInput as error:
            add_faults(form, error)
        except Conflict as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, _("%(name)s is saved; the cluster follows.") % {"name": pool.name})
            return redirect("topology:node-pool-detail", pool.pk)
    context = {"form": form, "clusters": clusters, "cluster": cluster}
    return render(request, "topology/node_pool_new.html", context, status=422 if form.errors else 200)


@require_GET
def node_pool_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """What it has, its topology, its scheduler, the quotas given on it."""
    pool, head = _head(request, pk, "overview")
    version = cluster_selectors.observed_versions([pool.cluster_id]).get(pool.cluster_id)
    key = (pool.pk, pool.generation, get_language())
    facts = kept(("facts of a pool", *key), version, lambda: node_facts(pool.cluster_id, pool=pool.name))
    topology, at = pool.network_topology, request.GET.getlist("at")
    levels = tuple(topology.levels) if topology else ()
    tree = kept(("tree of a pool", levels, *key), version, lambda: domain_tree(levels, facts)) if topology else None
    drawn = None
    if tree and facts and at:
        drawn = draw(tree, at, node_url=node_url)
    elif tree and facts:
        drawn = kept(("drawn pool", levels, *key), version, lambda: draw(tree, node_url=node_url))
    context = {
        **head,
        "drawn": drawn,
        "tree": tree,
        "conditions": [condition_item(condition) for condition in pool.conditions],
        "topologies": _choices(pool, facts, version) if head["may_update"] else [],
        "quotas_url": _url("organizations:node-pool-quotas", pool.pk),
        "metrics_url": _url("metrics:pool-gpus", pool.pk),
    }
    return render(request, "topology/node_pool_detail.html", context)


def _choices(pool: NodePool, facts: Any, version: Any) -> list[dict[str, Any]]:
    """Topologies that can be attached, with what each would mean to the pool's GPU nodes."""
    choices = []
    for topology in pool.cluster.network_topologies.filter(deletion_requested_at=None).order_by("name"):
        tree = _tree_of_choice(pool, tuple(topology.levels), facts, version)
        path = " › ".join(map(short_key, topology.levels))
        note = ngettext("%(n)d node outside", "%(n)d nodes outside", len(tree.outside)) % {"n": len(tree.outside)}
        choices.append(
            {
                "pk": topology.pk,
                "label": f"{topology.name} · {path} · {note}",
                "current": topology.pk == pool.network_topology_id,
            }
        )
    return choices


def _tree_of_choice(pool: NodePool, levels: tuple[str, ...], facts: Any, version: Any) -> Tree:
    key = ("choice of a pool", pool.pk, pool.generation, levels)
    return kept(key, version, lambda: domain_tree(levels, [node for node in facts if node.gpus]))


def _url(name: str, pk: Any) -> str:
    """The address of another package's fragment; empty where the installation has none."""
    try:
        return reverse(name, args=[pk])
    except NoReverseMatch:
        return ""


@require_GET
def node_pool_nodes(request: HttpRequest, pk: str) -> HttpResponse:
    """Its nodes; those outside its topology first."""
    pool, head = _head(request, pk, "nodes")
    levels = pool.network_topology.levels if pool.network_topology else []
    nodes = []
    for node in node_facts(pool.cluster_id, pool=pool.name):
        missing = [key for key in levels if not node.labels.get(key)]
        nodes.append({"facts": node, "values": [node.labels.get(key) for key in levels], "missing": missing})
    nodes.sort(key=lambda node: (not node["missing"], node["facts"].name))  # type: ignore[attr-defined]  # node facts
    keys = [short_key(key) for key in levels]
    return render(request, "topology/node_pool_nodes.html", {**head, "nodes": nodes, "keys": keys})


@require_GET
def node_pool_events(request: HttpRequest, pk: str) -> HttpResponse:
    """What happened to it."""
    pool, head = _head(request, pk, "events")
    events = timeline(request.user, pool, [(KAI_SCHEDULING_SHARD.kind, pool.name)])
    return render(request, "topology/node_pool_events.html", {**head, "events": events})


@require_GET
def node_pool_yaml(request: HttpRequest, pk: str) -> HttpResponse:
    """The shard that we apply, the one the cluster has, the difference."""
    pool, head = _head(request, pk, "yaml")
    spec = ShardSpec(
        pool.name,
        owner_label_value("topology.NodePool", pool.pk),
        gpu_strategy=pool.gpu_placement_strategy,
        cpu_strategy=pool.cpu_placement_strategy,
        min_runtime=pool.min_guaranteed_runtime,
    )
    wanted = [] if pool.is_default else [(KAI_SCHEDULING_SHARD, shard_manifest(spec))]
    return render(request, "topology/node_pool_yaml.html", {**head, **presenting.comparison(pool.cluster_id, wanted)})


@require_http_methods(["GET", "HEAD", "POST"])
def node_pool_edit(request: HttpRequest, pk: str) -> HttpResponse:
    """Label, topology, strategy, minimum runtime."""
    pool, head = _head(request, pk, "overview")
    require(request.user, "nodepools:update", pool.scope)
    before = pool.generation
    initial = {column: getattr(pool, column) for column in services.NodePoolChanges.__annotations__}
    form = NodePoolSettingsForm(request.POST or None, initial=initial, cluster=pool.cluster, pool=pool)
    effects: dict[str, Any] = {}
    if is_outdated(request, pool) and form.has_changed():
        form.add_error(None, Stale().message)
        show_stored(form, request.user, pool, services.AUDIT_NAMES)
    if request.method == "POST" and form.is_valid():
        effects, shown = _effects(request, pool, form.changes())
        if not effects and _updated(request, pool, form, shown):
            tell_saved(request, pool, before, _("%(name)s is saved; the cluster follows.") % {"name": pool.name})
            return redirect("topology:node-pool-detail", pool.pk)
    status = 422 if form.errors or effects else 200
    context = {**head, **effects, "form": form, "generation": opened_generation(request, pool)}
    return render(request, "topology/node_pool_edit.html", context, status=status)


def _effects(
    request: HttpRequest, pool: NodePool, changes: services.NodePoolChanges
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """What the person has not seen yet of what saving would do (empty: all of it was, or it does nothing), and all
    that it would do at this moment."""
    shown = pool_change(request.user, pool, changes, now=timezone.now())
    items = impact_items(shown)
    confirmed = request.POST.get("confirmed")
    if not items or (confirmed and was_shown(request, pool, shown)):
        return {}, shown
    return {"warnings": [*([grew()] if confirmed else []), *items], "impact": sealed(request, pool, shown)}, shown


def _updated(request: HttpRequest, pool: NodePool, form: NodePoolSettingsForm, shown: Mapping[str, Any]) -> bool:
    try:
        services.update_node_pool(
            actor_of(request),
            pool=pool,
            changes=form.changes(),
            expected_generation=opened_generation(request, pool),
            impact=shown,
        )
    except InvalidInput as error:
        add_faults(form, error)
    except (Conflict, Stale) as error:
        form.add_error(None, error.message)
    else:
        return True
    return False


@require_http_methods(["GET", "HEAD", "POST"])
def node_pool_attach(request: HttpRequest, pk: str) -> HttpResponse:
    """Attach, swap or detach (`topology` is empty) the topology. What has effects is asked first, by a GET."""
    pool = pools_of(request.user).get_visible(request.user, pk=pk)
    require(request.user, "nodepools:update", pool.scope)
    data = request.POST if request.method == "POST" else request.GET
    chosen, seen, before = data.get("topology", ""), data.get("attached"), pool.generation
    topology = pool.cluster.network_topologies.get_visible(request.user, pk=chosen) if chosen else None
    effects, shown = _effects(request, pool, {"network_topology": topology})
    if request.method != "POST":
        if not effects or "topology" not in request.GET:
            return redirect("topology:node-pool-detail", pool.pk)
        context = {**_head(request, pk, "overview")[1], **effects, "chosen": chosen, "topology": topology}
        return render(request, "topology/node_pool_attach.html", {**context, "attached": seen or ""})
    if seen != str(pool.network_topology_id or ""):
        messages.error(request, Stale().message)
        return redirect("topology:node-pool-detail", pool.pk)
    if effects:
        return redirect(f"{request.path}?{urlencode({'topology': chosen, 'attached': seen})}")
    try:
        if topology is None:
            services.detach_topology(actor_of(request), pool=pool, impact=shown)
        else:
            services.attach_topology(actor_of(request), pool=pool, topology=topology, impact=shown)
    except (InvalidInput, Conflict, Stale) as error:
        messages.error(request, error.message)
    else:
        told = _("The network topology of %(name)s is changed.") % {"name": pool.name}
        tell_saved(request, pool, before, told)
    return redirect("topology:node-pool-detail", pool.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def node_pool_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, with what it hits and the name to type; then asks the cluster."""
    pool = pools_of(request.user).get_visible(request.user, pk=pk)
    require(request.user, "nodepools:delete", pool.scope)
    error = ""
    shown = pool_deletion(request.user, pool, now=timezone.now())
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() != pool.name:
            error = _("This is not its name.")
        elif not was_shown(request, pool, shown):
            error = grew()["text"]
        else:
            try:
                services.delete_node_pool(actor_of(request), pool=pool, impact=shown)
            except (Conflict, Stale) as refused:
                error = refused.message
            else:
                messages.success(request, _("%(name)s is being deleted.") % {"name": pool.name})
                return redirect("topology:node-pool-list")
    context = {
        "title": _("Delete node pool %(name)s") % {"name": pool.name},
        "hits": [*_hits(pool), *hits_of(shown)],
        "obstacles": _obstacles(request, pool),
        "impact": sealed(request, pool, shown),
        "name": pool.name,
        "act": _("Delete node pool"),
        "action_url": reverse("topology:node-pool-delete", args=[pool.pk]),
        "back_url": reverse("topology:node-pool-detail", args=[pool.pk]),
        "error": error,
    }
    return render(request, "confirm.html", context, status=422 if error else 200)


def _hits(pool: NodePool) -> list[dict[str, Any]]:
    figures = pool_figures([pool])[pool.pk]
    return [
        {
            "text": ngettext(
                "%(n)d node goes to the pool that matches it, else to “default”",
                "%(n)d nodes go to the pool that matches them, else to “default”",
                figures.nodes,
            )
            % {"n": figures.nodes},
            "icon": "cpu",
        },
        {"text": _("the scheduler shard %(name)s") % {"name": pool.name}, "icon": "layers"},
        {"text": _("the quota of every department and project on it, with its queues"), "icon": "scale"},
    ]


def _obstacles(request: HttpRequest, pool: NodePool) -> list[dict[str, Any]]:
    """What forbids its deletion, as `services.delete_node_pool` refuses it."""
    if pool.is_default:
        text = _("The node pool “default” cannot be deleted: it takes the nodes that no other pool takes.")
        return [{"text": text, "icon": "layers"}]
    users = protection_of(pool, request.user)
    told = [_("It is used by the %(row)s.") % {"row": cluster_presenting.named(found)} for found in users.seen]
    return [{"text": text, "icon": "boxes"} for text in [*told[:MOST_NAMED], *users.hidden_words]]


def _head(request: HttpRequest, pk: str, tab: str) -> tuple[NodePool, dict[str, Any]]:
    require(request.user, "nodepools:read")
    pool: NodePool = pools_of(request.user).get_visible(request.user, pk=pk)
    head = presenting.pool_head(request.user, pool, pool_figures([pool])[pool.pk], tab)
    state = cluster_selectors.watch_state(pool.cluster, "nodes", "pods")
    head["stale"] = cluster_presenting.stale_sentences([(pool.cluster, state)] if state.stale else [])
    return pool, head
