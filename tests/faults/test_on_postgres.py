"""PostgreSQL restarted in immediate mode under load, and two of each process at once."""

import os
import signal
import time
from typing import Any

from tests.faults.harness import Stack
from tests.faults.intents import Fleet
from tests.stack.installation import wait_until

IN_FLIGHT = 200


def restart(postgres: Any, stack: Stack) -> float:
    """Immediate mode: no checkpoint, every connection cut; again when Muster has said what fails. Seconds without."""
    started = time.monotonic()
    pid = postgres.get_pid()
    os.kill(pid, signal.SIGQUIT)
    wait_until(lambda: not _lives(pid), "PostgreSQL to end")
    wait_until(lambda: stack.health().keys() == {"database"}, "the database to be named")
    postgres.ensure_postgres_running()
    return time.monotonic() - started


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_postgresql_restarted_under_load(fleet_on_postgres: Fleet, postgres: Any) -> None:
    """Requests that were under way fail or wait; none is half done, and none done twice by its repetition. So it is
    with the rows that the workers have just begun with."""
    fleet = fleet_on_postgres
    with fleet.replacing_wave() as progress:
        with fleet.stack.frozen("worker"):
            wait_until(lambda: progress() >= IN_FLIGHT, "so many requests to be answered", 120)
            in_flight = len(fleet.unsettled())
        down = restart(postgres, fleet.stack)

    seconds = fleet.settle()
    assert in_flight >= IN_FLIGHT
    print(f"PostgreSQL restarted ({down:.1f} s): {in_flight} intents in flight, settled after {seconds:.1f} s")


def test_two_of_each_process_share_the_work(fleet_on_postgres: Fleet) -> None:
    """Two watchers, two workers, two beats and two web processes: everything once."""
    in_flight, seconds = fleet_on_postgres.replace_wave_with_two_of_each_process()

    assert in_flight >= IN_FLIGHT
    print(f"two of each process: {in_flight} intents in flight, settled after {seconds:.1f} s")
