"""Parts of a running installation killed, frozen, emptied and made to lie, with more than 200 intents in flight."""

import time
from collections.abc import Callable

import pytest
from redis import Redis

from tests.faults.harness import Stack
from tests.faults.intents import Fleet
from tests.stack.installation import wait_until

IN_FLIGHT = 200
DOWN_SECONDS = 60
WATCHER = "watcher of simulated"
STANDS_STILL = (
    "No worker runs",
    "The clock does not run",
    "The broker does not answer",
    "What is shown may be outdated",
)


def kill(part: str) -> Callable[[Stack], None]:
    """The strike that kills a part; whoever keeps it alive starts another one."""
    return lambda stack: stack.kill(part)


def flush_the_broker(stack: Stack) -> None:
    """All that waits in the broker is lost."""
    Redis.from_url(stack.environment("REDIS_URL")).flushall()


def freeze_the_watches(stack: Stack) -> None:
    """Watches deliver nothing for a while, and all of it late."""
    stack.cluster.switch_on("watch-frozen", seconds=20)


def expire_the_watches(stack: Stack) -> None:
    """Watches end with 410 until it is over, and in the middle of an event before."""
    stack.cluster.switch_on("connection-dropped", seconds=5)
    stack.cluster.switch_on("watch-gone", seconds=15)


def kill_the_worker_and_lose_events(stack: Stack) -> None:
    """Leases stay taken, and watches leave out what happens meanwhile and never deliver it."""
    stack.cluster.switch_on("watch-lossy", seconds=20)
    stack.kill("worker")


STRIKES: dict[str, Callable[[Stack], None]] = {
    "watcher killed": kill("watcher"),
    "beat killed": kill("beat"),
    "broker killed": kill("broker"),
    "broker flushed": flush_the_broker,
    "watches frozen": freeze_the_watches,
    "watches expired": expire_the_watches,
    "worker killed, events lost": kill_the_worker_and_lose_events,
}


@pytest.mark.parametrize("strike", STRIKES)
def test_nothing_is_lost_doubled_or_stuck(fleet: Fleet, strike: str) -> None:
    stack = fleet.stack
    with stack.frozen("worker"):
        fleet.replace_wave()
        in_flight = len(fleet.unsettled())
        assert in_flight >= IN_FLIGHT
    wait_until(lambda: len(fleet.unsettled()) < in_flight, "work to begin")

    STRIKES[strike](stack)

    seconds = fleet.settle()
    print(f"{strike}: {in_flight} intents in flight, settled after {seconds:.1f} s")


def test_two_of_each_process_share_one_file(fleet: Fleet) -> None:
    """The same as on PostgreSQL: SQLite's writers take turns, so two of each are no quicker, and nothing is doubled."""
    in_flight, seconds = fleet.replace_wave_with_two_of_each_process()

    assert in_flight >= IN_FLIGHT
    print(f"two of each process on SQLite: {in_flight} intents in flight, settled after {seconds:.1f} s")


def test_an_api_server_that_is_down_for_a_minute(fleet: Fleet) -> None:
    """Rows wait, keep what is known of them, and the pages say since when; then all is made up for."""
    stack = fleet.stack
    stack.cluster.switch_on("api-down")
    started = time.monotonic()
    fleet.replace_wave()
    said = wait_until(lambda: stack.health().get(WATCHER), "the watcher to be said to fail")
    assert "API server" in said or "answer" in said
    page = stack.page("/nodes/")
    assert "Last heard:" in page
    assert fleet.nodes[0] in page
    assert stack.ask("GET", "/api/v1/nodes/count").body["count"] == len(fleet.nodes)
    assert stack.muster.request("GET", "/readyz").status == 200  # the rest of Muster does its job
    wait_until(lambda: time.monotonic() - started > DOWN_SECONDS, "the minute to be over", DOWN_SECONDS + 10)
    in_flight = len(fleet.unsettled())
    assert in_flight >= IN_FLIGHT
    stack.cluster.clear()
    down = time.monotonic() - started

    seconds = fleet.settle()
    print(f"API server down for {down:.0f} s: {in_flight} intents in flight, settled after {seconds:.1f} s")


def test_field_report_76_every_part_that_hangs_is_named_and_no_list_is_empty(fleet: Fleet) -> None:
    """Broker, worker, beat and watcher stand still: writes go on, nobody waits for them, all four are named."""
    stack = fleet.stack
    before = stack.ask("GET", "/api/v1/org-unit/projects/count").body["count"]
    with stack.frozen("broker", "worker", "beat", "watcher"):
        slowest = fleet.replace_wave()
        in_flight = len(fleet.unsettled())
        assert in_flight >= IN_FLIGHT
        expected = {"broker", "worker", "beat", WATCHER}
        wait_until(lambda: stack.health().keys() == expected, "all four to be named", 60)
        assert stack.muster.request("GET", "/readyz").status == 503
        page = stack.page("/")
        missing = [words for words in STANDS_STILL if words not in page]
        assert not missing
        after = stack.ask("GET", "/api/v1/org-unit/projects/count").body["count"]
        assert after >= before

    seconds = fleet.settle()
    print(
        f"broker, worker, beat and watcher hung: {in_flight} intents in flight, "
        f"slowest request {slowest:.1f} s, settled after {seconds:.1f} s"
    )
