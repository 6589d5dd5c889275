"""Writes simulator/api/schemas/core.json: the fields of the core kinds, taken from the Python client's models.

Run by hand when the client's version changes: `python tests/simulator/api/generate_core_schemas.py`.
"""

import json
import types
import typing
from datetime import datetime
from pathlib import Path
from typing import Any

import kubernetes.client as models

ROOTS = [
    "V1Binding", "V1ConfigMap", "CoreV1Event", "V1Namespace", "V1Node", "V1PersistentVolumeClaim", "V1Pod",
    "V1ReplicationController", "V1Secret", "V1Service", "V1ServiceAccount", "EventsV1Event", "V1EndpointSlice",
    "V1Lease", "V1PriorityClass", "V1Deployment", "V1ReplicaSet", "V1StatefulSet", "V1DaemonSet", "V1Job",
    "V1CustomResourceDefinition", "V1Role", "V1RoleBinding", "V1ClusterRole", "V1ClusterRoleBinding",
    "V1SelfSubjectAccessReview", "V1SubjectAccessReview", "V1LocalSubjectAccessReview",
    "V1SelfSubjectRulesReview", "V1SelfSubjectReview", "V1TokenReview", "AuthenticationV1TokenRequest", "V1Eviction",
    "V1Scale", "V1Status", "V1DeleteOptions", "V1ResourceQuota", "V1LimitRange",
]  # fmt: skip
QUANTITIES = {"limits", "requests", "capacity", "allocatable", "hard", "used", "overhead", "default",
              "defaultRequest", "max", "min", "maxLimitRequestRatio", "allocatedResources"}  # fmt: skip
QUANTITY_FIELDS = {"sizeLimit", "divisor"}
QUANTITY = {"x-kubernetes-int-or-string": True, "format": "quantity"}
INT_OR_STRING = {"port", "targetPort", "maxUnavailable", "maxSurge"}
SETS = {("V1ObjectMeta", "finalizers"), ("V1PodStatus", "podIPs")}
MAPS: dict[tuple[str, str], list[str]] = {
    ("V1PodSpec", "containers"): ["name"],
    ("V1PodSpec", "initContainers"): ["name"],
    ("V1PodSpec", "ephemeralContainers"): ["name"],
    ("V1PodSpec", "volumes"): ["name"],
    ("V1PodSpec", "imagePullSecrets"): ["name"],
    ("V1PodSpec", "hostAliases"): ["ip"],
    ("V1PodSpec", "topologySpreadConstraints"): ["topologyKey", "whenUnsatisfiable"],
    ("V1PodSpec", "schedulingGates"): ["name"],
    ("V1PodSpec", "resourceClaims"): ["name"],
    ("V1Container", "env"): ["name"],
    ("V1Container", "ports"): ["containerPort", "protocol"],
    ("V1Container", "volumeMounts"): ["mountPath"],
    ("V1Container", "volumeDevices"): ["devicePath"],
    ("V1EphemeralContainer", "env"): ["name"],
    ("V1EphemeralContainer", "volumeMounts"): ["mountPath"],
    ("V1ServiceSpec", "ports"): ["port", "protocol"],
    ("V1ServiceAccount", "secrets"): ["name"],
    ("V1ServiceAccount", "imagePullSecrets"): ["name"],
    ("V1ObjectMeta", "ownerReferences"): ["uid"],
    ("V1NodeStatus", "addresses"): ["type"],
    ("V1ResourceRequirements", "claims"): ["name"],
}
# Fields whose strategic merge differs from server-side apply: patchStrategy merge with another key.
PATCH_KEYS = {
    ("V1NodeSpec", "taints"): "key",
    ("V1Container", "ports"): "containerPort",
    ("V1ServiceSpec", "ports"): "port",
    ("V1PodSpec", "topologySpreadConstraints"): "topologyKey",
}
GRANULAR_SELECTORS_ARE_ATOMIC = {"V1LabelSelector", "V1NodeSelector", "V1NodeSelectorTerm", "V1ObjectReference",
                                 "V1LocalObjectReference", "V1OwnerReference", "V1SecretKeySelector",
                                 "V1ConfigMapKeySelector", "V1ObjectFieldSelector", "V1ResourceFieldSelector",
                                 "V1SecretReference", "V1TypedLocalObjectReference", "CoreV1EndpointPort",
                                 "V1NodeSelectorRequirement", "V1RoleRef"}  # fmt: skip
