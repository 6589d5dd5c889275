"""PodCliqueSet → PodGangs, and PodGang → subgroups of a KAI PodGroup. Pure; recorded in golden/grove."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from clusters.kinds import GROVE_POD_CLIQUE_SET, GROVE_POD_GANG
from clusters.operators.grove import names
from clusters.operators.grove.cliques import group_config, group_placement, grouped_cliques
from clusters.operators.grove.topology import Bindings, domain_keys, pack_constraint, topology_name
from clusters.operators.objects import (
    ADDED_BY_KUBECTL,
    Object,
    annotations_of,
    labels_of,
    owner_reference,
    without_empty,
)

PodsByClique = Mapping[str, list[str]]
"""Names of the existing pods per PodClique (full name)."""


class _Member(NamedTuple):
    """One PodClique inside a gang."""

    name: str
    clique: Object


class _Group(NamedTuple):
    """One replica of a scaling group inside a gang."""

    name: str
    constraint: Object | None
    members: list[_Member]


def pod_gangs(pcs: Object, groups: Iterable[Object], pods: PodsByClique, bindings: Bindings) -> Iterator[Object]:
    """The base gang of each replica and a gang for each scaled replica of each scaling group.

    `pcs.spec` is defaulted; `groups` are its PodCliqueScalingGroups as they exist (their replicas count).
    """
    by_replica: dict[int, list[Object]] = {}
    for group in groups:
        by_replica.setdefault(int(labels_of(group)[names.SET_INDEX]), []).append(group)
    binding = bindings.get(topology_name(pcs["spec"]["template"]))
    gangs = _GangBuilder(pcs, domain_keys(binding) if binding else {}, pods)
    for replica in range(pcs["spec"]["replicas"]):
        yield from gangs.of_replica(replica, by_replica.get(replica, []))


class _GangBuilder:
    def __init__(self, pcs: Object, keys: Mapping[str, str], pods: PodsByClique) -> None:
        self._pcs = pcs
        self._keys = keys
        self._pods = pods
        self._cliques = {clique["name"]: clique for clique in pcs["spec"]["template"]["cliques"]}

    def of_replica(self, replica: int, groups: list[Object]) -> Iterator[Object]:
        template = self._pcs["spec"]["template"]
        set_name = self._pcs["metadata"]["name"]
        grouped = grouped_cliques(template)
        alone = [
            _Member(names.clique_name(set_name, replica, name), clique)
            for name, clique in self._cliques.items()
            if name not in grouped
        ]
        order = [group["name"] for group in template.get("podCliqueScalingGroups") or ()]
        prefix = names.scaling_group_name(set_name, replica, "")
        groups = sorted(groups, key=lambda g: order.index(g["metadata"]["name"].removeprefix(prefix)))
        base, scaled = self._split(groups)
        yield self._gang(names.replica_name(set_name, replica), alone, base, template.get("topologyConstraint"))
        for gang, group in scaled:
            constraint = group.constraint or template.get("topologyConstraint")
            yield self._gang(gang, group.members, [], constraint)

    def _split(self, groups: list[Object]) -> tuple[list[_Group], list[tuple[str, _Group]]]:
        """Scaling-group replicas inside the base gang, and the scaled ones with their gang's name."""
        base: list[_Group] = []
        scaled: list[tuple[str, _Group]] = []
        for group in groups:
            constraint = group_config(self._pcs, group).get("topologyConstraint")
            for index in range(group["spec"]["replicas"]):
                full = f"{group['metadata']['name']}-{index}"
                members = [_Member(f"{full}-{name}", self._cliques[name]) for name in group["spec"]["cliqueNames"]]
                entry = _Group(full, constraint, members)
                placement = group_placement(self._pcs, group, index)
                if placement.base:
                    scaled.append((placement.gang, entry))
                else:
                    base.append(entry)
        return base, scaled

    def _gang(self, name: str, alone: list[_Member], groups: list[_Group], constraint: Object | None) -> Object:
        template = self._pcs["spec"]["template"]
        members = [*alone, *(member for group in groups for member in group.members)]
        configs = [
            {
                "name": group.name,
                "podGroupNames": [member.name for member in group.members],
                "topologyConstraint": packed,
            }
            for group in groups
            if (packed := pack_constraint(group.constraint, self._keys))
        ]
        spec = without_empty(
            {
                "podgroups": [self._pod_group(member) for member in members],
                "topologyConstraint": pack_constraint(constraint, self._keys),
                "topologyConstraintGroupConfigs": configs,
                "priorityClassName": template.get("priorityClassName"),
            }
        )
        return {
            "apiVersion": GROVE_POD_GANG.api_version,
            "kind": GROVE_POD_GANG.kind,
            "metadata": self._metadata(name),
            "spec": spec,
        }

    def _pod_group(self, member: _Member) -> Object:
        namespace = self._pcs["metadata"]["namespace"]
        references = [{"name": pod, "namespace": namespace} for pod in sorted(self._pods.get(member.name, ()))]
        constraint = pack_constraint(member.clique.get("topologyConstraint"), self._keys)
        entry: Object = {
            "name": member.name,
            "minReplicas": member.clique["spec"]["minAvailable"],
            "podReferences": references,
        }
        return {**entry, "topologyConstraint": constraint} if constraint else entry

    def _metadata(self, name: str) -> Object:
        """PodCliqueSet labels and annotations are mirrored (Grove ≥ alpha.9, golden/grove/10, 13, 20)."""
        annotations = {k: v for k, v in annotations_of(self._pcs).items() if k != ADDED_BY_KUBECTL}
        topology = topology_name(self._pcs["spec"]["template"])
        if topology:
            annotations[names.TOPOLOGY_NAME] = topology
        labels = {
            **labels_of(self._pcs),
            **names.default_labels(self._pcs["metadata"]["name"]),
            names.COMPONENT: "podgang",
            names.SCHEDULER_NAME: names.KAI_SCHEDULER,
        }
        return {
            "name": name,
            "namespace": self._pcs["metadata"]["namespace"],
            **without_empty({"annotations": annotations, "labels": labels}),
            "ownerReferences": [owner_reference(self._pcs, GROVE_POD_CLIQUE_SET)],
        }


