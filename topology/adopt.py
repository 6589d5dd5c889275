"""Topologies that others made in a cluster, as network topologies of Muster: which can be taken over, and doing it."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.audit import Actor, record
from clusters.adopting import Candidate, keeper_of, note_adoption
from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY, Kind
from clusters.models import Cluster, ClusterObject
from core.errors import Fault
from topology.manifests import TopologySpec, binding_manifest, topology_manifest
from topology.models import NetworkTopology
from topology.rules import level_faults, name_faults, order_faults
from topology.selectors import node_facts
from topology.services import create_topology

OWNER = "topology.NetworkTopology.…"


def candidates(cluster: Cluster) -> Iterator[Candidate]:
    """Topologies of others, by name. 4 queries."""
    facts = node_facts(cluster.pk)
    ours = set(NetworkTopology.objects.filter(cluster=cluster).values_list("name", flat=True))
    bindings = {found.name: found for found in _of(cluster, GROVE_CLUSTER_TOPOLOGY_BINDING)}
    for found in _of(cluster, KAI_TOPOLOGY).order_by("name"):
        levels = levels_of(found.manifest)
        faults = [*name_faults(found.name), *level_faults(levels)] or order_faults(levels, facts)
        spec = TopologySpec(found.name, tuple(levels), OWNER)
        yield Candidate(
            found,
            KAI_TOPOLOGY,
            _("Network topology"),
            found.name,
            blocked=_blocked(found, faults, taken=found.name in ours),
            wanted=topology_manifest(spec),
            effects=tuple(_effects(cluster, spec, bindings.get(spec.name))),
        )


def adopt(actor: Actor, candidate: Candidate) -> NetworkTopology:
    """The network topology that the object becomes. Raises as `create_topology`."""
    found = candidate.found
    with transaction.atomic():
        topology = create_topology(actor, cluster=found.cluster, name=candidate.name, levels=levels_of(found.manifest))
        taken = [candidate, *_bindings(candidate)]
        note_adoption(topology, found.cluster, taken, by=actor.user.email)
        record(actor, "update", topology, after={"adopted": [str(one.found) for one in taken]})
    return topology


def levels_of(manifest: Mapping[str, Any]) -> list[str]:
    """The label keys of a KAI Topology, broadest first."""
    return [str(level.get("nodeLabel", "")) for level in (manifest.get("spec") or {}).get("levels") or ()]


def _of(cluster: Cluster, kind: Kind) -> Any:
    return ClusterObject.objects.filter(cluster=cluster, group=kind.group, plural=kind.plural, owner="").select_related(
        "cluster"
    )


def _blocked(found: ClusterObject, faults: list[Fault], *, taken: bool) -> str:
    keeper = keeper_of(found.manifest)
    if keeper:
        return _("It is kept by %(keeper)s, which would take it back.") % {"keeper": keeper}
    if taken:
        return _("Muster has a network topology of this name already.")
    if any(level.get("alias") for level in (found.manifest.get("spec") or {}).get("levels") or ()):
        return _("Its levels have aliases, which Muster does not write: they would be lost.")
    return f"{faults[0].message}." if faults else ""


def _effects(cluster: Cluster, spec: TopologySpec, binding: ClusterObject | None) -> Iterator[str]:
    if binding is not None and not keeper_of(binding.manifest):
        yield _("Grove’s ClusterTopologyBinding %(name)s is taken over with it.") % {"name": spec.name}
    elif GROVE_CLUSTER_TOPOLOGY_BINDING.group in cluster.served:
        yield _("Grove gets a ClusterTopologyBinding %(name)s where it has none.") % {"name": spec.name}


def _bindings(candidate: Candidate) -> Iterator[Candidate]:
    """Grove's binding of the same name, if somebody else made it and nothing keeps it."""
    found = candidate.found
    for binding in _of(found.cluster, GROVE_CLUSTER_TOPOLOGY_BINDING).filter(name=found.name):
        if not keeper_of(binding.manifest):
            spec = TopologySpec(found.name, tuple(levels_of(found.manifest)), OWNER)
            yield Candidate(
                binding,
                GROVE_CLUSTER_TOPOLOGY_BINDING,
                candidate.becomes,
                found.name,
                wanted=binding_manifest(spec),
            )
