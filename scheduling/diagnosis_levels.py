"""Obstacles of the topology: objects, levels, labels, the scheduler's defects, and how much room a level has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from scheduling.diagnosis_rooms import Constrained, constrained, level_rows, own_gpus
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code, NodeNote, Obstacle, all_noted
from scheduling.domains import ROOT, same_kind
from scheduling.resources import GPU
from scheduling.structs import Node, Pod, Requirement, Topology, TopologyConstraint

HOSTNAME = "kubernetes.io/hostname"
MAX_DOMAINS = 8
"""So many domains are tried by hand when a count is suspected to be wrong."""


def with_constraint(scene: Scene, subgroup: str, **changes: str) -> Scene:
    """The scene with the constraint of a subgroup ("" is the gang) changed."""
    group = scene.group
    if not subgroup:
        return scene.with_group(topology=msgspec.structs.replace(group.topology, **changes))
    subgroups = tuple(
        msgspec.structs.replace(each, topology=msgspec.structs.replace(each.topology, **changes))
        if each.name == subgroup
        else each
        for each in group.subgroups
    )
    return scene.with_group(subgroups=subgroups)


def _said(scene: Scene) -> Iterator[tuple[str, TopologyConstraint]]:
    group = scene.group
    for name, constraint in (("", group.topology), *((each.name, each.topology) for each in group.subgroups)):
        if constraint.topology:
            yield name, constraint


def topology_objects(scene: Scene) -> Iterator[Obstacle]:
    """The topology does not exist, or no level of it is named."""
    known = {topology.name for topology in scene.shard.topologies}
    for subgroup, constraint in _said(scene):
        names = {"topology": constraint.topology, "subgroup": subgroup}
        drop = partial(with_constraint, subgroup=subgroup, topology="", required="", preferred="")
        if constraint.topology not in known:
            names["known"] = ", ".join(sorted(known))
            yield Obstacle(Cause(Code.TOPOLOGY_MISSING, True, names), drop)
        elif not constraint.required and not constraint.preferred:
            yield Obstacle(Cause(Code.LEVEL_UNSET, True, names), drop)


def level_names(scene: Scene) -> Iterator[Obstacle]:
    """A level that the topology does not have, or one preferred above the required one."""
    topologies = {topology.name: topology for topology in scene.shard.topologies}
    for subgroup, constraint in _said(scene):
        topology = topologies.get(constraint.topology)
        if topology is None:
            continue
        unknown = [field for field in ("required", "preferred") if _unknown(topology, getattr(constraint, field))]
        for field in unknown:
            yield _level_unknown(topology, subgroup, field, getattr(constraint, field))
        if not unknown and _reversed(topology, constraint):
            names = {"topology": topology.name, "subgroup": subgroup}
            names |= {"required": constraint.required, "preferred": constraint.preferred}
            cure = partial(with_constraint, subgroup=subgroup, preferred=constraint.required)
            yield Obstacle(Cause(Code.LEVELS_REVERSED, True, names), cure)


def depth_of(topology: Topology, name: str) -> int:
    """Depth of a level by label or alias; 0 for the word ``root``, -1 when there is none."""
    if name == ROOT:
        return 0
    places = [depth for depth, level in enumerate(topology.levels, 1) if name in (level.label, level.alias)]
    return places[0] if name and places else -1


def _unknown(topology: Topology, name: str) -> bool:
    return bool(name) and depth_of(topology, name) < 0


def _reversed(topology: Topology, constraint: TopologyConstraint) -> bool:
    both = constraint.required and constraint.preferred
    return bool(both) and depth_of(topology, constraint.preferred) < depth_of(topology, constraint.required)


def _level_unknown(topology: Topology, subgroup: str, field: str, name: str) -> Obstacle:
    labels = [level.label for level in topology.levels]
    meant = likely_level(labels, name)
    names = {"topology": topology.name, "subgroup": subgroup, "level": name, "kind": field}
    names |= {"known": ", ".join(labels), "meant": meant}
    return Obstacle(
        Cause(Code.LEVEL_UNKNOWN, True, names), partial(_renamed_level, subgroup=subgroup, field=field, meant=meant)
    )


def likely_level(labels: Sequence[str], name: str) -> str:
    """The level that was meant: equal but for case or the prefix; "" when none is near."""
    word = name.lower().rpartition("/")[2]
    for label in labels:
        if label.lower() == name.lower() or label.lower().rpartition("/")[2] == word:
            return label
    return ""


def _renamed_level(scene: Scene, subgroup: str, field: str, meant: str) -> Scene:
    changed = with_constraint(scene, subgroup, **{field: meant})
    left = dict(_said(changed)).get(subgroup)
    if left is not None and not left.required and not left.preferred:
        return with_constraint(changed, subgroup, topology="")
    return changed


def placement_wrong(scene: Scene) -> Iterator[Obstacle]:
    """The pod group asks for another place than it was meant to."""
    wanted, found = scene.wanted_placement, scene.group.topology
    if wanted is not None and wanted != found:
        cause = Cause(Code.PLACEMENT_WRONG, True, {"found": _shown(found), "wanted": _shown(wanted)})
        yield Obstacle(cause, lambda each: each.with_group(topology=wanted))


def _shown(constraint: TopologyConstraint) -> str:
    return " ".join(filter(None, (constraint.topology, constraint.required, constraint.preferred)))


def unlabelled(scene: Scene) -> Iterator[Obstacle]:
    """Nodes without some level's label: no pod under a constraint goes there, not even one that only prefers."""
    for name in sorted({each.tree.name for each in constrained(scene)}):
        topology = next(each for each in scene.shard.topologies if each.name == name)
        labels = [level.label for level in topology.levels]
        lacking = {
            node.name: ", ".join(label for label in labels if label not in node.labels)
            for node in scene.shard.nodes
            if any(label not in node.labels for label in labels)
        }
        gpus = {node.name: node.allocatable.gpu for node in scene.shard.nodes}
        if any(task.request[GPU] > 0 for task in scene.tasks):
            lacking = {host: note for host, note in lacking.items() if gpus[host] > 0}
        if not lacking:
            continue
        notes = tuple(NodeNote(host, note, gpus[host]) for host, note in sorted(lacking.items()))
        whole = len(lacking) == len(scene.shard.nodes)
        names = {
            "topology": name,
            "labels": ", ".join(all_noted(notes)),
            "all": "yes" if whole else "",
        }
        numbers = {"nodes": len(notes), "of": len(scene.shard.nodes), "gpus": sum(note.gpus for note in notes)}
        cure = partial(_labelled, hosts=tuple(lacking), labels=tuple(labels))
        yield Obstacle(Cause(Code.NODES_UNLABELLED, whole, names, numbers, nodes=notes), cure)


