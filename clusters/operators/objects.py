"""Small pure reads and builders for Kubernetes objects that every actor needs. Nothing here talks to a server."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from clusters.kinds import Kind

Object = dict[str, Any]
Key = tuple[str, str]
"""(namespace, name); namespace is "" for cluster-scoped objects."""

ADDED_BY_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"


def key_of(obj: Object) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def mapping_of(value: Any) -> Object:
    """The value where it is a mapping, else an empty one: without a schema, a field may hold anything."""
    return value if isinstance(value, dict) else {}


def entries_of(value: Any) -> list[Object]:
    """The mappings of a list; none of what is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def labels_of(obj: Object) -> Mapping[str, str]:
    return mapping_of(obj["metadata"].get("labels"))


def annotations_of(obj: Object) -> Mapping[str, str]:
    return mapping_of(obj["metadata"].get("annotations"))


def spec_of(obj: Object) -> Object:
    return mapping_of(obj.get("spec"))


def status_of(obj: Object) -> Object:
    return mapping_of(obj.get("status"))


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def controller_of(obj: Object) -> Object | None:
    """The ownerReference with `controller: true`, or None."""
    for reference in entries_of(obj["metadata"].get("ownerReferences")):
        if reference.get("controller"):
            return dict(reference)
    return None


def owner_reference(owner: Object, kind: Kind) -> Object:
    """A blocking controller reference, as controller-runtime's SetControllerReference writes it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def conditions_of(obj: Object) -> list[Object]:
    """The status' conditions that are objects with a type."""
    return [entry for entry in entries_of(status_of(obj).get("conditions")) if isinstance(entry.get("type"), str)]


def find_condition(obj: Object, condition_type: str) -> Object | None:
    for condition in conditions_of(obj):
        if condition.get("type") == condition_type:
            return dict(condition)
    return None


def has_condition(obj: Object, condition_type: str) -> bool:
    condition = find_condition(obj, condition_type)
    return condition is not None and condition.get("status") == "True"


def merged_conditions(current: Iterable[Object], new: Iterable[Object], now: str) -> list[Object]:
    """`new` conditions put into `current` by type; lastTransitionTime moves only when the status does."""
    by_type = {condition["type"]: dict(condition) for condition in current}
    for condition in new:
        old = by_type.get(condition["type"])
        if old is None or old.get("status") != condition.get("status"):
            changed_at = now
        else:
            changed_at = old.get("lastTransitionTime", now)
        by_type[condition["type"]] = {**condition, "lastTransitionTime": changed_at}
    return list(by_type.values())


def contains(actual: Any, wanted: Any) -> bool:
    """Whether `actual` already holds everything `wanted` says; extra keys of mappings are ignored."""
    if isinstance(wanted, Mapping):
        if not isinstance(actual, Mapping):
            return False
        return all(
            contains(actual.get(name), value) if value is not None else actual.get(name) is None
            for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(wanted)
            and all(contains(a, w) for a, w in zip(actual, wanted, strict=True))
        )
    return bool(actual == wanted)


def without_empty(mapping: Mapping[str, Any]) -> Object:
    """The mapping without None, empty strings, lists and mappings: what Go's `omitempty` leaves."""
    return {name: value for name, value in mapping.items() if value not in (None, "", [], {})}


def fingerprint(value: Any, length: int = 20) -> str:
    """Stable hex digits of a JSON value; plays the part of the operators' FNV template hashes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def parse_timestamp(text: str) -> datetime:
    """A moment of Kubernetes: metav1.Time or MicroTime. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
