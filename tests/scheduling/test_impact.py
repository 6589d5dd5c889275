"""What an edit would do, each case calculated by hand, and properties over many."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling import impact
from scheduling.cycle import run_cycle
from scheduling.golden import after as after_cycle
from scheduling.impact import Effect, Impact, Standing, compare, starts_anew
from scheduling.impact_edits import (
    cordoned,
    leaving_nodes,
    pool_topology,
    with_queues,
    with_topology,
    without_nodes,
    without_queues,
    without_topology,
)
from scheduling.shares_holdings import Changes
from scheduling.structs import Level, SchedulerConfig, Snapshot, Topology, TopologyConstraint
from tests.scheduling.build import RACKS, Cluster, node, queue, within


def effects(found: Impact) -> dict[tuple[str, str], float]:
    """GPUs by gang and effect."""
    return {(hit.podgroup.removeprefix("default/"), hit.effect.value): hit.gpus for hit in found.hits}


def two_queues() -> Cluster:
    """16 GPUs: a deserves 12 and holds 12, b deserves 4, holds 4 and waits for 4."""
    cluster = Cluster(node("n0", 8), node("n1", 8), queues=(queue("a", quota=12.0), queue("b", quota=4.0)))
    cluster.gang("a0", 8, on=("n0",), queue="a").gang("a1", 4, on=("n1",), queue="a")
    return cluster.gang("b0", 4, on=("n1",), queue="b").gang("b1", 4, queue="b")


def test_nothing_changed_is_nothing_hit() -> None:
    snapshot = two_queues().snapshot()

    assert compare(snapshot, snapshot).is_empty


def test_a_lowered_quota_gives_back_to_who_waits() -> None:
    """a to 8, b to 8: the newest gang of a goes for b1."""
    snapshot = two_queues().snapshot()

    found = compare(snapshot, with_queues(snapshot, Changes(quotas={("a", "gpu"): 8.0, ("b", "gpu"): 8.0})))

    (hit,) = [each for each in found.hits if each.effect is Effect.RECLAIMED]
    assert (hit.podgroup, hit.queue, hit.gpus, hit.pods, hit.evictor) == ("default/a1", "a", 4, 1, "default/b1")
    assert ("b1", "starts") in effects(found)
    moves = {move.queue: (move.fair_before, move.fair_after, move.before, move.after) for move in found.moves}
    assert moves["a"] == (12, 8, Standing.WITHIN, Standing.OVER)
    assert moves["b"] == (4, 8, Standing.WITHIN, Standing.UNDER)


def test_what_happens_anyway_is_no_effect_of_the_edit() -> None:
    """b is owed 4 and gets them from a whatever the priority of b."""
    cluster = two_queues()
    cluster.queues = (queue("a", quota=8.0), queue("b", quota=8.0))
    snapshot = cluster.snapshot()

    assert [each.podgroup for each in run_cycle(snapshot).evicted] == ["default/a1"]
    assert compare(snapshot, with_queues(snapshot, Changes(priorities={"b": 200}))).hits == ()


def test_a_limit_below_what_runs_stops_restarts() -> None:
    """12 held, limit 6: neither of 8 nor of 4 could start again beside the other; nobody waits, so nobody goes."""
    snapshot = content()

    found = compare(snapshot, with_queues(snapshot, Changes(limits={("a", "gpu"): 6.0})))

    assert effects(found) == {("a0", "stops-fitting"): 8, ("a1", "stops-fitting"): 4}
    assert all(hit.running for hit in found.hits)


def content() -> Snapshot:
    """The same two queues, and nobody waits."""
    snapshot = two_queues().snapshot()
    groups = tuple(group for group in snapshot.podgroups if group.name != "b1")
    return msgspec.structs.replace(snapshot, podgroups=groups, pods=tuple(pod for pod in snapshot.pods if pod.node))


def test_a_quota_below_non_preemptible_work_stops_its_restart_only() -> None:
    cluster = Cluster(node("n0", 8), queues=(queue("q", quota=8.0),))
    cluster.gang("fixed", 4, on=("n0",), preemptible=False).gang("loose", 4, on=("n0",))
    snapshot = cluster.snapshot()

    found = compare(snapshot, with_queues(snapshot, Changes(quotas={("q", "gpu"): 2.0})))

    assert effects(found) == {("fixed", "stops-fitting"): 4}


def test_a_deleted_queue_takes_its_gangs_with_it() -> None:
    snapshot = two_queues().snapshot()

    found = compare(snapshot, without_queues(snapshot, {"a"}))

    assert effects(found)["a0", "queue-gone"] == 8
    assert effects(found)["a1", "queue-gone"] == 4
    assert next(move for move in found.moves if move.queue == "a").after is None


def test_a_removed_node_hits_what_runs_there() -> None:
    snapshot = two_queues().snapshot()

    found = compare(snapshot, without_nodes(snapshot, {"n0"}))

    assert effects(found)["a0", "loses-nodes"] == 8
    assert (found.total_before, found.total_after) == (16, 8)


def test_a_node_that_changes_pools_hits_what_runs_there() -> None:
    snapshot = two_queues().snapshot()

    found = compare(snapshot, leaving_nodes(snapshot, {"n1"}))

    assert {key for key in effects(found) if key[1] == "loses-nodes"} == {
        ("a1", "loses-nodes"), ("b0", "loses-nodes"),
    }  # fmt: skip


def test_a_cordoned_node_shrinks_shares_and_bars_restarts() -> None:
    """16 → 8 GPUs: a0 of 8 does not fit anew on n1, where 4 are b0's."""
    snapshot = two_queues().snapshot()

    found = compare(snapshot, cordoned(snapshot, {"n0"}))

    assert (found.total_before, found.total_after) == (16, 8)
    assert ("a0", "stops-fitting") in effects(found)
    assert ("a0", "loses-nodes") not in effects(found)


