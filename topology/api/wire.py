"""Run:ai's JSON of topologies and node pools (`runai-openapi.json`: NetworkTopology, Nodepool), both ways."""

from collections.abc import Mapping, Sequence
from typing import Any

from accounts.models import User
from clusters.models import Node
from clusters.names import NODE_POOL_LABEL
from core.api.bodies import check_keys
from core.errors import Fault, InvalidInput, NotFound
from core.moments import rfc3339
from topology.findings import Finding, find
from topology.models import NetworkTopology, NodePool
from topology.selectors import TopologyRow, foreign_topologies, node_facts
from topology.services import NodePoolChanges
from topology.wording import finding_item

TENANT = 1

_KNOWN = {
    "name",
    "clusterId",
    "labelKey",
    "labelValue",
    "networkTopologyId",
    "placementStrategy",
    "schedulingConfiguration",
    "overProvisioningRatio",
    "gpuNetworkAccelerationLabelKey",
    "gpuNetworkAccelerationDetection",
    "gpuResourceOptimization",
}
# Parts of Run:ai that plain KAI has no counterpart of: only the value that changes nothing is taken.
_INERT: Mapping[str, tuple[Any, ...]] = {
    "overProvisioningRatio": (None, 1),
    "gpuNetworkAccelerationLabelKey": (None, ""),
    "gpuNetworkAccelerationDetection": (None, "Auto", "DontUse"),
}


def topology_json(row: TopologyRow) -> dict[str, Any]:
    """Schema NetworkTopology. `status`, required there without a definition, holds our conditions."""
    return {
        "id": row.id,
        "tenantId": TENANT,
        "name": row.name,
        "clusterId": str(row.cluster.pk),
        "levels": list(row.levels),
        "createdAt": rfc3339(row.created_at, "microseconds"),
        "createdBy": row.made_by,
        "phase": row.phase,
        "source": row.source,
        "nodePools": list(row.pools),
        "status": {"conditions": row.row.conditions if row.row else []},
    }


def topology_detail_json(row: TopologyRow) -> dict[str, Any]:
    """`topology_json` with what the page says of the levels on the cluster's nodes: `status.findings`."""
    answer = topology_json(row)
    found = find(row.levels, node_facts(row.cluster.pk)) if row.levels else ()
    answer["status"]["findings"] = [_finding(finding) for finding in found]
    return answer


def _finding(finding: Finding) -> dict[str, Any]:
    item = finding_item(finding)
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "message": str(item["text"]),
        "details": str(item["detail"]),
        "nodes": list(finding.nodes),
    }


def pool_json(pool: NodePool, nodes: Sequence[str]) -> dict[str, Any]:
    """Schema Nodepool. `nodes` are the names of its nodes.

    The default pool has no label; since the schema wants one, it shows the scheduler's own with the value `default`.
    """
    key, value = (NODE_POOL_LABEL, pool.name) if pool.is_default else (pool.label_key, pool.label_value)
    strategy = {"cpu": pool.cpu_placement_strategy, "gpu": pool.gpu_placement_strategy}
    scheduling = {"placementStrategy": strategy, "minGuaranteedRuntime": pool.min_guaranteed_runtime or None}
    topology = pool.network_topology
    at = {"createdAt": rfc3339(pool.created_at, "microseconds"), "updatedAt": rfc3339(pool.updated_at, "microseconds")}
    return {
        "id": str(pool.pk),
        "tenantId": TENANT,
        "name": pool.name,
        "clusterId": str(pool.cluster_id),
        "clusterName": pool.cluster.name,
        "labelKey": key,
        "labelValue": value,
        "networkTopologyId": str(topology.pk) if topology else None,
        "networkTopologyName": topology.name if topology else None,
        "placementStrategy": strategy,
        "schedulingConfiguration": scheduling,
        "overProvisioningRatio": 1,
        "gpuNetworkAccelerationDetection": "Auto",
        "gpuResourceOptimization": {"swapEnabled": False, "nodeLevelSchedulerEnabled": False},
        "phase": pool.phase,
        "phaseMessage": _phase_message(pool.conditions),
        "status": {
            "labelKey": key,
            "labelValue": value,
            "placementStrategy": strategy,
            "schedulingConfiguration": scheduling,
            "conditions": [_condition(condition) for condition in pool.conditions],
            "nodes": list(nodes),
        },
        "createdBy": pool.created_by,
        "updatedBy": pool.created_by,
        "isDefault": pool.is_default,
        **at,
    }


def node_names(pools: Sequence[NodePool]) -> dict[int, list[str]]:
    """Names of the nodes of each pool, by pool id. One query."""
    by_name = {(pool.cluster_id, pool.shard): pool.pk for pool in pools}
    found: dict[int, list[str]] = {pool.pk: [] for pool in pools}
    nodes = Node.objects.filter(cluster_id__in={pool.cluster_id for pool in pools}).order_by("name")
    for cluster, name, label in nodes.values_list("cluster_id", "name", "node_pool"):
        pk = by_name.get((cluster, label))
        if pk is not None:
            found[pk].append(name)
    return found


def _condition(condition: Mapping[str, Any]) -> dict[str, Any]:
    """Schema NodepoolConditionDetails, which knows True and False only."""
    nodes = str(condition.get("arguments", {}).get("nodes", ""))
    return {
        "type": condition["type"],
        "reason": condition["reason"],
        "message": condition["message"],
        "status": "True" if condition["status"] == "True" else "False",
        "nodes": nodes.split(",") if nodes else [],
    }


