"""Departments and projects as the API shows them, from the text that the database has."""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec
from django.db.models import QuerySet

from core.api.columns import Remembered, as_text, exact_moment_of, uuid_text
from core.api.shapes import UNSET
from organizations.api.quotas import projects_resources, quotas_of, read_quotas, read_rows
from organizations.api.shapes import (
    DepartmentShape,
    DepartmentStatus,
    PoolName,
    ProjectPhase,
    ProjectShape,
    ProjectStatus,
    Rules,
)
from organizations.models import Department, Project

_COMMON = (
    "pk", "name", as_text("cluster_id"), "description", as_text("created_at"), as_text("updated_at"), "created_by",
)  # fmt: skip
DEPARTMENT_COLUMNS = _COMMON
PROJECT_COLUMNS = (*_COMMON, "department_id", "department__name", "namespace", "phase", as_text("conditions"))
_PHASES: dict[str, ProjectPhase] = {phase: phase for phase in get_args(ProjectPhase)}
_NO_RULES: dict[str, Any] = {"scheduling_rules": {}, "default_node_pools": [], "node_types": {}}
_RULES = Rules(**_NO_RULES)


class _Condition(msgspec.Struct, gc=False):
    status: str
    message: str = ""


_conditions = msgspec.json.Decoder(list[_Condition])


def shown_projects(rows: "QuerySet[Project]") -> list[ProjectShape]:
    """Schema Project of these rows, in their order. Two queries."""
    return projects_of(list(rows.values_list(*PROJECT_COLUMNS)))


def projects_of(rows: Sequence[tuple[Any, ...]]) -> list[ProjectShape]:
    """The same of tuples of `PROJECT_COLUMNS`. One query."""
    quotas, clusters = read_quotas("project", [row[0] for row in rows]), Remembered(uuid_text)
    parents = Remembered(lambda of: PoolName(id=str(of[0]), name=of[1]))
    found = []
    for row in rows:
        (key, name, cluster, description, created, updated, author, department, department_name, namespace, phase,
         conditions) = row  # fmt: skip
        quota, changed, parent = quotas(key), exact_moment_of(updated), parents[department, department_name]
        status = ProjectStatus(
            namespace=namespace,
            phase=_PHASES.get(phase, "Unknown"),
            phase_message=_phase_message(conditions),
            last_updated_time=changed,
            quota_status=quota.status,
            node_pool_quota_statuses=quota.by_pool,
        )
        found.append(
            ProjectShape(
                id=str(key),
                name=name,
                cluster_id=clusters[cluster],
                parent_id=parent.id,
                parent=parent,
                description=description,
                requested_namespace=namespace,
                enforce_runai_scheduler=True,
                resources=quota.resources,
                total_resources=quota.total,
                effective=_RULES,
                **_NO_RULES,
                created_at=exact_moment_of(created),
                updated_at=changed,
                created_by=author,
                updated_by=author,
                status=status,
            )
        )
    return found


def shown_departments(rows: "QuerySet[Department]", *, verbose: bool = False) -> list[DepartmentShape]:
    """Schema DepartmentForList of these rows, in their order: two queries. Department with `verbose`: four."""
    return departments_of(list(rows.values_list(*DEPARTMENT_COLUMNS)), verbose=verbose)


def departments_of(
    rows: Sequence[tuple[Any, ...]], *, verbose: bool = False, status: bool = True
) -> list[DepartmentShape]:
    """The same of tuples of `DEPARTMENT_COLUMNS`, with or without what their queues hold."""
    own, found = read_rows("department", [row[0] for row in rows]), []
    for key, name, cluster, description, created, updated, author in rows:
        quota = quotas_of(own.get(key, ()))
        held = DepartmentStatus(quota_status=quota.status)
        shape = DepartmentShape(
            id=str(key),
            name=name,
            cluster_id=uuid_text(cluster),
            description=description,
            resources=quota.resources,
            total_resources=quota.total,
            created_at=exact_moment_of(created),
            updated_at=exact_moment_of(updated),
            created_by=author,
            updated_by=author,
            status=held if status else UNSET,
            **_NO_RULES,
        )
        if verbose:
            projects = Project.objects.filter(department=key).values_list("pk", flat=True)
            held.node_pool_quota_statuses = quota.by_pool
            theirs = read_rows("project", list(projects)).values()
            shape.projects_aggregated_resources = projects_resources(own.get(key, ()), list(theirs))
        found.append(shape)
    return found


def _phase_message(conditions: str) -> str | None:
    """The messages of the conditions that do not hold."""
    if conditions == "[]":
        return None
    return " ".join(c.message for c in _conditions.decode(conditions) if c.status != "True") or None
