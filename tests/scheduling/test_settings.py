"""What a shard's settings change, calculated by hand."""

from scheduling.cycle import run_cycle
from scheduling.structs import SchedulerConfig
from tests.scheduling.build import Cluster, node, queue


def test_an_action_looks_at_so_many_jobs_of_a_queue_and_one_that_is_off_at_none() -> None:
    """The older job never fits; the second would, and is reached only where the action looks at two."""
    waiting = Cluster(node("n0", 8)).gang("large", 9).gang("small", 1).snapshot()
    full = Cluster(node("n0", 8)).gang("low", 8, on=("n0",)).gang("high", 8, priority=75).snapshot()

    assert dict(run_cycle(waiting, SchedulerConfig(queue_depth={"allocate": 2})).bound) == {"default/small-0": "n0"}
    assert run_cycle(waiting, SchedulerConfig(queue_depth={"allocate": 1})).bound == {}
    assert run_cycle(waiting, SchedulerConfig(off=("allocate",))).bound == {}
    assert len(run_cycle(full).evicted) == 1
    assert run_cycle(full, SchedulerConfig(off=("preempt",))).evicted == ()


def test_reclaim_counts_those_who_only_move_where_the_shard_says_so() -> None:
    """The victim's queue holds its quota and no more: its pod may be moved to the other node, not lose its place."""
    queues = (queue("a", quota=8), queue("b", quota=2, created=1.0))
    cluster = Cluster(node("n0", 8), node("n1", 4), queues=queues).gang("moved", 2, on=("n0",), queue="b")
    snapshot = cluster.gang("new", 8, queue="a", preemptible=False, priority=125).snapshot()

    assert [(each.action, each.moved_to) for each in run_cycle(snapshot).evicted] == [("Reclaim", "n1")]
    assert run_cycle(snapshot, SchedulerConfig(consolidating_reclaim=False)).evicted == ()