def _phase_message(conditions: Sequence[Mapping[str, Any]]) -> str:
    wrong = [
        c
        for c in conditions
        if (c["status"] == "True") == (c["type"] in ("TopologyMismatch", "Overlap", "UnknownPools"))
    ]
    return " ".join(str(c["message"]) for c in wrong)


def read_text(body: Mapping[str, Any], key: str) -> str:
    """A string of the body. Raises `InvalidInput` naming it where it is absent or of another type."""
    value = body.get(key)
    if not isinstance(value, str):
        raise InvalidInput.of(key, "Required parameter is missing" if value is None else "A string is required")
    return value


def read_levels(body: Mapping[str, Any]) -> list[Any]:
    """`levels` of the body, not yet checked."""
    levels = body.get("levels")
    if not isinstance(levels, list):
        raise InvalidInput.of("levels", "A list of label keys is required", "broadest first")
    return levels


def read_pool_changes(body: Mapping[str, Any], user: User) -> NodePoolChanges:
    """What the body says of a pool. An absent key says nothing; a null `networkTopologyId` detaches.

    Raises `InvalidInput` for unknown keys and for what Muster can't do, instead of dropping it in silence.
    """
    _refuse_what_is_not_offered(body)
    changes: NodePoolChanges = {}
    if body.get("labelKey") is not None:
        changes["label_key"] = read_text(body, "labelKey")
    if body.get("labelValue") is not None:
        changes["label_value"] = read_text(body, "labelValue")
    if "networkTopologyId" in body:
        changes["network_topology"] = _topology(body["networkTopologyId"], user)
    _read_scheduling(body, changes)
    return changes


def refuse_another_identity(body: Mapping[str, Any], pool: NodePool) -> None:
    """Raise `InvalidInput` where the body gives the pool another name or cluster: neither can change."""
    kept = {"name": pool.name, "clusterId": str(pool.cluster_id)}
    faults = [
        Fault(key, "It cannot change", value) for key, value in kept.items() if body.get(key) not in (None, value)
    ]
    if faults:
        raise InvalidInput(faults)


def _read_scheduling(body: Mapping[str, Any], changes: NodePoolChanges) -> None:
    scheduling = _object(body, "schedulingConfiguration")
    check_keys(scheduling, ("placementStrategy", "minGuaranteedRuntime"), place="schedulingConfiguration")
    if "minGuaranteedRuntime" in scheduling:
        value = scheduling["minGuaranteedRuntime"]
        if value is not None and not isinstance(value, str):
            raise InvalidInput.of("schedulingConfiguration.minGuaranteedRuntime", "A string is required", "8h40m")
        changes["min_guaranteed_runtime"] = value or ""
    other = "schedulingConfiguration.placementStrategy"
    flat, nested = _strategies(body, "placementStrategy"), _strategies(scheduling, other)
    faults = [
        Fault(f"placementStrategy.{key}", f"{other}.{key} says otherwise", nested[key])
        for key, value in flat.items()
        if nested.get(key, value) != value
    ]
    if faults:
        raise InvalidInput(faults)
    said = flat | nested
    if "gpu" in said:
        changes["gpu_placement_strategy"] = said["gpu"]
    if "cpu" in said:
        changes["cpu_placement_strategy"] = said["cpu"]


def _strategies(source: Mapping[str, Any], place: str) -> dict[str, str]:
    """What `placementStrategy` of the source says, by "cpu" and "gpu"; a null says nothing."""
    strategy = _object(source, "placementStrategy")
    check_keys(strategy, ("cpu", "gpu"), place=place)
    said = {key: value for key, value in strategy.items() if value is not None}
    for key, value in said.items():
        if not isinstance(value, str):
            raise InvalidInput.of(f"{place}.{key}", "A string is required", "binpack, spread")
    return said


def _object(source: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput.of(key, "An object is required")
    return value


def _topology(value: Any, user: User) -> NetworkTopology | None:
    if value is None:
        return None
    try:
        return NetworkTopology.objects.get_visible(user, pk=value)
    except (NotFound, TypeError) as error:
        raise InvalidInput.of("networkTopologyId", _why_not(value, user), "the id of one of Muster’s") from error


def _why_not(value: Any, user: User) -> str:
    maker = next((row.made_by for row in foreign_topologies(user) if row.id == value), None)
    if maker is None:
        return "There is no such network topology"
    return f"{maker} made it in the cluster; a pool takes what Muster keeps: adopt it first"


def _refuse_what_is_not_offered(body: Mapping[str, Any]) -> None:
    faults = [Fault(key, "There is no such field", ", ".join(sorted(_KNOWN))) for key in body if key not in _KNOWN]
    faults += [
        Fault(key, "KAI Scheduler has no counterpart of this", ", ".join(map(str, allowed)))
        for key, allowed in _INERT.items()
        if key in body and body[key] not in allowed
    ]
    optimization = _object(body, "gpuResourceOptimization")
    faults += [
        Fault(f"gpuResourceOptimization.{key}", "KAI Scheduler has no counterpart of this", "false")
        for key in ("swapEnabled", "nodeLevelSchedulerEnabled")
        if optimization.get(key)
    ]
    if faults:
        raise InvalidInput(faults)
