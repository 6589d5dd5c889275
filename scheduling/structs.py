"""The values that the engine works on: one shard of a cluster, frozen, and what one cycle decided.

Units everywhere: GPUs in devices, CPU in millicores, memory in bytes, times in seconds since the epoch,
durations in seconds. Identities of pods and pod groups are ``namespace/name``.
"""

from collections.abc import Mapping

import msgspec

UNLIMITED = -1.0
FINISHED = ("Succeeded", "Failed")
"""Phases of pods that have ended: they hold nothing, and nobody places them."""


class Resources(msgspec.Struct, frozen=True, gc=False):
    """Amounts of the three resources that queues divide; pod slots are counted beside them."""

    gpu: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0


class Taint(msgspec.Struct, frozen=True, gc=False):
    """A node taint; only NoSchedule and NoExecute keep pods away, as in the recordings."""

    key: str
    effect: str
    value: str = ""


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """A pod toleration: operator Equal or Exists, empty key or effect matches all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One node affinity expression: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    field: bool = False
    """True when the key is a field path (``metadata.name``) and not a label."""


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """Other pods by their labels, near as far as nodes share a value of ``topology_key``."""

    topology_key: str
    match: tuple[Requirement, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Empty: the namespace of the pod that has the term."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node of the shard: allocatable amounts and what decides whether a pod may go there."""

    name: str
    allocatable: Resources
    pods: int = 110
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    """Ready is True and no pressure condition holds; Unknown counts as not ready."""
    gpu_memory_mib: int = 0
    """Memory of one GPU device, 0 when the node does not say."""


class Level(msgspec.Struct, frozen=True, gc=False):
    """One topology level; constraints may name it by label or alias."""

    label: str
    alias: str = ""


class Topology(msgspec.Struct, frozen=True, gc=False):
    """A KAI Topology: levels broadest first."""

    name: str
    levels: tuple[Level, ...]


class TopologyConstraint(msgspec.Struct, frozen=True, gc=False):
    """Where a (sub)group must lie together; empty strings mean unset."""

    topology: str = ""
    required: str = ""
    preferred: str = ""


class QueueResource(msgspec.Struct, frozen=True, gc=False):
    """Quota (KAI: deserved), limit and over-quota weight; -1 is unlimited, an absent limit is 0."""

    quota: float = 0.0
    limit: float = 0.0
    weight: float = 0.0


UNLIMITED_RESOURCE = QueueResource(UNLIMITED, UNLIMITED, 1.0)


class Queue(msgspec.Struct, frozen=True, gc=False):
    """A scheduling queue; memory amounts are bytes here (the Queue object counts 10^6 bytes)."""

    name: str
    parent: str = ""
    uid: str = ""
    priority: int = 100
    created: float = 0.0
    gpu: QueueResource = QueueResource()
    cpu: QueueResource = QueueResource()
    memory: QueueResource = QueueResource()
    usage: Resources = Resources()
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    pool: str = ""
    """Value of the node-pool label; "" is the default pool (label absent)."""


class SubGroup(msgspec.Struct, frozen=True, gc=False):
    """A subgroup of a pod group: a leaf holds pods, one with children holds subgroups."""

    name: str
    min_member: int | None = None
    min_subgroup: int | None = None
    parent: str = ""
    topology: TopologyConstraint = TopologyConstraint()


