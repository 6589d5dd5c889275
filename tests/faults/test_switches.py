"""Every fault that the simulated cluster can be switched into, by its own small API: what lives in the cluster shows
it, Muster says what is wrong and loses nothing, and all is well again when it is over."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simulator.faults import KNOWN
from tests.faults.cluster import SimulatedCluster
from tests.faults.harness import MONITORING
from tests.faults.test_stack import WATCHER
from tests.stack.installation import Muster, wait_until
from tests.stack.main_job import HOST, RACK, ZONE, encoded
from tests.stack.reader import Reader

IMAGE = "registry.example/cannot-be-pulled:1.3.0"
GRAPH = f"""\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {{name: unpulled}}
spec:
  backendFramework: vllm
  components:
    - name: worker
      type: worker
      replicas: 1
      podTemplate: {{spec: {{containers: [{{name: main, image: "{IMAGE}"}}]}}}}
"""
# Of requests that write: the row waits and says so. Of reading: nothing is lost.
WRITES: dict[str, dict[str, Any]] = {
    "conflict": {},
    "too-many-requests": {},
    "internal-error": {},
    "api-down": {},
    "version-not-served": {"group": "kai.scheduler", "version": "v1alpha1"},
    "webhook-down": {"group": "kai.scheduler"},
}
READS: dict[str, dict[str, Any]] = {
    "watch-frozen": {},
    "watch-lossy": {},
    "watch-gone": {},
    "gone": {},
    "continue-expired": {},
    "connection-dropped": {},
    "api-slow": {"delay": 0.3},
}
STATES = ("node-lost", "label-removed", "gpu-unhealthy", "exporter-down", "namespace-stuck", "image-not-pullable")
PARTS = {"operator-down", "conversion-down"}


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


def test_every_fault_has_its_case() -> None:
    assert {*WRITES, *READS, *STATES, *PARTS} == KNOWN.keys()


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


@pytest.mark.parametrize("fault", READS)
def test_what_happens_while_reading_fails_is_known_afterwards(
    muster: Muster, cluster: SimulatedCluster, fault: str
) -> None:
    name = cluster.objects("nodes")[0]["metadata"]["name"]
    wait_until(lambda: healthy(muster), "all to be well before")
    cluster.switch_on(fault, **READS[fault], seconds=3)
    wait_until(lambda: labelled(muster, name, fault), "the label to be written")

    wait_until(lambda: node(muster, name)["labels"].get("seen-after") == fault, f"what was missed in {fault}", 90)
    wait_until(lambda: healthy(muster), f"all to be well after {fault}", 90)


def test_what_is_wrong_with_nodes_namespaces_and_images_is_shown_and_ends(
    muster: Muster, cluster: SimulatedCluster
) -> None:
    lost, unlabelled, sick, *_ = names = [each["metadata"]["name"] for each in cluster.objects("nodes")]
    pool = ask(muster, "GET", "/v1/node-pools")["nodepools"][0]
    made = ask(muster, "POST", "/v1/network-topologies", topology(muster, "attached"), 201)
    ask(muster, "PUT", f"/v1/node-pools/{pool['id']}", {"networkTopologyId": made["id"]})
    kept, gone = project(muster, pool, "kept"), project(muster, pool, "goes")
    wait_until(lambda: {"runai-kept", "runai-goes"} <= namespaces(cluster), "two namespaces")

    cluster.switch_on("node-lost", node=lost)
    cluster.switch_on("label-removed", node=unlabelled, label=RACK)
    cluster.switch_on("gpu-unhealthy", node=sick, count=3)
    cluster.switch_on("image-not-pullable", image=IMAGE)
    cluster.switch_on("namespace-stuck", namespace="runai-goes")
    cluster.switch_on("exporter-down", node=names[3])
    body = {"metadata": {"projectId": kept}, "manifestBase64Encoded": encoded(GRAPH)}
    workload = ask(muster, "POST", "/v2/workloads", body, 202)["metadata"]["id"]
    muster.request("DELETE", f"/api/v1/org-unit/projects/{gone}")

    shown: dict[str, Callable[[], Any]] = {
        "the lost node": lambda: node(muster, lost)["status"] != "Ready",
        "the node without its label": lambda: unlabelled in str(mismatch(muster, pool["id"])),
        "the sick GPUs": lambda: node(muster, sick)["allocatableGpus"] == 5,
        "the image": lambda: IMAGE in ask(muster, "GET", f"/v1/workloads/{workload}")["phaseMessage"],
        "the stuck namespace": lambda: "runai-goes" in str(not_synced_or_deleting(muster, gone)),
        "the silent exporter": lambda: failing_exporters(muster) == 1,
    }
    for what, condition in shown.items():
        wait_until(condition, f"{what} to be shown", 90)

    cluster.clear()

    ended: dict[str, Callable[[], Any]] = {
        "the node": lambda: node(muster, lost)["status"] == "Ready",
        "the label": lambda: not mismatch(muster, pool["id"]),
        "the GPUs": lambda: node(muster, sick)["allocatableGpus"] == 8,
        "the workload": lambda: ask(muster, "GET", f"/v1/workloads/{workload}")["phase"] == "Running",
        "the project": lambda: muster.request("GET", f"/api/v1/org-unit/projects/{gone}").status == 404,
        "the namespace": lambda: "runai-goes" not in namespaces(cluster),
        "the exporter": lambda: failing_exporters(muster) == 0,
    }
    for what, condition in ended.items():
        wait_until(condition, f"{what} to be well again", 90)


def test_operators_that_are_down_are_named_on_their_cluster(muster: Muster, cluster: SimulatedCluster) -> None:
    muster.kubectl("apply", "-n", "default", "-f", "-", stdin=GRAPH.replace("unpulled", "converted"))
    cluster.switch_on("operator-down")
    cluster.switch_on("conversion-down", group="nvidia.com")

    def down() -> set[str]:
        [found] = ask(muster, "GET", "/v1/clusters")
        return {key for key, part in found["status"]["operands"].items() if not part["ready"]}

    working = {"kai-scheduler", "grove", "dynamo"}
    wait_until(lambda: working <= down(), "operators to be said to be down", 90)
    older = muster.kubectl("get", "dynamographdeployments.v1alpha1.nvidia.com", "-A", check=False)
    assert "storage is (re)initializing" in older

    cluster.clear()

    wait_until(lambda: not working & down(), "operators to be well again", 90)
    muster.kubectl("delete", "dynamographdeployment", "converted", "-n", "default")


def ask(muster: Muster, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = muster.request(method, f"/api{path}", body)
    assert answer.status == status, answer.body
    return answer.body


def topology(muster: Muster, name: str) -> dict[str, Any]:
    [found] = ask(muster, "GET", "/v1/clusters?verbosity=metadata")
    return {"name": name, "clusterId": found["uuid"], "levels": [ZONE, RACK, HOST]}


def project(muster: Muster, pool: dict[str, Any], name: str) -> str:
    """In the default department, with room for all; its id."""
    resources = [{"nodePool": {"id": pool["id"], "name": "default"}, "gpu": {"deserved": 8, "limit": -1}}]
    body = {"name": name, "clusterId": pool["clusterId"], "resources": resources}
    return str(ask(muster, "POST", "/v1/org-unit/projects", body, 201)["id"])


def conditions(muster: Muster, path: str) -> list[Any]:
    found: list[Any] = ask(muster, "GET", path)["status"]["conditions"]
    return found


def not_synced(muster: Muster, path: str) -> Any:
    bad = [c for c in conditions(muster, path) if c["type"] in ("Synced", "Accepted") and c["status"] == "False"]
    return bad[0] if bad else None


def not_synced_or_deleting(muster: Muster, project: str) -> list[Any]:
    return conditions(muster, f"/v1/org-unit/projects/{project}")


def mismatch(muster: Muster, pool: str) -> list[Any]:
    return [c for c in conditions(muster, f"/v1/node-pools/{pool}") if c["reason"] == "TopologyMismatch"]


def node(muster: Muster, name: str) -> Any:
    [found] = ask(muster, "GET", f"/v1/nodes?filterBy=name=={name}")["nodes"]
    return found


def namespaces(cluster: SimulatedCluster) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.objects("namespaces")}


def labelled(muster: Muster, name: str, value: str) -> bool:
    """Whether kubectl could label the node: it is refused too while everything is."""
    return "labeled" in muster.kubectl("label", "node", name, f"seen-after={value}", "--overwrite", check=False)


def healthy(muster: Muster) -> bool:
    answer = muster.request("GET", "/readyz", Authorization=f"Bearer {MONITORING}")
    return answer.status == 200 and all(part["healthy"] for part in answer.body["parts"] if part["name"] == WATCHER)


def failing_exporters(muster: Muster) -> int:
    """How many exporters did not answer in the last round, as the page of utilisation says it."""
    page = Reader(muster).page("/gpu-utilisation/")
    found = re.search(r"(\d+) nodes? (?:does|do) not answer", page)
    return int(found[1]) if found else 0
