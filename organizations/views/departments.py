"""Departments: list, new, detail, events, YAML, edit, delete; the quotas of a node pool."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import has_right, require
from accounts.requests import actor_of
from clusters.selectors import chosen_cluster
from core.edit_forms import opened_generation
from core.fragments import render_fragment
from core.tables import build_table, table_response
from organizations import presenting, selectors, services
from organizations.forms import DepartmentForm
from organizations.impact import deletion_impact
from organizations.models import Department, Project
from organizations.quota import total
from organizations.services.departments import DEFAULT_DEPARTMENT
from organizations.tables import DEPARTMENTS
from organizations.views import shared
from organizations.wording import conditions_of
from topology.models import NodePool
from topology.presenting import pool_crumbs
from topology.protection import protection_of

RIGHT = "department:create"


@require_GET
def department_list(request: HttpRequest) -> HttpResponseBase:
    """Departments; queues that others made beneath them."""
    require(request.user, "department:read")
    cluster = chosen_cluster(request.user, request.GET.get("cluster", ""))
    rows = selectors.visible_departments(request.user)
    table = build_table(
        request,
        rows.filter(cluster=cluster) if cluster else rows,
        DEPARTMENTS,
        present=presenting.department_rows,
    )
    context = {
        **shared.list_context(request, cluster),
        "may_create": has_right(request.user, RIGHT),
        "topics": "organizations.Department organizations.Project",
    }
    return table_response(request, "organizations/department_list.html", table, context)


@require_http_methods(["GET", "HEAD", "POST"])
def department_new(request: HttpRequest) -> HttpResponse:
    """The form of a new department."""
    require(request.user, RIGHT)
    clusters = shared.clusters_for(request, RIGHT)
    given = request.POST.get("cluster") or request.GET.get("cluster", "")
    cluster = chosen_cluster(request.user, given) or (clusters[0] if clusters else None)
    if cluster is None:
        return render(request, "organizations/new.html", {"clusters": [], "kind": "department"})
    form = DepartmentForm(request.POST or None)
    matrix = shared.matrix_of(request, cluster, None)
    warnings: list[Any] = []
    if request.method == "POST" and form.is_valid() and not matrix.has_errors:
        warnings = shared.warned(request, matrix, Department(cluster=cluster))
        data = form.cleaned_data
        made = (
            None
            if warnings
            else shared.save(
                form,
                lambda: services.create_department(
                    actor_of(request),
                    cluster=cluster,
                    name=data["name"].strip(),
                    description=data["description"].strip(),
                    quotas=matrix.inputs,
                ),
            )
        )
        if made is not None:
            messages.success(request, _("%(name)s is saved; the cluster follows.") % {"name": made.name})
            return redirect("organizations:department-detail", made.pk)
    context = {
        "form": form, "matrix": matrix, "warnings": warnings, "clusters": clusters, "cluster": cluster,
        "kind": "department", "cancel_url": reverse("organizations:department-list"),
    }  # fmt: skip
    return render(request, "organizations/new.html", context, status=422 if request.method == "POST" else 200)


@require_GET
def department_detail(request: HttpRequest, pk: str) -> HttpResponse:
    """Its quota, its projects, its people."""
    department, head = _head(request, pk, "overview")
    context = {
        **head,
        "shares": selectors.department_shares(
            department, set(Project.objects.visible_to(request.user).values_list("pk", flat=True))
        ),
        "projects": presenting.project_rows(
            list(selectors.visible_projects(request.user).filter(department=department).order_by("name"))
        ),
        "members": selectors.members(request.user, department),
        "conditions": conditions_of(department.conditions),
        "may_create_project": has_right(request.user, "project:create", department.scope),
    }
    return render(request, "organizations/department_detail.html", context)


@require_GET
def department_events(request: HttpRequest, pk: str) -> HttpResponse:
    """What happened to it."""
    department, head = _head(request, pk, "events")
    return shared.events_page(request, department, head)


@require_GET
def department_yaml(request: HttpRequest, pk: str) -> HttpResponse:
    """The queues that we apply, those that the cluster has, the difference."""
    department, head = _head(request, pk, "yaml")
    return shared.yaml_page(request, department, head)


@require_http_methods(["GET", "HEAD", "POST"])
def department_edit(request: HttpRequest, pk: str) -> HttpResponse:
    """Description and quota; what it would bring about is shown before it is saved."""
    department, head = _head(request, pk, "overview")
    require(request.user, "department:update", department.scope)
    return shared.edit_page(
        request,
        department,
        head,
        lambda description, matrix, shown: services.update_department(
            actor_of(request),
            department=department,
            description=description,
            quotas=matrix.inputs,
            expected_generation=opened_generation(request, department),
            impact=shown,
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def department_delete(request: HttpRequest, pk: str) -> HttpResponse:
    """Asks, then deletes."""
    department = Department.objects.select_related("cluster").get_visible(request.user, pk=pk)
    require(request.user, "department:delete", department.scope)
    context = {
        "title": _("Delete department %(name)s") % {"name": department.name},
        "hits": _hits(department),
        "obstacles": _obstacles(request, department),
        "name": department.name,
        "act": _("Delete department"),
        "action_url": reverse("organizations:department-delete", args=[department.pk]),
        "back_url": reverse("organizations:department-detail", args=[department.pk]),
    }
    return shared.confirm_page(
        request,
        context,
        lambda shown: services.delete_department(actor_of(request), department=department, impact=shown),
        "organizations:department-list",
        (department, deletion_impact(request.user, department, now=timezone.now())),
    )


def _hits(department: Department) -> list[dict[str, Any]]:
    return [
        {"text": _("the queue %(name)s") % {"name": name}, "icon": "scale"}
        for name in department.quotas.values_list("queue_name", flat=True)
    ]


def _obstacles(request: HttpRequest, department: Department) -> list[dict[str, Any]]:
    """What forbids its deletion, as `services.delete_department` refuses it."""
    if department.name == DEFAULT_DEPARTMENT:
        return [{"text": _("The department “default” cannot be deleted."), "icon": "building-2"}]
    projects = protection_of(department, request.user)
    if not projects:
        return []
    text = ngettext(
        "It has the project %(names)s: delete it first.",
        "It has the projects %(names)s: delete them first.",
        len(projects.seen) + projects.hidden,
    )
    return [{"text": text % {"names": projects.names}, "icon": "folder"}]


@require_GET
def node_pool_quotas(request: HttpRequest, pk: str) -> HttpResponse:
    """A fragment of the page of a node pool: quotas given on it against its capacity."""
    require(request.user, "department:read")
    pool = NodePool.objects.select_related("cluster").get_visible(request.user, pk=pk)
    visible = set(Department.objects.visible_to(request.user).values_list("pk", flat=True))
    departments = [each for each in selectors.pool_shares(request.user, pool) if each["row"].pk in visible]
    capacity = selectors.capacities([pool])[pool.pk].gpu
    given = total(each["quota"].gpu_deserved for each in departments)
    context = {"pool": pool, "departments": departments, "capacity": capacity, "given": given}
    return render_fragment(request, "organizations/node_pool_quotas.html", context, crumbs=pool_crumbs(pool))


def _head(request: HttpRequest, pk: str, tab: str) -> tuple[Department, dict[str, Any]]:
    require(request.user, "department:read")
    department = Department.objects.select_related("cluster").get_visible(request.user, pk=pk)
    matrix = selectors.quota_matrix(department)
    head = presenting.department_head(request.user, department, matrix, tab)
    return department, {**head, **shared.stale_context(department), "matrix": matrix}
