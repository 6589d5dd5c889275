"""DynamoGraphDeployment status from the Grove objects below it (dynamo.md §2.5). Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clusters.operators.dynamo.graph import GPU, Component, Graph
from clusters.operators.dynamo.render import resource_names, runtime_namespace
from clusters.operators.objects import find_condition, spec_of, status_of
from simulator.actors.quantities import devices
from simulator.client import Object


class ComponentState(NamedTuple):
    """What one component reports, and why it is not ready ("" when it is)."""

    status: Object
    problem: str
    scheduled: bool


def component_state(component: Component, graph: Graph, found: Mapping[str, Object]) -> ComponentState:
    """`found`: PodCliques and PodCliqueScalingGroups of the graph by name."""
    [name] = resource_names(graph, component)
    grouped = component.node_count > 1
    gpus = _gpus(component)
    base: Object = {
        "componentKind": "PodCliqueScalingGroup" if grouped else "PodClique",
        "componentNames": [name],
        "runtimeNamespace": runtime_namespace(graph),
        "gpusPerReplica": gpus * component.node_count,
    }
    resource = found.get(name)
    if resource is None:
        return ComponentState({**base, "replicas": 0, "updatedReplicas": 0}, f"{name}: not found", False)
    status = status_of(resource)
    ready_field = "availableReplicas" if grouped else "readyReplicas"
    counts = {
        field: status.get(field, 0) for field in ("replicas", "updatedReplicas", ready_field, "scheduledReplicas")
    }
    wanted = component.replicas
    problem = ""
    stale = status.get("observedGeneration", 0) < resource["metadata"].get("generation", 1)
    if stale or counts["replicas"] != wanted or counts["updatedReplicas"] != wanted:
        problem = f"desired={wanted}, updated={counts['updatedReplicas']}"
    elif counts[ready_field] < wanted:
        problem = f"desired={wanted}, ready={counts[ready_field]}"
    kind = "podcliquescalinggroup" if grouped else "podclique"
    text = f"{kind}/{name}: {problem}" if problem and wanted else ""
    return ComponentState({**base, **counts}, text, counts["scheduledReplicas"] >= min(wanted, component.min_available))


def graph_status(
    dgd: Object, graph: Graph, states: Mapping[str, ComponentState], pcs: Object | None
) -> tuple[Object, list[Object]]:
    """(status without conditions, conditions)."""
    problems = [state.problem for state in states.values() if state.problem]
    waiting = [state for state in states.values() if state.problem and not state.scheduled]
    generation = dgd["metadata"].get("generation", 1)
    v1alpha1 = "services" in spec_of(dgd)
    status: Object = {
        "state": "successful" if not problems else ("initializing" if pcs is None else "pending"),
        "observedGeneration": generation,
        "services" if v1alpha1 else "components": {name: state.status for name, state in states.items()},
    }
    reason = "all_resources_are_ready"
    if problems:
        mixed = bool(waiting) and len(waiting) < len(problems)
        reason = "insufficient_capacity" if waiting else "pods_not_ready"
        reason = "mixed_not_ready_reasons" if mixed else reason
    ready = {
        "type": "Ready",
        "status": "False" if problems else "True",
        "reason": reason,
        "message": "Resources not ready: " + "; ".join(sorted(problems)) if problems else "All resources are ready",
        "observedGeneration": generation,
    }
    return status, [ready, *_levels(graph, pcs, generation)]


def failed_status(dgd: Object, message: str) -> tuple[Object, list[Object]]:
    """The operator could not make the objects."""
    generation = dgd["metadata"].get("generation", 1)
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "failed_to_reconcile_the_resources",
        "message": message,
        "observedGeneration": generation,
    }
    return {"state": "failed", "observedGeneration": generation}, [condition]


def _levels(graph: Graph, pcs: Object | None, generation: int) -> Sequence[Object]:
    """TopologyLevelsAvailable, the inverse of Grove's TopologyLevelsUnavailable; only with a typed constraint."""
    if not graph.topology:
        return ()
    grove = find_condition(pcs, "TopologyLevelsUnavailable") if pcs else None
    reasons = {
        "AllClusterTopologyLevelsAvailable": ("True", "AllTopologyLevelsAvailable"),
        "ClusterTopologyLevelsUnavailable": ("False", "TopologyLevelsUnavailable"),
        "ClusterTopologyNotFound": ("False", "TopologyDefinitionNotFound"),
    }
    status, reason = reasons.get(grove["reason"] if grove else "", ("Unknown", "TopologyConditionPending"))
    return [
        {
            "type": "TopologyLevelsAvailable",
            "status": status,
            "reason": reason,
            "message": grove["message"] if grove else "Waiting for Grove",
            "observedGeneration": generation,
        }
    ]


def _gpus(component: Component) -> int:
    resources = component.main.get("resources") or {}
    limits = resources.get("limits") or resources.get("requests") or {}
    return devices(limits.get(GPU, 0))
