"""The examples of docs/ci.md, run as they stand: they submit, wait, and fail the build with the reason."""

import sys
from pathlib import Path

import pytest
import yaml

from tests.api.ci_examples import GRAPH, SERVES, example, run
from tests.stack.installation import Muster

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def variables(muster: Muster) -> dict[str, str]:
    cluster = muster.request("GET", "/api/v1/clusters").body[0]["uuid"]
    body = {"name": "ci", "clusterId": cluster, "resources": [{"gpu": {"deserved": 16}}]}
    project = muster.request("POST", "/api/v1/org-unit/projects", body)
    assert project.status == 201, project
    muster.await_ready(f"/api/v1/org-unit/projects/{project.body['id']}")
    key = muster.request("POST", "/api/v1/access-keys", {"name": "ci"}).body
    return {
        "MUSTER_URL": muster.url,
        "MUSTER_PROJECT": "ci",
        "MUSTER_CLIENT_ID": key["clientId"],
        "MUSTER_CLIENT_SECRET": key["clientSecret"],
        "MUSTER_TIMEOUT": "120",
    }


def test_the_workflows_step_submits_and_waits_and_twice_is_once(
    muster: Muster, variables: dict[str, str], tmp_path: Path
) -> None:
    workflow = yaml.safe_load(example("yaml"))
    command = ["bash", "-c", workflow["jobs"]["deploy"]["steps"][1]["run"]]
    graph = GRAPH.format(name="ci-curl", gpus=1)

    first, again = (run(tmp_path, command, graph, {**variables, "BUILD_ID": "7"}) for _ in range(2))

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert first.stdout == again.stdout
    assert SERVES.match(first.stdout)
    assert muster.request("GET", "/api/v1/workloads/count?filterBy=name==ci-curl").body == {"count": 1}


def test_what_cannot_be_placed_fails_the_build_with_the_reason(variables: dict[str, str], tmp_path: Path) -> None:
    graph = GRAPH.format(name="ci-large", gpus=9)
    done = run(tmp_path, ["bash", "deploy.sh", "graph.yaml"], graph, {**variables, "MUSTER_TIMEOUT": "15"})

    assert done.returncode == 1
    assert "does not serve" in done.stderr or "400" in done.stderr
    assert "GPU" in done.stderr, done.stderr


def test_what_is_wrong_fails_the_build_before_anything_is_submitted(
    muster: Muster, variables: dict[str, str], tmp_path: Path
) -> None:
    graph = GRAPH.format(name="ci-wrong", gpus=1).replace("DynamoGraphDeployment", "DynamoDeployment")
    done = run(tmp_path, ["bash", "deploy.sh", "graph.yaml"], graph, variables)

    assert done.returncode == 1
    assert "400" in done.stderr
    assert "kind" in done.stderr


def test_the_official_client_submits_and_waits(variables: dict[str, str], tmp_path: Path) -> None:
    graph = GRAPH.format(name="ci-runapy", gpus=1)
    done = run(tmp_path, [sys.executable, "deploy.py", "graph.yaml"], graph, variables)

    assert done.returncode == 0, done.stderr
    assert SERVES.match(done.stdout)
