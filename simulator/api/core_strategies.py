"""Defaults and follow-ups of the core kinds, by collection: what the API server fills in for pods, services, …"""

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulator.api import crds
from simulator.api.store import CollectionName, Entry
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

Prepare = Callable[["Server", Object, Object | None], Object]
Follow = Callable[["Server", Entry], None]

PODS: CollectionName = ("", "pods")
NAMESPACES: CollectionName = ("", "namespaces")
CRDS: CollectionName = ("apiextensions.k8s.io", "customresourcedefinitions")
_POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "enableServiceLinks": True,
}
_POD_ONLY = frozenset({"serviceAccountName", "serviceAccount", "enableServiceLinks", "tolerations"})
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_SECURITY: Object = {}
_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]


def pod(server: "Server", new: Object, old: Object | None) -> Object:
    spec = _pod_spec(new.get("spec") or {})
    new = {**new, "spec": spec}
    if old is None:
        new["status"] = {"phase": "Pending", "qosClass": _qos(spec), **_gated(spec, server.now())}
    return new


def pod_template(template: Object) -> Object:
    """Defaults only: what admission adds to pods is not in a template."""
    given = template.get("spec") or {}
    spec = _pod_spec(given)
    return {**template, "spec": {key: value for key, value in spec.items() if key in given or key not in _POD_ONLY}}


def namespace(server: "Server", new: Object, old: Object | None) -> Object:
    name = new["metadata"].get("name", "")
    labels = new["metadata"].get("labels") or {}
    if labels.get("kubernetes.io/metadata.name") != name:
        labels = {**labels, "kubernetes.io/metadata.name": name}
        new = {**new, "metadata": {**new["metadata"], "labels": labels}}
    if old is None:
        return {**new, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    return {**new, "spec": old.get("spec", {})}


def service(server: "Server", new: Object, old: Object | None) -> Object:
    spec = {"type": "ClusterIP", "sessionAffinity": "None", **(new.get("spec") or {})}
    spec["ports"] = [_service_port(port) for port in spec.get("ports") or []]
    if not spec["ports"]:
        del spec["ports"]
    if old is not None and "clusterIP" not in spec and "clusterIP" in old.get("spec", {}):
        spec["clusterIP"] = old["spec"]["clusterIP"]
    if spec["type"] != "ExternalName":
        address = spec.setdefault("clusterIP", server.next_cluster_ip())
        spec.setdefault("clusterIPs", [address])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        spec.setdefault("internalTrafficPolicy", "Cluster")
    result = {**new, "spec": spec}
    result.setdefault("status", {"loadBalancer": {}})
    return result


def secret(server: "Server", new: Object, old: Object | None) -> Object:
    result = {"type": "Opaque", **new}
    texts = result.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        result["data"] = {**(result.get("data") or {}), **encoded}
    if result["type"] == "kubernetes.io/service-account-token":
        return server.tokens.fill_secret(result)
    return result


def deployment(server: "Server", new: Object, old: Object | None) -> Object:
    spec: Object = {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        **(new.get("spec") or {}),
    }
    return _workload(new, spec, old)


def replica_set(server: "Server", new: Object, old: Object | None) -> Object:
    return _workload(new, {"replicas": 1, **(new.get("spec") or {})}, old)


def daemon_set(server: "Server", new: Object, old: Object | None) -> Object:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    spec = {"updateStrategy": strategy, "revisionHistoryLimit": 10, **(new.get("spec") or {})}
    return _workload(new, spec, old)


def job(server: "Server", new: Object, old: Object | None) -> Object:
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": False}
    return _workload(new, {**defaults, **(new.get("spec") or {})}, old)


def node(server: "Server", new: Object, old: Object | None) -> Object:
    result = dict(new)
    result.setdefault("spec", {})
    result.setdefault("status", {})
    return result


def rbac_binding(server: "Server", new: Object, old: Object | None) -> Object:
    """Roles and users are of RBAC's own group."""
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, **(new.get("roleRef") or {})}
    subjects = [
        {"apiGroup": group, **each} if each.get("kind") in ("User", "Group") else each
        for each in new.get("subjects") or []
    ]
    return {**new, "roleRef": reference} | ({"subjects": subjects} if subjects else {})


def priority_class(server: "Server", new: Object, old: Object | None) -> Object:
    return {"preemptionPolicy": "PreemptLowerPriority", **new}


def custom_resource_definition(server: "Server", new: Object, old: Object | None) -> Object:
    if not isinstance(new.get("spec"), dict) or crds.check(new):
        return new
    filled = {**new, "spec": crds.with_default_names(new["spec"])}
    return {**filled, "status": crds.status(filled, server.now())}


