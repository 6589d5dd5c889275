"""One scheduling cycle over a snapshot: allocate, consolidate, reclaim, preempt, evict stale gangs."""

from scheduling.structs import CycleResult, SchedulerConfig, Snapshot


def run_cycle(snapshot: Snapshot, config: SchedulerConfig | None = None) -> CycleResult:
    """Decide what the real scheduler would do with this snapshot in one cycle."""
    del snapshot, config
    return CycleResult()
