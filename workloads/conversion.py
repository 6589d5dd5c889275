"""A DynamoGraphDeployment from one served version to the other: without loss, or refused by field. Pure.

Field by field after the operator's api/v1alpha1/*_conversion.go; what one side lacks is named.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from clusters.names import GPU_RESOURCE
from core.errors import Fault, InvalidInput
from core.words import gettext as _
from workloads.graph import V1ALPHA1, V1BETA1

Document = dict[str, Any]

_SAME = ("replicas", "multinode", "runtimeVersionOverride", "modelRef", "eppConfig", "globalDynamoNamespace")


def convert(document: Mapping[str, Any], api_version: str) -> Document:
    """A copy of `document` in `api_version`. Raises `InvalidInput` naming each field that the target lacks."""
    copy = deepcopy(dict(document))
    if copy["apiVersion"] == api_version:
        return copy
    faults: list[Fault] = []
    spec = copy.get("spec") or {}
    converted = _to_beta(spec, faults) if api_version == V1BETA1 else _to_alpha(spec, faults)
    if faults:
        raise InvalidInput(faults)
    return {**copy, "apiVersion": api_version, "spec": converted}


def _lacking(field: str, version: str, instead: str = "") -> Fault:
    return Fault(field, _("%(version)s has no such field") % {"version": version}, instead)


def _to_beta(spec: Mapping[str, Any], faults: list[Fault]) -> Document:
    out = {key: value for key, value in spec.items() if key not in ("services", "envs", "pvcs")}
    if spec.get("envs"):
        out["env"] = spec["envs"]
    if spec.get("pvcs"):
        faults.append(_lacking("spec.pvcs", V1BETA1, _("podTemplate.spec.volumes of a component")))
    out["components"] = [_component_to_beta(name, entry, faults) for name, entry in spec["services"].items()]
    return out


def _component_to_beta(name: str, entry: Mapping[str, Any], faults: list[Fault]) -> Document:
    field = f"spec.services.{name}"
    type_ = entry.get("subComponentType") or entry.get("componentType") or "worker"
    out: Document = {"name": name, "type": "worker" if type_ == "main" else type_}
    out |= {key: entry[key] for key in _SAME if key in entry}
    lacking = [key for key in ("autoscaling", "frontendSidecar") if entry.get(key)]
    faults += [_lacking(f"{field}.{key}", V1BETA1, _("leave it out")) for key in lacking]
    if (entry.get("scalingAdapter") or {}).get("enabled"):
        out["scalingAdapter"] = {}
    shared = entry.get("sharedMemory") or {}
    if shared.get("disabled"):
        out["sharedMemorySize"] = "0"
    elif shared.get("size"):
        out["sharedMemorySize"] = shared["size"]
    out["podTemplate"] = _pod_to_beta(entry, field, out, faults)
    return out


def _pod_to_beta(entry: Mapping[str, Any], field: str, out: Document, faults: list[Fault]) -> Document:
    pod = dict(entry.get("extraPodSpec") or {})
    main = {"name": "main", **(pod.pop("mainContainer", None) or {})}
    main["name"] = "main"
    if entry.get("envs"):
        main["env"] = [*entry["envs"], *main.get("env", ())]
    if entry.get("envFromSecret"):
        main["envFrom"] = [{"secretRef": {"name": entry["envFromSecret"]}}, *main.get("envFrom", ())]
    for probe in ("livenessProbe", "readinessProbe"):
        if entry.get(probe):
            main[probe] = entry[probe]
    resources = _resources_to_beta(entry.get("resources") or {}, main.get("resources") or {}, field, faults)
    if resources:
        main["resources"] = resources
    mounts = _mounts_to_beta(entry.get("volumeMounts") or (), out)
    if mounts:
        main["volumeMounts"] = [*mounts, *main.get("volumeMounts", ())]
    template: Document = {"spec": {**pod, "containers": [main, *pod.get("containers", ())]}}
    metadata = _metadata_to_beta(entry)
    return {"metadata": metadata, **template} if metadata else template


def _metadata_to_beta(entry: Mapping[str, Any]) -> Document:
    metadata: Document = {}
    extra = entry.get("extraPodMetadata") or {}
    for section in ("labels", "annotations"):
        merged = {**(entry.get(section) or {}), **(extra.get(section) or {})}
        if merged:
            metadata[section] = merged
    return metadata


def _resources_to_beta(
    own: Mapping[str, Any], container: Mapping[str, Any], field: str, faults: list[Fault]
) -> Document:
    out: Document = {section: dict(container.get(section) or {}) for section in ("limits", "requests")}
    for section in ("limits", "requests"):
        for key, value in (own.get(section) or {}).items():
            if key == "gpuType":
                faults.append(_lacking(f"{field}.resources.{section}.gpuType", V1BETA1))
            elif key == "custom":
                out[section] |= value
            else:
                out[section][GPU_RESOURCE if key == "gpu" else key] = value
    return {section: amounts for section, amounts in out.items() if amounts}


def _mounts_to_beta(mounts: Any, out: Document) -> list[Document]:
    kept = []
    for mount in mounts:
        if mount.get("useAsCompilationCache"):
            out["compilationCache"] = {"pvcName": mount.get("name"), "mountPath": mount.get("mountPoint")}
        else:
            kept.append({"name": mount.get("name"), "mountPath": mount.get("mountPoint")})
    return kept


def _to_alpha(spec: Mapping[str, Any], faults: list[Fault]) -> Document:
    out = {key: value for key, value in spec.items() if key not in ("components", "env")}
    if spec.get("env"):
        out["envs"] = spec["env"]
    out["services"] = {
        entry["name"]: _component_to_alpha(f"spec.components[{index}]", entry, faults)
        for index, entry in enumerate(spec["components"])
    }
    return out


def _component_to_alpha(field: str, entry: Mapping[str, Any], faults: list[Fault]) -> Document:
    type_ = entry.get("type")
    out: Document = {"componentType": "worker" if type_ in ("prefill", "decode") else type_}
    if type_ in ("prefill", "decode"):
        out["subComponentType"] = type_
    out |= {key: entry[key] for key in _SAME if key in entry}
    lacking = [key for key in ("minAvailable", "frontendSidecar") if entry.get(key) not in (None, 1)]
    faults += [_lacking(f"{field}.{key}", V1ALPHA1, _("leave it out")) for key in lacking]
    if entry.get("scalingAdapter") is not None:
        out["scalingAdapter"] = {"enabled": True}
    size = entry.get("sharedMemorySize")
    if size is not None:
        out["sharedMemory"] = {"disabled": True} if str(size) == "0" else {"size": size}
    cache = entry.get("compilationCache")
    if cache:
        mount = {"name": cache.get("pvcName"), "mountPoint": cache.get("mountPath"), "useAsCompilationCache": True}
        out["volumeMounts"] = [mount]
    return out | _pod_to_alpha(entry.get("podTemplate") or {})


def _pod_to_alpha(template: Mapping[str, Any]) -> Document:
    out: Document = {}
    metadata = template.get("metadata") or {}
    if metadata:
        out["extraPodMetadata"] = metadata
    pod = dict(template.get("spec") or {})
    containers = list(pod.pop("containers", ()))
    main = dict(next((c for c in containers if c.get("name") == "main"), {}))
    main.pop("name", None)
    others = [container for container in containers if container.get("name") != "main"]
    resources = main.pop("resources", {})
    if resources:
        out["resources"] = {section: _amounts_to_alpha(amounts) for section, amounts in resources.items()}
    out["extraPodSpec"] = {**pod, **({"containers": others} if others else {}), "mainContainer": main}
    return out


def _amounts_to_alpha(amounts: Mapping[str, Any]) -> Document:
    out: Document = {}
    for key, value in amounts.items():
        if key == GPU_RESOURCE:
            out["gpu"] = str(value)
        elif key in ("cpu", "memory"):
            out[key] = str(value)
        else:
            out.setdefault("custom", {})[key] = str(value)
    return out
