"""What a submitted manifest may hold. Everything that is not listed is refused with its path. Pure.

The list follows the two DynamoGraphDeployment versions and the core PodSpec; left out is what reaches beyond the
project: host access, privileges, service accounts, other namespaces, other schedulers, and what Muster writes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clusters.names import is_label_key, is_label_value
from core.errors import Fault
from workloads.graph import V1ALPHA1
from workloads.leaves import (
    ENV_NAME,
    FLAG,
    IMAGE,
    OBJECT,
    OBJECT_NAME,
    OBJECTS,
    PORT,
    PORT_OR_NAME,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    WHOLE,
    Leaf,
    one_of,
)

SCHEDULER = "kai-scheduler"
_SEMVER = re.compile(r"v?\d+\.\d+\.\d+([-+.][0-9A-Za-z.+-]*)?\Z")

# A rule is ANY (whatever JSON holds; tested elsewhere), a Leaf (a type), a dict (these keys only), [rule] (a list of)
# or {"*": rule} (a map of).
ANY = object()
Rule = Any

LABELS: Rule = {"*": ANY}
PROBE: Rule = {
    **dict.fromkeys(
        (
            "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
            "terminationGracePeriodSeconds",
        ),
        WHOLE,
    ),
    "grpc": OBJECT,
    "exec": {"command": TEXTS},
    "httpGet": {"path": TEXT, "port": PORT_OR_NAME, "scheme": one_of("HTTP", "HTTPS"), "httpHeaders": OBJECTS},
    "tcpSocket": {"port": PORT_OR_NAME},
}  # fmt: skip
ENV_VALUE_FROM: Rule = dict.fromkeys(("secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef"), OBJECT)
ENV: Rule = [{"name": ENV_NAME, "value": TEXT, "valueFrom": ENV_VALUE_FROM}]
CONTAINER_SECURITY: Rule = {
    **dict.fromkeys(("runAsUser", "runAsGroup"), WHOLE),
    **dict.fromkeys(("runAsNonRoot", "readOnlyRootFilesystem", "allowPrivilegeEscalation"), FLAG),
    "seccompProfile": OBJECT,
    "capabilities": {"drop": TEXTS},
}
RESOURCES: Rule = {"limits": {"*": QUANTITY}, "requests": {"*": QUANTITY}}
CONTAINER: Rule = {
    **dict.fromkeys(("name", "workingDir", "restartPolicy", "terminationMessagePolicy"), TEXT),
    "image": IMAGE,
    "imagePullPolicy": one_of("Always", "IfNotPresent", "Never"),
    **dict.fromkeys(("command", "args"), TEXTS),
    "env": ENV,
    "envFrom": [{"prefix": TEXT, "secretRef": OBJECT, "configMapRef": OBJECT}],
    "ports": [{"name": TEXT, "containerPort": PORT, "protocol": one_of("TCP", "UDP", "SCTP")}],
    "resources": RESOURCES,
    "volumeMounts": [{**dict.fromkeys(("name", "mountPath", "subPath"), TEXT), "readOnly": FLAG}],
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "securityContext": CONTAINER_SECURITY,
}
VOLUMES: Rule = [
    {
        "name": TEXT,
        "emptyDir": {"medium": TEXT, "sizeLimit": QUANTITY},
        **dict.fromkeys(("configMap", "secret", "persistentVolumeClaim", "downwardAPI", "ephemeral"), OBJECT),
    }
]
POD_SPEC: Rule = {
    "nodeSelector": TEXT_MAP,
    "affinity": OBJECT,
    **dict.fromkeys(("tolerations", "topologySpreadConstraints", "imagePullSecrets"), OBJECTS),
    "terminationGracePeriodSeconds": WHOLE,
    **dict.fromkeys(("restartPolicy", "schedulerName"), TEXT),
    "enableServiceLinks": FLAG,
    "volumes": VOLUMES,
    "initContainers": [CONTAINER],
    "securityContext": {
        **dict.fromkeys(("fsGroup", "runAsUser", "runAsGroup"), WHOLE),
        "runAsNonRoot": FLAG,
        "supplementalGroups": ANY,
        "seccompProfile": OBJECT,
    },
}
SHARED_COMPONENT: Rule = {
    "replicas": ANY,
    "runtimeVersionOverride": TEXT,
    **dict.fromkeys(("modelRef", "compilationCache", "eppConfig"), OBJECT),
    "multinode": {"nodeCount": ANY},
}
ALPHA_COMPONENT: Rule = {
    **SHARED_COMPONENT,
    **dict.fromkeys(("componentType", "subComponentType", "serviceName", "dynamoNamespace"), TEXT),
    "globalDynamoNamespace": FLAG,
    "envFromSecret": OBJECT_NAME,
    "sharedMemory": {"disabled": FLAG, "size": QUANTITY},
    "volumeMounts": OBJECTS,
    "autoscaling": OBJECT,
    "scalingAdapter": {"enabled": FLAG},
    "frontendSidecar": OBJECT,
    "annotations": LABELS,
    "labels": LABELS,
    "envs": ENV,
    "resources": {
        section: {"cpu": QUANTITY, "memory": QUANTITY, "gpu": ANY, "gpuType": TEXT, "custom": {"*": QUANTITY}}
        for section in ("limits", "requests")
    },
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "extraPodMetadata": {"annotations": LABELS, "labels": LABELS},
    "extraPodSpec": {**POD_SPEC, "containers": [CONTAINER], "mainContainer": CONTAINER},
}
BETA_COMPONENT: Rule = {
    **SHARED_COMPONENT,
    **dict.fromkeys(("name", "type", "minAvailable", "frontendSidecar"), ANY),
    "sharedMemorySize": QUANTITY,
    "scalingAdapter": {},
    "podTemplate": {
        "metadata": {"annotations": LABELS, "labels": LABELS},
        "spec": {**POD_SPEC, "containers": [CONTAINER]},
    },
}
SHARED_SPEC: Rule = {
    **dict.fromkeys(("backendFramework", "priorityClassName"), TEXT),
    "annotations": LABELS,
    "labels": LABELS,
    "experimental": {"kvTransferPolicy": OBJECT},
}
ROOT: Rule = {
    "apiVersion": ANY,
    "kind": ANY,
    "metadata": {"name": ANY, "namespace": ANY, "labels": LABELS, "annotations": LABELS},
}

WHY: Mapping[str, str] = {
    "hostNetwork": "it reaches the node's network",
    "hostPID": "it reaches the node's processes",
    "hostIPC": "it reaches the node's memory",
    "hostPath": "it reaches the node's files",
    "hostUsers": "it changes the user namespace",
    "hostPort": "it takes a port of the node",
    "host": "probes go to the pod itself",
    "privileged": "a privileged container owns the node",
    "procMount": "it unmasks the node's /proc",
    "serviceAccountName": "the operator chooses the service account",
    "serviceAccount": "the operator chooses the service account",
    "automountServiceAccountToken": "the operator chooses the service account",
    "nodeName": "it passes the scheduler by; use spec.nodeSelector",
    "priority": "use spec.priorityClassName",
    "runtimeClassName": "the project has no say in the node's runtimes",
    "add": "added capabilities reach the node",
    "hostAliases": "it changes how names resolve",
    "shareProcessNamespace": "containers would see each other's processes",
    "topologyConstraint": "Muster writes it from the placement annotations; use kai.scheduler/topology-*-placement",
    "providerOverride": "Muster writes it from the placement annotations",
    "restart": "it is not set when a graph is made",
    "finalizers": "they would keep the object from being deleted",
    "ownerReferences": "Muster owns the object",
    "status": "the operator writes it",
}


class _ShapeFault(Fault):
    """A value of another type than the field has."""


def check_allowed(document: Mapping[str, Any], *, namespace: str) -> tuple[Fault, ...]:
    """Every field that may not be submitted to `namespace`, in the order of the document; () if all may."""
    is_alpha = document.get("apiVersion") == V1ALPHA1
    if is_alpha:
        spec = {**SHARED_SPEC, "envs": ENV, "pvcs": [{"*": ANY}], "services": {"*": ALPHA_COMPONENT}}
    else:
        spec = {**SHARED_SPEC, "env": ENV, "components": [BETA_COMPONENT]}
    faults = list(_refused(document, {**ROOT, "spec": spec}, ""))
    if any(isinstance(fault, _ShapeFault) for fault in faults):  # what follows reads the document by its shape
        return tuple(faults)
    faults += _values(document, namespace)
    for field, entry in _component_entries(document, is_alpha):
        faults += _component_faults(field, entry, is_alpha)
    return tuple(faults)


def _refused(value: Any, rule: Rule, path: str) -> Iterator[Fault]:
    if rule is ANY or value is None:
        return
    if isinstance(rule, Leaf):
        fault = rule.fault(value, path)
        if fault is not None:
            yield _ShapeFault(fault.field, fault.message, fault.allowed)
        return
    if isinstance(rule, list):
        if not isinstance(value, list):
            yield _ShapeFault(path, "it is not a list")
            return
        for index, inner in enumerate(value):
            yield from _refused(inner, rule[0], f"{path}[{index}]")
        return
    if not isinstance(value, Mapping):
        yield _ShapeFault(path, "it is not a mapping")
        return
    for key, inner in value.items():
        field = f"{path}.{key}" if path else key
        inner_rule = rule.get("*", rule.get(key))
        if inner_rule is None:
            why = WHY.get(key, "it is not a field that Muster knows")
            yield Fault(field, f"it may not be set: {why}", ", ".join(sorted(rule)))
        else:
            yield from _refused(inner, inner_rule, field)


def _values(document: Mapping[str, Any], namespace: str) -> Iterator[Fault]:
    metadata = document.get("metadata") or {}
    own = metadata.get("namespace")
    if own and own != namespace:
        yield Fault("metadata.namespace", f"{str(own)[:63]!r} is not the project's namespace", namespace)
    for place in ("metadata", "spec"):
        for section in ("labels", "annotations"):
            yield from _entries((document.get(place) or {}).get(section), f"{place}.{section}", section == "labels")


def _entries(entries: Any, field: str, are_labels: bool) -> Iterator[Fault]:
    if not isinstance(entries, Mapping):
        return
    for key, value in entries.items():
        if not is_label_key(key):
            yield Fault(f"{field}[{key[:80]}]", "the key is not a label key")
        elif not isinstance(value, str):
            yield Fault(f"{field}[{key}]", "the value is not text", "quote it")
        elif are_labels and not is_label_value(value):
            yield Fault(f"{field}[{key}]", f"{value[:80]!r} is not a label value", "at most 63 of A–Z a–z 0–9 - _ .")
        elif key.startswith("muster.dev/"):
            yield Fault(f"{field}[{key}]", "Muster writes it")


def _component_entries(document: Mapping[str, Any], is_alpha: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    spec = document.get("spec") or {}
    if is_alpha:
        entries = [(f"spec.services.{name}", entry) for name, entry in (spec.get("services") or {}).items()]
    else:
        entries = [(f"spec.components[{i}]", entry) for i, entry in enumerate(spec.get("components") or ())]
    return ((field, entry) for field, entry in entries if isinstance(entry, Mapping))


def _component_faults(field: str, entry: Mapping[str, Any], is_alpha: bool) -> Iterator[Fault]:
    if is_alpha:
        pod, pod_field = entry.get("extraPodSpec") or {}, f"{field}.extraPodSpec"
        main, main_field = pod.get("mainContainer") or {}, f"{pod_field}.mainContainer"
    else:
        pod, pod_field = (entry.get("podTemplate") or {}).get("spec") or {}, f"{field}.podTemplate.spec"
        containers = [c for c in pod.get("containers") or () if isinstance(c, Mapping)]
        main = next((c for c in containers if c.get("name") == "main"), {})
        main_field = f"{pod_field}.containers"
    if not main.get("image"):
        yield Fault(main_field, "no container named main with an image", "image of the Dynamo runtime")
    elif not entry.get("runtimeVersionOverride") and not _SEMVER.match(_tag(str(main["image"]))):
        yield Fault(
            f"{field}.runtimeVersionOverride",
            f"the tag of image {str(main['image'])[:120]!r} is not a version, so the operator must be told one",
            "MAJOR.MINOR.PATCH",
        )
    if pod.get("schedulerName") not in (None, "", SCHEDULER):
        yield Fault(f"{pod_field}.schedulerName", f"{str(pod['schedulerName'])[:63]!r} starts no gang", SCHEDULER)
    yield from _security_faults(pod, pod_field)
    for holder, path in _metadata_holders(entry, field, is_alpha):
        for section in ("labels", "annotations"):
            yield from _entries(holder.get(section), f"{path}{section}", section == "labels")
            yield from _reserved(holder.get(section), f"{path}{section}")


def _metadata_holders(entry: Mapping[str, Any], field: str, is_alpha: bool) -> Iterator[tuple[Mapping[str, Any], str]]:
    if is_alpha:
        yield entry, f"{field}."
        yield entry.get("extraPodMetadata") or {}, f"{field}.extraPodMetadata."
    else:
        yield (entry.get("podTemplate") or {}).get("metadata") or {}, f"{field}.podTemplate.metadata."


def _reserved(entries: Any, field: str) -> Iterator[Fault]:
    """Queue, pool and gang belong to the whole graph: a component cannot leave it."""
    for key in entries if isinstance(entries, Mapping) else ():
        if key.startswith("kai.scheduler/") or key == "project":
            yield Fault(f"{field}[{key}]", "it holds for the whole graph, not for one component", "spec")


def _security_faults(pod: Mapping[str, Any], field: str) -> Iterator[Fault]:
    containers = [("mainContainer", pod.get("mainContainer"))]
    for listed in ("containers", "initContainers"):
        containers += [(f"{listed}[{i}]", container) for i, container in enumerate(pod.get(listed) or ())]
    for path, container in containers:
        security = (container.get("securityContext") or {}) if isinstance(container, Mapping) else {}
        if security.get("allowPrivilegeEscalation"):
            yield Fault(f"{field}.{path}.securityContext.allowPrivilegeEscalation", "it may not be true", "false")


def _tag(image: str) -> str:
    """The tag of an image reference; empty for none, or for a digest."""
    last = image.rsplit("/", 1)[-1]
    return "" if "@" in last or ":" not in last else last.rsplit(":", 1)[1]
