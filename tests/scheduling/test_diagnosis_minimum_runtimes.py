"""Who may not be evicted yet, and from when on enough of them may, worked out by hand."""

import msgspec

from scheduling.diagnosis_structs import Code
from tests.scheduling.build import Cluster, node, queue
from tests.scheduling.test_diagnosis import of, only


def test_a_minimum_runtime_says_whose_and_until_when() -> None:
    """k035."""
    protected = msgspec.structs.replace(queue("q"), preempt_min_runtime=600.0)
    cluster = Cluster(node("n0", 8), queues=(protected,)).gang("a", 8, on=("n0",), last_start=50.0)
    cause = only(of(cluster.gang("g", 8, priority=75), now=100.0))
    assert (cause.code, cause.names["groups"], cause.numbers["until"]) == (Code.MIN_RUNTIME, "default/a", 650.0)


def test_of_many_with_a_minimum_runtime_those_are_named_whose_time_is_over_first_until_enough_is_over() -> None:
    protected = msgspec.structs.replace(queue("q"), preempt_min_runtime=600.0)
    cluster = Cluster(node("n0", 8), queues=(protected,))
    for index in range(8):
        cluster.gang(f"a{index}", 1, on=("n0",), last_start=90.0 - index)
    cause = only(of(cluster.gang("g", 8, priority=75), now=100.0))
    assert cause.names["groups"] == ", ".join(f"default/a{index}" for index in (7, 6, 5, 4, 3))
    assert (cause.numbers["groups"], cause.numbers["until"]) == (8, 690.0)


def test_a_minimum_runtime_is_that_of_the_queue_of_those_who_are_evicted() -> None:
    """Half of the node is enough; those of a longer minimum in a queue that is not asked to give are not waited for."""
    young = msgspec.structs.replace(queue("q"), preempt_min_runtime=600.0)
    slow = msgspec.structs.replace(queue("p", quota=4), preempt_min_runtime=9000.0)
    cluster = Cluster(node("n0", 8), queues=(young, slow)).gang("early", 2, on=("n0",), last_start=50.0)
    cluster.gang("late", 2, on=("n0",), last_start=80.0).gang("far", 4, on=("n0",), last_start=10.0, queue="p")
    cause = only(of(cluster.gang("g", 2, priority=75), now=100.0))
    assert (cause.code, cause.names["groups"], cause.numbers["until"]) == (Code.MIN_RUNTIME, "default/early", 650.0)
