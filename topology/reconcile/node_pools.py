"""One node pool: the label on its nodes, its SchedulingShard, and what is wrong with them.

The pool `default` is the absence of the label, and its shard came with KAI: nothing is written for it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from clusters.connections import gateway_for
from clusters.drift import apply_if_different, delete_if_ours
from clusters.kinds import KAI_QUEUE, KAI_SCHEDULING_SHARD, NODE
from clusters.kube.errors import NameTaken, NotServed
from clusters.kube.gateway import Gateway, Manifest
from clusters.names import (
    GPU_RESOURCE,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    NODE_POOL_LABEL,
    owner_label_value,
)
from core.conditions import Condition, Status, deletion_repaired, was_written
from core.reconciling import Outcome
from topology.manifests import ShardSpec, shard_manifest
from topology.models import NodePool
from topology.protection import protecting_kinds
from topology.reconcile.node_labels import Labelled, PoolLabel, label_nodes, labels_of, unlabel_nodes

SOON = timedelta(seconds=2)
SHOWN = 20


def reconcile_node_pool(pool: NodePool) -> Outcome:
    """See `sync_node_pool`."""
    return sync_node_pool(pool, gateway_for(pool.cluster))


def sync_node_pool(pool: NodePool, gateway: Gateway) -> Outcome:
    """Label nodes, apply or delete the shard, compare labels with the attached topology. Raises `GatewayError`."""
    owner = owner_label_value(pool._meta.label, pool.pk)
    if pool.is_being_deleted:
        return _delete(pool, gateway, owner)
    if pool.is_default:
        labelled = Labelled(members=list(gateway.list(NODE, label_selector=f"!{NODE_POOL_LABEL}")))
        synced = [Condition("Synced", "True", "NothingToWrite", "The default pool is the nodes without a pool label.")]
        synced += _unknown_pools(pool, gateway)
    else:
        labelled = label_nodes(gateway, _label_of(pool), _rivals(pool))
        synced = _sync_shard(pool, gateway, owner)
    conditions = [*synced, *_label_conditions(pool, labelled), *_mismatch(pool, labelled.members)]
    phase = _phase(labelled.members)
    if any(c.type == "Accepted" and c.status == "False" for c in conditions):
        phase = "Unschedulable"
    return Outcome(phase, tuple(conditions))


def _label_of(pool: NodePool) -> PoolLabel:
    return PoolLabel(pool.name, pool.label_key, pool.label_value, pool.pk)


def _rivals(pool: NodePool) -> list[PoolLabel]:
    others = NodePool.objects.filter(cluster=pool.cluster_id, deletion_requested_at=None).exclude(pk=pool.pk)
    return [_label_of(other) for other in others if not other.is_default]


def _sync_shard(pool: NodePool, gateway: Gateway, owner: str) -> list[Condition]:
    spec = ShardSpec(
        pool.name,
        owner,
        gpu_strategy=pool.gpu_placement_strategy,
        cpu_strategy=pool.cpu_placement_strategy,
        min_runtime=pool.min_guaranteed_runtime,
    )
    try:
        applied = apply_if_different(gateway, KAI_SCHEDULING_SHARD, shard_manifest(spec))
    except NameTaken as error:
        message = f"{error.message} Muster leaves it alone: choose another name, or delete that object."
        return [Condition("Accepted", "False", "NameTaken", message, arguments=(("madeBy", error.made_by),))]
    except NotServed as error:
        message = f"The cluster does not serve KAI's SchedulingShard ({error.message}): no scheduler takes this pool."
        return [Condition("Synced", "False", "NotServed", message)]
    synced = Condition("Synced", "True", "Applied", "Node labels and the SchedulingShard are as defined here.")
    if applied.made and was_written(pool.conditions, generation=pool.generation):
        return [synced, deletion_repaired([f"SchedulingShard {pool.name}"])]
    if not applied.drift:
        return [synced, Condition("InSync", "True", "InSync", "Nobody has changed what Muster wrote.")]
    fields = ", ".join(applied.drift)
    drift = f"Somebody had changed {fields} of the SchedulingShard; it was put back."
    return [synced, Condition("InSync", "False", "DriftRepaired", drift, arguments=(("fields", fields),))]


def _label_conditions(pool: NodePool, found: Labelled) -> list[Condition]:
    conditions = []
    if found.foreign:
        named = ", ".join(f"{node} ({manager})" for node, manager in _first(found.foreign))
        message = f"Somebody else holds the label {NODE_POOL_LABEL} on {named}; Muster leaves it alone."
        told = _told(_first(found.foreign))
        conditions.append(_about("LabelsOwned", "False", "HeldByOthers", message, list(found.foreign), told=told))
    if found.shared:
        pools = sorted({name for names in found.shared.values() for name in names})
        nodes = ", ".join(node for node, _names in _first(found.shared))
        holders = sorted({*found.yielded.values(), *([pool.name] if len(found.yielded) < len(found.shared) else [])})
        message = (
            f"The node pools {', '.join([pool.name, *pools])} match the same nodes: {nodes}. "
            f"Each node counts for one pool only, the older one: {', '.join(holders)}."
        )
        more = {"pools": ",".join(pools), "holders": ",".join(holders)}
        conditions.append(_about("Overlap", "True", "PoolsOverlap", message, list(found.shared), **more))
    return conditions


def _unknown_pools(pool: NodePool, gateway: Gateway) -> list[Condition]:
    """Nodes that carry the label of no pool, `default` included: no scheduler sees them (kai-scheduler.md, trap 10)."""
    known = set(NodePool.objects.filter(cluster=pool.cluster_id).exclude(label_key="").values_list("name", flat=True))
    lost = {
        node["metadata"]["name"]: value
        for node in gateway.list(NODE, label_selector=NODE_POOL_LABEL)
        if (value := labels_of(node).get(NODE_POOL_LABEL, "")) not in known
    }
    if not lost:
        return []
    named = ", ".join(f"{node} ({value})" for node, value in _first(lost))
    message = f"Nodes carry {NODE_POOL_LABEL} of a pool that Muster does not know: {named}. No pool of Muster has them."
    return [_about("UnknownPools", "True", "LabelWithoutPool", message, list(lost), told=_told(_first(lost)))]


def _mismatch(pool: NodePool, members: Sequence[Manifest]) -> list[Condition]:
    """Nodes with GPUs that lack a level label of the attached topology: no constrained work runs there."""
    topology = pool.network_topology
    if topology is None:
        return []
    missing = {}
    for node in members:
        lacking = [key for key in topology.levels if not labels_of(node).get(key)]
        if lacking and _has_gpus(node):
            missing[node["metadata"]["name"]] = lacking
    if not missing:
        message = f"Every GPU node of the pool carries the labels of topology {topology.name}."
        return [Condition("TopologyMismatch", "False", "TopologyMatch", message)]
    first = list(missing.items())[:SHOWN]
    named = "; ".join(f"{node} lacks {', '.join(keys)}" for node, keys in first)
    message = f"{len(missing)} nodes are outside topology {topology.name}: {named}."
    if len(missing) == 1:
        message = f"1 node is outside topology {topology.name}: {named}."
    more = {"topology": topology.name, "told": _told([(node, ",".join(keys)) for node, keys in first])}
    return [_about("TopologyMismatch", "True", "TopologyMismatch", message, list(missing), **more)]


def _about(type_: str, status: Status, reason: str, message: str, nodes: Sequence[str], **more: str) -> Condition:
    """A condition that names nodes: all in `arguments`, comma-separated, for pages and the API.

    `told` among `more` says of the first ones what the message says of them, for sentences of other languages.
    """
    arguments = (("nodes", ",".join(nodes)), ("count", str(len(nodes))), *more.items())
    return Condition(type_, status, reason, message, arguments=arguments)


def _told(named: Sequence[tuple[str, object]]) -> str:
    """Each node with what is said of it, without a word of any language."""
    return "; ".join(f"{node} ({said})" for node, said in named)


def _first(named: Mapping[str, object]) -> list[tuple[str, object]]:
    return list(named.items())[:SHOWN]


def _has_gpus(node: Manifest) -> bool:
    capacity = (node.get("status") or {}).get("capacity") or {}
    return any(
        (name == GPU_RESOURCE or name.startswith("nvidia.com/mig-")) and str(amount) != "0"
        for name, amount in capacity.items()
    )


def _phase(members: Sequence[Manifest]) -> str:
    if not members:
        return "Empty"
    return "Ready" if any(_takes_work(node) for node in members) else "Unschedulable"


def _takes_work(node: Manifest) -> bool:
    ready = [c for c in (node.get("status") or {}).get("conditions") or () if c.get("type") == "Ready"]
    return not (node.get("spec") or {}).get("unschedulable") and all(c.get("status") == "True" for c in ready)


def _delete(pool: NodePool, gateway: Gateway, owner: str) -> Outcome:
    """Nodes fall back to `default`; the shard goes; the pool waits for the queues, which their owners delete. They are
    counted: whoever sees the pool is told, and not everybody may know their names."""
    left = protecting_kinds(pool)
    if left:
        return _waiting(left)
    unlabel_nodes(gateway, pool.name)
    with suppress(NotServed):
        if not delete_if_ours(gateway, KAI_SCHEDULING_SHARD, pool.name, owner=owner):
            left.append(f"SchedulingShard/{pool.name}")
    selector = f"{NODE_POOL_LABEL}={pool.name},{MANAGED_BY_LABEL}={MANAGED_BY}"
    with suppress(NotServed):
        queues = len(gateway.list(KAI_QUEUE, label_selector=selector))
        left += [f"Queue ({queues})"] if queues else []
    return _waiting(left) if left else Outcome(gone=True)


def _waiting(left: Sequence[str]) -> Outcome:
    message = f"Waiting for {', '.join(left[:SHOWN])} to leave the cluster."
    waiting = Condition("Synced", "False", "Deleting", message, arguments=(("objects", ", ".join(left)),))
    return Outcome("Deleting", (waiting,), check_again_after=SOON)
