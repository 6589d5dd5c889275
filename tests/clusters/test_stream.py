"""One stream against a scripted API server: what goes wrong on the wire, and what must follow."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from clusters import wire
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.watcher import stream as stream_module
from clusters.watcher.observed import OBSERVED, ObservedKind
from clusters.watcher.pending import Pending
from clusters.watcher.stream import Stream
from tests.clusters.objects import bookmark, node, pod
from tests.clusters.scripted import Answer, Exchange, ScriptedServer

NODES: ObservedKind = OBSERVED[0]
PODS: ObservedKind = OBSERVED[1]
GRAPHS: ObservedKind = OBSERVED[-1]
Start = Callable[..., tuple[ScriptedServer, Stream]]


class Clock(threading.Event):
    """A stop event that notes how long the stream wanted to wait, and waits a thousandth of it."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        if timeout:
            self.waits.append(timeout)
        return super().wait(None if timeout is None else timeout / 1000)


@pytest.fixture
def start() -> Iterator[Start]:
    running: list[tuple[ScriptedServer, Stream, threading.Thread]] = []

    def begin(
        *answers: Answer, kind: ObservedKind = NODES, known: dict[str, str] | None = None, relist_seconds: float = 600
    ) -> object:
        server = ScriptedServer(*answers)
        timeouts = Timeouts(connect=1.0, read=1.0, watch=1, watch_read=0.3)
        gateway = KubeGateway(Connection("c", server.url, timeouts=timeouts))
        stream = Stream(gateway, kind, Pending(known), Clock(), "c", relist_seconds)
        thread = threading.Thread(target=stream.run, daemon=True)
        thread.start()
        running.append((server, stream, thread))
        return server, stream

    yield begin
    for server, stream, thread in running:
        stream.stopped.set()
        stream.pending.close()
        stream.gateway.close()
        server.close()
        thread.join(5)
        assert not thread.is_alive()


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    waiting = threading.Event()
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it did not come to pass in time")


def hold(exchange: Exchange) -> None:
    """A healthy, quiet watch: a bookmark and an orderly end after a while."""
    exchange.events(bookmark(100), end=False)
    threading.Event().wait(0.1)
    exchange.handler.wfile.write(b"0\r\n\r\n")


def watched_from(server: ScriptedServer) -> list[str]:
    return [e.query["resourceVersion"] for e in server.exchanges if e.query.get("watch")]


def lists(server: ScriptedServer) -> int:
    return len([e for e in server.exchanges if "watch" not in e.query and "continue" not in e.query])


def test_a_list_is_followed_by_a_watch_that_resumes_where_it_was(start: Start) -> None:
    server, stream = start(
        lambda e: e.page([node("a", version=3)], "5"),
        lambda e: e.events(("ADDED", node("b", version=7)), bookmark(20)),
        hold,
    )

    until(lambda: len(watched_from(server)) >= 3)

    assert watched_from(server)[:3] == ["5", "20", "100"]
    assert lists(server) == 1
    assert set(stream.pending.known) == {"uid-a", "uid-b"}
    until(lambda: stream.state.error == "")


def test_every_event_moves_the_version_that_a_resume_starts_from(start: Start) -> None:
    server, _ = start(
        lambda e: e.page([], "5"),
        lambda e: e.events(("ADDED", node("b", version=7)), ("DELETED", node("b", version=9))),
        hold,
    )

    until(lambda: len(watched_from(server)) >= 2)

    assert watched_from(server)[:2] == ["5", "9"]


