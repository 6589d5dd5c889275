"""Fixtures of the contract: `api` is each of the two servers in turn, in a namespace of the test's own."""

from collections.abc import Iterator

import pytest

from tests.cluster.running import RealCluster
from tests.contract import servers
from tests.contract.client import Api, in_new_namespace

SERVERS = [pytest.param("simulator"), pytest.param("real", marks=pytest.mark.cluster)]


@pytest.fixture(scope="session")
def simulator_api() -> Iterator[Api]:
    with servers.simulator() as api:
        yield api


@pytest.fixture(scope="session")
def real_server() -> Iterator[tuple[Api, RealCluster]]:
    with servers.real() as found:
        yield found


@pytest.fixture(scope="session")
def real_api(real_server: tuple[Api, RealCluster]) -> Api:
    return real_server[0]


@pytest.fixture(params=SERVERS)
def api(request: pytest.FixtureRequest) -> Api:
    found: Api = request.getfixturevalue(f"{request.param}_api")
    return in_new_namespace(found)
