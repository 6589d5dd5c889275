"""Validation of objects about to be stored: metadata, the schema and its rules, and what core kinds check."""

from simulator.api import names
from simulator.api.core_validation import CHECKS
from simulator.api.errors import FieldError, field_invalid, field_required
from simulator.api.resources import Resource
from simulator.api.schema_validation import schema_errors
from simulator.client import Object

_LABEL_NAMES = {("", "namespaces")}
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_RBAC = "rbac.authorization.k8s.io"


def validate(resource: Resource, new: Object, old: Object | None, subresource: str) -> list[FieldError]:
    """Every error, in the order of the API server: metadata first."""
    errors = _metadata(resource, new, old)
    if old is not None:
        errors *= 2 if resource.custom else 4  # generic code checks an update's metadata, the kind's own does again
    if resource.custom and resource.schema is not None:
        errors += schema_errors(resource, new, old, subresource)
        return errors
    check = CHECKS.get(resource.storage)
    if check is not None and not subresource:
        errors += check(new, old)
    return errors


def _metadata(resource: Resource, new: Object, old: Object | None) -> list[FieldError]:
    metadata = new["metadata"]
    errors: list[FieldError] = []
    if old is None:
        errors += _name(resource, str(metadata.get("name") or ""), str(metadata.get("generateName") or ""))
    elif metadata.get("labels") is old["metadata"].get("labels") and metadata.get("annotations") is old["metadata"].get(
        "annotations"
    ):
        return errors
    errors += names.labels(metadata.get("labels") or {}, "metadata.labels")
    errors += names.annotations(metadata.get("annotations") or {}, "metadata.annotations")
    for owner in metadata.get("ownerReferences") or []:
        errors += _owner(owner)
    for name in metadata.get("finalizers") or []:
        errors += [field_invalid("metadata.finalizers", name, text) for text in names.qualified_name(name)]
    if not resource.custom:
        errors += _standard_finalizers(metadata.get("finalizers") or [])
    return errors


def _owner(owner: Object) -> list[FieldError]:
    errors = []
    for field in ("apiVersion", "kind", "name", "uid"):
        if not owner.get(field):
            text = "version must not be empty" if field == "apiVersion" else "must not be empty"
            errors.append(field_invalid(f"metadata.ownerReferences.{field}", owner.get(field, ""), text))
    if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
        text = "/v1, Kind=Event is disallowed from being an owner"
        errors.append(field_invalid("metadata.ownerReferences", owner, text))
    return errors


def _standard_finalizers(finalizers: list[str]) -> list[FieldError]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        field_invalid(f"metadata.finalizers[{index}]", name, text)
        for index, name in enumerate(finalizers)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]


def _name(resource: Resource, name: str, prefix: str) -> list[FieldError]:
    if not name:
        return [field_required("metadata.name", "name or generateName is required")]
    check = names.subdomain
    if resource.storage in _LABEL_NAMES:
        check = names.namespace
    elif resource.storage == ("", "services"):
        check = names.dns1035
    elif resource.kind.group == _RBAC:
        check = names.path_segment
    wrong = _generated(prefix, check) if prefix else []
    errors = [field_invalid("metadata.generateName", prefix, text) for text in wrong]
    return errors + [field_invalid("metadata.name", name, text) for text in check(name)]


def _generated(prefix: str, check: names.Check) -> list[str]:
    """A prefix may end with a dash, since letters follow."""
    return check(prefix[:-1] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix)
