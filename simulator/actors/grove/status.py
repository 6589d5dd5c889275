"""Statuses of PodClique, PodCliqueScalingGroup, PodCliqueSet and PodGang, in Grove's words. Pure."""

from collections.abc import Iterable, Sequence

from clusters.operators.grove import names
from clusters.operators.grove.cliques import generation_hash
from clusters.operators.grove.topology import Bindings, constraints_of, domain_keys, topology_name
from clusters.operators.objects import has_condition, is_deleting, labels_of, spec_of, status_of
from simulator.client import Object

SELECTOR = "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of={set}"


def is_scheduled(pod: Object) -> bool:
    return bool(spec_of(pod).get("nodeName")) or has_condition(pod, "PodScheduled")


def is_ready(pod: Object) -> bool:
    return has_condition(pod, "Ready") and not is_deleting(pod)


def clique_status(clique: Object, pods: Sequence[Object], set_hash: str) -> tuple[Object, list[Object]]:
    """(status without conditions, conditions) of a PodClique with these pods."""
    template_hash = labels_of(clique)[names.TEMPLATE_HASH]
    live = [pod for pod in pods if not is_deleting(pod)]
    scheduled = sum(is_scheduled(pod) for pod in live)
    ready = sum(is_ready(pod) for pod in live)
    status: Object = {
        "observedGeneration": clique["metadata"].get("generation", 1),
        "replicas": len(live),
        "readyReplicas": ready,
        "scheduledReplicas": scheduled,
        "scheduleGatedReplicas": sum(_reported_gated(pod) for pod in live),
        "updatedReplicas": sum(labels_of(pod).get(names.TEMPLATE_HASH) == template_hash for pod in live),
        "currentPodCliqueSetGenerationHash": set_hash,
        "currentPodTemplateHash": template_hash,
    }
    if labels_of(clique).get(names.COMPONENT) == "pcs-podclique":
        selector = SELECTOR.format(set=labels_of(clique)[names.PART_OF])
        status["hpaPodSelector"] = f"{selector},{names.POD_CLIQUE}={clique['metadata']['name']}"
    wanted = clique["spec"]["minAvailable"]
    return status, [_scheduled_condition(wanted, scheduled), _breach_condition(wanted, scheduled, live)]


def scaling_group_status(group: Object, cliques: Iterable[Object], set_hash: str) -> tuple[Object, list[Object]]:
    """(status without conditions, conditions) of a PodCliqueScalingGroup with these member PodCliques."""
    by_index: dict[str, list[Object]] = {}
    for clique in cliques:
        by_index.setdefault(labels_of(clique)[names.SCALING_GROUP_INDEX], []).append(clique)
    complete = [members for members in by_index.values() if len(members) == len(group["spec"]["cliqueNames"])]
    available = sum(all(_available(c) for c in members) for members in complete)
    scheduled = sum(all(has_condition(c, "PodCliqueScheduled") for c in members) for members in complete)
    updated = sum(all(_updated(c) for c in members) for members in complete)
    wanted = group["spec"]["minAvailable"]
    selector = SELECTOR.format(set=labels_of(group)[names.PART_OF])
    status = {
        "observedGeneration": group["metadata"].get("generation", 1),
        "replicas": group["spec"]["replicas"],
        "availableReplicas": available,
        "scheduledReplicas": scheduled,
        "updatedReplicas": updated,
        "currentPodCliqueSetGenerationHash": set_hash,
        "selector": f"{selector},{names.SCALING_GROUP}={group['metadata']['name']}",
    }
    return status, [_group_condition(wanted, available, scheduled, group["spec"]["replicas"])]


def set_status(
    pcs: Object, cliques: Sequence[Object], groups: Sequence[Object], bindings: Bindings
) -> tuple[Object, list[Object]]:
    """(status without conditions, conditions) of a PodCliqueSet; `pcs.spec` is defaulted."""
    available = updated = 0
    for replica in range(pcs["spec"]["replicas"]):
        own = [c for c in cliques if labels_of(c)[names.SET_INDEX] == str(replica)]
        shared = [g for g in groups if labels_of(g)[names.SET_INDEX] == str(replica)]
        alone = [c for c in own if labels_of(c).get(names.COMPONENT) == "pcs-podclique"]
        running = all(_available(c) for c in alone) and all(
            status_of(g).get("availableReplicas", 0) >= g["spec"]["minAvailable"] for g in shared
        )
        available += running and bool(own)
        updated += running and bool(own) and all(_updated(c) for c in own)
    status = {
        "observedGeneration": pcs["metadata"].get("generation", 1),
        "replicas": pcs["spec"]["replicas"],
        "availableReplicas": available,
        "updatedReplicas": updated,
        "currentGenerationHash": generation_hash(pcs["spec"]),
        "hpaPodSelector": SELECTOR.format(set=pcs["metadata"]["name"]),
    }
    return status, [_levels_condition(pcs, bindings)]


