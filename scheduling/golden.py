"""Recorded cases: from the recordings' input to snapshots, and replaying them cycle by cycle.

The format is that of ``scheduling-replay.jsonl`` and ``scheduling-live.jsonl`` (see SCHEMA.md beside them).
"""

import gzip
import lzma
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scheduling.cycle import run_cycle
from scheduling.structs import (
    UNLIMITED,
    UNLIMITED_RESOURCE,
    Condition,
    CycleResult,
    Level,
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Queue,
    QueueResource,
    Requirement,
    Resources,
    Snapshot,
    SubGroup,
    Taint,
    Toleration,
    Topology,
    TopologyConstraint,
)

Json = Mapping[str, Any]

NAMESPACE = "w"
START = 1_767_225_600.0
"""1 January 2026, when the recorded objects were created."""
CLOCK = START + 300 * 86400.0
PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
_SUFFIXES = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    """The cases of a recording, plain or compressed with gzip or xz."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".xz":
        data = lzma.decompress(data)
    for line in data.splitlines():
        yield msgspec.json.decode(line)


def quantity(value: str | float | None, *, default: float = 0.0) -> float:
    """A Kubernetes quantity as a plain number."""
    if value is None:
        return default
    if isinstance(value, int | float):
        return float(value)
    for suffix, factor in _SUFFIXES.items():
        if value.endswith(suffix):
            return float(value.removesuffix(suffix)) * factor
    if value.endswith("m"):
        return float(value.removesuffix("m")) / 1000.0
    return float(value)


def nodes_of(case: Json) -> tuple[Node, ...]:
    """Nodes with the recordings' defaults: 64 cores, 256Gi, 110 pods, ready, host name label."""
    return tuple(_node(row) for row in case["nodes"])


def _node(row: Json) -> Node:
    amounts = Resources(
        gpu=float(row["gpu"]),
        cpu=quantity(row.get("cpu"), default=64.0) * 1000.0,
        memory=quantity(row.get("memory"), default=256.0 * 2**30),
    )
    taints = tuple(Taint(t["key"], t["effect"], t.get("value", "")) for t in row.get("taints", ()))
    return Node(
        name=row["name"],
        allocatable=amounts,
        pods=int(row.get("pods", 110)),
        labels={**row.get("labels", {}), "kubernetes.io/hostname": row["name"]},
        taints=taints,
        unschedulable=bool(row.get("cordoned")),
        ready=row.get("ready", "True") == "True",
        gpu_memory_mib=int(row.get("gpu_memory_mib", 0)),
    )


def queues_of(case: Json) -> tuple[Queue, ...]:
    """Queues, created one second apart in the listed order."""
    return tuple(_queue(index, row) for index, row in enumerate(case["queues"]))


def _queue(index: int, row: Json) -> Queue:
    return Queue(
        name=row["name"],
        parent=row.get("parent", ""),
        uid=f"q{index:05d}",
        priority=row.get("priority", 100),
        created=START + index,
        gpu=_queue_resource(row, "gpu", 1.0),
        cpu=_queue_resource(row, "cpu", 1.0),
        memory=_queue_resource(row, "memory", 1e6),
        preempt_min_runtime=duration(row.get("preemptMinRuntime")),
        reclaim_min_runtime=duration(row.get("reclaimMinRuntime")),
        pool=row.get("pool", ""),
    )


def _queue_resource(row: Json, name: str, unit: float) -> QueueResource:
    if "resources" in row and row["resources"] is None:
        return QueueResource()
    if name not in row:
        return UNLIMITED_RESOURCE
    part = row[name] or {}
    quota, limit = (float(part.get(key, 0.0)) for key in ("quota", "limit"))
    return QueueResource(_scaled(quota, unit), _scaled(limit, unit), float(part.get("weight", 0.0)))


def _scaled(amount: float, unit: float) -> float:
    return UNLIMITED if amount == UNLIMITED else amount * unit


