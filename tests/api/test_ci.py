"""The examples of docs/ci.md over HTTP, with the reconciler's part played by the test: they submit once, wait, and
fail the build with the reason. tests/stack/test_ci.py runs them against the whole product."""

import contextlib
import sys
import threading
import time

import pytest
import yaml
from django.db import OperationalError, connection

from accounts.models import AccessKey
from accounts.permissions import ADMINISTRATOR
from accounts.tokens import new_secret
from organizations.quota_rows import ensure_quota_rows
from tests.api.ci_examples import GRAPH, SERVES, example, run
from tests.api.test_waiting import NOT_READY, READY, settle
from tests.conftest import make_user
from workloads.models import Workload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.fixture
def variables(live_server, project):
    ensure_quota_rows(project)
    secret, stored = new_secret()
    AccessKey.objects.create(client_id="ci", secret_hash=stored, name="ci", user=make_user("pipeline", ADMINISTRATOR))
    return {
        "MUSTER_URL": live_server.url,
        "MUSTER_PROJECT": project.name,
        "MUSTER_CLIENT_ID": "ci",
        "MUSTER_CLIENT_SECRET": secret,
        "MUSTER_TIMEOUT": "60",
    }


@pytest.fixture
def reconciler():
    """`reconciler(condition, phase)`: as soon as a workload is submitted, it comes to this."""
    stop, threads = threading.Event(), []

    def play(condition, phase):
        def wait():
            while not stop.is_set():
                with contextlib.suppress(OperationalError):  # SQLite in memory: a table is locked at times
                    for row in Workload.objects.all():
                        settle(row, condition, phase=phase)
                        connection.close()
                        return
                time.sleep(0.05)
            connection.close()

        threads.append(threading.Thread(target=wait))
        threads[-1].start()

    yield play
    stop.set()
    for thread in threads:
        thread.join()


def test_the_workflows_step_submits_once_and_waits(variables, reconciler, tmp_path):
    command = ["bash", "-c", yaml.safe_load(example("yaml"))["jobs"]["deploy"]["steps"][1]["run"]]
    reconciler(READY, "Running")
    first, again = (
        run(tmp_path, command, GRAPH.format(name="ci-curl", gpus=1), {**variables, "BUILD_ID": "7"}) for _ in range(2)
    )

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert SERVES.match(first.stdout)
    assert again.stdout == first.stdout
    assert Workload.objects.count() == 1


def test_what_does_not_come_to_serve_fails_the_build_with_the_reason(variables, reconciler, tmp_path):
    reconciler(NOT_READY, "Pending")
    graph = GRAPH.format(name="ci-large", gpus=1)
    done = run(tmp_path, ["bash", "deploy.sh", "graph.yaml"], graph, {**variables, "MUSTER_TIMEOUT": "1"})

    assert done.returncode == 1
    assert "does not serve" in done.stderr
    assert "No node has 8 free GPUs." in done.stderr


def test_what_is_wrong_fails_the_build_before_anything_is_submitted(variables, tmp_path):
    graph = GRAPH.format(name="ci-wrong", gpus=1).replace("DynamoGraphDeployment", "DynamoDeployment")
    done = run(tmp_path, ["bash", "deploy.sh", "graph.yaml"], graph, variables)

    assert done.returncode == 1
    assert done.stderr.startswith("400 ")
    assert "kind" in done.stderr
    assert not Workload.objects.exists()


def test_the_official_client_submits_and_waits(variables, reconciler, tmp_path):
    reconciler(READY, "Running")
    graph = GRAPH.format(name="ci-runapy", gpus=1)
    done = run(tmp_path, [sys.executable, "deploy.py", "graph.yaml"], graph, variables)

    assert done.returncode == 0, done.stderr
    assert SERVES.match(done.stdout)
