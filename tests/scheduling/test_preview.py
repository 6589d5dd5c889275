"""A preview says of gangs that do not exist yet what the cycle then does of them."""

import random

import msgspec
import pytest

from scheduling.cycle import run_cycle
from scheduling.preview import PreparedShard
from scheduling.preview_structs import Gang, Verdict
from scheduling.structs import Pod, PodGroup, Resources, Snapshot, SubGroup, TopologyConstraint
from tests.scheduling.build import RACKS, Cluster, node, nodes_used, queue, within

HOSTS = ("z1.r1", "z1.r2", "z2.r3")


def gang(name: str, *gpus: float, queue: str = "q", after: str = "", **more: object) -> Gang:
    key = f"default/{name}"
    more.setdefault("min_member", len(gpus))
    pods = tuple(
        Pod(f"{name}-{index}", podgroup=key, requests=Resources(gpu), uid=f"new-{name}-{index:04d}", created=9e9)
        for index, gpu in enumerate(gpus)
    )
    return Gang(PodGroup(name, queue, created=9e9, **more), pods, after)


def fleet(**queues: object) -> Cluster:
    nodes = [node(f"n{index}", 8, place) for index, place in enumerate(place for place in HOSTS for _ in range(2))]
    return Cluster(*nodes, topologies=(RACKS,), **queues)


def joined(snapshot: Snapshot, *gangs: Gang) -> Snapshot:
    return msgspec.structs.replace(
        snapshot,
        podgroups=(*snapshot.podgroups, *(each.group for each in gangs)),
        pods=(*snapshot.pods, *(pod for each in gangs for pod in each.pods)),
    )


def test_what_fits_now_gets_the_nodes_that_the_cycle_gives_it():
    base = fleet().gang("old", 8, 4, on=("n0", "n1")).snapshot()
    new = gang("new", 8, 8, topology=within("rack", "rack"))

    preview = PreparedShard(base).preview([new])

    assert preview.verdict is Verdict.NOW
    assert preview.gangs[0].placed == run_cycle(joined(base, new)).bound
    level = preview.gangs[0].levels[0]
    assert (level.reached, level.equal, level.kept) == ("rack", 2, True)
    assert level.domain in ("z1.r2", "z2.r3")


def test_an_empty_fleet_has_three_equal_racks_for_a_gang_of_one_rack():
    preview = PreparedShard(fleet().snapshot()).preview([gang("new", 8, 8, topology=within("rack", "rack"))])

    assert preview.gangs[0].levels[0].equal == 3


def test_a_preference_that_does_not_fit_reaches_the_level_above():
    base = fleet().gang("old", 8, 8, 8, on=("n0", "n2", "n4")).snapshot()

    level = PreparedShard(base).preview([gang("new", 8, 8, topology=within("", "rack"))]).gangs[0].levels[0]

    assert (level.reached, level.domain, level.kept) == ("zone", "z1", False)


def test_who_has_to_go_is_named_and_nobody_moves_for_real():
    base = fleet().gang("old", *[8] * 6, on=tuple(f"n{index}" for index in range(6)), priority=10).snapshot()
    shard = PreparedShard(base)

    preview = shard.preview([gang("new", 8, priority=60)])

    assert preview.verdict is Verdict.EVICTING
    assert {each.podgroup for each in preview.gangs[0].evicted} == {"default/old"}
    assert {each.pod for each in preview.gangs[0].evicted} == {
        each.pod for each in run_cycle(joined(base, gang("new", 8, priority=60))).evicted
    }
    assert shard.preview([gang("new", 8, priority=60)]) == preview


def test_a_gang_that_waits_is_told_whose_end_makes_room():
    base = fleet().gang("small", 4, on=("n0",)).gang("big", *[8] * 5, on=tuple(f"n{n}" for n in range(1, 6))).snapshot()

    found = PreparedShard(base).preview([gang("new", 8, 8)]).gangs[0]

    assert (found.verdict, found.room_after) == (Verdict.WAITING, (("default/big",),))
    assert found.reasons


