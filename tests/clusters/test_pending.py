"""Whatever order, however often, and wherever it stops: what waits ends as one clean list would have it."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.watcher.pending import Pending

History = list[tuple[str, str, int]]  # (event type, uid, resource version)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """What an API server says of a few objects: each added, modified some times, perhaps deleted for good."""
    events: History = []
    for number in range(draw(st.integers(1, 6))):
        uid = f"u{number}"
        steps = ["ADDED", *["MODIFIED"] * draw(st.integers(0, 3)), *(["DELETED"] if draw(st.booleans()) else [])]
        events += [(step, uid, 0) for step in steps]
    order = draw(st.permutations(range(len(events))))
    positions = sorted(range(len(events)), key=lambda index: order[index])
    queues: dict[str, list[str]] = {}
    for type_, uid, _ in events:
        queues.setdefault(uid, []).append(type_)
    history: History = []
    for version, index in enumerate(positions, start=1):
        uid = events[index][1]
        history.append((queues[uid].pop(0), uid, version))
    return history


def final(history: History) -> dict[str, int]:
    state: dict[str, int] = {}
    for type_, uid, version in history:
        if type_ == "DELETED":
            state.pop(uid, None)
        else:
            state[uid] = version
    return state


def feed(pending: Pending, events: History) -> None:
    for type_, uid, version in events:
        if type_ == "DELETED":
            pending.delete(uid, str(version))
        else:
            pending.upsert(uid, str(version), version)


def write(pending: Pending, rows: dict[str, int]) -> None:
    batch = pending.take()
    assert not batch.deletes & set(batch.upserts)
    for uid in batch.deletes:
        rows.pop(uid, None)
    for uid, version in batch.upserts.items():
        assert version > rows.get(uid, 0)
        rows[uid] = version


@settings(max_examples=300, deadline=None)
@given(histories(), st.randoms(use_true_random=False), st.integers(0, 30))
def test_duplicates_reordering_and_lost_writes_end_in_the_state_of_one_clean_list(
    history: History, rng: random.Random, crash_at: int
) -> None:
    pending, rows = Pending(), {}
    events = history + rng.choices(history, k=len(history) // 2)
    rng.shuffle(events)

    for index, one in enumerate(events):
        feed(pending, [one])
        if index == crash_at:
            pending.give_back(pending.take())
        elif rng.random() < 0.4:
            write(pending, rows)
    write(pending, rows)

    assert rows == final(history)
    assert {uid: int(version) for uid, version in pending.known.items()} == rows


@settings(max_examples=200, deadline=None)
@given(histories(), st.integers(0, 40), st.integers(0, 40))
def test_a_restart_at_any_point_is_healed_by_the_next_list(history: History, seen: int, written: int) -> None:
    pending, rows = Pending(), {}
    feed(pending, history[:seen])
    write(pending, rows)
    feed(pending, history[seen : seen + written])  # read, never written: the process dies here

    restarted = Pending({uid: str(version) for uid, version in rows.items()})
    alive = final(history)
    for uid, version in alive.items():
        restarted.upsert(uid, str(version), version)
    restarted.complete(set(restarted.known) - set(alive), str(len(history)))
    write(restarted, rows)

    assert rows == alive


def test_a_list_from_a_stale_replica_moves_nothing_backwards_and_deletes_nothing_newer() -> None:
    pending: Pending = Pending({"a": "5", "b": "9", "c": "2"})

    assert not pending.upsert("a", "3", "old")
    pending.complete({"b", "c"}, "4")
    batch = pending.take()

    assert batch.upserts == {}
    assert batch.deletes == {"c"}
    assert pending.known == {"a": "5", "b": "9"}


def test_a_deleted_uid_does_not_come_back_from_a_stale_list() -> None:
    pending: Pending = Pending({"a": "5"})
    pending.delete("a", "8")

    assert not pending.upsert("a", "6", "ghost")
    assert pending.take().deletes == {"a"}


def test_what_is_unchanged_costs_nothing() -> None:
    pending: Pending = Pending({"a": "5"})
    pending.upsert("a", "5", object())
    pending.complete((), "7")

    batch = pending.take()

    assert (batch.upserts, batch.deletes) == ({}, frozenset())


def test_a_storm_on_one_object_waits_as_one_row() -> None:
    pending: Pending = Pending()
    for version in range(1, 1001):
        pending.upsert("a", str(version), version)

    items: dict[str, Any] = dict(pending.take().upserts)

    assert items == {"a": 1000}