def duration(text: str | None) -> float | None:
    """A Go duration of hours, minutes and seconds, in seconds."""
    if text is None:
        return None
    seconds, number = 0.0, ""
    for letter in text:
        if letter in "hms":
            seconds += float(number) * {"h": 3600.0, "m": 60.0, "s": 1.0}[letter]
            number = ""
        else:
            number += letter
    return seconds


def constraint(row: Json | None) -> TopologyConstraint:
    """A topology constraint, absent parts empty."""
    row = row or {}
    return TopologyConstraint(row.get("topology", ""), row.get("required", ""), row.get("preferred", ""))


def topologies_of(case: Json) -> tuple[Topology, ...]:
    """Topologies, levels given as label or as label and alias."""
    return tuple(Topology(row["name"], tuple(_level(each) for each in row["levels"])) for row in case["topologies"])


def _level(row: str | Json) -> Level:
    return Level(row) if isinstance(row, str) else Level(row["label"], row.get("alias", ""))


def gangs_of(case: Json) -> tuple[list[PodGroup], list[Pod]]:
    """Pod groups and pods: one group per workload, for bare pods one per pod."""
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    for index, row in enumerate(case["workloads"]):
        members = list(_pods(index, row))
        pods.extend(members)
        if row["kind"] == "pods":
            groups.extend(_group(index, row, pod.name) for pod in members)
        else:
            groups.append(_group(index, row, row["name"]))
    return groups, pods


def _group(index: int, row: Json, name: str) -> PodGroup:
    priority = PRIORITIES.get(row.get("priority_class") or "", 50)
    preemptibility = row.get("preemptibility")
    return PodGroup(
        name=name,
        namespace=NAMESPACE,
        uid=f"g{index:05d}-{_padded(name)}",
        queue=row["queue"],
        created=START + 1000.0 + 10.0 * index,
        min_member=None if row["kind"] == "pods" else row.get("min_member"),
        min_subgroup=row.get("min_subgroup"),
        priority=priority,
        preemptible=priority < 100 if preemptibility is None else preemptibility == "preemptible",
        topology=constraint(row.get("topology")),
        subgroups=tuple(_subgroup(each) for each in row.get("subgroups", ())),
        pool=row.get("node_pool", ""),
        scheduling_backoff=row.get("backoff", -1),
        preemption_delay=duration(row.get("preemption_delay")) or 0.0,
        staleness_grace=duration(row.get("staleness_grace")),
    )


def _subgroup(row: Json) -> SubGroup:
    return SubGroup(
        name=row["name"],
        min_member=row.get("min_member"),
        min_subgroup=row.get("min_subgroup"),
        parent=row.get("parent", ""),
        topology=constraint(row.get("topology")),
    )


def _padded(name: str) -> str:
    """A name whose trailing number sorts like a number."""
    head, _, tail = name.rpartition("-")
    return f"{head}-{int(tail):05d}" if tail.isdigit() else name


def _pods(index: int, row: Json) -> Iterator[Pod]:
    placed = row.get("placed", {})
    serial = 0
    for part in row["pods"]:
        infix = part.get("name") or part.get("subgroup") or ""
        for number in range(part["count"]):
            name = "-".join(piece for piece in (row["name"], infix, str(number)) if piece)
            serial += 1
            group = name if row["kind"] == "pods" else row["name"]
            yield _pod(part, name=name, group=group, uid=f"p{index:05d}-{serial:05d}", node=placed.get(name, ""))


def _pod(part: Json, *, name: str, group: str, uid: str, node: str) -> Pod:
    return Pod(
        name=name,
        namespace=NAMESPACE,
        podgroup=f"{NAMESPACE}/{group}",
        subgroup=part.get("subgroup", ""),
        requests=Resources(
            gpu=float(part.get("gpu", 0) or 0),
            cpu=quantity(part.get("cpu")) * 1000.0,
            memory=quantity(part.get("memory")),
        ),
        uid=uid,
        node=node,
        phase="Running" if node else "Pending",
        created=START + 1000.0,
        gated=bool(part.get("gated")),
        node_selector=part.get("node_selector", {}),
        tolerations=tuple(_toleration(each) for each in part.get("tolerations", ())),
        affinity=affinity_terms(part.get("affinity")),
        labels=part.get("labels", {}),
        anti_affinity=pod_terms(part.get("affinity"), "podAntiAffinity"),
        pod_affinity=pod_terms(part.get("affinity"), "podAffinity"),
        gpu_fraction=float(part.get("fraction", 0)),
        gpu_memory_mib=int(part.get("gpu_memory", 0)),
        fraction_devices=int(part.get("fraction_devices", 1)),
    )


