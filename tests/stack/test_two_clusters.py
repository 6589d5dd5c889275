"""A second simulator registered as a second cluster: while one of the two hangs or is gone, the other is neither
slowed nor hidden, and what is known of the first stays, marked as old."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusters.kube.transport import Timeouts
from tests.stack.installation import ROOT, Muster, free_port, wait_until
from tests.stack.main_job import HOST, RACK, ZONE
from tests.stack.reader import Reader

pytestmark = pytest.mark.long

LEVELS = [ZONE, RACK, HOST]
PAGES = ("/", "/clusters/", "/nodes/", "/node-pools/", "/network-topologies/", "/workloads/", "/projects/")
# These tell of each cluster in a row or panel of its own.
OF_CLUSTERS = {"/", "/clusters/"}
# What waits for the cluster that hangs waits at least so long.
HANGING_SECONDS = Timeouts().read
TROUBLES = {"hangs": signal.SIGSTOP, "is gone": signal.SIGKILL}


@dataclass
class Simulator:
    """A simulated cluster in a process of its own, with the empty fleet."""

    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def start(self) -> "Simulator":
        self.directory.mkdir(parents=True)
        command = [sys.executable, "-m", "simulator", "--port", str(free_port()), "--tls-port", str(free_port())]
        options = ["--data-dir", str(self.directory), "--fleet", "empty", "--kubeconfig", str(self.kubeconfig)]
        with (self.directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *options], cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self.kubeconfig.exists, "the second simulator's kubeconfig")
        return self

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def stop(self) -> None:
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.process.wait()


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Simulator]:
    simulator = Simulator(tmp_path / "second")
    try:
        yield simulator.start()
    finally:
        simulator.stop()


@pytest.fixture
def both(tmp_path: Path, second: Simulator) -> Iterator[Muster]:
    """An installation in which the second simulator is registered as `other`, and read."""
    muster = Muster(tmp_path / "muster")
    try:
        muster.start()
        body = {"name": "other", "kubeconfig": second.kubeconfig.read_text()}
        assert muster.request("POST", "/api/v1/clusters", body).status == 201
        wait_until(lambda: set(nodes_by_cluster(muster).values()) == {18} and len(ids(muster)) == 2, "both fleets")
        yield muster
    finally:
        if muster.process is not None:
            muster.stop()


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_cluster_that_does_not_answer_neither_slows_nor_hides_the_other(
    both: Muster, second: Simulator, trouble: str
) -> None:
    reader = Reader(both)
    define_topology(both, "other", "before")

    second.signal(TROUBLES[trouble])
    with_trouble = max(define_topology(both, "simulated", f"during-{number}") for number in range(3))
    wait_until(lambda: "watcher of other" in unhealthy(both), "the watcher of the second cluster to be named", 120)

    assert "watcher of simulated" not in unhealthy(both)
    silent = ids(both)["other"]
    assert with_trouble < HANGING_SECONDS
    assert set(nodes_by_cluster(both).values()) == {18}, "what is known of a cluster stays when it does not answer"
    for path in PAGES:
        started = time.monotonic()
        page = reader.page(path)
        assert time.monotonic() - started < HANGING_SECONDS, path
        if path in OF_CLUSTERS:
            assert f'href="/clusters/{silent}/"' in page, path
            continue
        # Each kind is found silent by its own stream, one before the other.
        told = partial(lambda path: "Last heard:" in silence(reader.page(path), silent), path)
        wait_until(told, f"{path} to say that the cluster is not heard", 90)
    refused_or_waits(both)


def silence(page: str, cluster: str) -> str:
    """What a page says of a cluster that is not heard, from its notice; "" where it has none for this cluster."""
    notices = re.findall(r'<div class="notice wait" role="status">(.*?)</div>', page, re.DOTALL)
    return next((text for text in notices if f'href="/clusters/{cluster}/"' in text), "")


def refused_or_waits(muster: Muster) -> None:
    """An intent for the cluster in trouble is taken and waits, with the reason; it blocks nobody."""
    body = {"name": "waits", "clusterId": ids(muster)["other"], "levels": LEVELS}
    made = muster.request("POST", "/api/v1/network-topologies", body)
    assert made.status == 201

    def told() -> Any:
        row = muster.request("GET", f"/api/v1/network-topologies/{made.body['id']}").body
        synced = [c for c in row["status"]["conditions"] if c["type"] == "Synced"]
        return synced and synced[0]["status"] == "False"

    wait_until(told, "the reason why it waits", 90)
    define_topology(muster, "simulated", "after")


def define_topology(muster: Muster, cluster: str, name: str) -> float:
    """The seconds from the request until the cluster has it and the row is ready."""
    started = time.monotonic()
    body = {"name": name, "clusterId": ids(muster)[cluster], "levels": LEVELS}
    pk = muster.request("POST", "/api/v1/network-topologies", body).body["id"]
    wait_until(
        lambda: muster.request("GET", f"/api/v1/network-topologies/{pk}").body["phase"] == "Ready",
        f"{name} to be ready on {cluster}",
    )
    return time.monotonic() - started


def ids(muster: Muster) -> dict[str, str]:
    return {c["name"]: c["uuid"] for c in muster.request("GET", "/api/v1/clusters?verbosity=metadata").body}


def nodes_by_cluster(muster: Muster) -> dict[str, int]:
    return {
        name: muster.request("GET", f"/api/v1/clusters/{pk}/nodes/count").body["count"]
        for name, pk in ids(muster).items()
    }


def unhealthy(muster: Muster) -> set[str]:
    parts = muster.request("GET", "/readyz").body["parts"]
    return {part["name"] for part in parts if not part["healthy"]}
