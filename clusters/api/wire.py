"""Run:ai's JSON of clusters and nodes (`runai-openapi.json`: DisplayedCluster, Node), both ways."""

import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from clusters.addresses import check_server
from clusters.components import BY_KEY
from clusters.credentials import Credential
from clusters.kubeconfig import ClusterAccess, check_pem, check_token, read_kubeconfig
from clusters.models import Cluster
from clusters.names import DEFAULT_NODE_POOL
from core.api.bodies import check_keys
from core.errors import Fault, InvalidInput

TENANT = 1
STATES = ("WaitingToConnect", "Connected", "Disconnected", "MissingPrerequisites", "ServiceIssues")
NODE_STATUS = {"True": "Ready", "False": "NotReady"}
ACCESS_FIELDS = ("kubeconfig", "server", "domain", "certificateAuthority", "token")
CREATE_FIELDS = ("name", *ACCESS_FIELDS, "version")
RENAME_FIELDS = ("name",)
# What a list of nodes reads.
NODE_COLUMNS = (
    "pk", "uid", "name", "cluster_id", "ready", "conditions", "taints", "node_pool", "created_at", "gpu_type",
    "gpu_capacity", "gpu_allocatable", "labels", "cordoned", "mig",
)  # fmt: skip
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NODE_NAMESPACE = uuid.UUID("6f1c1f43-6f0b-4f0e-9a35-0d1f6c7e2b11")


def cluster_json(cluster: Cluster, *, full: bool = True) -> dict[str, Any]:
    """Schema DisplayedCluster; without `full` its metadata only. `server` is ours."""
    metadata = {
        "uuid": str(cluster.pk),
        "tenantId": TENANT,
        "name": cluster.name,
        "createdAt": rfc3339(cluster.created_at),
        "updatedAt": rfc3339(cluster.updated_at),
        "deletedAt": None,
        "deleteRequestedAt": rfc3339(cluster.deletion_requested_at),
    }
    if not full:
        return metadata
    return metadata | {
        "domain": cluster.server,
        "server": cluster.server,
        "version": cluster.kubernetes_version or None,
        "lastLiveness": rfc3339(cluster.last_contact_at),
        "status": {
            "state": cluster.phase if cluster.phase in STATES else "Unknown",
            "conditions": [_condition(condition) for condition in cluster.conditions],
            "operands": {entry["key"]: _operand(entry) for entry in cluster.components},
            "platform": {"type": "vanilla", "kubeVersion": cluster.kubernetes_version},
            "dependencies": _dependencies(cluster),
        },
    }


def node_json(node: Any) -> dict[str, Any]:
    """Schema Node, of a row or a tuple of `NODE_COLUMNS`. `gpuInfo` is null on a node without GPUs."""
    at = rfc3339(node.created_at)
    conditions = [
        {"type": c["type"], "reason": c.get("reason", ""), "message": c.get("message", ""), "status": c["status"]}
        for c in node.conditions
    ]
    return {
        "id": node_id(node),
        "name": node.name,
        "clusterUuid": str(node.cluster_id),
        "status": NODE_STATUS.get(node.ready, "Unknown"),
        "conditions": conditions,
        "taints": _taints(node.taints),
        "nodePool": node.node_pool or DEFAULT_NODE_POOL,
        "createdAt": at,
        "updatedAt": at,
        "gpuInfo": {"gpuType": node.gpu_type, "gpuCount": node.gpu_capacity} if node.gpu_capacity else None,
        "nvLinkDomainUid": None,
        "nvLinkCliqueId": node.labels.get("nvidia.com/gpu.clique"),
        "cordoned": node.cordoned,
        "labels": node.labels,
        "allocatableGpus": node.gpu_allocatable,
        "migDevices": node.mig,
    }


def node_id(node: Any) -> str:
    """The node's uid, which Kubernetes makes a UUID; a derived one where a server does not."""
    if _UUID.fullmatch(node.uid):
        return str(node.uid)
    try:
        return str(uuid.UUID(node.uid))
    except ValueError:
        return str(uuid.uuid5(_NODE_NAMESPACE, f"{node.cluster_id}/{node.uid}"))


def read_access(body: Mapping[str, Any]) -> ClusterAccess:
    """The connection in the body of a creation: `kubeconfig`, or `server` with `token`. Run:ai's name of `server` is
    `domain`. Raises `InvalidInput`."""
    check_keys(body, CREATE_FIELDS)
    texts = {name: read_text(body, name) for name in ACCESS_FIELDS}
    _check_access(texts, read_text(body, "version"))
    texts["server"] = texts["server"] or texts["domain"]
    if texts["kubeconfig"]:
        return read_kubeconfig(texts["kubeconfig"])
    if not texts["server"]:
        raise InvalidInput.of("server", "The address of the API server is missing", "server and token, or kubeconfig")
    authority = texts["certificateAuthority"]
    return ClusterAccess(
        check_server(texts["server"]),
        check_pem(authority, "CERTIFICATE", field="certificateAuthority") if authority else "",
        Credential(token=check_token(texts["token"], field="token")),
    )


def _check_access(texts: Mapping[str, str], version: str) -> None:
    """Raise `InvalidInput` for what would be dropped in silence: a second connection, a version that is looked up."""
    faults = [
        Fault(name, "The kubeconfig says this", "the kubeconfig alone, or server and token")
        for name in ACCESS_FIELDS[1:]
        if texts["kubeconfig"] and texts[name]
    ]
    if texts["domain"] and texts["server"] not in ("", texts["domain"]):
        faults.append(Fault("domain", "It differs from server, which is the same thing", texts["server"][:200]))
    if version:
        faults.append(Fault("version", "Muster reads the version from the cluster", "leave it out"))
    if faults:
        raise InvalidInput(faults)


def read_text(body: Mapping[str, Any], name: str) -> str:
    """A text of the body, "" where it is absent or null."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput.of(name, "This is not a text", "a string")
    return value


def rfc3339(moment: datetime | None) -> str | None:
    """A moment in UTC, or null."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _taints(taints: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"key": taint["key"], "value": taint.get("value", ""), "effect": taint["effect"]}
        for taint in taints
        if taint.get("effect") in EFFECTS
    ]


def _condition(condition: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("type", "status", "reason", "message", "observedGeneration", "lastTransitionTime")
    return {key: condition[key] for key in keys if key in condition}


def _operand(entry: Mapping[str, Any]) -> dict[str, Any]:
    ready = entry["health"] == "healthy"
    answer: dict[str, Any] = {"ready": ready, "lastTransitionTime": entry["since"]}
    return answer if ready else answer | {"reasons": [entry.get("message") or entry["health"]]}


def _dependencies(cluster: Cluster) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {"required": {}, "optional": {}}
    for entry in cluster.components:
        component = BY_KEY.get(entry["key"])
        if component is not None:
            available = entry["health"] not in ("missing", "unknown")
            place = parts["required" if component.required else "optional"]
            place[entry["key"]] = {"available": available, "reason": "" if available else entry.get("message", "")}
    return parts
