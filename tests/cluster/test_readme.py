"""What the README shows works on a real API server too: its small fleet, and its kubectl lines as they stand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import binaries
from tests.cluster.installation import RealMuster
from tests.cluster.test_main_job import rejected, written
from tests.stack.installation import wait_until
from tests.stack.readme import kubectl_lines, typed


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RealMuster]:
    """`up --cluster real` with the small fleet and the example organisation."""
    installation = RealMuster(tmp_path, fleet="small", extra=("--cluster", "real"))
    try:
        yield installation.start()
    finally:
        if installation.process is not None:
            installation.stop()


def test_the_small_fleet_and_the_readmes_kubectl_lines_work_on_a_real_cluster(small: RealMuster) -> None:
    nodes = {node["metadata"]["name"] for node in small.objects("nodes")}
    assert len(nodes) == 18
    wait_until(lambda: nodes_shown(small) == nodes, "the nodes to be shown")
    wait_until(lambda: is_settled(small), "the example's workloads to run or to wait", 120)

    folder = small.data_dir / "bin"
    said = [typed(line, binaries.KUBECTL.path, small.kubeconfig, folder) for line in kubectl_lines()]

    assert all(node in said[0] for node in nodes)
    assert "ZONE" in said[0].splitlines()[0]
    assert "queue.scheduling.run.ai/" in said[1]
    assert "podgroup.scheduling.run.ai/" in said[1]
    assert rejected(small) == []
    assert written(small) >= {"podcliquesets.grove.io", "podgroups.scheduling.run.ai"}


def nodes_shown(muster: RealMuster) -> set[str]:
    return {node["name"] for node in muster.request("GET", "/api/v1/nodes?limit=100").body["nodes"]}


def is_settled(muster: RealMuster) -> bool:
    """Whether every workload of the example has been written, and most run: KWOK's pods do whatever they lack."""
    workloads = muster.request("GET", "/api/v1/workloads").body["workloads"]
    phases = [workload["phase"] for workload in workloads]
    return len(phases) >= 5 and "Creating" not in phases and phases.count("Running") > len(phases) / 2
