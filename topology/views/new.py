"""Making a topology, or replacing one: keys found on nodes, their order, the tree they make, the manifest."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.permissions import Scope, has_right, require
from accounts.requests import actor_of
from clusters.kept import kept
from clusters.models import Cluster
from clusters.names import HOSTNAME_LABEL
from clusters.selectors import chosen_cluster, cluster_list, observed_versions
from core.errors import Conflict, InvalidInput, NotFound
from topology import presenting, services
from topology.draft import Draft, read_draft
from topology.drawing import Drawn, draw
from topology.findings import Severity
from topology.impact import topology_replacement
from topology.impact_words import grew, impact_items, sealed, was_shown
from topology.manifests import TopologySpec, topology_manifest
from topology.models import NetworkTopology, NodePool
from topology.rules import doubled_fault
from topology.selectors import TopologyRow, node_facts
from topology.selectors.topologies import find_topology
from topology.suggestions import CandidateKey, KeyUse
from topology.views.topologies import node_url
from topology.wording import finding_item, short_key

RIGHT = "network-topologies:create"
# More boxes beside each other than this cannot be told apart, and there is no zooming before the topology exists.
PREVIEW_DOMAINS = 100
DRAFT_FIELDS = ("paste", "use_paste", "as_pasted", "order_given", "was", "level", "key", "shown")


@require_http_methods(["GET", "HEAD", "POST"])
def topology_new(request: HttpRequest) -> HttpResponse:
    """The form; GET with fields is its preview, POST saves."""
    require(request.user, RIGHT)
    fields = request.POST if request.method == "POST" else request.GET
    clusters = [row for row in cluster_list(request.user) if has_right(request.user, RIGHT, Scope(row.pk))]
    cluster = chosen_cluster(request.user, fields.get("cluster", "")) or (clusters[0] if clusters else None)
    if cluster is None:
        return render(request, "topology/topology_new.html", {"clusters": []})
    context = page_context(fields, cluster)
    if request.method == "POST" and context["errors"]:
        return render(request, "topology/topology_new.html", {**context, "clusters": clusters}, status=422)
    if request.method == "POST" and not fields.get("preview"):
        try:
            topology = _save(request, cluster, context["draft"])
        except (InvalidInput, Conflict) as error:
            return _again(request, {**context, "clusters": clusters}, error)
        messages.success(request, _("%(name)s is saved; the cluster follows.") % {"name": topology.name})
        return redirect("topology:topology-detail", topology.pk)
    return render(request, "topology/topology_new.html", {**context, "clusters": clusters})


@require_http_methods(["GET", "HEAD", "POST"])
def topology_replace(request: HttpRequest, pk: str) -> HttpResponse:
    """The same form for a topology whose keys are wrong: a new one, the pools move over, the old one goes."""
    row = find_topology(request.user, pk)
    if row.row is None:
        raise NotFound
    for right in (RIGHT, "network-topologies:delete"):
        require(request.user, right, row.row.scope)
    fields: QueryDict = request.POST if request.method == "POST" else request.GET
    if not fields.get("order_given") and not fields.get("use_paste"):
        fields = _fields_of(row, fields)
    context = {**page_context(fields, row.cluster), "replaces": row, "clusters": [row.cluster]}
    context |= _effects(request, row.row, context["draft"])
    if request.method == "POST" and not (context["warnings"] or context["errors"]):
        draft: Draft = context["draft"]
        try:
            topology = services.replace_topology(
                actor_of(request),
                topology=row.row,
                name=draft.name,
                levels=draft.levels,
                impact=context["shown"],
            )
        except (InvalidInput, Conflict) as error:
            return _again(request, context, error)
        messages.success(request, _("%(name)s takes its place; the cluster follows.") % {"name": topology.name})
        return redirect("topology:topology-detail", topology.pk)
    return render(request, "topology/topology_new.html", context, status=422 if request.method == "POST" else 200)


def _effects(request: HttpRequest, topology: NetworkTopology, draft: Draft) -> dict[str, Any]:
    """What the replacement would do to work; asked for once the levels differ or the form is sent."""
    if not draft.levels or (list(draft.levels) == list(topology.levels) and request.method != "POST"):
        return {"warnings": [], "impact": "", "shown": None}
    shown = topology_replacement(request.user, topology, draft.levels, now=timezone.now())
    items, confirmed = impact_items(shown), request.POST.get("confirmed")
    if confirmed:
        items = [] if was_shown(request, topology, shown) else [grew(), *items]
    return {"warnings": items, "impact": sealed(request, topology, shown), "shown": shown}


def _fields_of(row: TopologyRow, given: QueryDict) -> QueryDict:
    """The form as it is opened for a replacement: the old levels, a name that is free."""
    fields = QueryDict(mutable=True)
    fields["order_given"] = "1"
    fields["name"] = given.get("name") or f"{row.name[:60]}-2"
    fields.setlist("level", list(row.levels))
    fields.setlist("key", list(row.levels))
    return fields


def _save(request: HttpRequest, cluster: Cluster, draft: Draft) -> NetworkTopology:
    return services.create_topology(actor_of(request), cluster=cluster, name=draft.name, levels=draft.levels)


def _again(request: HttpRequest, context: dict[str, Any], error: InvalidInput | Conflict) -> HttpResponse:
    faults = error.faults if isinstance(error, InvalidInput) else ()
    at_name = [fault for fault in faults if fault.field == "name"]
    shown = {
        "name_error": " ".join(fault.sentence for fault in at_name) or (not faults and error.message) or "",
        "errors": [fault.sentence for fault in faults if fault.field != "name"],
    }
    return render(request, "topology/topology_new.html", {**context, **shown}, status=422)


def page_context(fields: Any, cluster: Cluster) -> dict[str, Any]:
    """Everything that depends on the draft."""
    version = observed_versions([cluster.pk]).get(cluster.pk)
    facts = kept(("facts", cluster.pk), version, lambda: node_facts(cluster.pk))
    pools = NodePool.objects.filter(cluster=cluster).exclude(label_key="")
    pool_keys = list(pools.values_list("label_key", flat=True))
    said = tuple((name, tuple(fields.getlist(name))) for name in DRAFT_FIELDS)
    # Of a large cluster the last draft is kept: its name is all that changes while somebody thinks about it.
    kept_by = version and (version, said, tuple(pool_keys))
    draft = kept(("draft", cluster.pk), kept_by, lambda: read_draft(fields, facts, pool_keys))
    draft = replace(draft, name=str(fields.get("name", "") or "").strip())
    drawn = _drawn(draft, cluster, version=version) if draft.levels and facts else None
    manifest = topology_manifest(TopologySpec(draft.name or "…", draft.levels, ""))
    del manifest["metadata"]["labels"]
    return {
        "draft": draft,
        "errors": [doubled_fault(key).sentence for key in draft.doubled],
        "cluster": cluster,
        "node_count": len(facts),
        "candidates": [_candidate(candidate, draft) for candidate in draft.places],
        "others": [_candidate(candidate, draft) for candidate in draft.others],
        "order": [
            {
                "value": note["value"],
                "note": ngettext("%(n)d domain", "%(n)d domains", note["domains"]) % {"n": note["domains"]},
            }
            for note in draft.notes
        ],
        "drawn": drawn,
        "undrawn": ", ".join(map(short_key, _undrawn(draft, drawn))) if drawn else "",
        "tree_note": _tree_note(draft),
        "findings": [finding_item(finding) for finding in draft.findings],
        "to_act_on": sum(finding.severity in (Severity.BAD, Severity.WAIT) for finding in draft.findings),
        "manifest": presenting.as_yaml(manifest),
        "pasted": " › ".join(map(short_key, draft.pasted)),
        "pasted_lines": "\n".join(draft.pasted),
        "paste_open": bool(fields.get("use_paste")),
        "cancel_url": reverse("topology:topology-list"),
    }


def _drawn(draft: Draft, cluster: Cluster, *, version: Hashable) -> Drawn:
    kept_by = version and (version, draft.levels, get_language())
    return kept(("draft drawn", cluster.pk), kept_by, lambda: draw(draft.tree, node_url=node_url, most=PREVIEW_DOMAINS))


def _undrawn(draft: Draft, drawn: Drawn) -> tuple[str, ...]:
    """The levels that have too many domains for the drawing; a host is drawn as a node."""
    return tuple(key for key in draft.levels if key != HOSTNAME_LABEL)[drawn.tree.depth :]


def _tree_note(draft: Draft) -> str:
    counts = " › ".join(str(count) for count in draft.tree.counts)
    outside = len(draft.tree.outside)
    text = ngettext("%(counts)s domains, %(n)d node outside", "%(counts)s domains, %(n)d nodes outside", outside)
    return text % {"counts": counts, "n": outside}


def _candidate(candidate: CandidateKey, draft: Draft) -> dict[str, Any]:
    more = candidate.values - len(candidate.examples)
    example = ", ".join(candidate.examples)
    if more > 0:
        example = _("%(first)s, %(n)d more") % {"first": candidate.examples[0], "n": candidate.values - 1}
    return {
        "key": candidate.key,
        "chosen": candidate.key in draft.levels,
        "nodes": _("%(n)d of %(total)d") % {"n": candidate.nodes, "total": candidate.total},
        "partial": not candidate.covers_all,
        "values": candidate.values,
        "example": example,
        "note": _note(candidate),
    }


def _note(candidate: CandidateKey) -> str:
    if candidate.use is KeyUse.SINGLE:
        return _("one value, adds nothing")
    if candidate.use is KeyUse.POOL:
        return _("a pool’s label")
    if candidate.use is KeyUse.OTHER:
        return _("not a place")
    if candidate.inside:
        return _("each lies in one %(parent)s") % {"parent": short_key(candidate.inside)}
    return ""