def sub_groups(gang: Object, topology: str) -> list[Object]:
    """The `subGroups` of a gang's PodGroup: parents first, then one leaf per clique (golden/grove/05, p10)."""
    parents: dict[str, str] = {}
    entries: list[Object] = []
    for config in gang["spec"].get("topologyConstraintGroupConfigs") or ():
        members = config["podGroupNames"]
        parents |= dict.fromkeys(members, config["name"])
        constraint = kai_constraint(config.get("topologyConstraint"), topology)
        entry: Object = {"name": config["name"], "minSubGroup": len(members)}
        entries.append({**entry, "topologyConstraint": constraint} if constraint else entry)
    for group in gang["spec"].get("podgroups") or ():
        leaf: Object = {"name": group["name"], "minMember": group["minReplicas"]}
        if group["name"] in parents:
            leaf["parent"] = parents[group["name"]]
        constraint = kai_constraint(group.get("topologyConstraint"), topology)
        entries.append({**leaf, "topologyConstraint": constraint} if constraint else leaf)
    return entries


def kai_constraint(constraint: Object | None, topology: str) -> Object:
    """PodGang constraint → PodGroup constraint; empty when there is nothing to say."""
    packed = (constraint or {}).get("packConstraint") or {}
    levels = without_empty(
        {
            "requiredTopologyLevel": packed.get("required"),
            "preferredTopologyLevel": packed.get("preferred"),
        }
    )
    return {"topology": topology, **levels} if levels else {}


def min_member(gang: Object) -> int:
    return sum(group["minReplicas"] for group in gang["spec"].get("podgroups") or ())
