"""Fills requests that were made from openapi.yaml with what a schema cannot say: which ids and names there are, and
what texts with a grammar of their own hold (conditions, times, manifests). Everything else stays as it was made."""

import base64
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.api.conftest import MANIFEST, NODE_UID
from tests.api.walks_of_resources import SPECS

_number = itertools.count()
NAME = re.compile(r"(?m)^  name: .*$")
MANIFEST_TEXT = base64.b64encode(MANIFEST.encode()).decode()


def filler(world: Any, person: Any, paths: Mapping[str, Any]) -> "Callable[[Any], None]":
    """`fill(case)` for a seeded world and who asks. `paths`: ids by the collection before them in a path."""
    values = _values(world, person)

    def fill(case: Any) -> None:
        template = case.operation.path
        for collection, parameter in re.findall(r"/([a-z-]+)/\{([^}]+)\}", template):
            if collection in paths and parameter in case.path_parameters:
                case.path_parameters[parameter] = str(paths[collection])
        _fill_query(case, values)
        if isinstance(case.body, dict | list):
            case.body = _filled(case.body, values)
            _agree(case.body, template, values)
        case.headers = {
            **(case.headers or {}),
            "If-Match": "*",
            **({"Idempotency-Key": f"key-{next(_number)}"} if "Idempotency-Key" in (case.headers or {}) else {}),
        }

    return fill


def ids_of(world: Any) -> dict[str, Any]:
    """What there is, by the collection before its id in a path."""
    return {
        "clusters": world.cluster.pk,
        "nodes": NODE_UID,
        "network-topologies": world.topology.pk,
        "node-pools": world.pool.pk,
        "nodepools": world.pool.name,
        "departments": world.department.pk,
        "projects": world.project.pk,
        "workloads": world.running.pk,
        "pods": world.pod.uid,
        "setting": "api.require-if-match",
    }


def _values(world: Any, person: Any) -> dict[str, Callable[[], Any]]:
    """By the name of a field or parameter."""
    cluster, project, department = str(world.cluster.pk), str(world.project.pk), str(world.department.pk)
    found: Mapping[str, Any] = {
        "gpu": {"deserved": 4}, "cpu": {"deserved": 1000}, "memory": {"deserved": 64, "units": "MB"},
        "priority": "Normal", "clusterId": cluster, "projectId": project, "parentId": department,
        "departmentId": department, "nodepoolId": str(world.pool.pk), "networkTopologyId": str(world.topology.pk),
        "nodePool": {"id": str(world.pool.pk)}, "placementStrategy": {"gpu": "binpack"}, "roleId": 8,
        "subjectId": person.email, "subjectType": "user", "schedulingRules": None, "nodeTypes": None,
        "overtimeData": None, "enforceRunaiScheduler": True, "scopeType": "tenant", "scopeId": "1",
        "levels": ["kubernetes.io/hostname"], "labelKey": "gpu", "labelValue": "h100", "ids": [str(world.waiting.pk)],
        "manifestBase64Encoded": MANIFEST_TEXT, "cordon": "gpu-a", "remove": "gpu-b",
        "expiresAt": "2100-01-01T00:00:00Z", "start": "2026-11-29T10:00:00Z", "end": "2026-11-29T11:00:00Z",
        "for": "condition=Ready", "timeout": 0, "queue": world.project.namespace, "resourceType": "project",
        "gpuResourceOptimization": None, "overProvisioningRatio": 1, "gpuNetworkAccelerationLabelKey": None,
        "gpuNetworkAccelerationDetection": None, "schedulingConfiguration": None, "adopt": [], "release": [],
        "filterBy": ["projectName==assistant"], "permissionSets": None, "kubernetesPermissions": None, "total": "8",
        "key": "api.require-if-match", "value": True, "lastUpdated": "2026-11-29T10:00:00Z",
        "description": "What it is for",
    }  # fmt: skip
    named = {"name": lambda: f"name-{next(_number)}", "email": lambda: f"ada-{next(_number)}@example.org"}
    return {key: lambda value=value: value for key, value in found.items()} | named


def _fill_query(case: Any, values: Mapping[str, Callable[[], Any]]) -> None:
    query = case.query or {}
    if case.operation.path.endswith("/wait"):
        case.query = query = {**query, "timeout": 0}
    for name in list(query):
        if name == "filterBy":
            query[name] = a_condition(case.operation)
        elif name in values and name not in ("name", "email"):
            query[name] = values[name]()
        elif "{" in name:  # `deserved.{queue}`: of a queue that there is
            del query[name]


def a_condition(operation: Any) -> str:
    """The first condition that the document names; one on a text takes any value."""
    told = next(p for p in operation.definition.raw["parameters"] if p.get("name") == "filterBy")["description"]
    found = re.search(r"`(\w+)` =@", told)
    return f"{found[1]}=@a" if found else ""


def _filled(value: Any, values: Mapping[str, Callable[[], Any]]) -> Any:
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: values[key]() if key in values else _filled(item, values) for key, item in value.items()}


def _agree(body: Any, template: str, values: Mapping[str, Callable[[], Any]]) -> None:
    """What two fields say together, or a text that is a document."""
    if template.endswith("/clusters"):
        body.update(server="https://k8s.example.org", token="t", certificateAuthority=None, kubeconfig=None)
    elif template.endswith(("/preview", "/v2/workloads")) or "/v2/workloads/" in template:
        body.pop("manifest", None)
        body["metadata"] = {"projectId": values["projectId"]()}
        body["manifestBase64Encoded"] = MANIFEST_TEXT
        if "{" not in template:
            name = body["metadata"]["name"] = values["name"]()
            body["manifestBase64Encoded"] = base64.b64encode(NAME.sub(f"  name: {name}", MANIFEST, 1).encode()).decode()
    elif "/credentials/" in template:
        kind = template.split("/credentials/")[1].partition("/")[0]
        body["spec"] = SPECS[kind]
    elif template.endswith("/org-unit/projects"):
        body["parentId"] = values["parentId"]()
    elif re.search(r"/node-pools/\{", template):  # the default pool is the nodes without a label
        for key in ("name", "labelKey", "labelValue"):
            body.pop(key, None)
    elif template.endswith("/permitted-scopes"):
        body["action"] = "read"
    elif "/v2/authorization/roles" in template:
        body["permissions"] = [{"resourceType": "project", "actions": ["read"]}]
