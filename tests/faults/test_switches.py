"""Faults of the simulated cluster, switched on by its own small API beside a whole installation: Muster says what is
wrong and loses nothing, and all is well again when it is over."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clusters.kube.client import PAGE
from simulator.faults import KNOWN
from simulator.fleets.platform import queue
from tests.faults.cluster import SimulatedCluster
from tests.faults.harness import Stack
from tests.faults.intents import GRAPH
from tests.faults.test_stack import WATCHER
from tests.stack.installation import wait_until
from tests.stack.main_job import HOST, RACK, ZONE, encoded

# The row waits meanwhile and says so.
WRITES: dict[str, dict[str, Any]] = {
    "conflict": {},
    "too-many-requests": {},
    "internal-error": {},
    "api-down": {},
    "version-not-served": {"group": "kai.scheduler", "version": "v1alpha1"},
    "webhook-down": {"group": "kai.scheduler"},
}
# All at once, each for another kind, so that each can be told from the others.
READS: dict[str, dict[str, Any]] = {
    "watch-lossy": {"kind": "nodes"},
    "gone": {"kind": "schedulingshards"},
    "connection-dropped": {"kind": "queues", "method": "GET"},
    "watch-gone": {"kind": "priorityclasses"},
    "continue-expired": {},
    "api-slow": {"delay": 0.2},
}
STATES = {"node-lost", "label-removed", "gpu-unhealthy", "exporter-down", "namespace-stuck", "image-not-pullable"}
PARTS = {"operator-down", "conversion-down"}
SECONDS = 120
LEASE_SECONDS = 120
UNPULLED = "registry.example/cannot-be-pulled:1.3.0"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("switches"))
    try:
        yield stack.start(MUSTER_RELIST_SECONDS="15", MUSTER_LEASE_SECONDS=str(LEASE_SECONDS))
    finally:
        stack.stop()


@pytest.fixture
def cluster(stack: Stack) -> Iterator[SimulatedCluster]:
    yield stack.cluster
    stack.cluster.clear()


def test_every_fault_is_switched_on_here() -> None:
    assert {*WRITES, *READS, *STATES, *PARTS, "watch-frozen"} == KNOWN.keys()


@pytest.mark.parametrize("fault", WRITES)
def test_a_row_that_cannot_be_written_says_why_and_is_written_once_it_can(
    stack: Stack, cluster: SimulatedCluster, fault: str
) -> None:
    cluster.switch_on(fault, **WRITES[fault])
    path = make_topology(stack, fault)
    told = wait_until(lambda: not_synced(stack, path), f"{fault} to be told")
    assert told["message"]

    cluster.clear()

    wait_until(lambda: ask(stack, "GET", path)["phase"] == "Ready", f"the topology to be ready after {fault}", SECONDS)
    found = [each for each in cluster.objects("topologies") if each["metadata"]["name"] == fault]
    assert [each["metadata"]["generation"] for each in found] == [1]
    delete(stack, path)


def test_what_a_killed_worker_was_at_does_not_wait_until_its_lease_runs_out(
    stack: Stack, cluster: SimulatedCluster
) -> None:
    cluster.switch_on("api-slow", delay=30)
    path = make_topology(stack, "held")
    wait_until(lambda: ("topology_networktopology", "held") in leased(stack), "a worker to be at the topology")

    stack.kill("worker")
    cluster.clear()

    wait_until(lambda: ask(stack, "GET", path)["phase"] == "Ready", "the next worker to write it", LEASE_SECONDS - 20)
    delete(stack, path)


def test_what_happens_while_watches_are_frozen_is_known_afterwards(stack: Stack, cluster: SimulatedCluster) -> None:
    name = node_names(cluster)[0]
    cluster.switch_on("watch-frozen", seconds=3)
    stack.muster.kubectl("label", "node", name, "seen-after=frozen")

    wait_until(lambda: node(stack, name)["labels"].get("seen-after") == "frozen", "what was missed", SECONDS)


def test_what_happens_while_reading_fails_is_known_afterwards(stack: Stack, cluster: SimulatedCluster) -> None:
    """Events are lost, lists and watches expire, break off and are slow: the kinds that cannot be read are named, what
    was known of them stays, rows of other kinds are written, and what happened meanwhile does not stay unknown."""
    name = node_names(cluster)[1]
    crowd = {f"crowd-{number}" for number in range(PAGE)}
    create(stack, [priority_class(each) for each in sorted(crowd)])
    wait_until(lambda: known(stack, "priorityclasses") > crowd, "more than a page of priority classes", SECONDS)
    for fault, parameters in READS.items():
        cluster.switch_on(fault, **parameters)

    stack.muster.kubectl("label", "node", name, "seen-after=lost")
    create(stack, [priority_class("missed"), queue("missed"), shard("missed")])
    path = make_topology(stack, "slowly")
    missing = {"priorityclasses", "queues", "schedulingshards"}
    wait_until(lambda: failing(stack) >= missing, "the kinds that cannot be read to be named", SECONDS)
    assert known(stack, "priorityclasses") > crowd
    wait_until(lambda: ask(stack, "GET", path)["phase"] == "Ready", "the topology to be ready in spite of it", SECONDS)

    cluster.clear()

    wait_until(lambda: node(stack, name)["labels"].get("seen-after") == "lost", "the lost event", SECONDS)
    for plural in missing:
        wait_until(lambda plural=plural: "missed" in known(stack, plural), f"the missed one of {plural}", SECONDS)
    wait_until(lambda: not failing(stack), "every kind to be read again", SECONDS)
    delete(stack, path)


def test_what_is_wrong_with_nodes_images_namespaces_and_operators_is_said_and_ends(
    stack: Stack, cluster: SimulatedCluster
) -> None:
    """All at once, and each is told apart. What ran goes on elsewhere, what was asked for is done in the end."""
    pool = ask(stack, "GET", "/v1/node-pools")["nodepools"][0]
    topology = make_topology(stack, "attached")
    ask(stack, "PUT", f"/v1/node-pools/{pool['id']}", {"networkTopologyId": topology.rpartition("/")[2]})
    kept, gone = make_project(stack, pool, "kept"), make_project(stack, pool, "goes")
    runs = submit(stack, kept, GRAPH.format(name="runs"))
    cluster.switch_on("image-not-pullable", image=UNPULLED)
    unpulled = submit(stack, kept, GRAPH.format(name="unpulled").replace(IMAGE, UNPULLED))
    wait_until(lambda: workload(stack, runs)["phase"] == "Running", "a workload to run")
    wait_until(lambda: "runai-goes" in names(cluster, "namespaces"), "the namespace")
    told(stack, unpulled, "does not start: ImagePullBackOff")
    wait_until(lambda: silent_exporters(stack) == "none", "the exporters to be read", SECONDS)

    lost = node_of(cluster, "runs")
    unlabelled, sick, silent, *_ = [
        name for name in node_names(cluster) if name not in (lost, node_of(cluster, "unpulled"))
    ]
    cluster.switch_on("node-lost", node=lost)
    cluster.switch_on("label-removed", node=unlabelled, label=RACK)
    cluster.switch_on("gpu-unhealthy", node=sick, count=3)
    cluster.switch_on("exporter-down", node=silent)
    cluster.switch_on("namespace-stuck", namespace="runai-goes")
    cluster.switch_on("operator-down", name="dynamo-operator")
    delete(stack, f"/v1/org-unit/projects/{gone}")

    await_all(
        {
            "the lost node": lambda: node(stack, lost)["status"] == "Unknown",
            "the node without its label": lambda: unlabelled in str(mismatch(stack, pool["id"])),
            "the sick GPUs": lambda: node(stack, sick)["allocatableGpus"] == 5,
            "the workload elsewhere": lambda: is_running_off(stack, cluster, runs, lost),
            "the stuck namespace": lambda: "Namespace/runai-goes" in project(stack, gone)["phaseMessage"],
            "the silent exporters": lambda: silent_exporters(stack) == "2 nodes do not answer",
            "the operator": lambda: "dynamo" in unready_parts(stack),
        }
    )
    unmade = submit(stack, kept, GRAPH.format(name="unmade"))
    wait_until(
        lambda: "operator of dynamo is down" in diagnosis(stack, unmade), "who should have made its pods", SECONDS
    )

    cluster.switch_on("version-not-served", group="nvidia.com", version="v1beta1")
    cluster.switch_on("conversion-down", group="nvidia.com")
    unwritten = submit(stack, kept, GRAPH.format(name="unwritten"))
    told(stack, unwritten, "conversion webhook")

    cluster.clear()

    await_all(
        {
            "the node": lambda: node(stack, lost)["status"] == "Ready",
            "the label": lambda: not mismatch(stack, pool["id"]),
            "the GPUs": lambda: node(stack, sick)["allocatableGpus"] == 8,
            "the project": lambda: stack.ask("GET", f"/api/v1/org-unit/projects/{gone}").status == 404,
            "the exporters": lambda: silent_exporters(stack) == "none",
            "the operator": lambda: "dynamo" not in unready_parts(stack),
            **{
                pk: lambda pk=pk: workload(stack, pk)["phase"] == "Running"
                for pk in (runs, unpulled, unmade, unwritten)
            },
        }
    )
    assert "runai-goes" not in names(cluster, "namespaces")
    assert names(cluster, "graphs") == {"runs", "unpulled", "unmade", "unwritten"}
    for pk in (runs, unpulled, unmade, unwritten):
        delete(stack, f"/v2/workloads/{pk}")


IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0"


def await_all(conditions: dict[str, Callable[[], Any]]) -> None:
    for what, condition in conditions.items():
        wait_until(condition, f"{what} to be shown as it is", SECONDS)


def ask(stack: Stack, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = stack.ask(method, f"/api{path}", body)
    assert answer.status == status, answer.body
    return answer.body


def delete(stack: Stack, path: str) -> None:
    """Accepted or done."""
    assert stack.ask("DELETE", f"/api{path}").status in (202, 204)


def leased(stack: Stack) -> set[tuple[str, str]]:
    """Tables and names of the rows that a worker is at."""
    return {(lease[0], lease[2]) for lease in stack.leases() if lease[0] != "job"}


def make_topology(stack: Stack, name: str) -> str:
    """Its path."""
    [found] = ask(stack, "GET", "/v1/clusters?verbosity=metadata")
    body = {"name": name, "clusterId": found["uuid"], "levels": [ZONE, RACK, HOST]}
    return f"/v1/network-topologies/{ask(stack, 'POST', '/v1/network-topologies', body, 201)['id']}"


def make_project(stack: Stack, pool: dict[str, Any], name: str) -> str:
    """In the default department, with a quota of 8 GPUs; its id."""
    resources = [{"nodePool": {"id": pool["id"], "name": "default"}, "gpu": {"deserved": 8, "limit": -1}}]
    body = {"name": name, "clusterId": pool["clusterId"], "resources": resources}
    return str(ask(stack, "POST", "/v1/org-unit/projects", body, 201)["id"])


def submit(stack: Stack, project: str, graph: str) -> str:
    """The id of the workload."""
    body = {"metadata": {"projectId": project}, "manifestBase64Encoded": encoded(graph)}
    return str(ask(stack, "POST", "/v2/workloads", body, 202)["metadata"]["id"])


def priority_class(name: str) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}


def shard(name: str) -> dict[str, Any]:
    spec = {"partitionLabelValue": name}
    return {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": name}, "spec": spec}


def create(stack: Stack, objects: list[dict[str, Any]]) -> None:
    """Somebody makes these with kubectl."""
    stack.muster.kubectl("create", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))


def conditions(stack: Stack, path: str) -> list[Any]:
    found: list[Any] = ask(stack, "GET", path)["status"]["conditions"]
    return found


def not_synced(stack: Stack, path: str) -> Any:
    bad = [c for c in conditions(stack, path) if c["type"] in ("Synced", "Accepted") and c["status"] == "False"]
    return bad[0] if bad else None


def mismatch(stack: Stack, pool: str) -> list[Any]:
    return [c for c in conditions(stack, f"/v1/node-pools/{pool}") if c["reason"] == "TopologyMismatch"]


def project(stack: Stack, pk: str) -> Any:
    return ask(stack, "GET", f"/v1/org-unit/projects/{pk}")["status"]


def workload(stack: Stack, pk: str) -> Any:
    return ask(stack, "GET", f"/v1/workloads/{pk}")


def diagnosis(stack: Stack, pk: str) -> str:
    """Why a workload waits, with all that was looked at."""
    return str(ask(stack, "GET", f"/v1/workloads/{pk}/diagnosis"))


def told(stack: Stack, pk: str, words: str) -> None:
    """Wait until it is said of a workload why it waits."""
    said: set[str] = set()

    def told() -> bool:
        said.add(workload(stack, pk)["phaseMessage"])
        return any(words in message for message in said)

    try:
        wait_until(told, f"“{words}” to be said", SECONDS)
    except AssertionError as error:
        raise AssertionError(f"{error}; said was {said}") from None


def node(stack: Stack, name: str) -> Any:
    [found] = ask(stack, "GET", f"/v1/nodes?filterBy=name=={name}")["nodes"]
    return found


def names(cluster: SimulatedCluster, what: str) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.objects(what)}


def node_names(cluster: SimulatedCluster) -> list[str]:
    return sorted(names(cluster, "nodes"))


def node_of(cluster: SimulatedCluster, graph: str) -> str:
    """Where the newest pod of a graph of one pod stands; "" for nowhere."""
    label = "nvidia.com/dynamo-graph-deployment-name"
    pods = [pod for pod in cluster.objects("pods") if pod["metadata"]["labels"].get(label) == graph]
    newest = max(pods, key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    return str(newest["spec"].get("nodeName") or "")


def is_running_off(stack: Stack, cluster: SimulatedCluster, pk: str, lost: str) -> bool:
    """Whether the workload `runs` runs on another node than the lost one."""
    return node_of(cluster, "runs") not in ("", lost) and workload(stack, pk)["phase"] == "Running"


def known(stack: Stack, plural: str) -> set[str]:
    """The names of a kind's objects that the watcher has written down."""
    return {name for (name,) in stack.rows(f"SELECT name FROM clusters_clusterobject WHERE plural = '{plural}'")}


def failing(stack: Stack) -> set[str]:
    """The kinds of which the watcher says that it cannot read them."""
    return set(re.findall(r"(?:^|; )(\w+): ", stack.health().get(WATCHER, "")))


def unready_parts(stack: Stack) -> set[str]:
    """The components of the cluster that are said not to be healthy."""
    [found] = ask(stack, "GET", "/v1/clusters")
    return {key for key, part in found["status"]["operands"].items() if not part["ready"]}


def silent_exporters(stack: Stack) -> str:
    """How many exporters did not answer in the last round, in the words of the page; "" before the first round."""
    page = stack.page("/gpu-utilisation/")
    found = re.search(r"\d+ nodes? (?:does|do) not answer", page)
    return found[0] if found else ("none" if "not yet" not in page and "Not measured" in page else "")
