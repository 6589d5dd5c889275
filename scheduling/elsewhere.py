"""What another node pool has for a waiting pod group: where it would stand there, or why it would wait as well."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Cause, Code, Diagnosis
from scheduling.structs import FINISHED, Pod, SchedulerConfig, TopologyConstraint

MAX_POOLS = 4


class OtherPool(msgspec.Struct, frozen=True):
    """A pool in which the group may run: its queue there, the topology that the pool has ("" for none) with its levels,
    broadest first, and the settings of the pool's scheduler."""

    queue: str
    topology: str = ""
    levels: tuple[str, ...] = ()
    config: SchedulerConfig | None = None


class Elsewhere(msgspec.Struct, frozen=True):
    """The group made anew in another pool: ``scene.outcome`` is what a cycle does for it, ``causes`` why it waits."""

    pool: str
    queue: str
    scene: Scene
    causes: tuple[Cause, ...] = ()


def look_elsewhere(scene: Scene, diagnosis: Diagnosis, pools: Mapping[str, OtherPool]) -> tuple[Elsewhere, ...]:
    """What becomes of it in each of the pools (``MAX_POOLS`` of them), where it lacks room in its own."""
    if not any(cause.code in ROOM for cause in diagnosis.causes):
        return ()
    found = []
    for name, pool in list(pools.items())[:MAX_POOLS]:
        there = _in_pool(scene, name, pool)
        found.append(Elsewhere(name, pool.queue, there, diagnose(there).causes))
    return tuple(found)


def _in_pool(scene: Scene, name: str, pool: OtherPool) -> Scene:
    """The scene with the group made anew there: none of its pods stands, and the levels are those of that pool."""
    group = scene.group
    subgroups = tuple(
        msgspec.structs.replace(each, topology=_constraint(each.topology, pool)) if each.topology.topology else each
        for each in group.subgroups
    )
    changed = scene.with_group(
        pool=name,
        queue=pool.queue,
        topology=_constraint(group.topology, pool),
        subgroups=subgroups,
        last_start=None,
        stale_since=None,
        backed_off=False,
    )
    pods = tuple(_anew(pod) if pod.podgroup == scene.key else pod for pod in changed.snapshot.pods)
    config = msgspec.structs.replace(pool.config or scene.config, search_budget=scene.config.search_budget)
    fresh = changed.with_snapshot(pods=pods).with_config(config)
    return replace(fresh, wanted_pool=None, wanted_queue=None, wanted_placement=None, effort=0)


def _anew(pod: Pod) -> Pod:
    return pod if pod.phase in FINISHED else msgspec.structs.replace(pod, node="", phase="Pending", gpu_groups=())


def _constraint(said: TopologyConstraint, pool: OtherPool) -> TopologyConstraint:
    """What is required stays, also where the pool cannot give it; what is preferred is the narrowest of its levels
    where it has none of that name."""
    if not pool.levels:
        return said if said.required else TopologyConstraint()
    preferred = said.preferred if said.preferred in pool.levels else pool.levels[-1]
    return TopologyConstraint(pool.topology, said.required, preferred)


ROOM = frozenset(
    {
        Code.POOL_EMPTY,
        Code.POD_TOO_LARGE,
        Code.DEVICES_UNHEALTHY,
        Code.NODES_NOT_READY,
        Code.NODES_CORDONED,
        Code.NODES_TAINTED,
        Code.LEVEL_TOO_SMALL,
        Code.POOL_TOO_SMALL,
        Code.LEVEL_FULL,
        Code.LEVEL_FRAGMENTED,
        Code.POOL_FULL,
        Code.POOL_FRAGMENTED,
        Code.UNEQUAL_PODS,
        Code.OVER_LIMIT,
        Code.OVER_QUOTA,
        Code.SELECTOR,
        Code.AHEAD,
    }
)
