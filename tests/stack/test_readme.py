"""The README's kubectl lines as they stand, on the simulated cluster; on a real one: tests/cluster/test_readme.py."""

import sys
from pathlib import Path

import pytest

from tests.stack.installation import Muster, wait_until
from tests.stack.readme import kubectl_lines, typed


@pytest.mark.long
def test_the_readmes_kubectl_lines_work_on_the_simulated_cluster(muster: Muster, tmp_path: Path) -> None:
    kubectl = Path(sys.executable).parent / "kubectl"
    wait_until(lambda: muster.objects("queues.scheduling.run.ai"), "the default department's queue")

    nodes, queues = (typed(line, kubectl, muster.kubeconfig, tmp_path / "bin") for line in kubectl_lines())

    assert nodes.splitlines()[0].split()[-2:] == ["ZONE", "RACK"]
    assert len(nodes.splitlines()) == 19
    assert "default" in queues
