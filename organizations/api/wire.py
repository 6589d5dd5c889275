"""Reads the bodies of departments and projects (`runai-openapi.json`: DepartmentCreationRequest and the like)."""

from collections.abc import Mapping
from typing import Any

from core.errors import Fault, InvalidInput

# Parts of Run:ai that plain KAI has no counterpart of; only what says nothing is taken.
_INERT: Mapping[str, tuple[Any, ...]] = {
    "schedulingRules": (None, {}),
    "defaultNodePools": (None, []),
    "nodeTypes": (None, {}),
    "enforceRunaiScheduler": (None, True),
    "overtimeData": (None, {}),
}

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


def read_text(body: Mapping[str, Any], key: str, *, required: bool = False) -> str | None:
    """A string of the body; None where it is absent or null. Raises `InvalidInput` naming it."""
    value = body.get(key)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InvalidInput.of(key, "Required parameter is missing" if value is None else "A string is required")
    return value