ATOMIC_MAPS = {
    ("V1ServiceSpec", "selector"),
    ("V1PodSpec", "nodeSelector"),
    ("V1ReplicationControllerSpec", "selector"),
}
IDENTITY = {
    "CoreV1Event": "io.k8s.api.core.v1.Event",
    "EventsV1Event": "io.k8s.api.events.v1.Event",
    "AuthenticationV1TokenRequest": "io.k8s.api.authentication.v1.TokenRequest",
}


def main() -> None:
    definitions: dict[str, Any] = {}
    queue = list(ROOTS)
    while queue:
        name = queue.pop()
        if name in definitions:
            continue
        definitions[name] = definition(getattr(models, name), queue)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(definitions[name])}" for name in sorted(definitions))
    target = Path(__file__).parents[3] / "simulator" / "api" / "schemas" / "core.json"
    target.write_text("{\n" + lines + "\n}\n")


def definition(model: Any, queue: list[str]) -> dict[str, Any]:
    name = model.__name__
    properties: dict[str, Any] = {}
    required = []
    for attribute, field in model.model_fields.items():
        key = field.serialization_alias or field.alias or attribute
        schema = shape(field.annotation, queue)
        special(name, key, schema)
        if field.description:
            schema["description"] = field.description
        properties[key] = schema
        if field.is_required():
            required.append(key)
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if name == "V1JSONSchemaProps":
        result["x-kubernetes-preserve-unknown-fields"] = True
        for key in ("additionalItems", "additionalProperties", "default", "example", "items", "enum"):
            properties[key] = {"x-kubernetes-preserve-unknown-fields": True}
    if name in GRANULAR_SELECTORS_ARE_ATOMIC:
        result["x-kubernetes-map-type"] = "atomic"
    if required:
        result["required"] = required
    if model.__doc__:
        result["description"] = model.__doc__.partition("Attributes:")[0].strip()
    return result


def special(name: str, key: str, schema: dict[str, Any]) -> None:
    if key in QUANTITIES and schema.get("additionalProperties", {}).get("type") == "string":
        schema["additionalProperties"] = dict(QUANTITY)
    if key in QUANTITY_FIELDS:
        schema.clear()
        schema.update(QUANTITY)
    elif key in INT_OR_STRING and "type" not in schema:
        schema.clear()
        schema["x-kubernetes-int-or-string"] = True
    keys = MAPS.get((name, key))
    if keys is None and key == "conditions" and schema.get("type") == "array":
        keys = ["type"]
    if keys is not None:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = keys
    elif (name, key) in SETS:
        schema["x-kubernetes-list-type"] = "set"
    if (name, key) in ATOMIC_MAPS:
        schema["x-kubernetes-map-type"] = "atomic"
    if (name, key) in PATCH_KEYS:
        schema["x-kubernetes-patch-merge-key"] = PATCH_KEYS[(name, key)]


def shape(annotation: Any, queue: list[str]) -> dict[str, Any]:
    annotation = bare(annotation)
    origin = typing.get_origin(annotation)
    if origin is list:
        return {"type": "array", "items": shape(typing.get_args(annotation)[0], queue)}
    if origin is dict:
        value = bare(typing.get_args(annotation)[1])
        if value is Any:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", "additionalProperties": shape(value, queue)}
    if origin in (typing.Union, types.UnionType):
        return union({bare(part) for part in typing.get_args(annotation)})
    return scalar(annotation, queue)


def union(parts: set[Any]) -> dict[str, Any]:
    if parts == {int, str}:
        return {"x-kubernetes-int-or-string": True}
    if bytes in parts:
        return {"type": "string", "format": "byte"}
    if parts == {int, float}:
        return {"type": "number"}
    return {"x-kubernetes-preserve-unknown-fields": True}


def scalar(annotation: Any, queue: list[str]) -> dict[str, Any]:
    simple = {str: "string", bool: "boolean", int: "integer", float: "number"}
    if annotation in simple:
        return {"type": simple[annotation]}
    if annotation is datetime:
        return {"type": "string", "format": "date-time"}
    if annotation in (Any, object):
        return {"x-kubernetes-preserve-unknown-fields": True}
    queue.append(annotation.__name__)
    return {"$ref": f"#/definitions/{annotation.__name__}"}


def bare(annotation: Any) -> Any:
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
            continue
        if typing.get_origin(annotation) in (typing.Union, types.UnionType):
            parts = [part for part in typing.get_args(annotation) if part is not type(None)]
            if len(parts) == 1:
                annotation = parts[0]
                continue
        return annotation


if __name__ == "__main__":
    main()
