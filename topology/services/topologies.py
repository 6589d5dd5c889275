"""Network topologies: make, replace, delete; levels never change once made."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.audit import Actor
from accounts.permissions import require
from clusters.holding import hold_cluster
from clusters.models import Cluster
from core.desired import change_spec, hold, request_deletion
from core.errors import Conflict, Fault, InvalidInput
from core.hints import hint_reconcile
from topology.impact import kept
from topology.models import NetworkTopology, NodePool
from topology.rules import level_faults, name_faults, order_faults
from topology.selectors import node_facts

LINK_FIELDS = ("latencyMicroseconds", "bandwidthGigabytesPerSecond")
# The table people quote (J3), from the narrowest level outwards; marked as assumptions.
ASSUMED_LINKS = ((50, 200), (200, 100), (500, 40))


@transaction.atomic
def create_topology(
    actor: Actor, *, cluster: Cluster, name: str, levels: Sequence[str], links: Sequence[Any] | None = None
) -> NetworkTopology:
    """A new topology with `levels` broadest first; near to far is refused where the nodes prove it. Raises
    `InvalidInput`, `Conflict` for a taken name."""
    require(actor.user, "network-topologies:create", NetworkTopology(cluster=cluster).scope)
    faults = [*name_faults(name), *level_faults(levels)]
    faults = faults or order_faults(levels, node_facts(cluster.pk))
    if faults:
        raise InvalidInput(faults)
    hold_cluster(cluster)
    costs = assumed_links(len(levels)) if links is None else checked_links(links, len(levels))
    try:
        with transaction.atomic():
            topology = NetworkTopology.objects.create(
                cluster=cluster, name=name, levels=list(levels), links=costs, created_by=actor.user.email
            )
    except IntegrityError as error:
        raise Conflict(_("Resource with this name already exists"), objects=[name]) from error
    audit.record(actor, "create", topology, after={"name": name, "levels": list(levels)})
    hint_reconcile(topology)
    return topology


@transaction.atomic
def replace_topology(
    actor: Actor,
    *,
    topology: NetworkTopology,
    name: str,
    levels: Sequence[str],
    impact: Mapping[str, Any] | None = None,
) -> NetworkTopology:
    """A new topology in place of one whose levels are wrong: the pools move over, the old one is deleted.

    Needs the rights to create and delete topologies and to update node pools.
    """
    require(actor.user, "network-topologies:delete", topology.scope)
    if topology.is_being_deleted:
        raise Conflict(_("Topology %(name)s is being deleted.") % {"name": topology.name}, objects=[topology.name])
    if name == topology.name:
        raise InvalidInput.of(
            "name", _("The new topology needs a name of its own: both exist until the pools have moved"), ""
        )
    pools = list(topology.node_pools.all())
    if pools:
        require(actor.user, "nodepools:update", topology.scope)
    links = topology.links if len(levels) == len(topology.levels) else None
    new = create_topology(actor, cluster=topology.cluster, name=name, levels=levels, links=links)
    for pool in pools:
        change_spec(pool, {"network_topology": new, "phase": "Updating"})
        audit.record(
            actor, "update", pool, before={"networkTopology": topology.name}, after={"networkTopology": new.name}
        )
    delete_topology(actor, topology=topology, impact=impact)
    return new


@transaction.atomic
def update_links(
    actor: Actor, *, topology: NetworkTopology, links: Sequence[Any], expected_generation: int | None = None
) -> NetworkTopology:
    """What distance costs per level, in the order of the levels: latency in µs, bandwidth in GB/s. Writes nothing
    where nothing differs. Raises `Conflict` where it is being deleted, `Stale`."""
    require(actor.user, "network-topologies:update", topology.scope)
    if topology.is_being_deleted:
        raise Conflict(_("Topology %(name)s is being deleted.") % {"name": topology.name}, objects=[topology.name])
    checked = checked_links(links, len(topology.levels))
    before = topology.links
    if checked == before:
        return topology
    changed = change_spec(topology, {"links": checked}, expected_generation=expected_generation)
    audit.record(actor, "update", changed, before={"links": before}, after={"links": checked})
    return changed


@transaction.atomic
def delete_topology(
    actor: Actor, *, topology: NetworkTopology, impact: Mapping[str, Any] | None = None
) -> NetworkTopology:
    """Ask for deletion. Raises `Conflict` naming the node pools that it is attached to. The audit keeps `impact`."""
    require(actor.user, "network-topologies:delete", topology.scope)
    hold(topology)
    pools = list(NodePool.objects.filter(network_topology=topology).order_by("name").values_list("name", flat=True))
    if pools:
        raise Conflict(
            _("Topology %(name)s is attached to the node pools %(pools)s. Detach it there first.")
            % {"name": topology.name, "pools": ", ".join(pools)},
            objects=pools,
        )
    if not topology.is_being_deleted:
        before = {"name": topology.name, "levels": topology.levels}
        audit.record(actor, "delete", topology, before=before, after=kept({}, impact) or None)
    return request_deletion(topology)


def assumed_links(count: int) -> list[dict[str, Any]]:
    """The quoted figures for `count` levels, broadest first; broader levels beyond the table repeat its last row."""
    rows = [ASSUMED_LINKS[min(distance, len(ASSUMED_LINKS) - 1)] for distance in range(count)]
    return [
        {LINK_FIELDS[0]: latency, LINK_FIELDS[1]: bandwidth, "assumed": True} for latency, bandwidth in reversed(rows)
    ]


def checked_links(links: Sequence[Any], count: int) -> list[dict[str, Any]]:
    """`links` as they are stored. Raises `InvalidInput` naming each wrong figure."""
    if not isinstance(links, Sequence) or len(links) != count:
        raise InvalidInput.of("links", _("One entry for each of the %(n)d levels is required") % {"n": count})
    faults: list[Fault] = []
    checked = [_checked_link(link, f"links[{index}]", faults) for index, link in enumerate(links)]
    if faults:
        raise InvalidInput(faults)
    return checked


def _checked_link(link: Any, field: str, faults: list[Fault]) -> dict[str, Any]:
    if not isinstance(link, Mapping):
        faults.append(Fault(field, _("An object is required"), ", ".join(LINK_FIELDS)))
        return {}
    checked: dict[str, Any] = {"assumed": bool(link.get("assumed", False))}
    for name in LINK_FIELDS:
        figure = _figure(str(link.get(name)))
        if not 0 < float(figure) < 10**9:
            faults.append(
                Fault(f"{field}.{name}", _("“%(value)s” is not a figure") % {"value": str(link.get(name))[:40]}, "> 0")
            )
            continue
        checked[name] = int(figure) if figure == figure.to_integral_value() else float(figure)
    return checked


def _figure(text: str) -> Decimal:
    """The number that `text` is, 0 where it is none; Decimal also takes underscores and digits of other scripts."""
    try:
        figure = Decimal(text if text.isascii() and "_" not in text else "NaN")
    except InvalidOperation:
        return Decimal(0)
    return figure if figure.is_finite() else Decimal(0)
