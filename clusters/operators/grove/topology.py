"""ClusterTopologyBindings: domain names to node-label keys, the KAI Topology of a binding, and its status. Pure."""

from collections.abc import Iterable, Mapping

from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY
from clusters.operators.grove.names import KAI_SCHEDULER
from clusters.operators.objects import (
    Object,
    controller_of,
    entries_of,
    mapping_of,
    owner_reference,
    spec_of,
    without_empty,
)

Bindings = Mapping[str, Object]
"""ClusterTopologyBindings by name."""


def domain_keys(binding: Object) -> dict[str, str]:
    """Domain name → node-label key, broadest first; without levels that lack one of them."""
    pairs = [(level.get("domain"), level.get("key")) for level in entries_of(spec_of(binding).get("levels"))]
    return {domain: key for domain, key in pairs if isinstance(domain, str) and isinstance(key, str)}


def constraint_name(constraint: Object | None) -> str:
    """The ClusterTopologyBinding a PodCliqueSet constraint names, "" when it inherits or has none."""
    return str((constraint or {}).get("topologyName") or "")


def topology_name(template: Object) -> str:
    """The one binding that a PodCliqueSet template refers to, wherever it is said; "" for none."""
    for constraint in constraints_of(template):
        name = constraint_name(constraint)
        if name:
            return name
    return ""


def constraints_of(template: Object) -> Iterable[Object]:
    """Every constraint of the template: its own, those of scaling groups, those of cliques."""
    parts = [*entries_of(template.get("podCliqueScalingGroups")), *entries_of(template.get("cliques"))]
    for part in (template, *parts):
        if constraint := mapping_of(part.get("topologyConstraint")):
            yield constraint


def pack_constraint(constraint: Object | None, keys: Mapping[str, str]) -> Object | None:
    """The PodGang's constraint: `packConstraint` with node-label keys (golden/grove/02, 23); None without one.

    An unknown domain is dropped, as Grove does after the levels of a binding changed.
    """
    if not constraint:
        return None
    pack = dict(constraint.get("pack") or {})
    if constraint.get("packDomain"):
        pack.setdefault("required", constraint["packDomain"])
    packed = {mode: keys[pack[mode]] for mode in ("required", "preferred") if pack.get(mode) in keys}
    return {"packConstraint": packed} if packed else None


def binds_itself(binding: Object) -> bool:
    """Whether Grove makes the KAI Topology itself: no schedulerTopologyBinding names another one."""
    return _reference(binding) == ""


def reference(binding: Object) -> str:
    """Name of the KAI Topology behind a binding."""
    return _reference(binding) or str(binding["metadata"]["name"])


def kai_topology(binding: Object) -> Object:
    """The Topology Grove makes for a binding (golden/grove/00)."""
    return {
        "apiVersion": KAI_TOPOLOGY.api_version,
        "kind": KAI_TOPOLOGY.kind,
        "metadata": {
            "name": binding["metadata"]["name"],
            "ownerReferences": [owner_reference(binding, GROVE_CLUSTER_TOPOLOGY_BINDING)],
        },
        "spec": {"levels": [{"nodeLabel": key} for key in domain_keys(binding).values()]},
    }


def drift(binding: Object, topology: Object | None) -> str:
    """Why binding and KAI Topology differ, "" when they are in sync."""
    name = reference(binding)
    if topology is None:
        return f"KAI Topology {name} not found"
    owner = controller_of(topology)
    if binds_itself(binding) and (owner is None or owner.get("uid") != binding["metadata"]["uid"]):
        return f"KAI Topology {name} is not owned by ClusterTopologyBinding {binding['metadata']['name']}"
    levels = [level.get("nodeLabel") for level in entries_of(spec_of(topology).get("levels"))]
    if levels != list(domain_keys(binding).values()):
        return f"levels of KAI Topology {name} differ from the binding: {levels}"
    return ""


def binding_status(binding: Object, topology: Object | None) -> tuple[Object, Object]:
    """(status without conditions, the SchedulerTopologyDrift condition)."""
    difference = drift(binding, topology)
    generation = binding["metadata"].get("generation", 1)
    entry = without_empty(
        {"schedulerName": KAI_SCHEDULER, "topologyReference": reference(binding), "message": difference}
    )
    status = {
        "observedGeneration": generation,
        "schedulerTopologyStatuses": [{**entry, "inSync": not difference}],
    }
    condition = {
        "type": "SchedulerTopologyDrift",
        "status": "True" if difference else "False",
        "reason": "Drift" if difference else "InSync",
        "message": difference or "All scheduler backend topologies are in sync",
        "observedGeneration": generation,
    }
    return status, condition


def _reference(binding: Object) -> str:
    for entry in entries_of(spec_of(binding).get("schedulerTopologyBindings")):
        if entry.get("schedulerName") == KAI_SCHEDULER:
            return str(entry.get("topologyReference") or "")
    return ""
