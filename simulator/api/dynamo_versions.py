"""DynamoGraphDeployment between v1alpha1 and v1beta1 (stored). What the other version cannot say is kept beside.

Field table: `dynamo.md` §2.2 and §2.3 of the reference. Both directions cope with partial objects, so that a
server-side apply in either version can be converted, and leave out parts that are of another type than declared.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from clusters.operators.objects import entries_of, mapping_of
from simulator.client import Object

GROUP = "nvidia.com"
OLD = f"{GROUP}/v1alpha1"
NEW = f"{GROUP}/v1beta1"
# Annotation of stored objects with the fields that only v1alpha1 has, by service ("" for the graph itself).
KEPT = f"{GROUP}/v1alpha1-fields"
_GPU = f"{GROUP}/gpu"
_WORKER_ROLES = ("prefill", "decode")
_SAME = (
    "replicas", "multinode", "globalDynamoNamespace", "runtimeVersionOverride", "topologyConstraint", "modelRef",
    "frontendSidecar", "experimental",
)  # fmt: skip
_ONLY_OLD = (
    "dynamoNamespace", "autoscaling", "ingress", "annotations", "labels", "envFromSecret", "livenessProbe",
    "readinessProbe", "volumeMounts", "serviceName",
)  # fmt: skip
_ONLY_OLD_SPEC = ("pvcs",)


def to_v1beta1(body: Object) -> Object:
    """A v1alpha1 graph as v1beta1."""
    kept: dict[str, Any] = {}
    result = {**body, "apiVersion": NEW}
    if isinstance(body.get("spec"), dict):
        result["spec"] = _spec_up(body["spec"], kept)
    status = body.get("status")
    if isinstance(status, dict):
        result["status"] = _renamed(status, {"services": "components"})
    if kept:
        metadata = mapping_of(body.get("metadata"))
        annotations = {**mapping_of(metadata.get("annotations")), KEPT: msgspec.json.encode(kept).decode()}
        result["metadata"] = {**metadata, "annotations": annotations}
    return result


def to_v1alpha1(body: Object) -> Object:
    """A stored v1beta1 graph as v1alpha1."""
    metadata = dict(mapping_of(body.get("metadata")))
    annotations = dict(mapping_of(metadata.get("annotations")))
    kept = _kept(annotations.pop(KEPT, ""))
    if annotations:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    result = {**body, "apiVersion": OLD, "metadata": metadata}
    if isinstance(body.get("spec"), dict):
        result["spec"] = _spec_down(body["spec"], kept)
    status = body.get("status")
    if isinstance(status, dict):
        result["status"] = _renamed(status, {"components": "services"})
    return result


def _spec_up(spec: Object, kept: dict[str, Any]) -> Object:
    result = {
        key: value
        for key, value in spec.items()
        if key not in ("services", "envs", "topologyConstraint", *_ONLY_OLD_SPEC)
    }
    own = {key: spec[key] for key in _ONLY_OLD_SPEC if key in spec}
    if own:
        kept[""] = own
    if "envs" in spec:
        result["env"] = spec["envs"]
    if isinstance(spec.get("topologyConstraint"), dict):
        result["topologyConstraint"] = _renamed(spec["topologyConstraint"], {"topologyProfile": "clusterTopologyName"})
    if "services" in spec:
        services = mapping_of(spec["services"])
        result["components"] = [_component(name, mapping_of(service), kept) for name, service in services.items()]
    return result


def _spec_down(spec: Object, kept: dict[str, Any]) -> Object:
    result = {key: value for key, value in spec.items() if key not in ("components", "env", "topologyConstraint")}
    result.update(mapping_of(kept.get("")))
    if "env" in spec:
        result["envs"] = spec["env"]
    if isinstance(spec.get("topologyConstraint"), dict):
        result["topologyConstraint"] = _renamed(spec["topologyConstraint"], {"clusterTopologyName": "topologyProfile"})
    if "components" in spec:
        named = [(str(item.get("name", "")), item) for item in entries_of(spec["components"])]
        result["services"] = {name: _service(item, mapping_of(kept.get(name))) for name, item in named}
    return result


def _component(name: str, service: Object, kept: dict[str, Any]) -> Object:
    result: Object = {"name": name, **{key: service[key] for key in _SAME if key in service}}
    own = {key: service[key] for key in _ONLY_OLD if key in service}
    role = service.get("subComponentType") or service.get("componentType")
    if role in ("frontend", "worker", "planner", "epp", *_WORKER_ROLES):
        result["type"] = role
    elif role is not None:
        own["componentType"] = role
    memory = service.get("sharedMemory")
    if isinstance(memory, dict):
        if memory.get("disabled"):
            result["sharedMemorySize"] = "0"
        elif "size" in memory:
            result["sharedMemorySize"] = memory["size"]
    adapter = service.get("scalingAdapter")
    if isinstance(adapter, dict) and adapter.get("enabled"):
        result["scalingAdapter"] = {}
    template = _template_up(service)
    if template:
        result["podTemplate"] = template
    if own:
        kept[name] = own
    return result


def _template_up(service: Object) -> Object:
    extra = dict(mapping_of(service.get("extraPodSpec")))
    main = dict(mapping_of(extra.pop("mainContainer", None)))
    if "envs" in service:
        main["env"] = [*entries_of(service["envs"]), *entries_of(main.get("env"))]
    secret = service.get("envFromSecret")
    if secret:
        main["envFrom"] = [*entries_of(main.get("envFrom")), {"secretRef": {"name": secret}}]
    for probe in ("livenessProbe", "readinessProbe"):
        if probe in service:
            main[probe] = service[probe]
    resources = _resources_up(mapping_of(service.get("resources")))
    if resources:
        main["resources"] = resources
    if main:
        sidecars = [item for item in entries_of(extra.get("containers")) if item.get("name") != "main"]
        extra["containers"] = [{**main, "name": "main"}, *sidecars]
    template: Object = {"spec": extra} if extra else {}
    metadata = _metadata_up(service)
    if metadata:
        template["metadata"] = metadata
    return template


def _metadata_up(service: Object) -> Object:
    extra = mapping_of(service.get("extraPodMetadata"))
    metadata: Object = {}
    for field in ("labels", "annotations"):
        merged = {**mapping_of(service.get(field)), **mapping_of(extra.get(field))}
        if merged:
            metadata[field] = merged
    return metadata


def _resources_up(resources: Object) -> Object:
    result: Object = {}
    for kind in ("requests", "limits"):
        given = resources.get(kind)
        if not isinstance(given, dict):
            continue
        name = str(given.get("gpuType") or _GPU)
        amounts = {**mapping_of(given.get("custom")), **{key: given[key] for key in ("cpu", "memory") if key in given}}
        if "gpu" in given:
            amounts[name] = given["gpu"]
        result[kind] = amounts
    if resources.get("claims"):
        result["claims"] = resources["claims"]
    return result


def _service(component: Object, kept: Object) -> Object:
    result: Object = {key: component[key] for key in _SAME if key in component}
    result.update({key: value for key, value in kept.items() if key not in ("annotations", "labels")})
    role = component.get("type")
    if role in _WORKER_ROLES:
        result.update(componentType="worker", subComponentType=role)
    elif role is not None:
        result["componentType"] = role
    if "sharedMemorySize" in component:
        size = component["sharedMemorySize"]
        result["sharedMemory"] = {"disabled": True} if str(size) == "0" else {"size": size}
    if "scalingAdapter" in component:
        result["scalingAdapter"] = {"enabled": True}
    _template_down(mapping_of(component.get("podTemplate")), result, kept)
    return result


def _template_down(template: Object, result: Object, kept: Object) -> None:
    for field in ("labels", "annotations"):
        values = mapping_of(mapping_of(template.get("metadata")).get(field))
        own = mapping_of(kept.get(field))
        if own:
            result[field] = own
        rest = {key: value for key, value in values.items() if own.get(key) != value}
        if rest:
            result.setdefault("extraPodMetadata", {})[field] = rest
    spec = dict(mapping_of(template.get("spec")))
    containers = entries_of(spec.pop("containers", None))
    main = next((dict(item) for item in containers if item.get("name") == "main"), None)
    others = [item for item in containers if item.get("name") != "main"]
    if others:
        spec["containers"] = others
    if main is not None:
        del main["name"]
        _main_down(main, result, kept)
        if main:
            spec["mainContainer"] = main
    if spec:
        result["extraPodSpec"] = spec


def _main_down(main: Object, result: Object, kept: Object) -> None:
    resources = mapping_of(main.pop("resources", None))
    if resources:
        result["resources"] = _resources_down(resources)
    for probe in ("livenessProbe", "readinessProbe"):
        if probe in kept:
            main.pop(probe, None)
    secret = kept.get("envFromSecret")
    if secret:
        sources = [item for item in entries_of(main.get("envFrom")) if item != {"secretRef": {"name": secret}}]
        main.pop("envFrom", None)
        if sources:
            main["envFrom"] = sources


def _resources_down(resources: Object) -> Object:
    result: Object = {}
    for kind in ("requests", "limits"):
        given = resources.get(kind)
        if not isinstance(given, dict):
            continue
        amounts: Object = {key: given[key] for key in ("cpu", "memory") if key in given}
        custom = {key: value for key, value in given.items() if key not in ("cpu", "memory", _GPU)}
        if _GPU in given:
            amounts["gpu"] = given[_GPU]
        if custom:
            amounts["custom"] = {key: str(value) for key, value in custom.items()}
        result[kind] = amounts
    if resources.get("claims"):
        result["claims"] = resources["claims"]
    return result


def _renamed(values: Object, names: dict[str, str]) -> Object:
    return {names.get(key, key): value for key, value in values.items()}


def _kept(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


Convert = Callable[[Object], Object]
# (group, plural, other version) -> (from storage, to storage)
CONVERTERS: dict[tuple[str, str, str], tuple[Convert, Convert]] = {
    (GROUP, "dynamographdeployments", "v1alpha1"): (to_v1alpha1, to_v1beta1),
}
