"""Faults of the simulated cluster, switched on by its own small API beside a whole installation: Muster says what is
wrong and loses nothing, and all is well again when it is over."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.cluster import SimulatedCluster
from tests.faults.harness import Stack
from tests.stack.installation import wait_until
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
SECONDS = 120


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("switches"))
    try:
        yield stack.start(MUSTER_RELIST_SECONDS="15")
    finally:
        stack.stop()


@pytest.fixture
def cluster(stack: Stack) -> Iterator[SimulatedCluster]:
    yield stack.cluster
    stack.cluster.clear()


@pytest.mark.parametrize("fault", WRITES)
def test_a_row_that_cannot_be_written_says_why_and_is_written_once_it_can(
    stack: Stack, cluster: SimulatedCluster, fault: str
) -> None:
    cluster.switch_on(fault, **WRITES[fault])
    made = ask(stack, "POST", "/v1/network-topologies", topology(stack, fault), 201)
    path = f"/v1/network-topologies/{made['id']}"
    told = wait_until(lambda: not_synced(stack, path), f"{fault} to be told")
    assert told["message"]

    cluster.clear()

    wait_until(lambda: ask(stack, "GET", path)["phase"] == "Ready", f"the topology to be ready after {fault}", SECONDS)
    found = [each for each in cluster.objects("topologies") if each["metadata"]["name"] == fault]
    assert [each["metadata"]["generation"] for each in found] == [1]
    delete(stack, path)


def test_what_happens_while_watches_are_frozen_is_known_afterwards(stack: Stack, cluster: SimulatedCluster) -> None:
    name = node_names(cluster)[0]
    cluster.switch_on("watch-frozen", seconds=3)
    stack.muster.kubectl("label", "node", name, "seen-after=frozen")

    wait_until(lambda: node(stack, name)["labels"].get("seen-after") == "frozen", "what was missed", SECONDS)


def ask(stack: Stack, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = stack.ask(method, f"/api{path}", body)
    assert answer.status == status, answer.body
    return answer.body


def delete(stack: Stack, path: str) -> None:
    """Accepted or done."""
    assert stack.ask("DELETE", f"/api{path}").status in (202, 204)


def topology(stack: Stack, name: str) -> dict[str, Any]:
    [found] = ask(stack, "GET", "/v1/clusters?verbosity=metadata")
    return {"name": name, "clusterId": found["uuid"], "levels": [ZONE, RACK, HOST]}


def conditions(stack: Stack, path: str) -> list[Any]:
    found: list[Any] = ask(stack, "GET", path)["status"]["conditions"]
    return found


def not_synced(stack: Stack, path: str) -> Any:
    bad = [c for c in conditions(stack, path) if c["type"] in ("Synced", "Accepted") and c["status"] == "False"]
    return bad[0] if bad else None


def node(stack: Stack, name: str) -> Any:
    [found] = ask(stack, "GET", f"/v1/nodes?filterBy=name=={name}")["nodes"]
    return found


def names(cluster: SimulatedCluster, what: str) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.objects(what)}


def node_names(cluster: SimulatedCluster) -> list[str]:
    return sorted(names(cluster, "nodes"))
