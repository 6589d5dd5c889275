"""One network topology: KAI's Topology, and Grove's ClusterTopologyBinding where Grove serves it."""

from datetime import timedelta

from clusters.connections import gateway_for
from clusters.drift import apply_if_different, delete_if_ours, is_ours
from clusters.kinds import GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY, Kind
from clusters.kube.errors import Forbidden, NameTaken, NotServed
from clusters.kube.gateway import Gateway, Manifest
from clusters.names import owner_label_value
from core.conditions import Condition, deletion_repaired, was_written
from core.reconciling import Outcome
from topology.manifests import GROVE_KEY_LENGTH, TopologySpec, binding_manifest, topology_manifest
from topology.models import NetworkTopology

SOON = timedelta(seconds=2)


def reconcile_topology(topology: NetworkTopology) -> Outcome:
    """See `sync_topology`."""
    return sync_topology(topology, gateway_for(topology.cluster))


def sync_topology(topology: NetworkTopology, gateway: Gateway) -> Outcome:
    """Apply, repair or delete the objects of one topology. Raises `GatewayError` when the cluster can't be asked."""
    owner = owner_label_value(topology._meta.label, topology.pk)
    if topology.is_being_deleted:
        return _delete(topology, gateway, owner)
    spec = TopologySpec(topology.name, tuple(topology.levels), owner)
    try:
        live = gateway.get(KAI_TOPOLOGY, spec.name)
        if live is not None and is_ours(live, owner) and _levels(live) != spec.levels:
            return _remove_changed(live, gateway, spec)
        applied = apply_if_different(gateway, KAI_TOPOLOGY, topology_manifest(spec))
    except NameTaken as error:
        return Outcome("Failed", (_name_taken(error),))
    except NotServed as error:
        return Outcome("Creating", (_kai_missing(error),))
    binding, drift = _sync_binding(gateway, spec)
    if applied.made and was_written(topology.conditions, generation=topology.generation):
        in_sync = deletion_repaired([f"Topology {topology.name}"])
    else:
        in_sync = _in_sync((*applied.drift, *drift))
    return Outcome("Ready", (_ACCEPTED, _SYNCED, in_sync, binding))


_ACCEPTED = Condition("Accepted", "True", "Accepted", "The topology can be written.")
_SYNCED = Condition("Synced", "True", "Applied", "The cluster has the KAI Topology as it is defined here.")


def _levels(live: Manifest) -> tuple[str, ...]:
    return tuple(str(level.get("nodeLabel", "")) for level in (live.get("spec") or {}).get("levels") or ())


def _remove_changed(live: Manifest, gateway: Gateway, spec: TopologySpec) -> Outcome:
    """Somebody made our object anew with other levels; they can't be changed in place, so it has to go first."""
    gateway.delete(KAI_TOPOLOGY, spec.name, uid=live["metadata"].get("uid", ""))
    found = ", ".join(_levels(live)) or "none"
    drift = Condition(
        "InSync",
        "False",
        "LevelsReplaced",
        f"The Topology {spec.name} had other levels than defined here ({found}). It is deleted and made anew.",
        arguments=(("name", spec.name), ("levels", found)),
    )
    return Outcome("Updating", (_ACCEPTED, drift), check_again_after=SOON)


def _sync_binding(gateway: Gateway, spec: TopologySpec) -> tuple[Condition, tuple[str, ...]]:
    """Grove's binding, which is extra: what hinders it is said and does not fail the topology."""
    too_long = [key for key in spec.levels if len(key) > GROVE_KEY_LENGTH]
    if too_long:
        message = f"Grove takes label keys of at most {GROVE_KEY_LENGTH} characters; {too_long[0]} is longer."
        return Condition("Bound", "False", "KeyTooLong", message, arguments=(("key", too_long[0]),)), ()
    try:
        applied = apply_if_different(gateway, GROVE_CLUSTER_TOPOLOGY_BINDING, binding_manifest(spec))
    except NotServed:
        message = "Grove's ClusterTopologyBinding is not served in this cluster, so Grove knows no levels."
        return Condition("Bound", "False", "NotServed", message), ()
    except Forbidden as error:
        return Condition("Bound", "False", "Forbidden", error.message), ()
    except NameTaken as error:
        message = f"A ClusterTopologyBinding {spec.name} of somebody else ({error.made_by}) exists."
        arguments = (("name", spec.name), ("madeBy", error.made_by))
        return Condition("Bound", "False", "NameTaken", message, arguments=arguments), ()
    message = "Grove's ClusterTopologyBinding refers to this topology."
    return Condition("Bound", "True", "Applied", message), applied.drift


def _in_sync(drift: tuple[str, ...]) -> Condition:
    if not drift:
        return Condition("InSync", "True", "InSync", "Nobody has changed what Muster wrote.")
    fields = ", ".join(drift)
    message = f"Somebody had changed {fields}; it was put back."
    return Condition("InSync", "False", "DriftRepaired", message, arguments=(("fields", fields),))


def _name_taken(error: NameTaken) -> Condition:
    message = f"{error.message} Muster leaves it alone: choose another name, or delete that object."
    return Condition("Accepted", "False", "NameTaken", message, arguments=(("madeBy", error.made_by),))


def _kai_missing(error: NotServed) -> Condition:
    message = f"The cluster does not serve KAI's Topology ({error.message}): install KAI Scheduler."
    return Condition("Synced", "False", "NotServed", message)


def _delete(topology: NetworkTopology, gateway: Gateway, owner: str) -> Outcome:
    left = [
        f"{kind.kind}/{topology.name}"
        for kind in (GROVE_CLUSTER_TOPOLOGY_BINDING, KAI_TOPOLOGY)
        if not _is_gone(gateway, kind, topology.name, owner)
    ]
    if not left:
        return Outcome(gone=True)
    message = f"Waiting for {', '.join(left)} to leave the cluster."
    waiting = Condition("Synced", "False", "Deleting", message, arguments=(("objects", ", ".join(left)),))
    return Outcome("Deleting", (waiting,), check_again_after=SOON)


def _is_gone(gateway: Gateway, kind: Kind, name: str, owner: str) -> bool:
    try:
        return delete_if_ours(gateway, kind, name, owner=owner)
    except NotServed:
        return True
