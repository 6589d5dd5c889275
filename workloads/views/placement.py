"""The live placement preview beside a submission: fetched as the form changes, the newest request wins."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import require
from accounts.requests import actor_of
from core.errors import InvalidInput
from topology.selectors import node_facts
from topology.suggestions import NodeFacts
from topology.tree import domain_tree
from workloads import placement_words as words
from workloads import selectors
from workloads.agreement_words import agreement_line
from workloads.checks import Submission
from workloads.drawing import Drawing, draw
from workloads.forms import read_page
from workloads.placement import placement_preview
from workloads.placement_alternatives import full_preview
from workloads.room import Need, shortage
from workloads.services import read_draft
from workloads.words import place_word, reason_sentence

Json = Mapping[str, Any]


@require_http_methods(["GET", "HEAD", "POST"])
def draft_placement(request: HttpRequest) -> HttpResponse:
    """The preview of the posted form or document, or of an edit of the workload that it names; it changes nothing."""
    if request.method != "POST":
        return redirect("workloads:new")
    actor = actor_of(request)
    if request.POST.get("workload"):
        return _edited_placement(request, actor.user)
    page = read_page(actor.user, request.POST.dict())
    if page.submission is None:
        return render(request, "workloads/_preview.html", {"preview": None})
    preview = full_preview(actor.user, page.submission)
    return render(request, "workloads/_preview.html", preview_context(page.submission, preview))


def _edited_placement(request: HttpRequest, user: User) -> HttpResponse:
    """Where an edited workload would land once it is started again; alternatives are those of new ones only."""
    workload = selectors.workload_of(user, request.POST["workload"])
    require(user, "workloads:update", workload.scope)
    source = request.POST.get("source", "").replace("\r\n", "\n")
    try:
        submission = read_draft(project=workload.project, source=source, workload=workload).submission
    except InvalidInput:
        return render(request, "workloads/_preview.html", {"preview": None})
    context = preview_context(submission, placement_preview(user, submission))
    return render(request, "workloads/_preview.html", context)


def preview_context(submission: Submission, preview: Json) -> dict[str, Any]:
    """What the template needs: the preview, its sentences and its picture."""
    return {
        "preview": preview,
        "pool": submission.pool,
        "status": words.STATUS[preview["verdict"]],
        "headline": words.headline(preview),
        "agreement": agreement_line(preview["agreement"]),
        "observed_at": parse_datetime(preview["observedAt"]) if preview.get("observedAt") else None,
        "unknown": words.unknown_lines(preview),
        "gangs": [{**_gang(gang), "short": shortage_line(submission, gang)} for gang in preview.get("gangs", ())],
        "alternatives": [
            {"text": words.alternative_line(found), "choice": f"{found['field']}={found['value']}"}
            for found in preview.get("alternatives", ())
        ],
        "distance_level": place_word((preview.get("distance") or {}).get("level", "")),
        "room": words.room_line_after(preview.get("roomLeft", ())),
        "drawing": drawing(submission, preview),
    }


def _gang(gang: Json) -> dict[str, Any]:
    return {
        "name": gang["name"],
        "status": words.STATUS[gang["verdict"]],
        "line": words.gang_line(gang),
        "levels": [{"subgroup": level["subgroup"], "line": words.level_line(level)} for level in gang["levels"]],
        "victims": [words.victim_line(victim) for victim in gang["evicted"]],
        "room": [words.room_line(holders) for holders in gang["roomAfter"]],
        "reasons": gang["reasons"],
    }


def shortage_line(submission: Submission, gang: Json) -> str:
    """Where a gang that finds no place lacks how many GPUs, as its workload's page would say: at the level that it
    requires, at one that a part of it requires, or in the pool; empty where the numbers do not tell (its pods are kept
    out by something else)."""
    if gang["placed"] or gang["waitsFor"] or gang["verdict"] not in ("never", "waiting"):
        return ""
    tree = domain_tree(submission.levels, _facts(submission))
    needs = [*_needs(submission, gang), ("", "", _need(submission, gang))]
    pieces = ""
    for level, role, need in needs:
        reason = shortage(tree, level, need)
        if reason is None:
            continue
        sentence = reason_sentence(reason.as_dict())
        told = _("Role %(role)s: %(sentence)s") % {"role": role, "sentence": sentence} if role else sentence
        if "short" in reason.arguments:
            return told
        pieces = pieces or told
    return pieces if gang["verdict"] == "waiting" else ""


def _facts(submission: Submission) -> list[NodeFacts]:
    return node_facts(submission.pool.cluster_id, pool=submission.pool.name)


def _need(submission: Submission, gang: Json) -> Need:
    components = submission.graph.components
    return Need(
        min(Decimal(str(gang["gpus"])), submission.graph.gang_gpus),
        max((component.gpus_each for component in components), default=Decimal(0)),
    )


def _needs(submission: Submission, gang: Json) -> Iterator[tuple[str, str, Need]]:
    """The levels that are required: of the whole gang, then of its parts, with the role and what must be there."""
    required = [each for each in gang["levels"] if each["required"] in submission.levels]
    for each in required:
        if not each["subgroup"]:
            yield each["required"], "", _need(submission, gang)
    for each in required:
        component = next((c for c in submission.graph.components if _is_of(each["subgroup"], c.name)), None)
        if each["subgroup"] and component is not None:
            need = Need(component.gang_pods * component.gpus_each, component.gpus_each)
            yield each["required"], component.name, need


def _is_of(subgroup: str, component: str) -> bool:
    """Grove calls a part of a gang `<graph>-<n>-<component>`, those of several nodes with more behind."""
    return f"-{component.lower()}" in subgroup


def drawing(submission: Submission, preview: Json) -> Drawing | None:
    """The pool with the pods where they would stand; None without topology or places, and for edits, whose pods still
    stand there: the table says the same."""
    levels, nodes = submission.levels, preview.get("nodes") or ()
    if not levels or not nodes or submission.workload is not None:
        return None
    roles = [component.name for component in submission.graph.components if component.gpus_each]
    each = {component.name: component.gpus_each for component in submission.graph.components}
    own = {
        node["node"]: {part["name"]: part["pods"] * each.get(part["name"], Decimal(0)) for part in node["components"]}
        for node in nodes
    }
    return draw(levels, _facts(submission), own, roles)
