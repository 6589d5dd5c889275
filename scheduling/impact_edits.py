"""Edits of a snapshot, as an admin would make them in the cluster: the "after" of an impact comparison. Pure."""

from collections.abc import Callable, Collection, Mapping

import msgspec

from scheduling.shares_holdings import Changes, changed_queue
from scheduling.structs import (
    PodGroup,
    Snapshot,
    SubGroup,
    Topology,
    TopologyConstraint,
)


def with_queues(snapshot: Snapshot, changes: Changes) -> Snapshot:
    """Other quotas, limits, weights or priorities of queues; totals of ``changes`` are not looked at."""
    queues = tuple(changed_queue(queue, changes) for queue in snapshot.queues)
    return msgspec.structs.replace(snapshot, queues=queues)


def without_queues(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """Queues deleted."""
    queues = tuple(queue for queue in snapshot.queues if queue.name not in names)
    return msgspec.structs.replace(snapshot, queues=queues)


def without_nodes(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """Nodes removed from the shard. Their pods have no place any more: a gang that is left short has to start anew."""
    pods = tuple(
        msgspec.structs.replace(pod, node="", phase="Pending", gpu_groups=()) if pod.node in names else pod
        for pod in snapshot.pods
        if pod.podgroup or pod.node not in names
    )
    nodes = tuple(node for node in snapshot.nodes if node.name not in names)
    return msgspec.structs.replace(snapshot, nodes=nodes, pods=pods)


def leaving_nodes(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """Nodes that go to another pool: their pods run on, outside of what the shard's scheduler gives away."""
    nodes = tuple(node for node in snapshot.nodes if node.name not in names)
    return msgspec.structs.replace(snapshot, nodes=nodes)


def cordoned(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """Nodes made unschedulable; their pods run on."""
    nodes = tuple(
        msgspec.structs.replace(node, unschedulable=True) if node.name in names else node for node in snapshot.nodes
    )
    return msgspec.structs.replace(snapshot, nodes=nodes)


def without_topology(snapshot: Snapshot, name: str) -> Snapshot:
    """The Topology object deleted; gangs that name it keep naming it."""
    topologies = tuple(topology for topology in snapshot.topologies if topology.name != name)
    return msgspec.structs.replace(snapshot, topologies=topologies)


def with_topology(snapshot: Snapshot, topology: Topology) -> Snapshot:
    """The Topology object there, in place of one of the same name."""
    return msgspec.structs.replace(
        snapshot, topologies=(*without_topology(snapshot, topology.name).topologies, topology)
    )


def pool_topology(snapshot: Snapshot, old: Collection[str], new: Topology | None) -> Snapshot:
    """The pool's topology attached, swapped or detached, as gangs have it when they are started anew.

    Those of an old topology (the pool's, or one it had when they were started) get the new one with the levels that
    they ask for, or none; those without one prefer the new one's narrowest level, as Muster writes where nothing is
    said.
    """
    if new is None:
        return _with_constraints(snapshot, lambda each: TopologyConstraint() if each.topology in old else each)
    narrowest = TopologyConstraint(new.name, "", new.levels[-1].label)

    def other(each: TopologyConstraint) -> TopologyConstraint:
        if each.topology in old:
            return msgspec.structs.replace(each, topology=new.name)
        return each

    moved = _with_constraints(with_topology(snapshot, new), other)
    groups = tuple(
        msgspec.structs.replace(group, topology=narrowest) if not constraints_of(group) else group
        for group in moved.podgroups
    )
    return msgspec.structs.replace(moved, podgroups=groups)


def constraints_of(group: PodGroup) -> Mapping[str, TopologyConstraint]:
    """The constraints of a gang that name a topology, by subgroup; "" is the gang itself."""
    found = {"": group.topology, **{sub.name: sub.topology for sub in group.subgroups}}
    return {name: each for name, each in found.items() if each.topology}


def _with_constraints(snapshot: Snapshot, change: Callable[[TopologyConstraint], TopologyConstraint]) -> Snapshot:
    def subgroup(each: SubGroup) -> SubGroup:
        return msgspec.structs.replace(each, topology=change(each.topology))

    groups = tuple(
        msgspec.structs.replace(
            group, topology=change(group.topology), subgroups=tuple(subgroup(each) for each in group.subgroups)
        )
        for group in snapshot.podgroups
    )
    return msgspec.structs.replace(snapshot, podgroups=groups)