def _workload(new: Object, spec: Object, old: Object | None) -> Object:
    if isinstance(spec.get("template"), dict):
        spec["template"] = pod_template(spec["template"])
    result = {**new, "spec": spec}
    if old is None:
        result["status"] = {}
    return result


def event(server: "Server", new: Object, old: Object | None) -> Object:
    """Go writes all of an event's times and sources, empty or not."""
    texts = {"reportingComponent": "", "reportingInstance": "", "source": {}}
    return {"eventTime": None, "firstTimestamp": None, "lastTimestamp": None, **texts, **new}


def pod_status(new: Object) -> Object:
    """Go writes both times of a condition, empty or not."""
    status = new.get("status") or {}
    conditions = status.get("conditions")
    if not conditions or all("lastProbeTime" in one and "lastTransitionTime" in one for one in conditions):
        return new
    times = {"lastProbeTime": None, "lastTransitionTime": None}
    return {**new, "status": {**status, "conditions": [{**times, **one} for one in conditions]}}


def _pod_spec(given: Object) -> Object:
    spec: Object = {**_POD_SPEC, "securityContext": _SECURITY, **given}
    if "serviceAccountName" in given:
        spec["serviceAccount"] = given["serviceAccountName"]
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    for name in ("containers", "initContainers"):
        if isinstance(spec.get(name), list):
            spec[name] = [_container(item) for item in spec[name]]
    return spec


def _tolerations(given: list[Any]) -> list[Any]:
    """With those that every pod has for a while, unless it says itself what it tolerates there."""
    said = {(each.get("key", ""), each.get("effect", "")) for each in given}
    missing = [
        each
        for each in _TOLERATIONS
        if not said & {(key, effect) for key in ("", each["key"]) for effect in ("", "NoExecute")}
    ]
    return [*given, *missing] if given else _TOLERATIONS


def _container(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    container = {**_CONTAINER, **given}
    if "imagePullPolicy" not in given:
        image = str(given.get("image", ""))
        tag = image.rpartition("/")[2].partition(":")[2]
        container["imagePullPolicy"] = "Always" if tag in ("", "latest") else "IfNotPresent"
    if isinstance(given.get("ports"), list):
        container["ports"] = [{"protocol": "TCP", **port} for port in given["ports"]]
    resources = container["resources"] or {}
    if resources.get("limits"):
        requests = {**resources["limits"], **(resources.get("requests") or {})}
        if requests != resources.get("requests"):
            container["resources"] = {**resources, "requests": requests}
    return container


def _service_port(port: Object) -> Object:
    return {"protocol": "TCP", "targetPort": port.get("port"), **port}


def _gated(spec: Object, now: str) -> Object:
    """The condition of a pod that is created with scheduling gates."""
    if not spec.get("schedulingGates"):
        return {}
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    return {"conditions": [condition]}


def _qos(spec: Object) -> str:
    guaranteed, any_request = True, False
    for container in spec.get("containers") or []:
        resources = (container.get("resources") if isinstance(container, dict) else None) or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        any_request = any_request or bool({"cpu", "memory"} & (set(limits) | set(requests)))
        for name in ("cpu", "memory"):
            guaranteed = guaranteed and name in limits and limits[name] == requests.get(name)
    if guaranteed and any_request:
        return "Guaranteed"
    return "Burstable" if any_request else "BestEffort"


def _namespace_created(server: "Server", entry: Entry) -> None:
    """The service account and config map that controllers put into every namespace."""
    server.fill_namespace(entry.key[1])


def _crd_written(server: "Server", entry: Entry) -> None:
    server.install(entry.object)


PREPARE: dict[CollectionName, Prepare] = {
    ("", "pods"): pod,
    NAMESPACES: namespace,
    ("", "nodes"): node,
    ("", "services"): service,
    ("", "secrets"): secret,
    ("apps", "deployments"): deployment,
    ("apps", "replicasets"): replica_set,
    ("apps", "daemonsets"): daemon_set,
    ("batch", "jobs"): job,
    ("scheduling.k8s.io", "priorityclasses"): priority_class,
    ("rbac.authorization.k8s.io", "rolebindings"): rbac_binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): rbac_binding,
    ("", "events"): event,
    CRDS: custom_resource_definition,
}
# These look at more than the spec.
ALWAYS_PREPARED = frozenset({NAMESPACES, CRDS})
AFTER_CREATE: dict[CollectionName, Follow] = {NAMESPACES: _namespace_created, CRDS: _crd_written}
AFTER_UPDATE: dict[CollectionName, Follow] = {CRDS: _crd_written}
