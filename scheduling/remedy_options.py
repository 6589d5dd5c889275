"""What a person can do about each cause: acts with the change that stands for them, not tried yet."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from scheduling.diagnosis_levels import depth_of, with_constraint
from scheduling.diagnosis_nodes import made_ready, shown_taint, shrunk, uncordoned, untainted
from scheduling.diagnosis_queue import raised
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code, Cure, NodeNote, all_noted
from scheduling.objects import MEGABYTE
from scheduling.remedy_structs import Act, Step
from scheduling.resources import DIVIDED
from scheduling.state import DEFAULT_PODSET
from scheduling.structs import Node, Toleration, Topology

GIBIBYTE = 2.0**30

Option = tuple[Step, Cure]
Options = Callable[[Scene, Cause], Iterator[Option]]


def _lower_minimum(scene: Scene, cause: Cause) -> Iterator[Option]:
    found, name = int(cause.numbers["found"] - cause.numbers.get("gated", 0)), cause.names.get("subgroup", "")
    if found < 1:
        return
    names = {"subgroup": name}
    yield Step(Act.LOWER_MINIMUM, names, {"to": found}), partial(_with_minimum, subgroup=name, minimum=found)


def _with_minimum(scene: Scene, subgroup: str, minimum: int) -> Scene:
    if not subgroup:
        return scene.with_group(min_member=minimum)
    subgroups = tuple(
        msgspec.structs.replace(each, min_member=minimum) if each.name == subgroup else each
        for each in scene.group.subgroups
    )
    return scene.with_group(subgroups=subgroups)


def _raise_bound(scene: Scene, cause: Cause) -> Iterator[Option]:
    limit = cause.code is Code.OVER_LIMIT
    if not limit:
        yield Step(Act.MAKE_PREEMPTIBLE), partial(Scene.with_group, preemptible=True)
    to = cause.numbers["held"] + cause.numbers["asked"]
    index = {"cpu": 0, "memory": 1, "gpu": 2}[cause.names["resource"]]
    if cause.names["resource"] == "memory":
        to = math.ceil(to / MEGABYTE) * MEGABYTE
    names = {"queue": cause.names["queue"], "resource": cause.names["resource"]}
    numbers = {"from": cause.numbers["bound"], "to": to}
    act = Act.RAISE_LIMIT if limit else Act.RAISE_QUOTA
    yield Step(act, names, numbers), partial(raised, name=names["queue"], index=DIVIDED[index], limit=limit, to=to)
    for holder in cause.holders[:3]:
        yield Step(Act.END, {"groups": holder.group}), partial(Scene.without, groups=(holder.group,))


def _constrained(scene: Scene, subgroup: str, change: Mapping[str, str]) -> Scene:
    return with_constraint(scene, subgroup, **change)


def _levels(scene: Scene, cause: Cause) -> Iterator[Option]:
    """Another level of the topology: the one that was meant, else any, the narrowest first."""
    subgroup, kind = cause.names.get("subgroup", ""), cause.names.get("kind", "preferred")
    topology = next((each for each in scene.shard.topologies if each.name == cause.names["topology"]), None)
    labels = [level.label for level in reversed(topology.levels)] if topology else []
    for label in [cause.names["meant"]] if cause.names.get("meant") else labels:
        names = {"topology": cause.names["topology"], "level": label, "kind": kind, "subgroup": subgroup}
        change = {"topology": cause.names["topology"], kind: label}
        yield Step(Act.SET_LEVEL, names), partial(_constrained, subgroup=subgroup, change=change)


def _other_topology(scene: Scene, cause: Cause) -> Iterator[Option]:
    """One that exists and has levels: a CRD of another version lets in such without any."""
    subgroup = cause.names.get("subgroup", "")
    for topology in scene.shard.topologies:
        if topology.levels:
            names = {"topology": topology.name, "subgroup": subgroup}
            yield Step(Act.USE_TOPOLOGY, names), partial(_with_topology, subgroup=subgroup, topology=topology)


def _with_topology(scene: Scene, subgroup: str, topology: Topology) -> Scene:
    said = next((each.topology for each in scene.group.subgroups if each.name == subgroup), scene.group.topology)
    known = [level.label for level in topology.levels]
    if said.required not in known and said.preferred not in known:
        return with_constraint(scene, subgroup, topology=topology.name, required="", preferred=known[-1])
    return with_constraint(scene, subgroup, topology=topology.name)


def _smaller_pods(scene: Scene, cause: Cause) -> Iterator[Option]:
    """As large as the largest node, memory in whole GiB, unless that has none of the resource at all."""
    top, resource = cause.numbers["largest"], cause.names["resource"]
    if resource == "memory":
        top = top // GIBIBYTE * GIBIBYTE
    if top > 0:
        cure = partial(shrunk, field=resource, top=top)
        yield Step(Act.SMALLER_PODS, cause.names, {**cause.numbers, "largest": top}), cure


def _fewer_nodes(scene: Scene, cause: Cause) -> Iterator[Option]:
    """The nodes of the cause, as few of them as suffice: one by one those with most GPUs."""
    act, change = _NODE_ACTS[cause.code]
    notes = sorted(cause.nodes, key=lambda note: (-note.gpus, note.name))
    for count in sorted({1, 2, 4, 8, len(notes)}):
        chosen = tuple(notes[:count])
        cure = partial(_on_nodes, notes=chosen, change=change)
        if count <= len(notes) and cure(scene).runs:
            yield Step(act, {"notes": ", ".join(all_noted(chosen))}, {"nodes": count}, chosen), cure
            return


def _on_nodes(scene: Scene, notes: Sequence[NodeNote], change: Callable[[Node], Node]) -> Scene:
    return scene.with_nodes([note.name for note in notes], change)


def _tolerate(scene: Scene, cause: Cause) -> Iterator[Option]:
    taints = {taint for node in scene.shard.nodes for taint in node.taints}
    wanted = all_noted(cause.nodes)
    chosen = tuple(sorted((taint for taint in taints if shown_taint(taint) in wanted), key=shown_taint))
    more = tuple(Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in chosen)
    names = {"taints": ", ".join(map(shown_taint, chosen))}
    yield (
        Step(Act.TOLERATE, names),
        lambda each: each.with_own_pods(
            lambda pod: msgspec.structs.replace(pod, tolerations=(*pod.tolerations, *more))
        ),
    )
    yield from _fewer_nodes(scene, cause)


def _selector(scene: Scene, cause: Cause) -> Iterator[Option]:
    key = cause.names["key"]
    for value in filter(None, cause.names["values"].split(", ")):
        if value != cause.names["value"]:
            names = {"key": key, "value": value}
            yield Step(Act.SET_SELECTOR, names), partial(_select, key=key, value=value)


def _select(scene: Scene, key: str, value: str) -> Scene:
    return scene.with_own_pods(
        lambda pod: (
            msgspec.structs.replace(pod, node_selector={**pod.node_selector, key: value})
            if key in pod.node_selector
            else pod
        )
    )


def _looser(scene: Scene, cause: Cause) -> Iterator[Option]:
    """Wait for an end; a broader level; prefer instead of require; no placement at all."""
    for groups in cause.starts_when[:3]:
        yield (
            Step(Act.WAIT_FOR_END, {"groups": ", ".join(groups)}, {"groups": len(groups)}),
            partial(Scene.without, groups=groups),
        )
    level, subgroup = cause.names.get("level", ""), cause.names.get("subgroup", "")
    topology = next((each for each in scene.shard.topologies if each.name == cause.names.get("topology")), None)
    if topology is None or not level:
        return
    subgroup = "" if subgroup == DEFAULT_PODSET else subgroup
    labels = [each.label for each in topology.levels]
    base = {"topology": topology.name, "subgroup": subgroup, "from": level}
    for label in reversed(labels[: max(depth_of(topology, level) - 1, 0)]):
        change = {"required": label, "preferred": level}
        yield Step(Act.BROADER_LEVEL, {**base, "level": label}), partial(_constrained, subgroup=subgroup, change=change)
    change = {"required": "", "preferred": level}
    yield Step(Act.PREFER, {**base, "level": level}), partial(_constrained, subgroup=subgroup, change=change)
    drop = {"topology": "", "required": "", "preferred": ""}
    yield Step(Act.DROP_PLACEMENT, base), partial(_constrained, subgroup=subgroup, change=drop)


def _drop_placement(scene: Scene, cause: Cause) -> Iterator[Option]:
    subgroup = cause.names.get("subgroup", "")
    drop = {"topology": "", "required": "", "preferred": ""}
    yield (
        Step(Act.DROP_PLACEMENT, {"topology": cause.names["topology"]}),
        partial(_constrained, subgroup=subgroup, change=drop),
    )


_NODE_ACTS: Mapping[Code, tuple[Act, Callable[[Node], Node]]] = {
    Code.NODES_CORDONED: (Act.UNCORDON, uncordoned),
    Code.NODES_NOT_READY: (Act.REPAIR_NODES, made_ready),
    Code.NODES_TAINTED: (Act.UNTAINT, untainted),
}

OPTIONS: Mapping[Code, Options] = {
    Code.PODS_MISSING: _lower_minimum,
    Code.OVER_LIMIT: _raise_bound,
    Code.OVER_QUOTA: _raise_bound,
    Code.TOPOLOGY_MISSING: _other_topology,
    Code.LEVEL_UNSET: _levels,
    Code.LEVEL_UNKNOWN: _levels,
    Code.POD_TOO_LARGE: _smaller_pods,
    Code.NODES_NOT_READY: _fewer_nodes,
    Code.NODES_CORDONED: _fewer_nodes,
    Code.NODES_TAINTED: _tolerate,
    Code.NODES_UNLABELLED: _drop_placement,
    Code.SELECTOR: _selector,
    Code.UNEQUAL_PODS: _looser,
    Code.LEVEL_TOO_SMALL: _looser,
    Code.LEVEL_FULL: _looser,
    Code.LEVEL_FRAGMENTED: _looser,
    Code.POOL_FULL: _looser,
    Code.POOL_FRAGMENTED: _looser,
    Code.PINNED: _looser,
}
# The change that takes the cause away is itself something a person (or time) can do.
PLAIN: Mapping[Code, Act] = {
    Code.POOL_WRONG: Act.SET_POOL,
    Code.QUEUE_WRONG: Act.SUBMIT_AGAIN,
    Code.SHARD_MISSING: Act.MAKE_SHARD,
    Code.SCHEDULER_HANGS: Act.BREAK_CIRCLE,
    Code.QUEUE_UNSET: Act.SUBMIT_AGAIN,
    Code.QUEUE_MISSING: Act.MAKE_QUEUE,
    Code.QUEUE_PARENT_MISSING: Act.MAKE_QUEUE,
    Code.QUEUE_OTHER_POOL: Act.MOVE_QUEUE,
    Code.QUEUE_NOT_LEAF: Act.REMOVE_QUEUES,
    Code.BACKED_OFF: Act.SUBMIT_AGAIN,
    Code.SUBGROUP_UNKNOWN: Act.LABEL_PODS,
    Code.SCALED_BELOW: Act.SCALE_UP,
    Code.PODS_MISSING: Act.WAIT_FOR_PODS,
    Code.PODS_GATED: Act.WAIT_FOR_GATES,
    Code.LEVELS_REVERSED: Act.PREFER_AS_REQUIRED,
    Code.PLACEMENT_WRONG: Act.SUBMIT_AGAIN,
    Code.POOL_EMPTY: Act.ADD_FIRST_NODES,
    Code.DEVICES_UNHEALTHY: Act.REPAIR_DEVICES,
    Code.NODES_UNLABELLED: Act.LABEL_NODES,
    Code.SELECTOR: Act.DROP_SELECTOR,
    Code.OTHER_PODS: Act.DROP_TERMS,
    Code.SINGLE_DOMAIN: Act.PREFER_AS_REQUIRED,
    Code.POOL_TOO_SMALL: Act.ADD_NODES,
    Code.PREEMPTION_DELAY: Act.WAIT_UNTIL,
    Code.MIN_RUNTIME: Act.WAIT_UNTIL,
    Code.AHEAD: Act.WAIT_FOR_OTHERS,
}
