"""A case from the field without the names of its cluster: pseudonyms that keep the order of what they stand for.

The engine, like KAI, breaks ties by names and UIDs, so pseudonyms are numbered in the order of the originals, and one
original has one pseudonym everywhere. Kept as they are: amounts, counts, labels that are topology levels (their keys,
not their values), keys of Kubernetes itself, and durations; moments are moved so that the case lies at `CLOCK`.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scheduling.field import Question, Seen
from scheduling.golden import CLOCK
from scheduling.preview_structs import Gang
from scheduling.shards import POOL_LABEL
from scheduling.structs import (
    Level,
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Queue,
    Requirement,
    Snapshot,
    SubGroup,
    Taint,
    Toleration,
    Topology,
    TopologyConstraint,
)

HOSTNAME = "kubernetes.io/hostname"
KNOWN_PREFIXES = ("kubernetes.io/", "node.kubernetes.io/", "node-role.kubernetes.io/", "topology.kubernetes.io/")
NUMERIC = ("Gt", "Lt")


class Pseudonyms:
    """One kind of names: what it was given, numbered in order; "" stays ""."""

    def __init__(self, word: str, originals: Iterable[str]) -> None:
        ordered = sorted({name for name in originals if name})
        width = len(str(len(ordered)))
        self._names = {name: f"{word}-{number:0{width}}" for number, name in enumerate(ordered, start=1)}

    def __call__(self, original: str) -> str:
        return self._names[original] if original else ""

    def __contains__(self, original: object) -> bool:
        return original in self._names


def redact(question: Question, seen: Seen) -> tuple[Question, Seen]:
    """The same case under pseudonyms. Labels that no constraint and no selector reads are left out."""
    names = _Names(question, seen)
    gangs = tuple(names.gang(gang) for gang in question.gangs)
    places = sorted(msgspec.structs.replace(place, node=names.nodes(place.node)) for place in seen.places)
    redacted = Question(names.snapshot(question.snapshot), question.config, gangs)
    return redacted, msgspec.structs.replace(seen, places=tuple(places))


class _Names:
    """The pseudonyms of one case, and everything said in them."""

    def __init__(self, question: Question, seen: Seen) -> None:
        shard, gangs = question.snapshot, question.gangs
        self._groups = (*shard.podgroups, *(gang.group for gang in gangs))
        self._pods = (*shard.pods, *(pod for gang in gangs for pod in gang.pods))
        self._shift = CLOCK - shard.now
        stand = (*(pod.node for pod in shard.pods), *(place.node for place in seen.places))
        self.nodes = Pseudonyms("node", (*(node.name for node in shard.nodes), *stand))
        self._spaces = Pseudonyms("space", self._all_spaces())
        self._gang_names = Pseudonyms("gang", self._all_gangs())
        self._pod_names = Pseudonyms("pod", (pod.name for pod in self._pods))
        self._parts = Pseudonyms("part", self._all_parts())
        self._queues = Pseudonyms("queue", self._all_queues(shard.queues))
        self._fabrics = Pseudonyms("fabric", self._all_fabrics(shard.topologies))
        self._uids = Pseudonyms("uid", self._all_uids(shard.queues))
        pools = (*(queue.pool for queue in shard.queues), *(group.pool for group in self._groups))
        self._pools = Pseudonyms("pool", (shard.pool, *pools))
        self._gpu_groups = Pseudonyms("devices", (name for pod in self._pods for name in pod.gpu_groups))
        self._aliases = Pseudonyms("level", (level.alias for each in shard.topologies for level in each.levels))
        self._levels = frozenset(level.label for each in shard.topologies for level in each.levels)
        self._requirements = tuple(self._all_requirements())
        self._read = self._read_keys()
        self._ordered = frozenset(each.key for each in self._requirements if each.operator in NUMERIC)
        self._keys = Pseudonyms("key", self._all_keys(shard))
        self._values = self._values_by_key(shard)

    def snapshot(self, shard: Snapshot) -> Snapshot:
        return Snapshot(
            nodes=tuple(self._node(node) for node in shard.nodes),
            queues=tuple(self._queue(queue) for queue in shard.queues),
            podgroups=tuple(self._group(group) for group in shard.podgroups),
            pods=tuple(self._pod(pod) for pod in shard.pods),
            topologies=tuple(self._topology(each) for each in shard.topologies),
            now=CLOCK,
            pool=self._pools(shard.pool),
        )

    def gang(self, gang: Gang) -> Gang:
        return Gang(
            group=self._group(gang.group),
            pods=tuple(self._pod(pod) for pod in gang.pods),
            waits_for=self._gang_key(gang.waits_for),
            arrivals=tuple(self._pod_key(key) for key in gang.arrivals),
        )

    def _all_spaces(self) -> Iterable[str]:
        yield from (group.namespace for group in self._groups)
        yield from (pod.namespace for pod in self._pods)
        yield from (name for pod in self._pods for term in _terms(pod) for name in term.namespaces)

    def _all_gangs(self) -> Iterable[str]:
        yield from (group.name for group in self._groups)
        yield from (pod.podgroup.partition("/")[2] for pod in self._pods)

    def _all_parts(self) -> Iterable[str]:
        yield from (pod.subgroup for pod in self._pods)
        yield from (name for group in self._groups for each in group.subgroups for name in (each.name, each.parent))

    def _all_queues(self, queues: Iterable[Queue]) -> Iterable[str]:
        yield from (name for queue in queues for name in (queue.name, queue.parent))
        yield from (group.queue for group in self._groups)

    def _all_uids(self, queues: Iterable[Queue]) -> Iterable[str]:
        yield from (queue.uid for queue in queues)
        yield from (group.uid for group in self._groups)
        yield from (pod.uid for pod in self._pods)

    def _all_fabrics(self, topologies: Iterable[Topology]) -> Iterable[str]:
        yield from (each.name for each in topologies)
        yield from (each.topology for each in self._constraints())

    def _constraints(self) -> Iterable[TopologyConstraint]:
        for group in self._groups:
            yield group.topology
            yield from (each.topology for each in group.subgroups)

    def _all_requirements(self) -> Iterable[Requirement]:
        """Every expression of a selector, on nodes and on pods."""
        for pod in self._pods:
            yield from (each for term in pod.affinity for each in term)
            yield from (each for term in _terms(pod) for each in term.match)

    def _read_keys(self) -> frozenset[str]:
        """Keys of labels that somebody reads."""
        found = {HOSTNAME, POOL_LABEL, *self._levels}
        found |= {each.key for each in self._requirements if not each.field}
        found |= {key for pod in self._pods for key in pod.node_selector}
        found |= {term.topology_key for pod in self._pods for term in _terms(pod)}
        found |= {level for each in self._constraints() for level in (each.required, each.preferred) if level}
        return frozenset(found)

    def _all_keys(self, shard: Snapshot) -> Iterable[str]:
        yield from (key for key in self._read if not self._is_known(key))
        tolerated = (each.key for pod in self._pods for each in pod.tolerations)
        tainted = (each.key for node in shard.nodes for each in node.taints)
        yield from (key for key in (*tolerated, *tainted) if not self._is_known(key))

    def _is_known(self, key: str) -> bool:
        return key in self._levels or key == POOL_LABEL or key.startswith(KNOWN_PREFIXES)

    def _values_by_key(self, shard: Snapshot) -> Mapping[str, Pseudonyms]:
        """Pseudonyms of the values of each key, of labels, selectors and taints together."""
        found: dict[str, set[str]] = {}
        for labels in (*(node.labels for node in shard.nodes), *(pod.labels for pod in self._pods)):
            for key, value in labels.items():
                found.setdefault(key, set()).add(value)
        for pod in self._pods:
            for key, value in pod.node_selector.items():
                found.setdefault(key, set()).add(value)
        for each in self._requirements:
            found.setdefault(each.key, set()).update(each.values)
        tainted = [(each.key, each.value) for node in shard.nodes for each in node.taints]
        tolerated = [(each.key, each.value) for pod in self._pods for each in pod.tolerations]
        for key, value in (*tainted, *tolerated):
            found.setdefault(key, set()).add(value)
        return {key: Pseudonyms("value", values) for key, values in found.items()}

    def _key(self, key: str) -> str:
        return key if not key or self._is_known(key) else self._keys(key)

    def _value(self, key: str, value: str) -> str:
        if key == POOL_LABEL and value in self._pools:
            return self._pools(value)
        if key == HOSTNAME and value in self.nodes:
            return self.nodes(value)
        if key in self._ordered and _is_whole(value):
            return value
        return self._values[key](value)

    def _labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        return {self._key(key): self._value(key, value) for key, value in labels.items() if key in self._read}

    def _node(self, node: Node) -> Node:
        taints = tuple(Taint(self._key(t.key), t.effect, self._value(t.key, t.value)) for t in node.taints)
        return msgspec.structs.replace(
            node, name=self.nodes(node.name), labels=self._labels(node.labels), taints=taints
        )

    def _queue(self, queue: Queue) -> Queue:
        return msgspec.structs.replace(
            queue,
            name=self._queues(queue.name),
            parent=self._queues(queue.parent),
            uid=self._uids(queue.uid),
            created=queue.created + self._shift,
            pool=self._pools(queue.pool),
        )

    def _group(self, group: PodGroup) -> PodGroup:
        return msgspec.structs.replace(
            group,
            name=self._gang_names(group.name),
            queue=self._queues(group.queue),
            namespace=self._spaces(group.namespace),
            uid=self._uids(group.uid),
            created=group.created + self._shift,
            topology=self._constraint(group.topology),
            subgroups=tuple(self._subgroup(each) for each in group.subgroups),
            pool=self._pools(group.pool),
            last_start=self._moment(group.last_start),
            last_eviction=self._moment(group.last_eviction),
            stale_since=self._moment(group.stale_since),
        )

    def _subgroup(self, part: SubGroup) -> SubGroup:
        return msgspec.structs.replace(
            part,
            name=self._parts(part.name),
            parent=self._parts(part.parent),
            topology=self._constraint(part.topology),
        )

    def _constraint(self, of: TopologyConstraint) -> TopologyConstraint:
        return TopologyConstraint(self._fabrics(of.topology), self._level(of.required), self._level(of.preferred))

    def _level(self, name: str) -> str:
        """A level by label or by alias."""
        return self._aliases(name) if name in self._aliases and name not in self._levels else self._key(name)

    def _topology(self, topology: Topology) -> Topology:
        levels = tuple(Level(level.label, self._aliases(level.alias)) for level in topology.levels)
        return Topology(self._fabrics(topology.name), levels)

    def _pod(self, pod: Pod) -> Pod:
        return msgspec.structs.replace(
            pod,
            name=self._pod_names(pod.name),
            namespace=self._spaces(pod.namespace),
            podgroup=self._gang_key(pod.podgroup),
            subgroup=self._parts(pod.subgroup),
            node=self.nodes(pod.node),
            uid=self._uids(pod.uid),
            created=pod.created + self._shift,
            node_selector=self._labels(pod.node_selector),
            tolerations=tuple(self._toleration(each) for each in pod.tolerations),
            affinity=tuple(tuple(self._requirement(each) for each in term) for term in pod.affinity),
            gpu_groups=tuple(self._gpu_groups(name) for name in pod.gpu_groups),
            labels=self._labels(pod.labels),
            anti_affinity=tuple(self._term(each) for each in pod.anti_affinity),
            pod_affinity=tuple(self._term(each) for each in pod.pod_affinity),
        )

    def _toleration(self, of: Toleration) -> Toleration:
        return Toleration(self._key(of.key), of.operator, self._value(of.key, of.value), of.effect)

    def _requirement(self, of: Requirement) -> Requirement:
        if of.field:
            return msgspec.structs.replace(
                of, values=tuple(self.nodes(v) if v in self.nodes else "" for v in of.values)
            )
        values = tuple(self._value(of.key, value) for value in of.values)
        return msgspec.structs.replace(of, key=self._key(of.key), values=values)

    def _term(self, of: PodTerm) -> PodTerm:
        return PodTerm(
            self._key(of.topology_key),
            tuple(self._requirement(each) for each in of.match),
            tuple(self._spaces(name) for name in of.namespaces),
        )

    def _gang_key(self, key: str) -> str:
        space, slash, name = key.partition("/")
        return f"{self._spaces(space)}{slash}{self._gang_names(name)}"

    def _pod_key(self, key: str) -> str:
        space, slash, name = key.partition("/")
        return f"{self._spaces(space)}{slash}{self._pod_names(name)}"

    def _moment(self, at: float | None) -> float | None:
        return None if at is None else at + self._shift


def _terms(pod: Pod) -> tuple[PodTerm, ...]:
    return (*pod.anti_affinity, *pod.pod_affinity)


def _is_whole(text: str) -> bool:
    """A number that `Gt` and `Lt` compare: it stays, since its size is what counts."""
    return text.isascii() and text.removeprefix("-").isdigit()
