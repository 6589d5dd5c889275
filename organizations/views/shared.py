"""What the pages of departments and projects share: the matrix of a form, warnings, what is wrong with queues."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.permissions import Scope, has_right
from accounts.stored_now import show_stored
from clusters import presenting as cluster_presenting
from clusters import selectors as cluster_selectors
from clusters.kinds import KAI_QUEUE
from clusters.models import Cluster
from core.edit_forms import is_outdated, opened_generation, tell_saved
from core.errors import Conflict, InvalidInput, Stale
from organizations import cluster_queues, presenting
from organizations.forms import DescriptionForm, Matrix, add_faults, read_matrix, with_stored
from organizations.impact import quota_impact, warnings_of
from organizations.models import Department, Project
from organizations.wording import fault_item, warning_item
from topology.history import timeline
from topology.impact_names import Shown
from topology.impact_words import grew, hits_of, impact_items, sealed, was_shown
from topology.models import NodePool
from topology.presenting import comparison

Row = Department | Project


def list_context(request: HttpRequest, cluster: Cluster | None) -> dict[str, Any]:
    """Notices of the lists: clusters that are not current, queues that endanger the cluster."""
    clusters = cluster_queues.readable_clusters(request.user, cluster)
    stale = cluster_selectors.stale_clusters(request.user, cluster, "queues")
    return {
        "stale": cluster_presenting.stale_sentences(stale),
        "faults": [fault_item(*found) for found in cluster_queues.queue_faults(clusters)],
        "foreign": cluster_queues.foreign_queues(clusters),
    }


def stale_context(row: Row) -> dict[str, Any]:
    """The notice of a detail page whose cluster is not current."""
    state = cluster_selectors.watch_state(row.cluster, "queues")
    return {"stale": cluster_presenting.stale_sentences([(row.cluster, state)] if state.stale else [])}


def clusters_for(request: HttpRequest, right: str) -> list[Cluster]:
    """Clusters in which the person may make one, the departments they administer included."""
    rows = cluster_selectors.cluster_list(request.user)
    return [row for row in rows if has_right(request.user, right, Scope(row.pk))]


def pools_of(cluster: Cluster) -> list[NodePool]:
    """The pools that quota can be given on, the default one first."""
    rows = NodePool.objects.filter(cluster=cluster, deletion_requested_at=None)
    return sorted(rows, key=lambda pool: (not pool.is_default, pool.name))


def matrix_of(request: HttpRequest, cluster: Cluster, owner: Row | None) -> Matrix:
    """The matrix of a form: what was sent, else what is stored."""
    return read_matrix(pools_of(cluster), request.POST if request.method == "POST" else None, owner)


def warned(request: HttpRequest, matrix: Matrix, owner: Row) -> list[dict[str, Any]]:
    """Warnings that the person has not seen yet; empty after "Save all the same"."""
    if request.POST.get("confirmed") or matrix.has_errors:
        return []
    return [warning_item(warning) for warning in warnings_of(owner, matrix.inputs)]


def save(form: Any, act: Callable[[], Any]) -> Any:
    """Run a service; its refusal becomes the form's errors and None is returned."""
    try:
        return act()
    except InvalidInput as error:
        add_faults(form, error)
    except (Conflict, Stale) as error:
        form.add_error(None, error.message)
    return None


def edit_page(
    request: HttpRequest, row: Row, head: dict[str, Any], update: Callable[[str, Matrix, Shown | None], Row]
) -> HttpResponse:
    """Description and quota of a row that exists; what a change would bring about is shown before it is saved."""
    before = row.generation
    form = DescriptionForm(request.POST or None, initial={"description": row.description})
    matrix = matrix_of(request, row.cluster, row)
    if is_outdated(request, row) and (form.has_changed() or matrix.differing):
        form.add_error(None, Stale().message)
        show_stored(form, request.user, row)
        matrix = with_stored(matrix, request.user, row)
    warnings: list[Any] = []
    seal = ""
    if request.method == "POST" and form.is_valid() and not matrix.has_errors:
        warnings, shown = effects_of(request, matrix, row)
        description, seal = form.cleaned_data["description"].strip(), sealed(request, row, shown)
        if not warnings and save(form, lambda: update(description, matrix, shown)) is not None:
            tell_saved(request, row, before, _("%(name)s is saved; the cluster follows.") % {"name": row.name})
            return redirect(f"organizations:{head['kind']}-detail", row.pk)
    context = {
        **head,
        "form": form,
        "edit_matrix": matrix,
        "generation": opened_generation(request, row),
        "warnings": warnings,
        "impact": seal,
        "cancel_url": reverse(f"organizations:{head['kind']}-detail", args=[row.pk]),
    }
    return render(request, "organizations/edit.html", context, status=422 if request.method == "POST" else 200)


def effects_of(request: HttpRequest, matrix: Matrix, row: Row) -> tuple[list[dict[str, Any]], Shown]:
    """What the person has not seen yet of what saving would do, and all that it would do at this moment."""
    shown = quota_impact(request.user, row, matrix.inputs, now=timezone.now())
    told = [*warned(request, matrix, row), *impact_items(shown)]
    if not request.POST.get("confirmed"):
        return told, shown
    return ([], shown) if was_shown(request, row, shown) else ([grew(), *told], shown)


def confirm_page(
    request: HttpRequest,
    context: dict[str, Any],
    act: Callable[[Shown | None], object],
    list_name: str,
    effects: tuple[Row, Shown],
) -> HttpResponse:
    """The page of a destructive act: asks, with what it hits and the name to type; then does it.

    `effects` are the row and what its deletion does to work and shares now; `act` gets it, once the person has seen
    all of it.
    """
    error = ""
    row, shown = effects
    context = {**context, "hits": [*context["hits"], *hits_of(shown)], "impact": sealed(request, row, shown)}
    if request.method == "POST":
        if request.POST.get("confirm", "").strip() != context["name"]:
            error = _("This is not its name.")
        elif not was_shown(request, row, shown):
            error = grew()["text"]
        else:
            try:
                act(shown)
            except (Conflict, Stale) as refused:
                error = refused.message
            else:
                messages.success(request, _("%(name)s is being deleted.") % {"name": context["name"]})
                return redirect(list_name)
    return render(request, "confirm.html", {**context, "error": error}, status=422 if error else 200)


def events_page(request: HttpRequest, row: Row, head: Mapping[str, Any]) -> HttpResponse:
    """What happened to it and to its queues."""
    objects = [(KAI_QUEUE.kind, block.quota.queue_name) for block in head["matrix"]]
    return render(request, "organizations/events.html", {**head, "events": timeline(request.user, row, objects)})


def yaml_page(request: HttpRequest, row: Row, head: Mapping[str, Any]) -> HttpResponse:
    """What we apply, what the cluster has, the difference."""
    wanted = presenting.wanted_objects(row, head["matrix"])
    return render(request, "organizations/yaml.html", {**head, **comparison(row.cluster_id, wanted)})
