"""What the API server refuses in the options of a request (`k8s.io/apimachinery/pkg/apis/meta/v1/validation`)."""

from collections.abc import Mapping
from typing import Any

from simulator.api.errors import FieldError, field_forbidden, field_invalid, field_required, field_unsupported, invalid

Query = Mapping[str, str]

MANAGER_LENGTH = 128
OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_FIELD_VALIDATION = ["", "Ignore", "Strict", "Warn"]
_PROPAGATION = ["Foreground", "Background", "Orphan", "nil"]


def check_write(method: str, query: Query, *, apply: bool) -> None:
    """Raises the 422 of a write's query."""
    errors: list[FieldError] = []
    if apply and not query.get("fieldManager"):
        errors.append(field_required("fieldManager", "is required for apply patch"))
    if method == "PATCH" and not apply and "force" in query:
        errors.append(field_forbidden("force", "may not be specified for non-apply patch"))
    errors += _manager(query.get("fieldManager", "")) + _dry_run([query["dryRun"]] if query.get("dryRun") else [])
    if query.get("fieldValidation", "") not in _FIELD_VALIDATION:
        errors.append(field_unsupported("fieldValidation", query["fieldValidation"], _FIELD_VALIDATION))
    _refuse(OPTIONS.get(method, "CreateOptions"), errors)


def check_delete(body: Mapping[str, Any]) -> None:
    """Raises the 422 of DeleteOptions."""
    errors: list[FieldError] = []
    propagation = body.get("propagationPolicy")
    if propagation is not None:
        if body.get("orphanDependents") is not None:
            detail = "orphanDependents and deletionPropagation cannot be both set"
            errors.append(field_invalid("propagationPolicy", propagation, detail))
        if propagation not in _PROPAGATION[:3]:
            errors.append(field_unsupported("propagationPolicy", propagation, _PROPAGATION))
    errors += _dry_run(list(body.get("dryRun") or []))
    _refuse("DeleteOptions", errors)


def check_list(query: Query) -> None:
    """Raises the 422 of a list's or a watch's ListOptions."""
    errors = _watch(query) if query.get("watch", "").lower() in ("true", "1") else _list(query)
    _refuse("ListOptions", errors)


def _list(query: Query) -> list[FieldError]:
    match, path = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    errors: list[FieldError] = []
    if match:
        if not query.get("resourceVersion"):
            errors.append(field_forbidden(path, f"{path} is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            errors.append(field_forbidden(path, f"{path} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(field_unsupported(path, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and query.get("resourceVersion") == "0":
            errors.append(field_forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        errors.append(field_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch(query: Query) -> list[FieldError]:
    match, path = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    initial = "sendInitialEvents" in query
    errors: list[FieldError] = []
    if initial and match != "NotOlderThan":
        detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        errors.append(field_forbidden(path, detail))
    if match and not initial:
        detail = f"{path} is forbidden for watch unless sendInitialEvents is provided"
        errors.append(field_forbidden(path, detail))
    if match and match != "NotOlderThan":
        errors.append(field_unsupported(path, match, ["NotOlderThan"]))
    return errors


def _manager(manager: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(manager.encode()) > MANAGER_LENGTH:
        detail = f"Too long: may not be more than {MANAGER_LENGTH} bytes"
        errors.append(FieldError("fieldManager", "FieldValueTooLong", detail))
    for position, sign in enumerate(manager):
        if not sign.isprintable():
            detail = f"invalid character U+{ord(sign):04X} (at position {position})"
            errors.append(field_invalid("fieldManager", manager, detail))
    return errors


def _dry_run(values: list[str]) -> list[FieldError]:
    wrong = any(value != "All" for value in values)
    return [field_unsupported("dryRun", values, ["All"])] if wrong else []


def _refuse(kind: str, errors: list[FieldError]) -> None:
    if errors:
        raise invalid("meta.k8s.io", kind, "", errors)
