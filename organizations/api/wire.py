"""Run:ai's JSON of departments and projects (`runai-openapi.json`: Department, Project), both ways."""

from collections.abc import Mapping
from typing import Any

from core.errors import Fault, InvalidInput
from organizations.api.amounts import (
    aggregated_json,
    pool_usage_json,
    resources_json,
    totals_json,
    usage_total_json,
)
from organizations.models import Department, Project

# Parts of Run:ai that plain KAI has no counterpart of; only what says nothing is taken.
_INERT: Mapping[str, tuple[Any, ...]] = {
    "schedulingRules": (None, {}),
    "defaultNodePools": (None, []),
    "nodeTypes": (None, {}),
    "enforceRunaiScheduler": (None, True),
    "overtimeData": (None, {}),
}
_PHASES = {"Creating", "Updating", "Deleting", "Ready", "NotReady"}
_EMPTY_RULES: dict[str, Any] = {"schedulingRules": {}, "defaultNodePools": [], "nodeTypes": {}}

DEPARTMENT_KEYS = ("name", "clusterId", "description", "resources")
PROJECT_KEYS = ("name", "clusterId", "description", "resources", "parentId", "requestedNamespace")


def check_keys(body: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse what would be dropped: unknown keys, and parts that Muster does not do. Raises `InvalidInput`."""
    faults = [
        Fault(key[:60], "There is no such field here", ", ".join(allowed))
        for key in body
        if key not in allowed and key not in _INERT
    ]
    faults += [
        Fault(key, "KAI Scheduler has no counterpart of this", "leave it out")
        for key, inert in _INERT.items()
        if key in body and body[key] not in inert and any(_flat(body[key]))
    ]
    if faults:
        raise InvalidInput(faults)


def _flat(value: Any) -> list[Any]:
    """The values of nested objects: an object of nulls and empty lists says nothing."""
    if isinstance(value, dict):
        return [inner for item in value.values() for inner in _flat(item)]
    if isinstance(value, list):
        return [inner for item in value for inner in _flat(item)]
    return [value is not None]


def department_json(department: Department, *, verbose: bool = True) -> dict[str, Any]:
    """Schema Department, or DepartmentForList without `verbose`. Quotas and projects must be prefetched for lists."""
    quotas = list(department.quotas.all())
    status: dict[str, Any] = {"quotaStatus": usage_total_json(quotas)}
    document = {
        "id": str(department.pk),
        "name": department.name,
        "clusterId": str(department.cluster_id),
        "description": department.description,
        "resources": resources_json(quotas),
        "totalResources": totals_json(quotas),
        **_EMPTY_RULES,
        **_made(department),
        "status": status,
    }
    if verbose:
        projects = list(department.projects.prefetch_related("quotas"))
        status["nodePoolQuotaStatuses"] = pool_usage_json(quotas)
        document["projectsAggregatedResources"] = aggregated_json(department, projects)
    return document


def project_json(project: Project) -> dict[str, Any]:
    """Schema Project."""
    quotas = list(project.quotas.all())
    return {
        "id": str(project.pk),
        "name": project.name,
        "clusterId": str(project.cluster_id),
        "parentId": str(project.department_id),
        "parent": {"id": str(project.department_id), "name": project.department.name},
        "description": project.description,
        "requestedNamespace": project.namespace,
        "enforceRunaiScheduler": True,
        "resources": resources_json(quotas),
        "totalResources": totals_json(quotas),
        "effective": _EMPTY_RULES,
        **_EMPTY_RULES,
        **_made(project),
        "status": {
            "namespace": project.namespace,
            "phase": project.phase if project.phase in _PHASES else "Unknown",
            "phaseMessage": phase_message(project) or None,
            "lastUpdatedTime": rfc3339(project.updated_at),
            "quotaStatus": usage_total_json(quotas),
            "nodePoolQuotaStatuses": pool_usage_json(quotas),
        },
    }


def phase_message(row: Department | Project) -> str:
    """The messages of the conditions that do not hold."""
    return " ".join(str(c["message"]) for c in row.conditions if c["status"] != "True")


def _made(row: Department | Project) -> dict[str, Any]:
    return {
        "createdAt": rfc3339(row.created_at),
        "updatedAt": rfc3339(row.updated_at),
        "createdBy": row.created_by,
        "updatedBy": row.created_by,
    }


def rfc3339(moment: Any) -> str:
    """A moment as the API prints it."""
    return str(moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def read_text(body: Mapping[str, Any], key: str, *, required: bool = False) -> str | None:
    """A string of the body; None where it is absent or null. Raises `InvalidInput` naming it."""
    value = body.get(key)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InvalidInput.of(key, "Required parameter is missing" if value is None else "A string is required")
    return value