def test_gangs_that_only_together_make_room_are_named_together():
    base = fleet()
    for index in range(6):
        base.gang(f"g{index}", 8, on=(f"n{index}",))

    found = PreparedShard(base.snapshot()).preview([gang("new", 8, 8)]).gangs[0]

    assert found.verdict is Verdict.WAITING
    assert [len(each) for each in found.room_after] == [2]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (gang("new", 9), "MaxNodePoolResources|topped at 8"),
        (gang("new", 8, 8, 8, topology=within("rack", "rack")), "can allocate only 2 of 3 required pods"),
        (gang("new", *[8] * 7), "Resources were found for 6 pods while 7 are required"),
        (gang("new", 1, queue="elsewhere"), "Queue 'elsewhere' does not exist"),
        (gang("new", 1, topology=within("rack", "", "unknown")), "Requested topology unknown does not exist"),
    ],
)
def test_what_never_fits_says_so_in_the_schedulers_words(new: Gang, reason: str):
    base = fleet().gang("old", *[8] * 6, on=tuple(f"n{index}" for index in range(6))).snapshot()

    found = PreparedShard(base).preview([new]).gangs[0]

    assert found.verdict is Verdict.NEVER
    assert any(part in each.message for each in found.reasons for part in reason.split("|"))


def test_a_limit_is_never_and_a_limit_in_use_is_waiting():
    base = fleet(queues=(queue("q", limit=8.0),)).gang("old", 4, on=("n0",)).snapshot()
    shard = PreparedShard(base)

    assert shard.preview([gang("new", 8, 8)]).verdict is Verdict.NEVER
    assert shard.preview([gang("new", 8)]).verdict is Verdict.WAITING
    assert shard.preview([gang("new", 8)]).gangs[0].room_after == (("default/old",),)
    assert shard.preview([gang("new", 4)]).verdict is Verdict.NOW


def test_a_scaled_gang_comes_after_its_base_and_waits_with_it():
    shard = PreparedShard(fleet().gang("old", *[8] * 4, on=("n0", "n1", "n2", "n3")).snapshot())
    base, scaled = gang("base", 8), gang("scaled", 8, after="default/base")

    both = shard.preview([base, scaled])
    assert [each.verdict for each in both.gangs] == [Verdict.NOW, Verdict.NOW]
    assert {**both.gangs[0].placed, **both.gangs[1].placed} == {"default/base-0": "n4", "default/scaled-0": "n5"}

    too_much = shard.preview([gang("base", 8, 8, 8), scaled])
    assert [each.verdict for each in too_much.gangs] == [Verdict.WAITING, Verdict.WAITING]
    assert too_much.gangs[1].waits_for == "default/base"


def test_subgroups_report_the_level_that_each_reaches():
    subgroups = (
        SubGroup("prefill", 1, topology=TopologyConstraint("topo", "rack", "rack")),
        SubGroup("decode", 2, topology=TopologyConstraint("topo", "", "rack")),
    )
    new = gang("new", 8, 8, 8, subgroups=subgroups)
    pods = tuple(
        msgspec.structs.replace(pod, subgroup=name)
        for pod, name in zip(new.pods, ("prefill", "decode", "decode"), strict=True)
    )
    base = fleet().gang("old", 8, 8, on=("n1", "n3")).snapshot()

    levels = PreparedShard(base).preview([msgspec.structs.replace(new, pods=pods)]).gangs[0].levels

    assert {each.subgroup: each.reached for each in levels} == {"prefill": "rack", "decode": "rack"}


def test_the_queue_is_shown_as_it_stands_afterwards():
    queues = (queue("top", quota=16.0), queue("q", "top", quota=8.0), queue("other", "top", quota=8.0))
    base = fleet(queues=queues).gang("old", 4, on=("n0",)).snapshot()

    after = {each.name: each for each in PreparedShard(base).preview([gang("new", 8)]).queues}

    assert set(after) == {"q", "top"}
    assert [(each.before.gpu, each.after.gpu, each.deserved.gpu) for each in (after["q"], after["top"])] == [
        (4, 12, 8),
        (4, 12, 16),
    ]
    assert after["q"].fair_share.gpu == 12