def _labelled(scene: Scene, hosts: Sequence[str], labels: Sequence[str]) -> Scene:
    """The nodes labelled as far as it is known where they are.

    Known is what a node says itself, and a value that all domains share in which it may be. Where several are possible
    it gets a domain of its own, which helps least: what runs then would run wherever the node really is. Only a label
    that no node has is one new value for all of them.
    """
    wide = [label for label in labels if label != HOSTNAME]
    paths = {tuple(node.labels.get(label, "") for label in wide) for node in scene.shard.nodes}
    full = sorted(path for path in paths if all(path))
    values = {
        node.name: _places(node, wide, [path for path in full if _agrees(node, wide, path)] or full)
        for node in scene.shard.nodes
        if node.name in hosts
    }
    return scene.with_nodes(values, lambda node: _put(node, values[node.name]))


def _agrees(node: Node, labels: Sequence[str], path: Sequence[str]) -> bool:
    return all(node.labels.get(label, value) == value for label, value in zip(labels, path, strict=True))


def _places(node: Node, labels: Sequence[str], possible: Sequence[Sequence[str]]) -> dict[str, str]:
    """The value of each label, from the domains in which the node may be."""
    values: dict[str, str] = {}
    for depth, label in enumerate(labels):
        found = {path[depth] for path in possible}
        values[label] = found.pop() if len(found) == 1 else f"of-{node.name}" if found else "new"
    return values


def _put(node: Node, values: Mapping[str, str]) -> Node:
    return msgspec.structs.replace(node, labels={**values, HOSTNAME: node.name, **node.labels})


def single_domain(scene: Scene) -> Iterator[Obstacle]:
    """KAI's defect: nodes that all share a domain below the required level hide that level's capacity.

    It is there when the same gang runs with the required level preferred as well.
    """
    suspects = [each for each in constrained(scene) if each.required and not each.preferred]
    for each in suspects:
        cure = partial(with_constraint, subgroup=each.subgroup, preferred=each.said.required)
        if cure(scene).runs:
            yield _single_domain(each, cure)
            return
    if len(suspects) > 1 and _all_preferring(scene, suspects).runs:
        for each in suspects:
            yield _single_domain(each, partial(with_constraint, subgroup=each.subgroup, preferred=each.said.required))


def _all_preferring(scene: Scene, suspects: Sequence[Constrained]) -> Scene:
    for each in suspects:
        scene = with_constraint(scene, each.subgroup, preferred=each.said.required)
    return scene


def _single_domain(each: Constrained, cure: Callable[[Scene], Scene]) -> Obstacle:
    names = {"topology": each.tree.name, "subgroup": each.subgroup, "level": each.required}
    return Obstacle(Cause(Code.SINGLE_DOMAIN, True, names), cure)


