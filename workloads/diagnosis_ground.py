"""The cluster of a workload as the engine sees it: every pool, the settings of its shard, what is not known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from clusters.kept import LARGE_NODES
from clusters.kinds import KAI_QUEUE, KAI_SCHEDULING_SHARD
from clusters.models import ClusterObject, Node
from clusters.snapshot import Shard, pools_of, shard_snapshot
from core.conditions import find
from scheduling.diagnosis import diagnose, diagnose_unasked
from scheduling.diagnosis_scene import Scene, waiting
from scheduling.diagnosis_structs import Diagnosis
from scheduling.elsewhere import OtherPool
from scheduling.shards import pool_of_labels
from scheduling.structs import Pod as EnginePod
from scheduling.structs import SchedulerConfig, Snapshot, TopologyConstraint
from topology.models import NodePool
from workloads.diagnosis_roles import scaled_below
from workloads.models import Workload

LEAST_BUDGET = 400
"""Bound of the eviction searches on a large cluster; a page must not take minutes as the scheduler may."""
FEW_WAITING = 200
"""Up to so many pods may wait in a shard until its searches are bounded the more, the more wait."""
MOST_WAITING = 4_000
"""Of more waiting pods in a shard the engine is not asked: each of its cycles goes through all of them."""
MOST_TRIES, LEAST_TRIES = 24, 6
NODE_TRIES = 24_000
"""So many nodes are gone through, in all, to find whose end helps and which remedies do: 24 tries on up to 1,000."""
NODES_A_POD = 4
"""A waiting pod costs a try as much as so many nodes."""


def tries_of(nodes: int, waiting: int = 0) -> int:
    """How many ends of others, and remedies, are tried on a cluster of so many nodes where so many pods wait."""
    return max(LEAST_TRIES, min(MOST_TRIES, NODE_TRIES // max(nodes + NODES_A_POD * waiting, 1)))


def budget_of(most: int, nodes: int, waiting: int) -> int:
    """How far an eviction search may go there, of what the scheduler's settings allow at most."""
    if nodes > LARGE_NODES:
        return min(most, LEAST_BUDGET)
    return min(most, max(LEAST_BUDGET, most * FEW_WAITING // max(waiting, FEW_WAITING)))


@dataclass(frozen=True, slots=True)
class Ground:
    """`pools` are the other pools on which the project has quota."""

    snapshot: Snapshot
    config: SchedulerConfig
    wanted_pool: str
    wanted_queue: str | None
    wanted_placement: TopologyConstraint | None
    shards: frozenset[str] | None
    unhealthy: Mapping[str, float]
    scaled_below: Mapping[str, EnginePod]
    pools: Mapping[str, OtherPool]
    observed_at: datetime | None
    unknown: tuple[str, ...]
    unreadable: tuple[str, ...]

    def scene(self, key: str, *, tries: int = MOST_TRIES) -> Scene:
        """One pod group on this ground; so many ends of others and remedies are tried at most (0: none)."""
        nodes, others = len(self.snapshot.nodes), self.waiting_with(key)
        budget = budget_of(self.config.search_budget, nodes, others)
        return Scene(
            self.snapshot,
            key,
            msgspec.structs.replace(self.config, search_budget=budget),
            self.wanted_pool,
            self.wanted_queue,
            self.wanted_placement,
            self.shards,
            self.unhealthy,
            min(tries, tries_of(nodes, others)),
            self.scaled_below,
        )

    def waiting_with(self, key: str) -> int:
        """How many pods wait in the shard of a pod group, its own included."""
        return self._waiting_in(next(group.pool for group in self.snapshot.podgroups if group.key == key))

    def open_pools(self) -> dict[str, OtherPool]:
        """The other pools, without those in which too much waits for the engine to be asked."""
        return {name: pool for name, pool in self.pools.items() if self._waiting_in(name) <= MOST_WAITING}

    def _waiting_in(self, pool: str) -> int:
        pools = {group.key: group.pool for group in self.snapshot.podgroups}
        return sum(waiting(pod) and pools.get(pod.podgroup) == pool for pod in self.snapshot.pods)

    def diagnose(self, scene: Scene) -> Diagnosis:
        """Why the scene's pod group waits; where too much waits with it, only what needs no cycle of the engine."""
        few = self.waiting_with(scene.key) <= MOST_WAITING
        return diagnose(scene) if few else diagnose_unasked(scene)


def ground_of(workload: Workload, now: datetime) -> Ground:
    """The ground of a workload's diagnosis."""
    cluster, pool = workload.cluster, workload.node_pool
    wanted = pool.shard
    running = pools_of(cluster)
    names = {*running, *_pool_names(workload), wanted}
    shards = {name: shard_snapshot(cluster, name, now=now) for name in sorted(names)}
    own = shards[wanted]
    pools = _pools_of(workload, shards)
    merged = _merged([shard.snapshot for shard in shards.values()])
    gpus = Node.objects.filter(cluster=cluster, gpu_allocatable__isnull=False).values_list(
        "name", "gpu_capacity", "gpu_allocatable"
    )
    served = (cluster.streams.get(KAI_SCHEDULING_SHARD.plural) or {}).get("listedAt")
    return Ground(
        merged,
        own.config,
        wanted,
        pools[wanted].queue if wanted in pools and _missed(workload, "QueueArrived") else None,
        _wanted_placement(workload) if _missed(workload, "PlacementArrived") else None,
        frozenset(running) if served else None,
        {name: float(total - (usable or 0)) for name, total, usable in gpus if total > (usable or 0)},
        scaled_below(workload),
        {name: pool for name, pool in pools.items() if name != wanted},
        own.observed_at,
        own.unknown,
        own.unreadable,
    )


def _pools_of(workload: Workload, shards: Mapping[str, Shard]) -> dict[str, OtherPool]:
    """Those on which the project has quota."""
    found = {}
    for quota in workload.project.quotas.select_related("node_pool__network_topology").order_by("node_pool__name"):
        topology, shard = quota.node_pool.network_topology, quota.node_pool.shard
        name, levels = (topology.name, tuple(topology.levels)) if topology else ("", ())
        found[shard] = OtherPool(quota.queue_name, name, levels, shards[shard].config)
    return found


def _missed(workload: Workload, type_: str) -> bool:
    """Whether what the row asks for is on none of its pod groups."""
    found = find(workload.conditions, type_)
    return found is not None and found["status"] == "False"


def _wanted_placement(workload: Workload) -> TopologyConstraint:
    required, preferred = workload.required_level, workload.preferred_level
    return TopologyConstraint(workload.topology_name, required, preferred or required)


def _pool_names(workload: Workload) -> set[str]:
    """Those of Muster, and those that queues say that they are of."""
    pools = NodePool.objects.filter(cluster=workload.cluster_id)
    queues = ClusterObject.objects.filter(cluster=workload.cluster_id, group=KAI_QUEUE.group, plural=KAI_QUEUE.plural)
    labels = queues.values_list("manifest__metadata__labels", flat=True)
    return {pool.shard for pool in pools} | {pool_of_labels(each or {}) for each in labels}


def _merged(shards: Sequence[Snapshot]) -> Snapshot:
    """All pools together; a pod that two shards see is one pod."""
    pods: dict[str, EnginePod] = {pod.key: pod for shard in shards for pod in shard.pods}
    return msgspec.structs.replace(
        shards[0],
        nodes=tuple(node for shard in shards for node in shard.nodes),
        queues=tuple(queue for shard in shards for queue in shard.queues),
        podgroups=tuple(group for shard in shards for group in shard.podgroups),
        pods=tuple(pods.values()),
        pool="",
    )
