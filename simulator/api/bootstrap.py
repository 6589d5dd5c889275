"""What a cluster holds before anybody writes to it: system namespaces, priority classes, roles, CRDs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from simulator.api import crds, writing
from simulator.api.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from simulator.api.reading import get_entry
from simulator.api.requests import Target, WriteOptions
from simulator.api.store import CollectionName
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

CRDS = Path(__file__).with_name("crds")
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_MANAGER = WriteOptions(field_manager="kube-apiserver")
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_WORKLOADS: list[Object] = [
    {
        "apiGroups": [""],
        "resources": [
            "configmaps", "events", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
            "serviceaccounts", "services", "services/status", "limitranges", "resourcequotas", "namespaces",
        ],
    },
    {
        "apiGroups": ["apps"],
        "resources": ["daemonsets", "deployments", "deployments/scale", "replicasets", "statefulsets"],
    },
    {"apiGroups": ["batch"], "resources": ["jobs"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]},
]  # fmt: skip
_SECRETS: Object = {"apiGroups": [""], "resources": ["secrets", "pods/proxy", "services/proxy", "pods/eviction"]}
_REVIEWS: Object = {
    "apiGroups": ["authorization.k8s.io"],
    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    "verbs": ["create"],
}
_SELF: Object = {
    "apiGroups": ["authentication.k8s.io"],
    "resources": ["selfsubjectreviews"],
    "verbs": ["create"],
}
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/"]
_HEALTH = ["/healthz", "/livez", "/readyz", "/version", "/version/"]


def bootstrap(server: "Server") -> None:
    """Create what is missing; runs at every start."""
    for name in NAMESPACES:
        _ensure(server, ("", "v1", "namespaces"), None, {"metadata": {"name": name}})
    service = {"metadata": {"name": "kubernetes"}, "spec": {"ports": [{"name": "https", "port": 443}]}}
    _ensure(server, ("", "v1", "services"), "default", service)
    for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)):
        body = {"metadata": {"name": name}, "value": value, "description": "Used for system critical pods."}
        _ensure(server, ("scheduling.k8s.io", "v1", "priorityclasses"), None, body)
    for name, rules in _roles().items():
        role = {"metadata": {"name": name, "labels": _LABELS}, "rules": rules}
        _ensure(server, (*_versioned(CLUSTER_ROLES),), None, role)
    for name, groups in _BINDINGS.items():
        _ensure(server, (*_versioned(CLUSTER_ROLE_BINDINGS),), None, _binding(name, groups))
    for path in sorted(CRDS.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            _ensure_crd(server, document)


_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_BINDINGS = {
    "cluster-admin": ["system:masters"],
    "system:basic-user": ["system:authenticated"],
    "system:discovery": ["system:authenticated"],
    "system:public-info-viewer": ["system:authenticated", "system:unauthenticated"],
}


def _roles() -> dict[str, list[Object]]:
    view = [{**rule, "verbs": _READ} for rule in _WORKLOADS]
    edit = [*view, *({**rule, "verbs": _WRITE} for rule in _WORKLOADS), {**_SECRETS, "verbs": _READ + _WRITE}]
    rbac = {
        "apiGroups": [CLUSTER_ROLES[0]], "resources": ["roles", "rolebindings"], "verbs": _READ + _WRITE
    }  # fmt: skip
    everything: list[Object] = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    return {
        "cluster-admin": everything,
        "admin": [*edit, rbac],
        "edit": edit,
        "view": view,
        "system:basic-user": [_REVIEWS, _SELF],
        "system:discovery": [{"nonResourceURLs": [*_DISCOVERY, *_HEALTH], "verbs": ["get"]}],
        "system:public-info-viewer": [{"nonResourceURLs": _HEALTH, "verbs": ["get"]}],
    }


def _binding(role: str, groups: list[str]) -> Object:
    group = CLUSTER_ROLES[0]
    return {
        "metadata": {"name": role, "labels": _LABELS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": name} for name in groups],
    }


def _versioned(name: CollectionName) -> tuple[str, str, str]:
    return name[0], "v1", name[1]


def _ensure(server: "Server", served: tuple[str, str, str], namespace: str | None, body: Any) -> None:
    resource = server.registry.find(*served)
    if resource is None:
        raise LookupError(f"{'/'.join(served)} is not served")
    key = (namespace or "", body["metadata"]["name"])
    if key not in server.store.collection(resource.storage).entries:
        writing.create(server, Target(resource, namespace, key[1]), body, _MANAGER)


def _ensure_crd(server: "Server", document: Object) -> None:
    """Create a CRD, or bring one that an earlier release left to this one's schema."""
    served = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    _ensure(server, served, None, document)
    resource = server.registry.find(*served)
    if resource is None:
        raise LookupError("CRDs are not served")
    target = Target(resource, None, document["metadata"]["name"])
    present = get_entry(server, target).object
    if present["spec"] != crds.with_default_names(document["spec"]):
        writing.update(server, target, {**present, "spec": document["spec"]}, _MANAGER)