@pytest.mark.parametrize(
    "gone",
    ids=["status", "event"],
    argvalues=[
        lambda e: e.error(410, "Expired", "too old resource version"),
        lambda e: e.events(("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})),
    ],
)
def test_field_report_69_410_in_either_form_lists_again_without_a_tight_loop(start: Start, gone: Answer) -> None:
    server, stream = start(
        lambda e: e.page([node("a"), node("b")], "5"),
        gone,
        lambda e: e.page([node("a")], "50"),
        gone,
        lambda e: e.page([node("a")], "60"),
        hold,
    )

    until(lambda: "60" in watched_from(server))

    waits = stream.stopped.waits
    assert lists(server) == 3
    assert len(waits) >= 2
    assert waits[1] >= stream_module.BACKOFF_FIRST * 0.5
    assert set(stream.pending.known) == {"uid-a"}


def test_a_410_between_two_pages_lists_anew_and_deletes_nothing_meanwhile(start: Start) -> None:
    release = threading.Event()

    def second(exchange: Exchange) -> None:
        release.wait(5)
        exchange.page([node("a"), node("b")], "9")

    server, stream = start(
        lambda e: e.page([node("a")], "7", "more"),
        lambda e: e.error(410, "Expired", "The provided continue parameter is too old"),
        second,
        hold,
        known={"uid-a": "1", "uid-b": "1", "uid-gone": "1"},
    )

    until(lambda: lists(server) == 2)
    assert not stream.pending.take().deletes
    assert "too old" in stream.state.error
    release.set()
    until(lambda: stream.state.lists == 1)
    assert stream.pending.take().deletes == {"uid-gone"}
    until(lambda: stream.state.error == "")


def test_a_connection_that_dies_on_page_2_of_3_deletes_nothing(start: Start) -> None:
    server, stream = start(
        lambda e: e.page([node("a")], "7", "p2"),
        lambda e: e.break_off(b'{"metadata": {'),
        known={"uid-a": "1", "uid-b": "1"},
    )

    until(lambda: len(server.exchanges) >= 3)

    assert not stream.pending.take().deletes
    assert set(stream.pending.known) == {"uid-a", "uid-b"}
    assert stream.state.reason == "Unavailable"


def test_a_frozen_watch_is_left_and_resumed(start: Start) -> None:
    frozen = threading.Event()

    def freeze(exchange: Exchange) -> None:
        exchange.events(("ADDED", node("b", version=7)), end=False)
        frozen.wait(5)

    server, stream = start(lambda e: e.page([], "5"), freeze, hold)

    until(lambda: len(watched_from(server)) >= 2)
    frozen.set()

    assert watched_from(server)[:2] == ["5", "7"]
    assert lists(server) == 1
    until(lambda: stream.state.error == "")


def test_an_event_that_never_came_is_made_up_for_by_the_next_list(start: Start) -> None:
    _server, stream = start(
        lambda e: e.page([node("a", version=3), node("b", version=4)], "5"),
        hold,
        lambda e: e.page([node("a", version=6), node("c", version=8)], "9"),
        hold,
        relist_seconds=0.05,
    )

    until(lambda: stream.state.lists >= 2)

    batch = stream.pending.take()
    assert batch.deletes == {"uid-b"}
    assert set(batch.upserts) == {"uid-a", "uid-c"}


def test_the_production_timeouts_notice_a_frozen_watch_within_75_seconds() -> None:
    defaults = Timeouts()

    assert defaults.watch < defaults.watch_read < 75


def test_field_report_72_a_hundred_events_use_one_connection(start: Start) -> None:
    storm = [("MODIFIED", node("a", version=10 + number)) for number in range(100)]
    server, stream = start(lambda e: e.page([], "5"), lambda e: e.events(*storm), hold)

    until(lambda: stream.pending.known.get("uid-a") == "109")

    assert len(watched_from(server)) <= 2


def test_a_failing_server_is_asked_ever_more_rarely_and_the_state_says_why(start: Start) -> None:
    server, stream = start(lambda e: e.error(503, "ServiceUnavailable", "etcd is down"))

    until(lambda: len(server.exchanges) >= 9)

    waits = stream.stopped.waits
    assert stream.state.error == "etcd is down"
    assert all(0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(waits[:6]))
    assert max(waits) <= stream_module.BACKOFF_LAST


def test_a_kind_that_is_not_served_is_looked_for_in_its_other_version_and_then_later(start: Start) -> None:
    server, stream = start(lambda e: e.raw(b"404 page not found\n", 404), kind=GRAPHS)

    until(lambda: len(server.exchanges) >= 4)

    assert [e.path.split("/")[3] for e in server.exchanges[:2]] == ["v1beta1", "v1alpha1"]
    assert stream.state.reason == "NotServed"
    assert not stream.state.served
    assert max(stream.stopped.waits) >= 48


def test_a_kind_that_was_served_is_looked_for_again_soon(start: Start) -> None:
    """A CRD that is installed anew, or whose version is switched off and on, is back within seconds."""
    _server, stream = start(
        lambda e: e.page([node("a")], "5"),
        lambda e: e.raw(b"404 page not found\n", 404),
        lambda e: e.raw(b"404 page not found\n", 404),
        lambda e: e.raw(b"404 page not found\n", 404),
        lambda e: e.page([node("a"), node("b")], "9"),
        hold,
    )

    until(lambda: "uid-b" in stream.pending.known)

    assert sum(stream.stopped.waits[:3]) <= 1 + 2 + 4
    assert stream.state.served


@pytest.mark.parametrize(
    ("kind", "make", "odd"),
    [
        (NODES, node, {"status": {"capacity": ["not", "a", "map"]}}),
        (PODS, pod, {"spec": {"containers": "none"}}),
        (PODS, pod, {"status": {"phase": 7}}),
        (PODS, pod, {"metadata": {"uid": "uid-odd", "resourceVersion": 9}}),
    ],
)
def test_one_odd_object_hides_no_other(
    start: Start, kind: ObservedKind, make: Callable[..., dict[str, Any]], odd: dict[str, Any]
) -> None:
    unreadable = make("odd") | odd
    _, stream = start(
        lambda e: e.page([make("a"), unreadable, make("b")], "5"),
        lambda e: e.events(("ADDED", unreadable), ("ADDED", make("c", version=8))),
        hold,
        kind=kind,
    )

    until(lambda: "uid-c" in stream.pending.known)

    assert set(stream.pending.known) == {"uid-a", "uid-b", "uid-c"}


def test_a_listed_pod_that_changed_is_read_whole(start: Start) -> None:
    known = {"uid-a": "1", "uid-b": "1"}
    _, stream = start(lambda e: e.page([pod("a"), pod("b", gpus=4, version=2)], "5"), hold, kind=PODS, known=known)

    until(lambda: stream.state.lists == 1)

    [(uid, changed)] = stream.pending.take().upserts.items()
    assert uid == "uid-b"
    assert changed == msgspec.convert(pod("b", gpus=4, version=2), wire.PodObject)
    assert changed.spec.containers[0].resources.limits == {"nvidia.com/gpu": "4"}
    assert changed.status.phase == "Running"


def test_nul_characters_which_a_database_cannot_hold_are_replaced_in_lists_and_events(start: Start) -> None:
    def bad(name: str, version: int) -> object:
        return node(name, version=version, labels={"note": "x\x00y"})

    def follow(exchange: Exchange) -> None:
        exchange.events(("ADDED", bad("b", 2)), end=False)
        server.hold(exchange)

    server, stream = start(lambda e: e.page([bad("a", 1)], "1"), follow)
    until(lambda: len(stream.pending.known) == 2)

    labels = [item.metadata.labels for item in stream.pending.take().upserts.values()]
    assert [one["note"] for one in labels] == ["x\ufffdy", "x\ufffdy"]
