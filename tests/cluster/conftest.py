"""Everything below this folder needs the real cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import User
from tests.cluster import binaries
from tests.cluster.installation import RealMuster
from tests.cluster.running import RealCluster
from tests.cluster.world import GRAPHS, QUEUES, World, account, connected, graphs_in, put_nodes
from tests.contract import servers
from tests.contract.client import Api

# These run every process of `manage.py up`, or measure.
ALONE = frozenset({"test_main_job.py", "test_main_job_in_a_browser.py", "test_readme.py", "test_scale.py"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/cluster/" in str(item.path):
            item.add_marker(pytest.mark.cluster)
            if item.path.name in ALONE:
                item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    if binaries.missing():
        pytest.skip("missing: the real cluster's binaries (make cluster)")


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[Api, RealCluster]]:
    """A real server with our CRDs and three nodes, and its processes."""
    with servers.real() as (api, cluster):
        put_nodes(api)
        yield api, cluster


@pytest.fixture
def api(served: tuple[Api, RealCluster]) -> Api:
    return served[0]


@pytest.fixture
def server(served: tuple[Api, RealCluster]) -> RealCluster:
    return served[1]


@pytest.fixture
def world(api: Api, db: None, admin: User) -> Iterator[World]:
    """Muster with that server registered; its queues and graphs go at the end."""
    with connected(account(api), admin) as world:
        world.settle(lambda: world.cluster.node_set.count() == 3, "the nodes to be read")
        world.run_until_quiet()
        yield world
        for item in api.await_status(QUEUES, 200).body["items"]:
            api.delete(f"{QUEUES}/{item['metadata']['name']}")
        for item in api.await_status(GRAPHS, 200).body["items"]:
            api.delete(f"{graphs_in(item['metadata']['namespace'])}/{item['metadata']['name']}")


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[RealMuster]:
    """`up --cluster real` on an empty fleet; KAI's pod grouper makes the pod groups."""
    installation = RealMuster(tmp_path, extra=("--cluster", "real"))
    try:
        installation.start()
        yield installation
    finally:
        if installation.process is not None:
            installation.stop()
