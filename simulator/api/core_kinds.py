"""The core kinds that are always served: scope, short names, subresources, selectable fields, schemas."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from clusters.kinds import Kind
from simulator.api.columns import COLUMNS
from simulator.api.resources import (
    ALL_VERBS,
    REVIEW_VERBS,
    Convert,
    FieldGetter,
    Registry,
    Resource,
    Scale,
)
from simulator.api.schema import Schema
from simulator.client import Object

_SCHEMAS = Path(__file__).with_name("schemas") / "core.json"
_GENERATED = {
    "priorityclasses",
    "deployments",
    "daemonsets",
    "replicasets",
    "jobs",
    "statefulsets",
    "pods",
    "customresourcedefinitions",
}


@cache
def definitions() -> dict[str, Any]:
    """The fields of the core kinds, by the Python client's model names (`V1Pod`)."""
    loaded: dict[str, Any] = json.loads(_SCHEMAS.read_text())
    return loaded


@cache
def core_schema(model: str) -> Schema:
    return Schema(definitions()[model], definitions())


def _path(*steps: str) -> FieldGetter:
    def read(body: Object) -> str:
        value: Any = body
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def _paths(*dotted: str) -> dict[str, FieldGetter]:
    return {path: _path(*path.split(".")) for path in dotted}


_EVENT_FIELDS = _paths(
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
    "reason", "reportingComponent", "source", "type",
)  # fmt: skip
_EVENT_FIELDS["reportingComponent"] = lambda body: str(
    body.get("reportingComponent") or (body.get("source") or {}).get("component", "")
)
_EVENT_FIELDS["source"] = lambda body: str(
    (body.get("source") or {}).get("component") or body.get("reportingComponent", "")
)
_FIELDS: dict[str, dict[str, FieldGetter]] = {
    "pods": _paths(
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
    "nodes": _paths("spec.unschedulable"),
    "events": _EVENT_FIELDS,
    "secrets": _paths("type"),
    "namespaces": _paths("status.phase"),
    "replicasets": _paths("status.replicas"),
    "jobs": _paths("status.successful"),
    "services": _paths("spec.clusterIP", "spec.type"),
}  # fmt: skip

# group, version, kind, plural, namespaced, model, short names, subresources
_TABLE: list[tuple[str, str, str, str, bool, str, str, str]] = [
    ("", "v1", "Namespace", "namespaces", False, "V1Namespace", "ns", "status finalize"),
    ("", "v1", "Node", "nodes", False, "V1Node", "no", "status proxy"),
    ("", "v1", "Pod", "pods", True, "V1Pod", "po", "status log binding eviction proxy ephemeralcontainers"),
    ("", "v1", "Event", "events", True, "CoreV1Event", "ev", ""),
    ("", "v1", "Secret", "secrets", True, "V1Secret", "", ""),
    ("", "v1", "ConfigMap", "configmaps", True, "V1ConfigMap", "cm", ""),
    ("", "v1", "Service", "services", True, "V1Service", "svc", "status proxy"),
    ("", "v1", "ServiceAccount", "serviceaccounts", True, "V1ServiceAccount", "sa", "token"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, "V1PersistentVolumeClaim", "pvc", "status"),
    ("", "v1", "ResourceQuota", "resourcequotas", True, "V1ResourceQuota", "quota", "status"),
    ("", "v1", "LimitRange", "limitranges", True, "V1LimitRange", "limits", ""),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", True, "V1EndpointSlice", "", ""),
    ("coordination.k8s.io", "v1", "Lease", "leases", True, "V1Lease", "", ""),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, "V1PriorityClass", "pc", ""),
    ("apps", "v1", "Deployment", "deployments", True, "V1Deployment", "deploy", "status scale"),
    ("apps", "v1", "ReplicaSet", "replicasets", True, "V1ReplicaSet", "rs", "status scale"),
    ("apps", "v1", "StatefulSet", "statefulsets", True, "V1StatefulSet", "sts", "status scale"),
    ("apps", "v1", "DaemonSet", "daemonsets", True, "V1DaemonSet", "ds", "status"),
    ("batch", "v1", "Job", "jobs", True, "V1Job", "", "status"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False,
     "V1CustomResourceDefinition", "crd crds", "status"),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", True, "V1Role", "", ""),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", True, "V1RoleBinding", "", ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, "V1ClusterRole", "", ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", False,
     "V1ClusterRoleBinding", "", ""),
]  # fmt: skip
_REVIEWS: list[tuple[str, str, str, bool, str]] = [
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False, "V1SelfSubjectAccessReview"),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", False, "V1SubjectAccessReview"),
    ("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", True,
     "V1LocalSubjectAccessReview"),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", False, "V1SelfSubjectRulesReview"),
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", False, "V1SelfSubjectReview"),
    ("authentication.k8s.io", "TokenReview", "tokenreviews", False, "V1TokenReview"),
]  # fmt: skip
_IN_ALL = {"pods", "daemonsets", "services", "deployments", "replicasets", "statefulsets", "jobs"}


def register(registry: Registry) -> None:
    """Add every core kind, the reviews, and events.k8s.io beside the core events."""
    for group, version, kind, plural, namespaced, model, short, subresources in _TABLE:
        served = Kind(group, version, kind, plural, namespaced=namespaced)
        names = frozenset(subresources.split())
        registry.add(
            Resource(
                served,
                (group, plural),
                kind.lower(),
                tuple(short.split()),
                ("all",) if plural in _IN_ALL else (),
                ALL_VERBS,
                names,
                core_schema(model),
                Scale(selector=".spec.selector") if "scale" in names else None,
                COLUMNS.get(plural, ()),
                _FIELDS.get(plural, {}),
                generation=plural in _GENERATED,
            )
        )
    for group, kind, plural, namespaced, model in _REVIEWS:
        served = Kind(group, "v1", kind, plural, namespaced=namespaced)
        registry.add(Resource(served, (group, plural), kind.lower(), verbs=REVIEW_VERBS, schema=core_schema(model)))
    registry.add(_events_alias(core_schema("EventsV1Event")))


def _events_alias(schema: Schema) -> Resource:
    kind = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
    to_core, from_core = _event_converters()
    return Resource(
        kind,
        ("", "events"),
        "event",
        ("ev",),
        schema=schema,
        columns=COLUMNS["events"],
        fields=_EVENT_FIELDS,
        from_storage=from_core,
        to_storage=to_core,
        generation=False,
    )


_EVENT_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def _event_converters() -> tuple[Convert, Convert]:
    back = {core: name for name, core in _EVENT_NAMES.items()}
    return _renamer("v1", _EVENT_NAMES), _renamer("events.k8s.io/v1", back)


def _renamer(version: str, names: dict[str, str]) -> Callable[[Object], Object]:
    def convert(body: Object) -> Object:
        return {**{names.get(key, key): value for key, value in body.items()}, "apiVersion": version}

    return convert
