"""Node pools: make, change, attach a topology, delete. The pool `default` is the absence of a label."""

from collections.abc import Mapping
from typing import Any, TypedDict

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import require
from clusters.holding import hold_cluster
from clusters.models import Cluster
from clusters.names import DEFAULT_NODE_POOL
from core.desired import change_spec, hold, request_deletion
from core.errors import Conflict, Fault, InvalidInput
from core.hints import hint_reconcile
from topology.durations import normalise_duration
from topology.hooks import node_pool_changed
from topology.impact import kept
from topology.models import NetworkTopology, NodePool, PlacementStrategy
from topology.protection import protection_of
from topology.rules import new_pool_faults, pool_label_faults


class NodePoolChanges(TypedDict, total=False):
    """What can be said of a pool; an absent key leaves it as it is. `network_topology` None detaches."""

    label_key: str
    label_value: str
    network_topology: NetworkTopology | None
    gpu_placement_strategy: str
    cpu_placement_strategy: str
    min_guaranteed_runtime: str


AUDIT_NAMES = {
    "label_key": "labelKey",
    "label_value": "labelValue",
    "network_topology": "networkTopology",
    "gpu_placement_strategy": "gpuPlacementStrategy",
    "cpu_placement_strategy": "cpuPlacementStrategy",
    "min_guaranteed_runtime": "minGuaranteedRuntime",
}


@transaction.atomic
def create_node_pool(actor: Actor, *, cluster: Cluster, name: str, settings: NodePoolChanges) -> NodePool:
    """A new pool of the nodes with `label_key=label_value`. Every department and project gets a quota row on it.

    Raises `InvalidInput`; `Conflict` for a taken name or label.
    """
    pool = NodePool(cluster=cluster, name=name, created_by=actor.user.email)
    require(actor.user, "nodepools:create", pool.scope)
    faults = new_pool_faults(name, settings.get("label_key", ""), settings.get("label_value", ""))
    hold_cluster(cluster)
    spec = _checked(pool, settings, faults)
    for column, value in spec.items():
        setattr(pool, column, value)
    _refuse_taken_label(pool)
    _save_new(pool)
    audit.record(actor, "create", pool, after={"name": name, **_shown(spec)})
    node_pool_changed(pool)
    hint_reconcile(pool)
    return pool


@transaction.atomic
def update_node_pool(
    actor: Actor,
    *,
    pool: NodePool,
    changes: NodePoolChanges,
    expected_generation: int | None = None,
    impact: Mapping[str, Any] | None = None,
) -> NodePool:
    """Change what `changes` holds. Writes nothing where nothing differs. The audit keeps `impact`."""
    require(actor.user, "nodepools:update", pool.scope)
    if pool.is_being_deleted:
        raise Conflict(_("Node pool %(name)s is being deleted.") % {"name": pool.name}, objects=[pool.name])
    faults: list[Fault] = []
    given = {column: value for column, value in changes.items() if getattr(pool, column) != value}
    spec = {column: value for column, value in _checked(pool, given, faults).items() if getattr(pool, column) != value}
    if not spec:
        return pool
    before = _shown({column: getattr(pool, column) for column in spec})
    for column, value in spec.items():
        setattr(pool, column, value)
    if "label_key" in spec or "label_value" in spec:
        _refuse_taken_label(pool)
    try:
        with transaction.atomic():
            changed = change_spec(pool, {**spec, "phase": "Updating"}, expected_generation=expected_generation)
    except IntegrityError as error:
        raise Conflict(_("The label was taken by another node pool in this moment.")) from error
    audit.record(actor, "update", changed, before=before, after=kept(_shown(spec), impact))
    return changed


def attach_topology(
    actor: Actor, *, pool: NodePool, topology: NetworkTopology, impact: Mapping[str, Any] | None = None
) -> NodePool:
    """Bind `topology` to the pool in place of whatever is bound to it."""
    return update_node_pool(actor, pool=pool, changes={"network_topology": topology}, impact=impact)


def detach_topology(actor: Actor, *, pool: NodePool, impact: Mapping[str, Any] | None = None) -> NodePool:
    """Take the topology off the pool."""
    return update_node_pool(actor, pool=pool, changes={"network_topology": None}, impact=impact)


