"""Run:ai's JSON of clusters and nodes (`runai-openapi.json`: DisplayedCluster, Node), both ways."""

from collections.abc import Mapping
from typing import Any

from clusters.addresses import check_server
from clusters.components import BY_KEY
from clusters.credentials import Credential
from clusters.kubeconfig import ClusterAccess, check_pem, check_token, read_kubeconfig
from clusters.models import Cluster
from core.api.bodies import check_keys
from core.errors import Fault, InvalidInput
from core.moments import rfc3339

TENANT = 1
STATES = ("WaitingToConnect", "Connected", "Disconnected", "MissingPrerequisites", "ServiceIssues")
ACCESS_FIELDS = ("kubeconfig", "server", "domain", "certificateAuthority", "token")
CREATE_FIELDS = ("name", *ACCESS_FIELDS, "version")
RENAME_FIELDS = ("name",)


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
