"""Keeps `kai.scheduler/node-pool` on the nodes of one pool, touching nothing else of a node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.kinds import NODE
from clusters.kube.errors import FieldConflict
from clusters.kube.gateway import FIELD_MANAGER, Gateway, Manifest
from clusters.names import NODE_POOL_LABEL
from topology.manifests import node_label_manifest


@dataclass(frozen=True, slots=True)
class PoolLabel:
    """By what a pool chooses its nodes. `order`: of pools that match one node, the lowest takes it."""

    name: str
    key: str
    value: str
    order: int

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels is meant."""
        return bool(self.key) and labels.get(self.key) == self.value


@dataclass(slots=True)
class Labelled:
    """What labelling found. `members` carry the pool's label now; the rest is named in conditions.

    `foreign`: node → manager that holds another value there, or holds our value on a node that does not match.
    `shared`: node → other pools that match it too; `yielded`: those of them that another pool holds.
    """

    members: list[Manifest] = field(default_factory=list)
    foreign: dict[str, str] = field(default_factory=dict)
    shared: dict[str, tuple[str, ...]] = field(default_factory=dict)
    yielded: dict[str, str] = field(default_factory=dict)
    written: int = 0


def label_nodes(gateway: Gateway, pool: PoolLabel, others: Sequence[PoolLabel]) -> Labelled:
    """Label the matching nodes, unlabel those that no longer match, name those that somebody else holds."""
    found = Labelled()
    matching = gateway.list(NODE, label_selector=f"{pool.key}={pool.value}")
    for node in matching:
        _label(gateway, node, pool, others, found)
    names = {node["metadata"]["name"] for node in matching}
    for node in gateway.list(NODE, label_selector=f"{NODE_POOL_LABEL}={pool.name}"):
        if node["metadata"]["name"] not in names and not _unlabel(gateway, node, found):
            found.members.append(node)
    return found


def unlabel_nodes(gateway: Gateway, pool: str) -> Labelled:
    """Take our label off every node of the pool."""
    found = Labelled()
    for node in gateway.list(NODE, label_selector=f"{NODE_POOL_LABEL}={pool}"):
        _unlabel(gateway, node, found)
    return found


def labels_of(node: Manifest) -> Mapping[str, str]:
    """The node's labels."""
    return node["metadata"].get("labels") or {}


def _label(gateway: Gateway, node: Manifest, pool: PoolLabel, others: Sequence[PoolLabel], found: Labelled) -> None:
    name, labels = node["metadata"]["name"], labels_of(node)
    rivals = sorted((other for other in others if other.matches(labels)), key=lambda other: other.order)
    if rivals:
        found.shared[name] = tuple(rival.name for rival in rivals)
        if rivals[0].order < pool.order:
            found.yielded[name] = rivals[0].name
            return
    if labels.get(NODE_POOL_LABEL) != pool.name:
        try:
            gateway.apply(NODE, node_label_manifest(name, node["metadata"]["uid"], pool.name))
        except FieldConflict:
            found.foreign[name] = ", ".join(_holders(node)) or "unknown"
            return
        found.written += 1
    found.members.append(node)


def _unlabel(gateway: Gateway, node: Manifest, found: Labelled) -> bool:
    """False: somebody else holds the label, it stays and the scheduler goes on counting the node to the pool."""
    holders = _holders(node)
    if FIELD_MANAGER in holders:
        gateway.apply(NODE, node_label_manifest(node["metadata"]["name"], node["metadata"]["uid"], ""))
        found.written += 1
    others = [holder for holder in holders if holder != FIELD_MANAGER]
    if others or not holders:
        found.foreign[node["metadata"]["name"]] = ", ".join(others) or "unknown"
        return False
    return True


def _holders(node: Manifest) -> list[str]:
    """Field managers that own the pool label of a node."""
    holders = []
    for entry in node["metadata"].get("managedFields") or ():
        fields: Any = entry.get("fieldsV1") or {}
        if f"f:{NODE_POOL_LABEL}" in (fields.get("f:metadata") or {}).get("f:labels", {}):
            holders.append(str(entry.get("manager", "")))
    return holders