@transaction.atomic
def delete_node_pool(actor: Actor, *, pool: NodePool, impact: Mapping[str, Any] | None = None) -> NodePool:
    """Ask for deletion: its nodes fall back to `default`, its queues go.

    Raises `Conflict` for the default pool and for one that workloads use, naming them.
    """
    require(actor.user, "nodepools:delete", pool.scope)
    if pool.is_default:
        raise Conflict(
            _("The node pool “default” cannot be deleted: it takes the nodes that no other pool takes."),
            objects=[pool.name],
        )
    hold(pool)
    if users := protection_of(pool, actor.user):
        raise Conflict(
            _("Node pool %(name)s is used by: %(users)s. Delete or move them first.")
            % {"name": pool.name, "users": users.names},
            objects=users.objects,
        )
    if not pool.is_being_deleted:
        before = {"name": pool.name, **_shown(_spec_of(pool))}
        audit.record(actor, "delete", pool, before=before, after=kept({}, impact) or None)
    deleted = request_deletion(pool)
    node_pool_changed(deleted)
    return deleted


@transaction.atomic
def ensure_default_pool(cluster: Cluster) -> NodePool:
    """The cluster's pool `default`, made where it is missing."""
    pool, made = NodePool.objects.get_or_create(cluster=cluster, name=DEFAULT_NODE_POOL)
    if made:
        node_pool_changed(pool)
        hint_reconcile(pool)
    return pool


def _checked(pool: NodePool, given: Any, faults: list[Fault]) -> dict[str, Any]:
    """`given` in the form of columns. Raises `InvalidInput` with `faults` and its own."""
    spec = dict(given)
    if "min_guaranteed_runtime" in spec:
        try:
            text = spec["min_guaranteed_runtime"] or ""
            spec["min_guaranteed_runtime"] = normalise_duration(text, field="minGuaranteedRuntime")
        except InvalidInput as error:
            faults.extend(error.faults)
    faults.extend(
        Fault(
            AUDIT_NAMES[column],
            _("“%(value)s” is not a strategy") % {"value": str(spec[column])[:40]},
            ", ".join(PlacementStrategy.values),
        )
        for column in ("gpu_placement_strategy", "cpu_placement_strategy")
        if column in spec and spec[column] not in PlacementStrategy.values
    )
    faults.extend(_topology_faults(pool, spec.get("network_topology")))
    if pool.pk is not None:
        faults.extend(_label_faults(pool, spec))
    if faults:
        raise InvalidInput(faults)
    return spec


def _topology_faults(pool: NodePool, topology: NetworkTopology | None) -> list[Fault]:
    if topology is None:
        return []
    if topology.cluster_id != pool.cluster_id:
        return [Fault("networkTopologyId", _("The topology lies in another cluster"), _("one of the pool’s cluster"))]
    if not hold(topology):
        return [Fault("networkTopologyId", _("Topology %(name)s is being deleted") % {"name": topology.name})]
    return []


def _label_faults(pool: NodePool, spec: dict[str, Any]) -> list[Fault]:
    """Rules for the changed label, and for `default`, whose nodes and scheduler are not Muster's to set."""
    if not pool.is_default:
        if "label_key" not in spec and "label_value" not in spec:
            return []
        key, value = spec.get("label_key", pool.label_key), spec.get("label_value", pool.label_value)
        return pool_label_faults(pool.name, key, value)
    allowed = _("only the topology of the pool “default” can be changed; its scheduler came with KAI")
    return [
        Fault(AUDIT_NAMES[column], _("It cannot be set for the pool “default”"), allowed)
        for column, value in spec.items()
        if column != "network_topology" and value != getattr(pool, column)
    ]


def _refuse_taken_label(pool: NodePool) -> None:
    same = NodePool.objects.filter(
        cluster=pool.cluster, label_key=pool.label_key, label_value=pool.label_value
    ).exclude(pk=pool.pk)
    other = same.first()
    if other is not None:
        raise Conflict(
            _("The label %(label)s already makes the node pool %(pool)s.")
            % {"label": f"{pool.label_key}={pool.label_value}", "pool": other.name},
            objects=[other.name],
        )


def _save_new(pool: NodePool) -> None:
    try:
        with transaction.atomic():
            pool.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(_("Resource with this name already exists"), objects=[pool.name]) from error


def _spec_of(pool: NodePool) -> dict[str, Any]:
    return {column: getattr(pool, column) for column in AUDIT_NAMES}


def _shown(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec as the audit log has it: API names, the topology by name."""
    return {
        AUDIT_NAMES[column]: value.name if isinstance(value, NetworkTopology) else value
        for column, value in spec.items()
    }