def _toleration(row: Json) -> Toleration:
    return Toleration(row.get("key", ""), row.get("operator", "Equal"), row.get("value", ""), row.get("effect", ""))


def affinity_terms(affinity: Json | None) -> tuple[tuple[Requirement, ...], ...]:
    """The required node selector terms of a pod's affinity."""
    node = (affinity or {}).get("nodeAffinity", {})
    terms = node.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    return tuple(
        tuple(
            Requirement(each["key"], each["operator"], tuple(each.get("values", ())), field=field)
            for key, field in (("matchExpressions", False), ("matchFields", True))
            for each in term.get(key, ())
        )
        for term in terms
    )


def pod_terms(affinity: Json | None, kind: str) -> tuple[PodTerm, ...]:
    """The required terms on other pods: ``podAffinity`` or ``podAntiAffinity``."""
    rows = (affinity or {}).get(kind, {}).get("requiredDuringSchedulingIgnoredDuringExecution", ())
    return tuple(
        PodTerm(row["topologyKey"], _label_selector(row.get("labelSelector", {})), tuple(row.get("namespaces", ())))
        for row in rows
    )


def _label_selector(row: Json) -> tuple[Requirement, ...]:
    labels = (Requirement(key, "In", (value,)) for key, value in row.get("matchLabels", {}).items())
    expressions = (
        Requirement(each["key"], each["operator"], tuple(each.get("values", ())))
        for each in row.get("matchExpressions", ())
    )
    return (*labels, *expressions)


class Replay:
    """A recorded cluster that lives on between cycles: bound pods run, evicted ones are gone."""

    def __init__(self, case: Json) -> None:
        self.conditions: dict[str, Condition] = {}
        groups, pods = gangs_of(case)
        self.snapshot = Snapshot(
            nodes=nodes_of(case),
            queues=queues_of(case),
            podgroups=tuple(groups),
            pods=tuple(pods),
            topologies=topologies_of(case),
            now=CLOCK,
        )

    def cycle(self) -> CycleResult:
        """Run one cycle and let it take effect."""
        result = run_cycle(self.snapshot)
        for key in result.cleared:
            self.conditions.pop(key, None)
        self.conditions.update(result.conditions)
        self.snapshot = after(self.snapshot, result)
        return result


def after(snapshot: Snapshot, result: CycleResult) -> Snapshot:
    """The cluster after a cycle, one second later."""
    gone = {eviction.pod for eviction in result.evicted}
    pods = tuple(_next_pod(pod, result) for pod in snapshot.pods if pod.key not in gone)
    started = set(result.started)
    groups = tuple(
        msgspec.structs.replace(
            group,
            stale_since=result.stale_since.get(group.key),
            last_start=snapshot.now if group.key in started else group.last_start,
            backed_off=(group.backed_off or group.key in result.conditions) and group.key not in result.cleared,
        )
        for group in snapshot.podgroups
    )
    return msgspec.structs.replace(snapshot, pods=pods, podgroups=groups, now=snapshot.now + 1.0)


def _next_pod(pod: Pod, result: CycleResult) -> Pod:
    node = result.bound.get(pod.key)
    if node is None:
        return pod
    return msgspec.structs.replace(
        pod, node=node, phase="Running", gpu_groups=result.gpu_groups.get(pod.key, pod.gpu_groups)
    )


def per_node(snapshot: Snapshot, names: Sequence[str]) -> dict[str, int]:
    """How many of these pods run on each node."""
    wanted = set(names)
    counts: dict[str, int] = {}
    for pod in snapshot.pods:
        if pod.name in wanted and pod.node:
            counts[pod.node] = counts.get(pod.node, 0) + 1
    return counts
