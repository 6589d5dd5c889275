"""What stands in the way on a real server: a namespace that cannot go, a kind that is taken away, admission that
refuses, a conversion that is down, a server that lets nothing through. Each is said in words; nothing is lost and all
goes on afterwards."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clusters.credentials import decrypt
from core.conditions import find
from organizations.models import Department, Project
from organizations.services import ProjectInput, create_project, delete_project
from tests.cluster.admission import refusing
from tests.cluster.running import RealCluster
from tests.cluster.world import ADMISSION, CRDS, QUEUES, World, department, graphs_in, queue_names, synced
from tests.contract.client import Api
from tests.workloads.samples import MULTINODE
from topology.models import NetworkTopology
from topology.services import create_topology
from workloads.services import submit_workload

GRAPH_CRD = f"{CRDS}/dynamographdeployments.nvidia.com"
GRAPHS_AS_STORED = "/apis/nvidia.com/v1alpha1/dynamographdeployments"
TOPOLOGIES = "/apis/kai.scheduler/v1alpha1/topologies"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
HELD = {"metadata": {"name": "held", "finalizers": ["example.org/hold"]}}
WHY = "Some content in the namespace has finalizers remaining: example.org/hold in 1 resource instances"


def project_that_is_held(world: World, api: Api) -> tuple[Project, str, str]:
    """A project, the path of its namespace, and that of an object in there that a finalizer keeps."""
    project = create_project(world.actor, department=department(world, "research"), given=ProjectInput("assistant"))
    world.run_until_quiet()
    space = f"/api/v1/namespaces/{project.namespace}"
    assert api.post(f"{space}/configmaps", HELD).status == 201
    return project, space, f"{space}/configmaps/held"


def released(api: Api, path: str) -> None:
    assert api.merge(path, {"metadata": {"finalizers": None}}).status == 200


def test_a_project_whose_namespace_cannot_go_says_what_holds_it(world: World, api: Api) -> None:
    project, space, held = project_that_is_held(world, api)
    delete_project(world.actor, project=project)

    world.settle(lambda: WHY in synced(project).get("message", ""), "the finalizer to be named")
    assert synced(project)["reason"] == "Deleting"
    assert f"Namespace/{project.namespace}" in synced(project)["message"]

    released(api, held)
    world.settle(lambda: not Project.objects.exists(), "the project to be gone")
    assert api.get(space).status == 404


def test_a_namespace_that_somebody_deleted_is_made_anew_when_it_is_gone(world: World, api: Api) -> None:
    project, space, held = project_that_is_held(world, api)
    first = api.get(space).meta["uid"]
    api.delete(space)

    def ready() -> dict[str, Any]:
        world.run_all()
        project.refresh_from_db()
        return find(project.conditions, "NamespaceReady") or {}

    world.settle(lambda: WHY in ready().get("message", ""), "the finalizer to be named")
    assert ready()["reason"] == "Terminating"
    assert "is being deleted by somebody" in ready()["message"]

    released(api, held)
    world.settle(lambda: ready().get("status") == "True", "the namespace to be made anew")
    assert api.get(space).meta["uid"] != first
    assert synced(project)["status"] == "True"


def test_a_kind_that_is_deleted_stops_only_what_needs_it_and_comes_back_with_all(world: World, api: Api) -> None:
    one = department(world, "one")
    topology = create_topology(world.actor, cluster=world.cluster, name="fabric", levels=["kubernetes.io/hostname"])
    world.run_until_quiet()
    path = f"{CRDS}/topologies.kai.scheduler"
    crd = api.get(path).body
    api.delete(path)
    try:
        api.await_status(path, 404)
        api.await_status(TOPOLOGIES, 404)
        world.run_all()
        assert "does not serve KAI's Topology" in synced(topology)["message"]
        assert synced(one)["status"] == "True"
    finally:
        kept = {key: crd["metadata"][key] for key in ("name", "annotations", "labels") if key in crd["metadata"]}
        api.post(CRDS, {key: crd[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept})
        api.await_status(TOPOLOGIES, 200)

    def is_back() -> bool:
        world.run_all()
        return synced(topology).get("status") == "True"

    world.settle(is_back, "the topology to be written again")
    assert NetworkTopology.objects.get().phase == "Ready"
    levels = api.get(f"{TOPOLOGIES}/fabric").body["spec"]["levels"]
    assert [level["nodeLabel"] for level in levels] == ["kubernetes.io/hostname"]
    api.delete(f"{TOPOLOGIES}/fabric")


def test_a_webhook_that_refuses_is_told_in_its_words(world: World, api: Api, server: RealCluster) -> None:
    rule = {"apiGroups": ["scheduling.run.ai"], "apiVersions": ["*"], "operations": ["*"], "resources": ["queues"]}
    with refusing(server, "queues are made by the platform team") as client:
        webhook = {
            "name": "queues.example.org",
            "rules": [rule],
            "clientConfig": client,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        body = {"metadata": {"name": "refusing"}, "webhooks": [webhook]}
        assert api.post(f"{ADMISSION}/validatingwebhookconfigurations", body).status == 201
        probe = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "one"}, "spec": {}}
        try:
            world.settle(lambda: api.post(QUEUES, probe, dryRun="All").status == 403, "the webhook to be asked")
            one = department(world, "one")
            world.run_due()
            said = synced(one)
            assert 'admission webhook "queues.example.org" denied the request' in said["message"]
            assert "queues are made by the platform team" in said["message"]
            assert said["arguments"]["retry"] == "no"
        finally:
            api.delete(f"{ADMISSION}/validatingwebhookconfigurations/refusing")
    world.settle(lambda: synced(one).get("status") == "True", "it to be written")
    assert queue_names(api) == ["default", "one"]


@contextmanager
def conversion_down(api: Api) -> Iterator[None]:
    """Graphs are stored in the older version, and whoever would convert them does not answer."""
    [newer] = api.get(GRAPH_CRD).body["spec"]["versions"]
    older = {**newer, "name": "v1alpha1"}
    client = {"url": "https://127.0.0.1:1/convert"}
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    spec = {"versions": [{**newer, "storage": False}, older], "conversion": conversion}
    assert api.merge(GRAPH_CRD, {"spec": spec}).status == 200
    try:
        api.await_status(GRAPHS_AS_STORED, 200)
        yield
    finally:
        mended = {"versions": [newer, {**older, "storage": False}], "conversion": {"strategy": "None", "webhook": None}}
        assert api.merge(GRAPH_CRD, {"spec": mended}).status == 200


def test_a_conversion_that_is_down_stops_only_its_kind_and_is_waited_for(world: World, api: Api) -> None:
    research = department(world, "research")
    project = create_project(world.actor, department=research, given=ProjectInput("serving"))
    world.run_until_quiet()
    graphs = graphs_in(project.namespace)
    with conversion_down(api):
        workload = submit_workload(world.actor, project=project, source=MULTINODE)
        world.settle(lambda: "conversion webhook" in synced(workload).get("message", ""), "the webhook to be named")
        assert synced(workload)["arguments"]["retry"] == "yes"
        world.run_all()
        assert (synced(research)["status"], synced(project)["status"]) == ("True", "True")

    world.settle(lambda: synced(workload).get("status") == "True", "the graph to be written")
    assert [graph["metadata"]["name"] for graph in api.await_status(graphs, 200).body["items"]] == ["qwen"]


@contextmanager
def seat_taken(world: World, api: Api) -> Iterator[None]:
    """Somebody with Muster's account asks for lists of a version to come, which the server waits for some seconds."""
    token, ended = decrypt(world.cluster.credential).token, threading.Event()

    def ask() -> None:
        while not ended.is_set():
            api.call("GET", "/api/v1/nodes", query={"resourceVersion": 10**12}, token=token)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(20)