def test_a_waiting_gang_that_would_start_before_and_not_after_stops_fitting() -> None:
    cluster = Cluster(node("n0", 8), node("n1", 8)).gang("big", 8, 8)
    snapshot = cluster.snapshot()

    found = compare(snapshot, cordoned(snapshot, {"n1"}))

    (hit,) = [each for each in found.hits if each.effect is Effect.STOPS_FITTING]
    assert (hit.podgroup, hit.gpus, hit.running) == ("default/big", 16, False)


def racks() -> Cluster:
    nodes = [node(f"{rack}{index}", 8, f"z.{rack}") for rack in ("r0", "r1") for index in (0, 1)]
    cluster = Cluster(*nodes, topologies=(RACKS,))
    cluster.gang("tight", 8, 8, on=("r00", "r01"), topology=within("rack", "rack"))
    return cluster.gang("plain", 8, on=("r10",))


def test_a_deleted_topology_stops_those_that_name_it() -> None:
    snapshot = racks().snapshot()

    found = compare(snapshot, without_topology(snapshot, "topo"))

    assert effects(found) == {("tight", "stops-fitting"): 16}


def test_a_detached_topology_loses_constraints() -> None:
    snapshot = racks().snapshot()

    (hit,) = compare(snapshot, pool_topology(snapshot, {"topo"}, None)).hits

    assert (hit.podgroup, hit.effect, hit.topology, hit.levels) == (
        "default/tight", Effect.LOSES_CONSTRAINT, "topo", ("rack", "rack"),
    )  # fmt: skip


def test_an_attached_topology_gives_constraints_to_those_without() -> None:
    snapshot = racks().snapshot()
    other = Topology("other", (Level("zone"), Level("rack")))

    found = compare(snapshot, pool_topology(snapshot, (), other))

    assert effects(found) == {("plain", "gains-constraint"): 8}
    assert found.hits[0].levels == ("rack",)


def test_a_swapped_topology_without_the_level_stops_those_that_ask_for_it() -> None:
    snapshot = racks().snapshot()
    other = Topology("other", (Level("zone"),))

    found = compare(snapshot, pool_topology(snapshot, {"topo"}, other))

    assert effects(found)["tight", "stops-fitting"] == 16
    assert effects(found)["tight", "changes-constraint"] == 16


def test_a_swapped_topology_with_the_level_only_changes_the_constraint() -> None:
    snapshot = racks().snapshot()
    other = Topology("other", (Level("zone"), Level("rack")))

    assert effects(compare(snapshot, pool_topology(snapshot, {"topo"}, other))) == {
        ("tight", "changes-constraint"): 16, ("plain", "gains-constraint"): 8,
    }  # fmt: skip


