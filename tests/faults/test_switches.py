"""Faults of the simulated cluster, switched on by its own small API beside a whole installation: Muster says what is
wrong and loses nothing, and all is well again when it is over."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.cluster import SimulatedCluster
from tests.faults.harness import MONITORING
from tests.faults.test_stack import WATCHER
from tests.stack.installation import Muster, wait_until
from tests.stack.main_job import HOST, RACK, ZONE

# The row waits meanwhile and says so.
WRITES: dict[str, dict[str, Any]] = {
    "conflict": {},
    "too-many-requests": {},
    "internal-error": {},
    "api-down": {},
    "version-not-served": {"group": "kai.scheduler", "version": "v1alpha1"},
    "webhook-down": {"group": "kai.scheduler"},
}


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    installation = Muster(tmp_path_factory.mktemp("switches"))
    try:
        yield installation.start(MUSTER_RELIST_SECONDS="15", MUSTER_MONITORING_TOKEN=MONITORING)
    finally:
        if installation.process is not None:
            installation.stop()


@pytest.fixture
def cluster(muster: Muster) -> Iterator[SimulatedCluster]:
    cluster = SimulatedCluster(muster.kubeconfig)
    yield cluster
    cluster.clear()


@pytest.mark.parametrize("fault", WRITES)
def test_a_row_that_cannot_be_written_says_why_and_is_written_once_it_can(
    muster: Muster, cluster: SimulatedCluster, fault: str
) -> None:
    cluster.switch_on(fault, **WRITES[fault])
    made = ask(muster, "POST", "/v1/network-topologies", topology(muster, fault), 201)
    path = f"/v1/network-topologies/{made['id']}"
    told = wait_until(lambda: not_synced(muster, path), f"{fault} to be told")
    assert told["message"]

    cluster.clear()

    wait_until(lambda: ask(muster, "GET", path)["phase"] == "Ready", f"the topology to be ready after {fault}", 90)
    found = [each for each in cluster.objects("topologies") if each["metadata"]["name"] == fault]
    assert [each["metadata"]["generation"] for each in found] == [1]
    muster.request("DELETE", f"/api{path}")


def test_what_happens_while_watches_are_frozen_is_known_afterwards(muster: Muster, cluster: SimulatedCluster) -> None:
    name = cluster.objects("nodes")[0]["metadata"]["name"]
    wait_until(lambda: healthy(muster), "all to be well before")
    cluster.switch_on("watch-frozen", seconds=3)
    muster.kubectl("label", "node", name, "seen-after=frozen")

    wait_until(lambda: node(muster, name)["labels"].get("seen-after") == "frozen", "what was missed", 90)
    wait_until(lambda: healthy(muster), "all to be well afterwards", 90)


def ask(muster: Muster, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = muster.request(method, f"/api{path}", body)
    assert answer.status == status, answer.body
    return answer.body


def topology(muster: Muster, name: str) -> dict[str, Any]:
    [found] = ask(muster, "GET", "/v1/clusters?verbosity=metadata")
    return {"name": name, "clusterId": found["uuid"], "levels": [ZONE, RACK, HOST]}


def conditions(muster: Muster, path: str) -> list[Any]:
    found: list[Any] = ask(muster, "GET", path)["status"]["conditions"]
    return found


def not_synced(muster: Muster, path: str) -> Any:
    bad = [c for c in conditions(muster, path) if c["type"] in ("Synced", "Accepted") and c["status"] == "False"]
    return bad[0] if bad else None


def node(muster: Muster, name: str) -> Any:
    [found] = ask(muster, "GET", f"/v1/nodes?filterBy=name=={name}")["nodes"]
    return found


def healthy(muster: Muster) -> bool:
    answer = muster.request("GET", "/readyz", Authorization=f"Bearer {MONITORING}")
    return answer.status == 200 and all(part["healthy"] for part in answer.body["parts"] if part["name"] == WATCHER)