class PodGroup(msgspec.Struct, frozen=True, gc=False):
    """A gang. ``min_member`` None counts as 1, 0 is fully elastic; ignored when subgroups exist."""

    name: str
    queue: str
    namespace: str = "default"
    uid: str = ""
    created: float = 0.0
    min_member: int | None = None
    min_subgroup: int | None = None
    priority: int = 50
    preemptible: bool = True
    topology: TopologyConstraint = TopologyConstraint()
    subgroups: tuple[SubGroup, ...] = ()
    pool: str = ""
    mark_unschedulable: bool = True
    scheduling_backoff: int = -1
    preemption_delay: float = 0.0
    staleness_grace: float | None = None
    last_start: float | None = None
    last_eviction: float | None = None
    stale_since: float | None = None
    backed_off: bool = False
    """Its last scheduling condition is one of this pool: with ``scheduling_backoff`` 1 it is left alone."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod that this scheduler (``podgroup`` set) or another one (``podgroup`` empty) places.

    ``phase`` is Pending, Running, Succeeded or Failed; a pod with a node counts as allocated unless it
    is finished; ``releasing`` marks one with a deletion time. Affinity is a disjunction of conjunctions
    (the required node selector terms); empty means none.
    """

    name: str
    namespace: str = "default"
    podgroup: str = ""
    """Key (``namespace/name``) of its pod group."""
    subgroup: str = ""
    requests: Resources = Resources()
    node: str = ""
    phase: str = "Pending"
    uid: str = ""
    created: float = 0.0
    gated: bool = False
    releasing: bool = False
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    task_priority: int = 0
    gpu_fraction: float = 0.0
    gpu_memory_mib: int = 0
    fraction_devices: int = 1
    gpu_groups: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    """Needed only for terms on other pods."""
    anti_affinity: tuple[PodTerm, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """One shard at one moment. ``now`` is the caller's clock; the engine has none."""

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    podgroups: tuple[PodGroup, ...]
    pods: tuple[Pod, ...]
    topologies: tuple[Topology, ...] = ()
    now: float = 0.0
    pool: str = ""


class SchedulerConfig(msgspec.Struct, frozen=True, gc=False):
    """Settings of a shard's scheduler; the defaults are KAI's."""

    k_value: float = 1.0
    gpu_placement: str = "binpack"
    cpu_placement: str = "binpack"
    max_consolidation_preemptees: int = 16
    staleness_grace: float = 60.0
    preempt_min_runtime: float = 0.0
    reclaim_min_runtime: float = 0.0
    saturation_multiplier: float = 1.0
    search_budget: int = 20_000
    """Bound of the eviction searches of one cycle, in victims tried; KAI bounds them by time."""
    consolidating_reclaim: bool = True
    """Whether those who get another place by the same decision count as not reclaimed."""
    off: tuple[str, ...] = ()
    """Actions that are switched off, in small letters as a SchedulingShard names them."""
    queue_depth: Mapping[str, int] = {}
    """So many jobs of each queue an action looks at, by its name; all of them where it has none."""

    def runs(self, action: str) -> bool:
        """Whether an action takes part; consolidation only where both resources are packed and it may move somebody."""
        if action == "consolidation":
            packed = self.gpu_placement == "binpack" and self.cpu_placement == "binpack"
            if not packed or self.max_consolidation_preemptees == 0:
                return False
        return action not in self.off


class QueueDetails(msgspec.Struct, frozen=True, gc=False):
    """The numbers behind a quota verdict (``reasons[].details.queueDetails``)."""

    name: str
    requested: Resources
    deserved: Resources
    allocated: Resources
    allocated_non_preemptible: Resources
    limits: Resources
    podgroup_requested: Resources
    podgroup_requested_non_preemptible: Resources


class Reason(msgspec.Struct, frozen=True, gc=False):
    """One error of a verdict: KAI's code and text."""

    reason: str
    message: str
    queue: QueueDetails | None = None


class Condition(msgspec.Struct, frozen=True, gc=False):
    """The condition UnschedulableOnNodePool of a pod group (``status.schedulingConditions``)."""

    message: str
    reasons: tuple[Reason, ...] = ()
    type: str = "UnschedulableOnNodePool"
    status: str = "True"
    reason: str = "Unschedulable"


class PodCondition(msgspec.Struct, frozen=True, gc=False):
    """PodScheduled=False of a pod that stays pending."""

    message: str
    reason: str = "Unschedulable"


class Eviction(msgspec.Struct, frozen=True, gc=False):
    """A pod that has to go, and the pod group it belongs to."""

    pod: str
    podgroup: str
    action: str
    """Consolidation, Reclaim, Preempt or StaleGangEviction."""
    message: str
    evictor: str = ""
    """Pod group that it goes for; empty for a stale gang."""
    moved_to: str = ""
    """Node where the same decision puts the pod again, "" when it gets none."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event to write: on a PodGroup or a Pod, named by its key."""

    kind: str
    key: str
    reason: str
    message: str
    type: str = "Normal"
    annotations: Mapping[str, str] = {}


class CycleResult(msgspec.Struct, frozen=True, gc=False):
    """What one cycle decided. Keys are ``namespace/name``, for queues the name.

    A pod group absent from ``conditions`` has nothing to report; ``cleared`` names those whose old
    condition has to go. ``stale_since`` holds the stale gangs with the moment it began.
    """

    bound: Mapping[str, str] = {}
    pipelined: Mapping[str, str] = {}
    evicted: tuple[Eviction, ...] = ()
    conditions: Mapping[str, Condition] = {}
    cleared: tuple[str, ...] = ()
    pod_conditions: Mapping[str, PodCondition] = {}
    events: tuple[Event, ...] = ()
    fair_share: Mapping[str, Resources] = {}
    stale_since: Mapping[str, float] = {}
    started: tuple[str, ...] = ()
    """Pod groups whose first pods were bound now (``last-start-timestamp``)."""
    gpu_groups: Mapping[str, tuple[str, ...]] = {}
    """Shared GPU groups of the bound fraction pods."""
