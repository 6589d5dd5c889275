"""From what was observed to the status columns and conditions of a workload."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils import timezone

from clusters.models import Pod
from core.conditions import Condition
from scheduling.objects import pool_of
from topology.models import NetworkTopology
from topology.selectors import node_facts
from topology.tree import domain_tree
from workloads import observed
from workloads.diagnosis_first import first_reason, quiet_reason
from workloads.graph import Graph, parse_graph
from workloads.models import Workload
from workloads.progress import (
    CONTAINER_FAULTS,
    Asked,
    Placement,
    PodFacts,
    held_gpus,
    phase_of,
    placement_of,
    roles_of,
)
from workloads.reconcile.spec import spec_of
from workloads.room import Need, shortage
from workloads.verdicts import Reason, group_texts, is_noise, read_texts

# Codes that say "no room", for which the tree can say where and how much.
ROOM_CODES = ("TopologyUnsatisfied", "GangIncomplete", "NotEnoughResources", "Scheduler")


@dataclass(frozen=True, slots=True)
class Status:
    """What to store."""

    phase: str
    conditions: tuple[Condition, ...]
    columns: Mapping[str, Any]


def status_of(workload: Workload, live: Mapping[str, Any]) -> Status:
    """The status of a workload whose graph is `live` (empty: it could not be applied)."""
    graph = parse_graph(workload.manifest)
    rows = list(observed.pods_of(workload))
    pods = observed.pod_facts(rows)
    groups = observed.groups_of(workload, rows)
    roles = roles_of(graph, pods)
    failed = (live.get("status") or {}).get("state") == "failed"
    phase = phase_of(roles, pods=len(pods), started=workload.started_at is not None, failed=failed)
    labels = observed.node_labels(workload, (pod.node for pod in pods if pod.node))
    asked = asked_of(workload, graph)
    placement = placement_of(asked, pods, labels)
    reason = None if phase == "Running" else _reason(workload, graph, rows, groups, placement, live)
    now = timezone.now()
    columns = {
        "roles": [role.as_dict() for role in roles],
        "gpus_held": held_gpus(pods),
        "placement": placement.as_dict(),
        "waiting_since": None if phase == "Running" else workload.waiting_since or now,
        "waiting_reason": reason.as_dict() if reason else {},
        "started_at": workload.started_at or (now if phase == "Running" else None),
    }
    conditions = (*_arrivals(workload, groups), _ready(phase, reason), *_placed(placement, asked))
    return Status(phase, conditions, columns)


def asked_of(workload: Workload, graph: Graph) -> Asked:
    """The placement asked for, and whether a person said it. Its topology may be one that the pool does not have (any
    more); without levels it is one that Muster does not have either."""
    if not workload.topology_name:
        return Asked()
    topology = workload.node_pool.network_topology
    if topology is None or topology.name != workload.topology_name:
        rows = NetworkTopology.objects.filter(cluster=workload.cluster_id, name=workload.topology_name)
        topology = rows.first()
    levels = tuple(topology.levels) if topology else ()
    said = graph.wishes.required or graph.wishes.preferred
    return Asked(levels, workload.required_level, workload.preferred_level, automatic=not said)


def _arrivals(workload: Workload, groups: Sequence[Mapping[str, Any]]) -> Iterator[Condition]:
    """Whether queue, node pool and placement are on the pod groups: the only proof that the scheduler reads them."""
    spec = spec_of(workload) if workload.node_pool.quotas.filter(project=workload.project_id).exists() else None
    if spec is None or not groups:
        return
    queues = {str((group.get("spec") or {}).get("queue", "")) for group in groups}
    yield _arrival("QueueArrived", queues == {spec.queue}, spec.queue, ", ".join(sorted(queues)))
    pools = {pool_of(group) for group in groups}
    yield _arrival("PoolArrived", pools == {spec.node_pool}, spec.node_pool or "default", ", ".join(sorted(pools)))
    if spec.topology and (spec.required or spec.preferred):
        wanted = (spec.topology, spec.required, spec.preferred or spec.required)
        found = [_constraint(group) for group in groups]
        # A role's own constraint stands in place of the graph's on its gangs; one without any did not get it.
        arrived = wanted in found and all(any(constraint) for constraint in found)
        shown = "; ".join(sorted({" ".join(filter(None, constraint)) for constraint in found}))
        yield _arrival("PlacementArrived", arrived, " ".join(filter(None, wanted)), shown)


def _constraint(group: Mapping[str, Any]) -> tuple[str, str, str]:
    constraint = (group.get("spec") or {}).get("topologyConstraint") or {}
    keys = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")
    return (str(constraint.get(keys[0], "")), str(constraint.get(keys[1], "")), str(constraint.get(keys[2], "")))


def _arrival(type_: str, arrived: bool, wanted: str, found: str) -> Condition:
    arguments = (("wanted", wanted), ("found", found))
    if arrived:
        return Condition(type_, "True", "OnPodGroup", f"The pod group has {wanted}.", arguments=arguments)
    message = f"The pod group has {found or 'none'} where {wanted} was asked for."
    return Condition(type_, "False", "NotOnPodGroup", message, arguments=arguments)


def _ready(phase: str, reason: Reason | None) -> Condition:
    if phase == "Running":
        return Condition("Ready", "True", "AllPodsReady", "Every pod of every role is ready.")
    code = reason.code if reason else "Starting"
    arguments = tuple(sorted((reason.arguments if reason else {}).items()))
    words = (" ".join(reason.words[:3]) if reason else "") or "Not every pod of every role is ready yet."
    return Condition("Ready", "False", code, words, arguments=arguments)


def _placed(placement: Placement, asked: Asked) -> Iterator[Condition]:
    if placement.state in ("", "waits"):
        return
    level, domains = asked.required or asked.preferred, ", ".join(placement.domains)
    reason, message = {
        "kept": ("Kept", f"All pods stand in one domain of {level}: {domains}."),
        "loosened": ("Loosened", f"One domain of {level} was preferred; the pods stand in {domains}."),
        "broken": ("Broken", f"One domain of {level} was required; the pods stand in {domains}."),
    }[placement.state]
    arguments = (("level", level), ("domains", domains))
    yield Condition("PlacementKept", "True" if reason == "Kept" else "False", reason, message, arguments=arguments)


def _reason(
    workload: Workload,
    graph: Graph,
    rows: Sequence[Pod],
    groups: Sequence[Mapping[str, Any]],
    placement: Placement,
    live: Mapping[str, Any],
) -> Reason | None:
    """Why it is not all ready, the nearest cause first: containers, the scheduler, the gates, the operator."""
    pods = [pod for pod in observed.pod_facts(rows) if not pod.leaving]
    if placement.lost:
        return Reason("NodeLost", {"nodes": ", ".join(placement.lost)})
    for pod in pods:
        if pod.reason in CONTAINER_FAULTS:
            return Reason("Container", {"pod": pod.name, "fault": pod.reason}, (pod.message,) if pod.message else ())
    waiting = [pod for pod in pods if not pod.node]
    if not waiting:
        return Reason("Starting") if pods else _no_pods(live)
    texts = [text for group in groups for text in group_texts(group)]
    texts += [pod.message for pod in waiting if pod.message and pod.reason in ("Unschedulable", "")]
    reason = read_texts(texts) or _from_events(workload)
    if reason is not None and reason.code in ROOM_CODES:
        told = first_reason(workload, rows, groups, reason.words)
        return told or _with_numbers(workload, graph, pods, reason)
    gated = sum(pod.gated for pod in waiting)
    if reason is None and gated:
        return Reason("Gated", {"gated": str(gated), "pods": str(graph.pods)})
    return reason or quiet_reason(workload, rows, groups) or Reason("NotJudged", {"pods": str(len(waiting))})


def _no_pods(live: Mapping[str, Any]) -> Reason:
    """No pod yet: what the operator says of it, if anything."""
    conditions = (live.get("status") or {}).get("conditions") or ()
    words = tuple(str(c["message"]) for c in conditions if c.get("status") == "False" and c.get("message"))
    queue = read_texts(
        word.replace("queue '", "Queue '").replace("not found in cluster", "does not exist") for word in words
    )
    if queue is not None and queue.code == "QueueDoesNotExist":
        return Reason(queue.code, queue.arguments, words)
    return Reason("NoPods", {}, words)


def _from_events(workload: Workload) -> Reason | None:
    """What the newest events say where no condition does: groups that are not complete have only these."""
    events = observed.events_of(workload).filter(reason__in=("NotReady", "Unschedulable", "PodGrouperWarning"))
    return read_texts(event.message for event in events[:5] if not is_noise(event.reason, event.message))


def _with_numbers(workload: Workload, graph: Graph, pods: Sequence[PodFacts], reason: Reason) -> Reason:
    """Where is how much missing: at the required level, or in the whole pool."""
    level = workload.required_level
    asked = asked_of(workload, graph)
    if level and level not in asked.levels:
        pool = workload.node_pool.network_topology
        names = {"level": level, "topology": workload.topology_name, "poolTopology": pool.name if pool else "–"}
        return Reason("OtherTopology", names, reason.words)
    tree = domain_tree(asked.levels, node_facts(workload.cluster_id, pool=workload.node_pool.name))
    stands = frozenset(pod.node for pod in pods if pod.holds) if level else frozenset()
    return shortage(tree, level, _need(graph, pods), reason.words, stands) or reason


def _need(graph: Graph, pods: Sequence[PodFacts]) -> Need:
    """What must be found at once: the gang's minimum, or, where that runs, what still waits."""
    largest = max((component.gpus_each for component in graph.components), default=Decimal(0))
    if any(pod.holds for pod in pods):
        return Need(sum((pod.gpus for pod in pods if not pod.node), Decimal(0)), largest)
    return Need(graph.gang_gpus, largest)
