"""Projects: list, new, detail, secrets, events, YAML, edit, delete."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import has_right, require
from accounts.requests import actor_of
from clusters.presenting import named
from clusters.selectors import chosen_cluster
from core.edit_forms import opened_generation
from core.errors import Conflict, NotFound
from core.tables import build_table, table_response
from organizations import presenting, selectors, services
from organizations.forms import ProjectForm, SecretForm
from organizations.impact import deletion_impact
from organizations.models import Department, Project
from organizations.services import ProjectInput
from organizations.tables import PROJECTS
from organizations.views import shared
from organizations.wording import conditions_of
from topology.impact_names import Shown
from topology.impact_words import sealed
from topology.protection import MOST_NAMED, protection_of

RIGHT = "project:create"


@require_GET
def project_list(request: HttpRequest) -> HttpResponseBase:
    """Projects that the person may see."""
    require(request.user, "project:read")
    cluster = chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = selectors.visible_projects(request.user)
    table = build_table(
        request, rows.filter(cluster=cluster) if cluster else rows, PROJECTS, present=presenting.project_rows
    )
    context = {
        **shared.list_context(request, cluster),
        "may_create": has_right(request.user, RIGHT),
        "departments": set(Department.objects.visible_to(request.user).values_list("pk", flat=True)),
        "topics": "organizations.Project",
    }
    return table_response(request, "organizations/project_list.html", table, context)


def _departments(request: HttpRequest) -> list[Department]:
    """Departments in which the person may make a project, `default` last."""
    rows = Department.objects.visible_to(request.user).select_related("cluster")
    mine = [row for row in rows.filter(deletion_requested_at=None) if has_right(request.user, RIGHT, row.scope)]
    return sorted(mine, key=lambda row: (row.cluster.name, row.name == "default", row.name))


@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: HttpRequest) -> HttpResponse:
    """The form of a new project."""
    require(request.user, RIGHT)
    departments = _departments(request)
    given = request.POST.get("department") or request.GET.get("department", "")
    chosen = next((row for row in departments if str(row.pk) == given), departments[0] if departments else None)
    if chosen is None:
        return render(request, "organizations/new.html", {"clusters": [], "kind": "project"})
    form = ProjectForm(request.POST or None, initial={"department": chosen.pk})
    form.fields["department"].queryset = Department.objects.filter(  # type: ignore[attr-defined]  # a choice of rows
        pk__in=[row.pk for row in departments]
    )
    matrix = shared.matrix_of(request, chosen.cluster, None)
    warnings: list[Any] = []
    seal = ""
    if request.method == "POST" and form.is_valid() and not matrix.has_errors:
        new = Project(cluster=chosen.cluster, department=chosen, name=form.cleaned_data["name"].strip())
        warnings, shown = shared.effects_of(request, matrix, new)
        seal = sealed(request, new, shown)
        made = None if warnings else shared.save(form, lambda: _create(request, form, matrix, shown))
        if made is not None:
            messages.success(request, _("%(name)s is saved; the cluster follows.") % {"name": made.name})
            return redirect("organizations:project-detail", made.pk)
    context = {
        "form": form, "matrix": matrix, "warnings": warnings, "clusters": [chosen.cluster], "cluster": chosen.cluster,
        "kind": "project", "cancel_url": reverse("organizations:project-list"), "impact": seal,
    }  # fmt: skip
    return render(request, "organizations/new.html", context, status=422 if request.method == "POST" else 200)


def _create(request: HttpRequest, form: ProjectForm, matrix: Any, shown: Shown) -> Project:
    data = form.cleaned_data
    given = ProjectInput(
        name=data["name"].strip(),
        description=data["description"].strip(),
        namespace=data["namespace"].strip(),
        adopts_namespace=data["adopts_namespace"],
        quotas=matrix.inputs,
    )
    return services.create_project(actor_of(request), department=data["department"], given=given, impact=shown)


@require_GET
def project_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """Its quota, its share of the department, its people, its secrets."""
    project, head = _head(request, pk, "overview")
    context = {
        **head,
        "shares": selectors.department_shares(project.department, _visible_ids(request)),
        "members": selectors.members(request.user, project),
        "secrets": list(project.secrets.order_by("name")) if head["sees_secrets"] else [],
        "conditions": conditions_of(project.conditions),
    }
    return render(request, "organizations/project_detail.html", context)


def _visible_ids(request: HttpRequest) -> set[int]:
    return set(Project.objects.visible_to(request.user).values_list("pk", flat=True))


@require_http_methods(["GET", "HEAD", "POST"])
def project_secrets(request: HttpRequest, pk: str) -> HttpResponse:
    """Secrets by name and key, never their content; the form that makes or overwrites one."""
    project, head = _head(request, pk, "secrets")
    require(request.user, "credentials:read", project.scope)
    may_write = has_right(request.user, "credentials:create", project.scope)
    form = SecretForm(request.POST or None)
    if request.method == "POST":
        require(request.user, "credentials:create", project.scope)
        if form.is_valid():
            data = form.cleaned_data
            saved = shared.save(
                form,
                lambda: services.put_secret(
                    actor_of(request), project=project, kind=data["kind"], name=data["name"].strip(),
                    fields=form.fields_of_kind(),
                ),
            )  # fmt: skip
            if saved is not None:
                messages.success(request, _("The secret %(name)s is saved.") % {"name": saved.name})
                return redirect("organizations:project-secrets", project.pk)
    context = {**head, "form": form, "may_write": may_write, "secrets": list(project.secrets.order_by("name"))}
    return render(
        request, "organizations/project_secrets.html", context, status=422 if request.method == "POST" else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
def secret_delete(request: HttpRequest, pk: str, secret: int) -> HttpResponse:
    """Delete one secret."""
    project = Project.objects.get_visible(request.user, pk=pk)
    row = project.secrets.filter(pk=secret).first()
    if row is None:
        raise NotFound
    if request.method != "POST":
        return redirect("organizations:project-secrets", project.pk)
    try:
        services.delete_secret(actor_of(request), secret=row)
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The secret %(name)s is deleted.") % {"name": row.name})
    return redirect("organizations:project-secrets", project.pk)


@require_GET
def project_events(request: HttpRequest, pk: str) -> HttpResponse:
    """What happened to it."""
    project, head = _head(request, pk, "events")
    return shared.events_page(request, project, head)


@require_GET
def project_yaml(request: HttpRequest, pk: str) -> HttpResponse:
    """Namespace and queues that we apply, what the cluster has, the difference."""
    project, head = _head(request, pk, "yaml")
    return shared.yaml_page(request, project, head)


@require_http_methods(["GET", "HEAD", "POST"])
def project_edit(request: HttpRequest, pk: str) -> HttpResponse:
    """Description and quota; what it would bring about is shown before it is saved."""
    project, head = _head(request, pk, "overview")
    require(request.user, "project:update", project.scope)
    return shared.edit_page(
        request,
        project,
        head,
        lambda description, matrix, shown: services.update_project(
            actor_of(request),
            project=project,
            description=description,
            quotas=matrix.inputs,
            expected_generation=opened_generation(request, project),
            impact=shown,
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then deletes."""
    project = Project.objects.select_related("cluster", "department").get_visible(request.user, pk=pk)
    require(request.user, "project:delete", project.scope)
    context = {
        "title": _("Delete project %(name)s") % {"name": project.name},
        "hits": _hits(project),
        "obstacles": _obstacles(request, project),
        "name": project.name,
        "act": _("Delete project"),
        "action_url": reverse("organizations:project-delete", args=[project.pk]),
        "back_url": reverse("organizations:project-detail", args=[project.pk]),
    }
    return shared.confirm_page(
        request,
        context,
        lambda shown: services.delete_project(actor_of(request), project=project, impact=shown),
        "organizations:project-list",
        (project, deletion_impact(request.user, project, now=timezone.now())),
    )


