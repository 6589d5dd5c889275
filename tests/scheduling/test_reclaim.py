"""Who takes from whom across queues where no recording tells, calculated by hand."""

import msgspec

from scheduling.cycle import run_cycle
from tests.scheduling.build import Cluster, node, queue


def test_a_department_without_any_share_gives_all_to_one_that_is_above_its_own() -> None:
    """Department a holds its whole share of 4 and asks for 8; the quota of its queue a2 is unused. Department b has
    neither quota nor weight: its share is 0, with which no saturation is compared."""
    queues = (
        queue("a", quota=4, weight=0),
        queue("a1", "a", quota=4),
        queue("a2", "a", quota=4, created=1.0),
        queue("b", weight=0, created=2.0),
        queue("b1", "b", weight=0, created=3.0),
    )
    cluster = Cluster(node("n0", 8), queues=queues).gang("kept", 4, on=("n0",), queue="a1", preemptible=False)
    cluster.gang("lost", 4, on=("n0",), queue="b1").gang("new", 4, queue="a2")

    result = run_cycle(cluster.snapshot())

    assert [each.pod for each in result.evicted] == ["default/lost-0"]
    assert result.pipelined == {"default/new-0": "n0"}


def test_who_just_lost_its_place_evicts_nobody_in_vain() -> None:
    """Reclaim takes the one running pod of `mid`, which waits for another one too; what preempting `low` would free
    lies on a cordoned node, where nothing of `mid` can go."""
    queues = (queue("q", weight=0), queue("p", quota=4, created=1.0))
    cluster = Cluster(node("n0", 4), node("n1", 4, unschedulable=True), queues=queues)
    cluster.gang("low", 2, on=("n1",)).gang("mid", 4, 4, on=("n0", "n0"), min_member=1, priority=75)
    cluster.pods[-1] = msgspec.structs.replace(cluster.pods[-1], node="", phase="Pending")

    result = run_cycle(cluster.gang("new", 4, queue="p").snapshot())

    assert [each.pod for each in result.evicted] == ["default/mid-0"]
    assert result.pipelined == {"default/new-0": "n0"}
