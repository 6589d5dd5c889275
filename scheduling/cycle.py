"""One scheduling cycle over a snapshot: allocate, consolidate, reclaim, preempt, evict stale gangs."""

from scheduling.actions import Actions
from scheduling.structs import CycleResult, SchedulerConfig, Snapshot


def run_cycle(snapshot: Snapshot, config: SchedulerConfig | None = None) -> CycleResult:
    """Decide what the real scheduler would do with this snapshot in one cycle.

    Pure: the same snapshot gives the same result. Pods that are evicted and placed again by the same
    decision appear in ``evicted`` (with ``moved_to``) and in ``pipelined``.
    """
    return Actions(snapshot, config or SchedulerConfig()).run()