def gang_status(*, complete: bool) -> tuple[Object, list[Object]]:
    """Grove main never leaves phase Pending (dynamo.md §3.5)."""
    condition = {
        "type": "Initialized",
        "status": "True" if complete else "False",
        "reason": "PodGangPodsCreated" if complete else "PodGangPodsCreationPending",
        "message": "PodGang is fully initialized" if complete else "Waiting for all pods to be created",
    }
    return {"phase": "Pending"}, [condition]


def _available(clique: Object) -> bool:
    return bool(status_of(clique).get("readyReplicas", 0) >= clique["spec"]["minAvailable"])


def _updated(clique: Object) -> bool:
    status = status_of(clique)
    return bool(
        status.get("updatedReplicas", 0) >= clique["spec"]["minAvailable"]
        and status.get("currentPodTemplateHash") == labels_of(clique)[names.TEMPLATE_HASH]
    )


def _reported_gated(pod: Object) -> bool:
    """Counted from the condition, which stays until a scheduler replaces it (dynamo.md §3.5, grove/20)."""
    conditions = status_of(pod).get("conditions") or ()
    return any(c.get("type") == "PodScheduled" and c.get("status") == "False" for c in conditions)


def _scheduled_condition(wanted: int, found: int) -> Object:
    enough = found >= wanted
    text = "Sufficient scheduled pods found." if enough else "Insufficient scheduled pods."
    return {
        "type": "PodCliqueScheduled",
        "status": "True" if enough else "False",
        "reason": "SufficientScheduledPods" if enough else "InsufficientScheduledPods",
        "message": f"{text} expected at least: {wanted}, found: {found}",
    }


def _breach_condition(wanted: int, scheduled: int, pods: Sequence[Object]) -> Object:
    if scheduled < wanted:
        return {
            "type": "MinAvailableBreached",
            "status": "True",
            "reason": "ScheduledReplicasBelowMinAvailable",
            "message": f"Scheduled replicas ({scheduled}) below MinAvailable ({wanted})",
        }
    able = sum(is_ready(pod) or not _has_failed(pod) for pod in pods if is_scheduled(pod))
    if able >= wanted:
        return {
            "type": "MinAvailableBreached",
            "status": "False",
            "reason": "SufficientReadyPods",
            "message": f"Either sufficient ready or starting pods found. expected at least: {wanted}, found: {able}",
        }
    return {
        "type": "MinAvailableBreached",
        "status": "True",
        "reason": "InsufficientReadyPods",
        "message": f"Insufficient ready or starting pods. expected at least: {wanted}, found: {able}",
    }


def _has_failed(pod: Object) -> bool:
    containers = status_of(pod).get("containerStatuses") or ()
    return any(container.get("restartCount", 0) > 0 and not container.get("ready") for container in containers)


def _group_condition(wanted: int, available: int, scheduled: int, replicas: int) -> Object:
    if scheduled < wanted:
        return {
            "type": "MinAvailableBreached",
            "status": "True",
            "reason": "ScheduledReplicasBelowMinAvailable",
            "message": f"Scheduled replicas ({scheduled}) below MinAvailable ({wanted})",
        }
    unbreached = max(available, scheduled) if available < wanted else replicas
    return {
        "type": "MinAvailableBreached",
        "status": "False",
        "reason": "SufficientAvailablePodCliqueScalingGroupReplicas",
        "message": f"PCSG replicas not in breach ({unbreached}) meets MinAvailable ({wanted})",
    }


def _levels_condition(pcs: Object, bindings: Bindings) -> Object:
    """The condition TopologyLevelsUnavailable."""
    template = pcs["spec"]["template"]
    name = topology_name(template)
    status, reason, message = "False", "AllClusterTopologyLevelsAvailable", "No topology constraints defined"
    if name and name not in bindings:
        status, reason = "Unknown", "ClusterTopologyNotFound"
        message = f'ClusterTopologyBinding "{name}" not found'
    elif name:
        known = domain_keys(bindings[name])
        asked = {level for constraint in constraints_of(template) for level in (constraint.get("pack") or {}).values()}
        missing = sorted(asked - set(known))
        message = "All topology levels are available"
        if missing:
            status, reason = "True", "ClusterTopologyLevelsUnavailable"
            message = f"Unavailable topology levels: {missing}"
    return {
        "type": "TopologyLevelsUnavailable",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": pcs["metadata"].get("generation", 1),
    }