def _hits(project: Project) -> list[dict[str, Any]]:
    if project.adopts_namespace:
        namespace = _("The namespace %(name)s stays: it was there before.")
    else:
        namespace = _("the namespace %(name)s with everything in it")
    hits: list[dict[str, Any]] = [
        {
            "text": namespace % {"name": project.namespace},
            "icon": "folder",
            "harmless": project.adopts_namespace,
        }
    ]
    hits += [
        {"text": _("the queue %(name)s") % {"name": name}, "icon": "scale"}
        for name in project.quotas.values_list("queue_name", flat=True)
    ]
    hits += [
        {"text": _("the secret %(name)s") % {"name": name}, "icon": "key"}
        for name in project.secrets.values_list("name", flat=True)
    ]
    return hits


def _obstacles(request: HttpRequest, project: Project) -> list[dict[str, Any]]:
    """What forbids its deletion, as `services.delete_project` refuses it."""
    workloads = protection_of(project, request.user)
    told = [_("The %(row)s is in it: delete it first.") % {"row": named(found)} for found in workloads.seen]
    return [{"text": text, "icon": "boxes"} for text in [*told[:MOST_NAMED], *workloads.hidden_words]]


def _head(request: HttpRequest, pk: str, tab: str) -> tuple[Project, dict[str, Any]]:
    require(request.user, "project:read")
    project = Project.objects.select_related("cluster", "department").get_visible(request.user, pk=pk)
    matrix = selectors.quota_matrix(project)
    head = presenting.project_head(request.user, project, matrix, tab)
    return project, {**head, **shared.stale_context(project), "matrix": matrix}
