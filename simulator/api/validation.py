"""Validation of objects about to be stored: metadata, the schema and its rules, and what core kinds check."""

from simulator.api import names
from simulator.api.core_validation import CHECKS
from simulator.api.errors import FieldError, field_invalid, field_required
from simulator.api.resources import Resource
from simulator.api.schema_validation import schema_errors
from simulator.client import Object

_LABEL_NAMES = {("", "namespaces")}
_RBAC = "rbac.authorization.k8s.io"


def validate(resource: Resource, new: Object, old: Object | None, subresource: str) -> list[FieldError]:
    """Every error, in the order of the API server: metadata first."""
    errors = _metadata(resource, new, old)
    if resource.custom and resource.schema is not None:
        errors += schema_errors(resource.schema, new, old)
        return errors
    check = CHECKS.get(resource.storage)
    if check is not None and not subresource:
        errors += check(new, old)
    return errors


def _metadata(resource: Resource, new: Object, old: Object | None) -> list[FieldError]:
    metadata = new["metadata"]
    errors: list[FieldError] = []
    if old is None:
        errors += _name(resource, str(metadata.get("name") or ""))
    elif metadata.get("labels") is old["metadata"].get("labels") and metadata.get("annotations") is old["metadata"].get(
        "annotations"
    ):
        return errors
    errors += names.labels(metadata.get("labels") or {}, "metadata.labels")
    errors += names.annotations(metadata.get("annotations") or {}, "metadata.annotations")
    for index, owner in enumerate(metadata.get("ownerReferences") or []):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"metadata.ownerReferences[{index}].{field}"
                errors.append(field_invalid(path, owner.get(field, ""), f"{field} must not be empty"))
    for name in metadata.get("finalizers") or []:
        errors += [field_invalid("metadata.finalizers", name, text) for text in names.qualified_name(name)]
    return errors


def _name(resource: Resource, name: str) -> list[FieldError]:
    if not name:
        return [field_required("metadata.name", "name or generateName is required")]
    check = names.subdomain
    if resource.storage in _LABEL_NAMES:
        check = names.label
    elif resource.storage == ("", "services"):
        check = names.dns1035
    elif resource.kind.group == _RBAC:
        check = names.path_segment
    return [field_invalid("metadata.name", name, text) for text in check(name)]
