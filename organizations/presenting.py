"""Rows and heads of the pages of departments and projects, ready to be drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.permissions import has_right
from clusters.kinds import KAI_QUEUE, NAMESPACE
from core.templatetags.quantities import number
from core.templatetags.ui import and_more
from organizations.manifests import namespace_manifest
from organizations.models import Department, Project
from organizations.rendering import owner_value, parent_names, queue_of
from organizations.selectors import GpuTotals, PoolQuota, gpu_totals
from organizations.services.departments import DEFAULT_DEPARTMENT
from organizations.wording import why_of
from topology.protection import protection_of


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """A line of the list of departments or projects."""

    pk: int
    row: Any
    totals: GpuTotals
    why: str
    projects: int = 0


def department_rows(rows: Sequence[Department]) -> list[OwnerRow]:
    """`present` of the list; the rows come with quotas and projects."""
    return [
        OwnerRow(row.pk, row, gpu_totals(row.quotas.all()), why_of(row.conditions), len(row.projects.all()))
        for row in rows
    ]


def project_rows(rows: Sequence[Project]) -> list[OwnerRow]:
    """`present` of the list; the rows come with quotas."""
    return [OwnerRow(row.pk, row, gpu_totals(row.quotas.all()), why_of(row.conditions)) for row in rows]


def department_head(user: Any, department: Department, matrix: Sequence[PoolQuota], tab: str) -> dict[str, Any]:
    """Context of the head of a department's pages."""
    url = reverse("organizations:department-detail", args=[department.pk])
    projects = list(department.projects.order_by("name").values_list("name", flat=True))
    tabs = [("overview", _("Overview"), None), ("events", _("Events"), None), ("yaml", _("YAML"), None)]
    return {
        "row": department,
        "kind": "department",
        "crumbs": [{"label": _("Departments"), "url": reverse("organizations:department-list")}],
        "heading": department.name,
        "why": why_of(department.conditions) or borrowing(matrix),
        "facts": [
            *_gpu_facts(matrix),
            {"label": _("Projects"), "value": number(len(projects)), "note": and_more(projects)},
            _cluster_fact(department),
            _queues_fact(matrix),
        ],
        "tabs": _tabs(url, tab, tabs),
        "topics": f"organizations.Department.{department.pk} organizations.Project",
        "may_update": has_right(user, "department:update", department.scope),
        "edit_url": reverse("organizations:department-edit", args=[department.pk]),
        "menu": _menu(user, department),
    }


def project_head(user: Any, project: Project, matrix: Sequence[PoolQuota], tab: str) -> dict[str, Any]:
    """Context of the head of a project's pages."""
    url = reverse("organizations:project-detail", args=[project.pk])
    sees_department = has_right(user, "department:read", project.department.scope)
    above = reverse("organizations:department-detail", args=[project.department_id]) if sees_department else ""
    sees_secrets = has_right(user, "credentials:read", project.scope)
    tabs = [
        ("overview", _("Overview"), None),
        *([("secrets", _("Secrets"), project.secrets.count())] if sees_secrets else []),
        ("events", _("Events"), None),
        ("yaml", _("YAML"), None),
    ]
    return {
        "row": project,
        "kind": "project",
        "sees_secrets": sees_secrets,
        "crumbs": [
            {"label": _("Projects"), "url": reverse("organizations:project-list")},
            {"label": project.department.name, "url": above},
        ],
        "heading": project.name,
        "why": why_of(project.conditions) or borrowing(matrix),
        "facts": [
            *_gpu_facts(matrix),
            {"label": _("Department"), "value": project.department.name, "url": above},
            {"label": _("Namespace"), "value": project.namespace},
            _cluster_fact(project),
            _queues_fact(matrix),
        ],
        "tabs": [*_tabs(url, tab, tabs), *_workloads_tab(user, project)],
        "topics": f"organizations.Project.{project.pk}",
        "may_update": has_right(user, "project:update", project.scope),
        "edit_url": reverse("organizations:project-edit", args=[project.pk]),
        "submit_url": _submit_url(user, project),
        "menu": _menu(user, project),
    }


def borrowing(matrix: Sequence[PoolQuota]) -> str:
    """Where more is held than deserved, in one phrase."""
    for block in matrix:
        gpu = block.lines[0]
        if gpu.held is not None and gpu.borrowed:
            text = ngettext("borrows %(n)s GPU on %(pool)s", "borrows %(n)s GPUs on %(pool)s", _count(gpu.borrowed))
            return text % {"n": number(gpu.borrowed), "pool": block.pool.name}
    return ""


def _count(amount: Decimal) -> int:
    return 1 if amount == 1 else 2


def _gpu_facts(matrix: Sequence[PoolQuota]) -> list[dict[str, Any]]:
    totals = gpu_totals(block.quota for block in matrix)
    held = _("not measured") if totals.held is None else number(totals.held)
    deserved = _("unlimited") if totals.deserved.is_unlimited else number(totals.deserved.amount)
    return [{"label": _("GPUs held"), "value": held}, {"label": _("Deserved"), "value": deserved}]


def _cluster_fact(row: Department | Project) -> dict[str, Any]:
    url = reverse("clusters:cluster-detail", args=[row.cluster_id])
    return {"label": _("Cluster"), "value": row.cluster.name, "url": url}


def _queues_fact(matrix: Sequence[PoolQuota]) -> dict[str, Any]:
    return {"label": _("Queues"), "value": and_more([block.quota.queue_name for block in matrix]) or "–"}


def _tabs(url: str, current: str, tabs: Sequence[tuple[str, str, int | None]]) -> list[dict[str, Any]]:
    return [
        {"label": label, "url": url if key == "overview" else f"{url}{key}/", "count": count, "current": key == current}
        for key, label, count in tabs
    ]


def _menu(user: Any, row: Department | Project) -> list[dict[str, Any]]:
    kind = "project" if isinstance(row, Project) else "department"
    if not has_right(user, f"{kind}:delete", row.scope):
        return []
    default = kind == "department" and row.name == DEFAULT_DEPARTMENT
    return [
        {
            "label": _("Delete project…") if kind == "project" else _("Delete department…"),
            "icon": "trash-2",
            "url": reverse(f"organizations:{kind}-delete", args=[row.pk]),
            "danger": True,
            "dialog": True,
            "disabled": _("The default department cannot be deleted.") if default else "",
        }
    ]


def _submit_url(user: Any, project: Project) -> str:
    if not has_right(user, "workloads:create", project.scope):
        return ""
    try:
        return f"{reverse('workloads:new')}?project={project.pk}"
    except NoReverseMatch:
        return ""


def _workloads_tab(user: Any, project: Project) -> list[dict[str, Any]]:
    try:
        url = f"{reverse('workloads:list')}?filter=project%3D%3D{project.name}"
    except NoReverseMatch:
        return []
    return [{"label": _("Workloads"), "url": url, "count": len(protection_of(project, user).seen), "current": False}]


def wanted_objects(row: Department | Project, matrix: Sequence[PoolQuota]) -> list[tuple[Any, dict[str, Any]]]:
    """What we apply for the row, for its YAML tab: without secrets."""
    parents = parent_names(row) if isinstance(row, Project) else {}
    found: list[tuple[Any, dict[str, Any]]] = []
    if isinstance(row, Project):
        manifest = namespace_manifest(row.namespace, owner_value(row), row.name, adopted=row.adopts_namespace)
        found.append((NAMESPACE, manifest))
    return [*found, *((KAI_QUEUE, queue_of(block.quota, parents.get(block.pool.pk, ""))) for block in matrix)]