def test_a_subgroups_constraint_counts_too() -> None:
    snapshot = racks().snapshot()
    (tight, plain) = snapshot.podgroups
    changed = msgspec.structs.replace(plain, topology=TopologyConstraint("topo", "zone", "zone"))

    found = compare(snapshot, msgspec.structs.replace(snapshot, podgroups=(tight, changed)))

    assert effects(found) == {("plain", "gains-constraint"): 8}


def test_the_worst_and_largest_come_first() -> None:
    snapshot = two_queues().snapshot()
    after = without_queues(without_nodes(snapshot, {"n1"}), {"b"})

    found = compare(snapshot, after)

    order = [list(Effect).index(hit.effect) for hit in found.hits]
    assert order == sorted(order)


def test_what_is_too_much_to_check_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impact, "MOST_CHECKS", 1)
    snapshot = content()

    found = compare(snapshot, with_queues(snapshot, Changes(limits={("a", "gpu"): 6.0})))

    assert found.unchecked == 1
    assert [hit.podgroup for hit in found.hits] == ["default/a0"]


def test_a_new_topology_is_there_for_those_that_named_it() -> None:
    snapshot = without_topology(racks().snapshot(), "topo")

    assert not starts_anew(snapshot, "default/tight", SchedulerConfig())
    assert starts_anew(with_topology(snapshot, RACKS), "default/tight", SchedulerConfig())


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    names = ("a", "b", "c")
    cluster = Cluster(
        *(node(f"n{index}", 8) for index in range(draw(st.integers(1, 3)))),
        queues=tuple(queue(name, quota=float(draw(st.integers(0, 8)))) for name in names),
    )
    free = {each.name: 8 for each in cluster.nodes}
    for index in range(draw(st.integers(1, 7))):
        size, where = draw(st.integers(1, 8)), draw(st.sampled_from(cluster.nodes)).name
        runs = draw(st.booleans()) and free[where] >= size
        free[where] -= size if runs else 0
        owner = draw(st.sampled_from(names))
        cluster.gang(f"g{index}", float(size), on=(where,) if runs else (), queue=owner)
    return cluster.snapshot()


@given(clusters(), st.sampled_from(["a", "b", "c"]), st.integers(0, 12))
@settings(max_examples=60)
def test_every_eviction_that_the_edit_adds_is_named(snapshot: Snapshot, name: str, quota: int) -> None:
    after = with_queues(snapshot, Changes(quotas={(name, "gpu"): float(quota)}))

    found = compare(snapshot, after)

    # Who is placed and evicted within one cycle held nothing that the edit could take.
    groups = {pod.key: pod.podgroup for pod in snapshot.pods if pod.node}
    usual = _ever_evicted(snapshot)
    added = {groups[each.pod] for each in run_cycle(after).evicted if each.pod in groups and each.pod not in usual}
    assert {hit.podgroup for hit in found.hits if hit.effect is Effect.RECLAIMED} >= added
    assert all(hit.gpus > 0 for hit in found.hits)


def _ever_evicted(snapshot: Snapshot) -> set[str]:
    """Pods that the next cycles evict without the edit."""
    evicted: set[str] = set()
    for _ in range(impact.CYCLES):
        result = run_cycle(snapshot)
        evicted |= {each.pod for each in result.evicted}
        snapshot = after_cycle(snapshot, result)
    return evicted


@given(clusters())
@settings(max_examples=30)
def test_an_edit_and_its_reverse_move_the_same_queues(snapshot: Snapshot) -> None:
    after = with_queues(snapshot, Changes(weights={("a", "gpu"): 3.0}))

    there = {move.queue: (move.fair_before, move.fair_after) for move in compare(snapshot, after).moves}
    back = {move.queue: (move.fair_after, move.fair_before) for move in compare(after, snapshot).moves}

    assert there == back


def test_a_gang_that_waits_for_room_and_could_never_start_afterwards_stops_fitting() -> None:
    """Both racks are full; with its topology gone even an empty pool would not take it."""
    cluster = racks()
    cluster.gang("full", 8, on=("r11",)).gang("later", 8, topology=within("rack", "rack"))
    snapshot = cluster.snapshot()

    found = effects(compare(snapshot, without_topology(snapshot, "topo")))

    assert found["later", "stops-fitting"] == 8
