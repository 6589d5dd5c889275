"""Submitting and editing: the document, what is wrong with it, and the manifest that will be applied."""

import re
from difflib import unified_diff
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.permissions import has_right, require
from accounts.requests import actor_of
from accounts.stored_now import StoredNow, stored_now
from core.edit_forms import is_outdated, opened_generation, tell_saved
from core.errors import Conflict, InvalidInput, Stale
from workloads import selectors, services
from workloads.blueprints import BLUEPRINTS
from workloads.checks import Check, as_checks, named
from workloads.forms import DraftPage, check_and_preview, marks_of, read_page
from workloads.models import Preemptibility, Workload
from workloads.services import read_draft

# Fields that an alternative of the placement preview may set.
ALTERED = re.compile(r"required_level|preferred_level|preemptibility|node_pool|role-\d{1,3}-(replicas|gpus)")
PRIORITIES = ("", "train", "build-preemptible", "build", "inference")


@require_http_methods(["GET", "HEAD", "POST"])
def workload_new(request: HttpRequest) -> HttpResponse:
    """The form (or YAML) with checks beside it; `action=submit` submits."""
    actor = actor_of(request)
    if has_right(actor.user, "workloads:create") and not selectors.projects_to_submit_to(actor.user):
        return render(request, "workloads/no_project.html", {"may_make": has_right(actor.user, "project:create")})
    page = read_page(actor.user, _posted(request) if request.method == "POST" else _start(request))
    if request.POST.get("action") != "submit":
        return render(request, "workloads/new.html", new_context(page))
    if any(check.code == "ProjectGone" for check in page.checks):
        return render(request, "workloads/new.html", {**new_context(page), "refused": True}, status=422)
    try:
        workload = services.submit_workload(actor, project=page.project, source=page.source)
    except InvalidInput as error:
        page.checks = page.checks or as_checks("Document", error.faults)
    except Conflict as error:
        taken = Check("Conflict", "bad", "metadata.name", error.message)
        page.checks = (*named((taken,), page.source), *_without_name(page))
    else:
        messages.success(request, _("Workload %(name)s is submitted.") % {"name": workload.name})
        return redirect("workloads:detail", workload.pk)
    return render(request, "workloads/new.html", {**new_context(page), "refused": True}, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
def workload_edit(request: HttpRequest, pk: str) -> HttpResponse:
    """The document of a workload; what cannot change while it runs is said beside it."""
    workload = selectors.workload_of(request.user, pk)
    require(request.user, "workloads:update", workload.scope)
    source = request.POST.get("source", workload.source).replace("\r\n", "\n")
    checks, manifest = edit_checks(workload, source)
    before, generation = workload.generation, opened_generation(request, workload)
    stored = None
    if is_outdated(request, workload) and source != workload.source:
        checks = (Check("Stale", "bad", "", Stale().message), *checks)
        stored = _stored_source(request, workload, source)
    if request.POST.get("action") == "save" and not any(check.status == "bad" for check in checks):
        try:
            services.update_workload(
                actor_of(request), workload=workload, source=source, expected_generation=generation
            )
        except (Stale, Conflict) as error:
            checks = (Check("Stale", "bad", "", error.message), *checks)
        else:
            tell_saved(request, workload, before, _("The change is saved; the cluster follows."))
            return redirect("workloads:detail", workload.pk)
    refused = request.POST.get("action") == "save"
    context = {"workload": workload, "source": source, "checks": checks, "manifest": manifest, "refused": refused}
    context |= {
        "stored": stored,
        "generation": generation,
        "problems": marks_of(checks),
        "crumbs": _crumbs(workload),
        "blocking": [check for check in checks if check.status == "bad"],
    }
    return render(request, "workloads/edit.html", context, status=422 if refused else 200)


def _stored_source(request: HttpRequest, workload: Workload, source: str) -> StoredNow:
    """The document that is stored now, as the lines in which it differs from the one that was sent."""
    texts = (source.splitlines(), workload.source.splitlines())
    lines = "\n".join(unified_diff(*texts, _("yours"), _("stored now"), n=1, lineterm=""))
    return stored_now(request.user, workload, {("source",): lines})[("source",)]


def edit_checks(workload: Workload, source: str) -> tuple[tuple[Check, ...], str]:
    """What is wrong with an edited document, and the manifest that it makes."""
    try:
        draft = read_draft(project=workload.project, source=source, workload=workload)
    except InvalidInput as error:
        return as_checks("Document", error.faults), ""
    checks, manifest = check_and_preview(draft.submission)
    kept = services.immutable_changes(workload, draft)
    fixed = named(as_checks("Immutable", kept), source)
    return (*fixed, *(check for check in checks if check.status != "ok")), manifest


def new_context(page: DraftPage) -> dict[str, Any]:
    """What the template of the submission page needs."""
    return {
        "page": page,
        "blueprints": BLUEPRINTS.items(),
        "priorities": PRIORITIES,
        "preemptibilities": Preemptibility.choices,
        "crumbs": ({"label": _("Workloads"), "url": reverse("workloads:list")},),
    }


def _posted(request: HttpRequest) -> dict[str, str]:
    """What was posted, with the alternative of the preview that was chosen put into its field."""
    data: dict[str, str] = request.POST.dict()
    field, chosen, value = data.pop("alternative", "").partition("=")
    return data | {field: value} if chosen and ALTERED.fullmatch(field) else data


def _start(request: HttpRequest) -> dict[str, str]:
    """The first view: a blueprint, or the copy of another workload."""
    data = request.GET.dict()
    if "clone" in data:
        workload = selectors.workload_of(request.user, data.pop("clone"))
        data["source"] = services.clone_source(workload, f"{workload.name[:38]}-copy")
        data["project"] = str(workload.project_id)
    return data


def _without_name(page: DraftPage) -> tuple[Check, ...]:
    return tuple(check for check in page.checks if check.code != "NameTaken")


def _crumbs(workload: Workload) -> tuple[dict[str, str], ...]:
    return (
        {"label": _("Workloads"), "url": reverse("workloads:list")},
        {"label": workload.name, "url": reverse("workloads:detail", args=[workload.pk])},
    )