def random_fleet(seed: int) -> tuple[Cluster, list[Gang]]:
    """Six nodes, three queues, up to eight running gangs and two that wait, of two priorities; four new gangs."""
    dice = random.Random(seed)
    cluster = fleet(queues=tuple(queue(name, quota=dice.choice([0.0, 8.0, 16.0])) for name in ("q", "p", "r")))
    free = {f"n{index}": 8 for index in range(6)}
    for index in range(dice.randrange(9)):
        gpu = dice.choice([1, 2, 4, 8])
        names = [name for name, left in free.items() if left >= gpu][: dice.randrange(1, 3)]
        for name in names:
            free[name] -= gpu
        if names:
            more = {"queue": dice.choice("qpr"), "priority": dice.choice([40, 60]), "last_start": 0.0}
            cluster.gang(f"run{index}", *[gpu] * len(names), on=tuple(names), **more)
    for index in range(dice.randrange(3)):
        cluster.gang(f"wait{index}", *[8] * dice.randrange(1, 8), queue=dice.choice("qpr"))
    levels = [TopologyConstraint(), within("rack", "rack"), within("", "rack"), within("zone", "rack")]
    new = [
        gang(
            f"new{index}",
            *[dice.choice([1, 2, 4, 8])] * dice.randrange(1, 6),
            queue=dice.choice("qpr"),
            priority=dice.choice([40, 60, 125]),
            topology=dice.choice(levels),
        )
        for index in range(4)
    ]
    return cluster, [
        msgspec.structs.replace(each, group=msgspec.structs.replace(each.group, preemptible=each.group.priority < 100))
        for each in new
    ]


@pytest.mark.parametrize("seed", range(150))
def test_previews_one_after_the_other_are_what_a_cycle_with_the_gang_does(seed: int):
    cluster, gangs = random_fleet(seed)
    base = cluster.snapshot(now=10_000.0)
    shard = PreparedShard(base)

    for new in gangs:
        found = shard.preview([new]).gangs[0]
        cycle = run_cycle(joined(base, new))
        own = {pod.key for pod in new.pods}
        gone = {each.pod for each in cycle.evicted if not each.moved_to}
        bound = {key: name for key, name in {**cycle.bound, **cycle.pipelined}.items() if key in own - gone}
        placed = found.verdict in (Verdict.NOW, Verdict.EVICTING, Verdict.RELEASING)

        assert nodes_used(found.placed) == nodes_used(bound)
        assert placed == (len(bound) == len(own))
        mine = [each for each in cycle.evicted if each.evictor == new.group.key]
        assert sorted(each.pod for each in found.evicted) == sorted(each.pod for each in mine)
        assert shard.fits([new]) == (found.verdict is Verdict.NOW)
        if found.verdict is Verdict.NEVER:
            alone = joined(msgspec.structs.replace(base, podgroups=(), pods=()), new)
            assert run_cycle(alone).bound == {}


@pytest.mark.parametrize("held", [0, 3])
def test_pods_that_share_gpus_are_previewed_as_the_cycle_places_them(held: int):
    cluster = fleet()
    for index in range(held):
        cluster.gang(f"half{index}", 0, on=("n0",), pod={"gpu_fraction": 0.5})
    base = cluster.snapshot()
    new = gang("new", 0, 0, 0)
    pods = tuple(msgspec.structs.replace(pod, gpu_fraction=0.5) for pod in new.pods)
    new = msgspec.structs.replace(new, pods=pods)
    shard = PreparedShard(base)

    first, again = shard.preview([new]), shard.preview([new])

    assert first.verdict is Verdict.NOW
    assert first.gangs[0].placed == run_cycle(joined(base, new)).bound
    assert again == first
