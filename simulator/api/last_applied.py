"""The annotation of kubectl's client-side apply: its server-side apply may change what that wrote, and renews it."""

import msgspec

from simulator.api.fieldsets import FieldSet, difference, union
from simulator.api.schema import Schema
from simulator.api.structured import compare, fields_of
from simulator.client import Object

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def last_applied_fields(schema: Schema, live: Object, api_version: str) -> FieldSet:
    """The fields that the annotation holds and that are still as it says."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    try:
        applied = msgspec.json.decode(annotations.get(LAST_APPLIED, "{}"))
    except msgspec.DecodeError:
        return {}
    if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
        return {}
    return difference(fields_of(schema, applied), union(*compare(schema, applied, live)))


def renewed(merged: Object, applied: Object) -> Object:
    """The merged object with the annotation that says what was applied now, where it has one."""
    annotations = (merged.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return merged
    metadata = dict(applied.get("metadata") or {})
    others = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key != LAST_APPLIED}
    if others:
        metadata["annotations"] = others
    text = msgspec.json.encode({**applied, "metadata": metadata}, order="sorted").decode() + "\n"
    return {**merged, "metadata": {**merged["metadata"], "annotations": {**annotations, LAST_APPLIED: text}}}
