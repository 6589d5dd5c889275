"""One scheduling cycle over a snapshot: allocate, consolidate, reclaim, preempt, evict stale gangs."""

from collections import Counter

from scheduling.actions import Actions
from scheduling.structs import CycleResult, PodGroup, SchedulerConfig, Snapshot


def run_cycle(snapshot: Snapshot, config: SchedulerConfig | None = None) -> CycleResult:
    """Decide what the real scheduler would do with this snapshot in one cycle.

    Pure: the same snapshot gives the same result. Pods that are evicted and placed again by the same
    decision appear in ``evicted`` (with ``moved_to``) and in ``pipelined``.
    """
    return Actions(snapshot, config or SchedulerConfig()).run()


def needs_cycle(snapshot: Snapshot) -> bool:
    """Whether a cycle could do anything: a pod waits, or a gang runs below its minimum.

    Cheap beside a cycle; where it says no, a cycle binds and evicts nothing and reports nothing new.
    """
    running: Counter[str] = Counter()
    for pod in snapshot.pods:
        if pod.phase == "Pending" and not pod.node:
            return True
        running[pod.podgroup] += 1
    return any(_may_be_stale(group, running[group.key]) for group in snapshot.podgroups)


def _may_be_stale(group: PodGroup, running: int) -> bool:
    if not running:
        return False
    if group.stale_since is not None:
        return True
    if group.subgroups:
        minimum = sum(subgroup.min_member or 0 for subgroup in group.subgroups)
    else:
        minimum = 1 if group.min_member is None else group.min_member
    return running < minimum
