"""Where KAI's order is random, every answer that it was recorded to give is among the equally good ones."""

from collections import Counter
from itertools import islice, permutations

import msgspec

from scheduling.preview import PreparedShard
from scheduling.preview_structs import Gang, Verdict
from scheduling.preview_variants import _pod_orders, equal_answers
from scheduling.structs import Pod, PodGroup, Resources, Snapshot, SubGroup
from tests.scheduling.build import Cluster, node, within
from tests.scheduling.test_preview import fleet, gang


def asked(pod: Pod) -> float:
    return pod.requests.gpu


def places(new: Gang, placed: dict[str, str]) -> frozenset[tuple[tuple[float, str], int]]:
    size = {pod.key: pod.requests.gpu for pod in new.pods}
    return frozenset(Counter((size[key], name) for key, name in placed.items()).items())


def answers(snapshot: Snapshot, new: Gang, most: int = 20) -> set[frozenset[tuple[tuple[float, str], int]]]:
    found = equal_answers(PreparedShard(snapshot), [new], most=most)
    return {places(new, dict(each.gangs[0].placed)) for each in found}


def test_b012_gives_the_two_answers_that_its_repeated_recordings_show():
    """1 × 8 and 4 × 1 GPU on two nodes of 8: recorded are l on n0 with w on n1, and l on n1 with w on n0."""
    two = Cluster(node("n0", 8), node("n1", 8)).snapshot()

    assert answers(two, gang("g", 8, 1, 1, 1, 1)) == {
        frozenset({((8.0, "n0"), 1), ((1.0, "n1"), 4)}),
        frozenset({((8.0, "n1"), 1), ((1.0, "n0"), 4)}),
    }


def test_equal_pods_make_one_answer():
    assert len(equal_answers(PreparedShard(fleet().snapshot()), [gang("g", 4, 4, 4)], most=20)) == 1


def test_scaled_gangs_of_two_shapes_may_come_in_either_order():
    base = fleet().gang("old", *[8] * 4, 4, on=("n0", "n1", "n2", "n3", "n4")).snapshot()
    first = gang("base", 1)
    small = msgspec.structs.replace(gang("small", 3), waits_for="default/base")
    large = msgspec.structs.replace(gang("large", 4, topology=within("", "rack")), waits_for="default/base")

    found = equal_answers(PreparedShard(base), [first, small, large])

    assert all(each.verdict is Verdict.NOW for each in found)
    assert len({tuple(sorted({**each.gangs[1].placed, **each.gangs[2].placed}.items())) for each in found}) == len(
        found
    )


def test_the_surplus_pods_of_two_sets_take_their_turns_as_their_gates_open():
    """Each set has one pod beyond its minimum, and after both minimums one node is left: it goes to either pod."""
    nodes = Cluster(node("n0", 8), node("n1", 4), node("n2", 8)).snapshot()
    group = PodGroup("g", "q", created=9e9, subgroups=(SubGroup("decode", 1), SubGroup("prefill", 1)))
    pods = tuple(
        Pod(f"{role}-{index}", podgroup="default/g", subgroup=role, requests=Resources(gpus), created=9e9)
        for role, gpus in (("decode", 8), ("prefill", 4))
        for index in range(2)
    )

    assert answers(nodes, Gang(group, pods)) == {
        frozenset({((8.0, "n0"), 1), ((4.0, "n1"), 1), ((8.0, "n2"), 1)}),
        frozenset({((8.0, "n0"), 1), ((4.0, "n1"), 1), ((4.0, "n2"), 1)}),
    }


def test_orders_of_thousands_of_pods_are_drawn_one_by_one():
    """The first three orders of a a … a b b … b, as a dictionary has them; the depth of Python's stack is 1,000."""
    pods = [Pod(f"p-{index}", requests=Resources(float(index % 2 + 1))) for index in range(4000)]

    drawn = [[int(pod.requests.gpu) for pod in order] for order in islice(_pod_orders(pods, asked), 3)]

    ones, twos = [1] * 1999, [2] * 1999
    assert drawn == [[*ones, 1, 2, *twos], [*ones, 2, 1, *twos], [*ones, 2, 2, 1, *twos[1:]]]


def test_every_order_of_unequal_pods_comes_once():
    pods = [Pod(name, requests=Resources(gpus)) for name, gpus in (("a", 1.0), ("b", 2.0), ("c", 1.0), ("d", 4.0))]

    drawn = [tuple(pod.requests.gpu for pod in order) for order in _pod_orders(pods, asked)]

    assert len(drawn) == 12  # 4! / 2!
    assert set(drawn) == set(permutations((1.0, 2.0, 1.0, 4.0)))
    assert list(_pod_orders([], asked)) == [[]]