def test_a_server_that_lets_nothing_through_is_waited_for(world: World, api: Api) -> None:
    """API priority and fairness with a level of one seat that is taken: what Muster's account asks is answered 429."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    account = {"kind": "ServiceAccount", "serviceAccount": {"name": "muster", "namespace": "muster-system"}}
    limited = {"nominalConcurrencyShares": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}
    level = {"metadata": {"name": "none"}, "spec": {"type": "Limited", "limited": limited}}
    flow = {
        "metadata": {"name": "muster"},
        "spec": {
            "priorityLevelConfiguration": {"name": "none"},
            "matchingPrecedence": 100,
            "rules": [{"subjects": [account], "resourceRules": [everything]}],
        },
    }
    assert api.post(f"{FLOW}/prioritylevelconfigurations", level).status == 201
    assert api.post(f"{FLOW}/flowschemas", flow).status == 201
    many = [department(world, f"d{number}") for number in range(5)]

    def refused() -> bool:
        world.run_all()
        return "too many requests" in synced(many[0]).get("message", "").lower()

    try:
        with seat_taken(world, api):
            world.settle(refused, "the account to be let through no more")
        assert (synced(many[0])["reason"], synced(many[0])["arguments"]["retry"]) == ("Unavailable", "yes")
    finally:
        api.delete(f"{FLOW}/flowschemas/muster")
        api.delete(f"{FLOW}/prioritylevelconfigurations/none")
    world.settle(lambda: Department.objects.filter(phase="Ready", failures=0).count() == 6, "all to be ready")
    assert queue_names(api) == [*(f"d{number}" for number in range(5)), "default"]