def unequal_pods(scene: Scene) -> Iterator[Obstacle]:
    """KAI counts unequal pods as if all were the largest: a domain that holds them looks too small.

    It is there when the gang runs on the nodes of one such domain without the constraint.
    """
    for each in constrained(scene):
        requests = np.stack([task.request for task in each.tasks])
        if not same_kind(requests) or (requests == requests[0]).all():
            continue
        for pinned in _by_hand(scene, each):
            domain, cure = pinned
            if cure(scene).runs:
                names = {
                    "topology": each.tree.name,
                    "subgroup": each.subgroup,
                    "level": each.required,
                    "domain": domain,
                }
                largest, total = float(requests[:, GPU].max()), float(requests[:, GPU].sum())
                numbers = {
                    "pods": len(requests),
                    "largest": largest,
                    "asked": total,
                    "counted": largest * len(requests),
                }
                yield Obstacle(Cause(Code.UNEQUAL_PODS, True, names, numbers), cure)
                return


def _by_hand(scene: Scene, each: Constrained) -> Iterator[tuple[str, Callable[[Scene], Scene]]]:
    keys = frozenset(task.key for task in each.tasks)
    drop = partial(_unconstrained, subgroup=each.subgroup, keys=keys)
    tree = each.tree
    labels = tree.labels[1 : (tree.depth(each.required) or 0) + 1] if each.required else []
    if not labels:
        yield "", partial(drop, values=dict.fromkeys(tree.labels[1:2], ""))
        return
    for row in level_rows(scene, each, each.required)[:MAX_DOMAINS]:
        code = tree.ids[len(labels)].index(row.path)
        member = scene.session.nodes.nodes[int(tree.members(len(labels), code)[0])]
        yield row.name, partial(drop, values={label: member.labels[label] for label in labels})


def _unconstrained(scene: Scene, subgroup: str, keys: frozenset[str], values: Mapping[str, str]) -> Scene:
    """The pods stay inside these label values by themselves; "" stands for any value."""
    terms = tuple(
        Requirement(label, "In", (value,)) if value else Requirement(label, "Exists") for label, value in values.items()
    )

    def change(pod: Pod) -> Pod:
        if pod.key not in keys:
            return pod
        affinity = tuple((*term, *terms) for term in pod.affinity) or (terms,)
        return msgspec.structs.replace(pod, affinity=affinity)

    return with_constraint(scene, subgroup, topology="").with_own_pods(change)


def pinned(scene: Scene) -> Iterator[Obstacle]:
    """Pods beyond those that run must stay in their domain, full as it is, although there is room elsewhere."""
    for each in constrained(scene):
        if not each.required or not each.stands:
            continue
        cure = partial(
            with_constraint, subgroup=each.subgroup, required="", preferred=each.said.preferred or each.said.required
        )
        if cure(scene).runs:
            rows = level_rows(scene, each, each.required)
            home = [row for row in rows if row.path in each.stands]
            names = {"topology": each.tree.name, "subgroup": each.subgroup, "level": each.required}
            names["domain"] = ", ".join(row.name for row in home)
            numbers = {"free": sum(row.free for row in home), "asked": each.gpus}
            yield Obstacle(Cause(Code.PINNED, False, names, numbers, domains=rows), cure)
            return


def level_too_small(scene: Scene) -> Iterator[Obstacle]:
    """No domain of the required level is large enough, even empty and with all its nodes in order."""
    groups = [each for each in constrained(scene) if each.required and each.required != ROOT]
    for each in reversed(groups):
        cure = partial(with_constraint, subgroup=each.subgroup, required="", preferred=each.said.required)
        if cure(scene).runs:
            yield Obstacle(too_small_cause(scene, each), cure)
            return
    for each in groups:
        cure = partial(with_constraint, subgroup=each.subgroup, required="", preferred=each.said.required)
        yield Obstacle(too_small_cause(scene, each), cure)


def too_small_cause(scene: Scene, each: Constrained) -> Cause:
    """The cause with its numbers, where what others hold is not taken away."""
    rows = level_rows(scene, each, each.required)
    names = {"topology": each.tree.name, "subgroup": each.subgroup, "level": each.required}
    largest = max((row.usable for row in rows), default=0.0)
    names["domain"] = next((row.name for row in rows if row.usable == largest), "")
    own = own_gpus(scene)
    numbers = {
        "asked": each.gpus + own,
        "largest": largest,
        "short": max(each.gpus + own - largest, 0.0),
        "pods": len(each.tasks),
        "fit": min(max((row.capacity for row in rows), default=0), len(each.tasks)),
        "largestPod": each.largest,
        "own": own,
    }
    return Cause(Code.LEVEL_TOO_SMALL, True, names, numbers, domains=rows)
