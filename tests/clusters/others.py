"""What others made in a cluster before Muster came: on the simulated API server, and on the real one."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import User
from clusters.models import ClusterObject
from tests.cluster.world import World, account, connected, put_nodes
from tests.contract import servers
from tests.contract.client import Api

TOPOLOGIES = "/apis/kai.scheduler/v1alpha1/topologies"
QUEUES = "/apis/scheduling.run.ai/v2/queues"
NODE_TTL = "node.alpha.kubernetes.io/ttl"
GRAPHS = "/apis/nvidia.com/v1beta1/namespaces/theirs/dynamographdeployments"
ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
FABRIC = {
    "apiVersion": "kai.scheduler/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "fabric", "labels": {"team": "network"}, "annotations": {"note": "by hand"}},
    "spec": {"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]},
}


def queue(name: str, parent: str = "", **spec: Any) -> dict[str, Any]:
    above = {"parentQueue": parent} if parent else {}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, **spec.pop("metadata", {})},
        "spec": {**above, "resources": {"gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 1}}, **spec},
    }


@pytest.fixture(scope="session", params=["simulator", pytest.param("real", marks=pytest.mark.cluster)])
def existing_api(request: pytest.FixtureRequest) -> Iterator[Api]:
    if request.param == "simulator":
        with servers.simulator() as api:
            put_nodes(api)
            yield api
    else:
        with servers.real() as (api, _server):
            put_nodes(api)
            yield api


@pytest.fixture
def theirs(existing_api: Api) -> Iterator[Api]:
    """Topology, a tree of queues and a graph that others made."""
    for path, body, manager in (
        (f"{TOPOLOGIES}/fabric", FABRIC, "helm"),
        (f"{QUEUES}/research", queue("research", displayName="Research", priority=150), "argocd"),
        (f"{QUEUES}/nlp", queue("nlp", "research"), "kubectl"),
        ("/api/v1/namespaces/theirs", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}}, "x"),
        (f"{GRAPHS}/llm", graph(), "helm"),
    ):
        assert existing_api.apply(path, body, manager).status in (200, 201)
    yield existing_api
    ours = (f"{QUEUES}/own", f"{QUEUES}/default")  # of rows that are rolled back: the next test has other ones
    for path in (f"{QUEUES}/nlp", f"{QUEUES}/research", f"{TOPOLOGIES}/fabric", f"{GRAPHS}/llm", *ours):
        existing_api.delete(path)
        existing_api.await_status(path, 404)


def graph() -> dict[str, Any]:
    container = {"name": "main", "image": "x:1.5.0"}
    worker = {
        "name": "worker", "type": "worker", "replicas": 1, "podTemplate": {"spec": {"containers": [container]}},
    }  # fmt: skip
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "llm", "namespace": "theirs"},
        "spec": {"backendFramework": "vllm", "components": [worker]},
    }


@pytest.fixture
def others_world(theirs: Api, db: None, admin: User) -> Iterator[World]:
    with connected(account(theirs), admin) as world:
        known = ("topologies", "queues", "dynamographdeployments")
        world.settle(
            lambda: (
                {row.plural for row in ClusterObject.objects.filter(owner="")} >= set(known)
                and world.cluster.node_set.count() == 3
            ),
            "all to be read",
        )
        yield world


def shape(item: dict[str, Any]) -> Any:
    """What somebody wrote into an object: not what kubelets and controllers tell of it."""
    metadata = {k: item["metadata"].get(k) for k in ("uid", "generation", "labels")}
    managers = sorted(
        (entry["manager"], str(entry["fieldsV1"]))
        for entry in item["metadata"].get("managedFields") or ()
        if not entry.get("subresource") and not entry["manager"].startswith("kube-controller-manager")
    )
    # The node controller taints new nodes until they are ready, and adds how long to keep them.
    spec = dict(item.get("spec") or {})
    taints = [taint for taint in spec.pop("taints", ()) if not taint["key"].startswith("node.kubernetes.io/")]
    notes = {k: v for k, v in (item["metadata"].get("annotations") or {}).items() if k != NODE_TTL}
    return {"spec": spec, "taints": taints, "managers": managers, "annotations": notes, **metadata}


def uid_of(api: Api, path: str) -> str:
    return str(api.get(path).body["metadata"]["uid"])
