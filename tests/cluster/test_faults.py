"""Real faults of a real API server: what waits is kept, nothing is lost or doubled, and each is said in words."""

import shutil
import signal
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jwt
import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from clusters.credentials import Credential, decrypt
from clusters.kubeconfig import ClusterAccess
from clusters.models import ClusterEvent, ClusterObject, Node, Pod
from clusters.services import update_credential
from controlplane import retention
from controlplane.reconcilers import RECONCILERS
from core.conditions import find
from organizations.models import Department
from organizations.services import ProjectInput, create_project
from tests.cluster.running import RealCluster
from tests.cluster.world import ADMISSION, CRDS, QUEUES, World, account, department, graphs_in, queue_names, synced
from tests.contract.client import Api
from tests.workloads.samples import MULTINODE
from topology.models import NetworkTopology
from topology.services import create_topology
from workloads.models import Workload
from workloads.services import submit_workload, update_workload

INTENTS = 200


def test_the_server_is_killed_and_restarted_under_200_intents(world: World, api: Api, server: RealCluster) -> None:
    for number in range(INTENTS):
        department(world, f"d{number:03}")
    server.end("kube-apiserver", signal.SIGKILL)
    world.run_due()
    waiting = synced(Department.objects.get(name="d100"))
    assert (waiting["reason"], waiting["arguments"]["retry"]) == ("Unavailable", "yes")
    assert "cannot be reached" in waiting["message"]

    server.start_api_server()
    world.settle(lambda: Department.objects.filter(phase="Ready").count() == INTENTS + 1, "all to be ready", 120)

    assert queue_names(api) == [*(f"d{number:03}" for number in range(INTENTS)), "default"]
    assert Department.objects.filter(failures=0).count() == INTENTS + 1


def test_after_etcd_is_compacted_the_streams_go_on(world: World, api: Api, server: RealCluster) -> None:
    department(world, "before")
    world.run_until_quiet()
    server.compact()
    department(world, "after")
    world.settle(lambda: ClusterObject.objects.filter(name="after").exists(), "the new queue to be seen")


def expired(access: ClusterAccess, server: RealCluster) -> ClusterAccess:
    """The same with its token as it was two hours ago, which ended an hour ago; the server's own key signs it."""
    token = access.credential.token
    claims = jwt.decode(token, options={"verify_signature": False})
    now = int(timezone.now().timestamp())
    claims |= {"iat": now - 7200, "nbf": now - 7200, "exp": now - 3600}
    key = (server.directory / "pki" / "sa.key").read_text()
    past = jwt.encode(claims, key, algorithm="RS256", headers={"kid": jwt.get_unverified_header(token)["kid"]})
    return replace(access, credential=Credential(token=past))


def test_a_token_that_expired_is_said_and_a_new_one_heals(world: World, api: Api, server: RealCluster) -> None:
    one = department(world, "one")
    world.run_until_quiet()
    update_credential(world.actor, world.cluster, access=expired(account(api), server))
    world.run_all()

    world.cluster.refresh_from_db()
    reachable = find(world.cluster.conditions, "Reachable") or {}
    assert "does not accept the credential any more" in reachable["message"]
    assert synced(one)["reason"] == "Unauthorized"

    update_credential(world.actor, world.cluster, access=account(api))
    world.run_all()
    world.run_until_quiet()
    assert synced(one)["status"] == "True"


def test_a_certificate_authority_that_was_replaced_is_said_and_a_new_one_heals(
    world: World, api: Api, server: RealCluster
) -> None:
    one = department(world, "one")
    world.run_until_quiet()
    pki = server.directory / "pki"
    kept = server.directory / "pki.before"
    shutil.copytree(pki, kept)
    for name in (server.certificates.authority, server.certificates.certificate, server.certificates.key):
        name.unlink()
    for left in pki.glob("ca*"):
        left.unlink()
    server.end("kube-apiserver", signal.SIGKILL)
    try:
        server.start_api_server()
        world.run_all()
        assert "certificate" in synced(one)["message"].lower()
        access = replace(account_of(world), certificate_authority=server.certificates.authority_text)
        update_credential(world.actor, world.cluster, access=access)
        world.run_all()
        assert synced(one)["status"] == "True"
    finally:
        server.end("kube-apiserver", signal.SIGKILL)
        shutil.rmtree(pki)
        kept.rename(pki)
        server.start_api_server()
        api.await_status(QUEUES, 200)


def account_of(world: World) -> ClusterAccess:
    cluster = world.cluster
    return ClusterAccess(cluster.server, cluster.certificate_authority, decrypt(cluster.credential))


def test_a_version_that_is_no_longer_served_stops_only_its_kind(world: World, api: Api) -> None:
    one = department(world, "one")
    topology = create_topology(world.actor, cluster=world.cluster, name="fabric", levels=["kubernetes.io/hostname"])
    world.run_until_quiet()
    crd = f"{CRDS}/topologies.kai.scheduler"
    was = api.get(crd).body["spec"]["versions"]
    other = [{**was[0], "name": "v9", "storage": False}, {**was[0], "served": False}]
    assert api.merge(crd, {"spec": {"versions": other}}).status == 200
    try:
        api.await_status("/apis/kai.scheduler/v1alpha1/topologies", 404)
        world.run_all()
        assert "does not serve KAI's Topology" in synced(topology)["message"]
        assert synced(one)["status"] == "True"
    finally:
        api.merge(crd, {"spec": {"versions": was}})
        api.await_status("/apis/kai.scheduler/v1alpha1/topologies", 200)
    world.run_all()
    assert NetworkTopology.objects.get().phase == "Ready"
    api.delete("/apis/kai.scheduler/v1alpha1/topologies/fabric")


def test_admission_that_refuses_is_told_in_its_words_and_one_that_is_down_is_waited_for(world: World, api: Api) -> None:
    rules = [
        {"apiGroups": ["scheduling.run.ai"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["queues"]}
    ]
    down = {
        "metadata": {"name": "down"},
        "webhooks": [
            {
                "name": "queues.example.org",
                "rules": rules,
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 1,
            }
        ],
    }
    assert api.post(f"{ADMISSION}/validatingwebhookconfigurations", down).status == 201
    one = department(world, "one")

    def told() -> bool:
        world.run_due()
        return "queues.example.org" in synced(one).get("message", "")

    try:
        world.settle(told, "the webhook to be named")
        assert synced(one)["arguments"]["retry"] == "yes"
    finally:
        api.delete(f"{ADMISSION}/validatingwebhookconfigurations/down")
    world.settle(lambda: synced(one).get("status") == "True", "it to heal")

    policy = {
        "metadata": {"name": "no-queues"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "object.metadata.name != 'two'", "message": "two is not allowed here"}],
        },
    }
    binding = {"metadata": {"name": "no-queues"}, "spec": {"policyName": "no-queues", "validationActions": ["Deny"]}}
    assert api.post(f"{ADMISSION}/validatingadmissionpolicies", policy).status == 201
    assert api.post(f"{ADMISSION}/validatingadmissionpolicybindings", binding).status == 201
    probe = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "two"}, "spec": {}}
    try:
        world.settle(lambda: api.post(QUEUES, probe, dryRun="All").status in (403, 422), "the policy to be in force")
        two = department(world, "two")
        world.run_due()
        assert "two is not allowed here" in synced(two)["message"]
        assert synced(two)["arguments"]["retry"] == "no"
    finally:
        api.delete(f"{ADMISSION}/validatingadmissionpolicybindings/no-queues")
        api.delete(f"{ADMISSION}/validatingadmissionpolicies/no-queues")


def swollen(name: str, texts: int) -> str:
    """A graph whose document is short and whose object is not: aliases repeat a text of 100 kB."""
    first = f"{{name: A0, value: &text {'x' * 100_000}}}"
    env = ", ".join([first, *(f"{{name: A{number}, value: *text}}" for number in range(1, texts))])
    return MULTINODE.replace("name: qwen", f"name: {name}").replace("envFrom:", f"env: [{env}]\n              envFrom:")


def accepted(workload: Workload) -> dict[str, Any]:
    workload.refresh_from_db()
    return find(workload.conditions, "Accepted") or {}


def test_an_object_that_is_too_large_is_told_and_nothing_else_waits_for_it(world: World, api: Api) -> None:
    """Larger than etcd takes, than the API server sends there, and than the API server itself takes."""
    project = create_project(world.actor, department=department(world, "research"), given=ProjectInput("swelling"))
    world.run_until_quiet()
    grows = submit_workload(world.actor, project=project, source=swollen("grows", 1))
    world.settle(lambda: synced(grows).get("status") == "True", "the first graph to be written")
    graphs = graphs_in(project.namespace)
    before = api.get(f"{graphs}/grows").meta["generation"]

    limits = {
        16: "etcdserver: request is too large",
        25: "trying to send message larger than max",
        32: "limit is 3145728",
    }
    large = {
        words: submit_workload(world.actor, project=project, source=swollen(f"large-{texts}", texts))
        for texts, words in limits.items()
    }
    update_workload(world.actor, workload=grows, source=swollen("grows", 16))
    fits = submit_workload(world.actor, project=project, source=swollen("fits", 10))
    world.settle(lambda: synced(fits).get("status") == "True", "what fits to be written")

    for words, workload in large.items():
        said = accepted(workload)
        assert (said["reason"], workload.phase, workload.failures) == ("TooLarge", "Failed", 0)
        assert said["message"].startswith("The object is too large for the cluster: ")
        assert words in said["message"]
    assert accepted(grows)["reason"] == "TooLarge"
    assert api.get(f"{graphs}/grows").meta["generation"] == before
    assert synced(project)["status"] == "True"

    update_workload(world.actor, workload=grows, source=swollen("grows", 2))
    world.settle(lambda: accepted(grows)["status"] == "True", "the smaller document to be written")
    assert [each["metadata"]["name"] for each in api.get(graphs).body["items"]] == ["fits", "grows"]
    [_frontend, decode] = api.get(f"{graphs}/grows").body["spec"]["components"]
    assert len(decode["podTemplate"]["spec"]["containers"][0]["env"]) == 2


FUTURE = "9999-12-29T23:59:59Z"


def put_what_lies_ahead(api: Api, namespace: str) -> None:
    """What kubelets and controllers write whose clocks are ahead: the times that a server takes from its clients."""
    condition = {"status": "False", "reason": "Ahead", "message": "ahead", "lastTransitionTime": FUTURE}
    graph = f"{graphs_in(namespace)}/qwen/status"
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    labels = {"nvidia.com/dynamo-graph-deployment-name": "qwen", "nvidia.com/dynamo-component": "decode"}
    pod = {"metadata": {"name": "qwen-0", "labels": labels}, "spec": {"schedulerName": "x", "containers": [container]}}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    node = {"conditions": [{"type": "Ahead", "lastHeartbeatTime": FUTURE, **condition}]}
    waits = {"startTime": FUTURE, "conditions": [{"type": "PodScheduled", **condition}]}
    assert api.merge(graph, {"status": {"conditions": [{"type": "Ready", **condition}]}}).status == 200
    assert api.post(pods, pod).status == 201
    assert api.strategic(f"{pods}/qwen-0/status", {"status": waits}).status == 200
    assert api.strategic("/api/v1/nodes/gpu-1/status", {"status": node}).status == 200
    for kind, name, space in (("DynamoGraphDeployment", "qwen", namespace), ("Node", "gpu-1", "")):
        event = {
            "metadata": {"name": f"{name}.ahead"},
            "involvedObject": {"kind": kind, "name": name, "namespace": space},
            "type": "Warning",
            "reason": "Ahead",
            "message": f"{name} is ahead",
            "lastTimestamp": FUTURE,
        }
        assert api.post(f"/api/v1/namespaces/{space or 'default'}/events", event).status == 201


def test_objects_whose_times_lie_in_the_future_are_read_shown_and_forgotten(
    world: World, api: Api, admin: User, client: Client
) -> None:
    project = create_project(world.actor, department=department(world, "research"), given=ProjectInput("ahead"))
    world.run_until_quiet()
    workload = submit_workload(world.actor, project=project, source=MULTINODE)
    world.settle(lambda: synced(workload).get("status") == "True", "the graph to be written")
    put_what_lies_ahead(api, project.namespace)
    ahead = ClusterEvent.objects.filter(reason="Ahead", last_seen_at__year=9999)
    world.settle(lambda: ahead.count() == 2, "the events to be read")
    world.settle(lambda: Pod.objects.filter(name="qwen-0", reason="Ahead").exists(), "the pod to be read")
    nodes = Node.objects.filter(cluster=world.cluster, name="gpu-1")
    world.settle(lambda: FUTURE in str(nodes.get().conditions), "the node's condition to be read")

    world.run_all()
    assert synced(workload)["status"] == "True"
    assert not [row for kind in RECONCILERS for row in kind.model._default_manager.all() if row.failures]
    client.force_login(admin)
    for name, row, said in (
        ("workloads:detail", workload, "qwen is ahead"),
        ("clusters:node-detail", nodes.get(), "gpu-1 is ahead"),
    ):
        page = client.get(reverse(name, args=[row.pk])).content.decode()
        assert said in page
        assert f'<time datetime="{FUTURE}"' in page

    retention.delete_outdated(timezone.now() + timedelta(days=2))
    assert not ahead.exists()


@pytest.mark.parametrize("off", [timedelta(minutes=-10), timedelta(minutes=10), timedelta(days=-400)], ids=str)
def test_a_clock_that_is_off_changes_nothing(world: World, off: timedelta) -> None:
    """By the slow ones everything in the cluster was made in the future."""
    with time_machine.travel(timezone.now() + off, tick=True):
        one = department(world, "one")
        world.run_until_quiet()
        world.run_all()
        assert synced(one)["status"] == "True"
        assert (find(one.conditions, "InSync") or {})["status"] == "True"
        assert not [row for kind in RECONCILERS for row in kind.model._default_manager.all() if row.failures]


def test_another_controller_that_fights_is_named_and_left_alone(world: World, api: Api) -> None:
    one = department(world, "one")
    world.run_until_quiet()
    theirs = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "one"},
        "spec": {"priority": 7},
    }
    for _ in range(6):
        assert api.apply(f"{QUEUES}/one", theirs, "argocd", force="true").status == 200
        world.run_all()

    assert synced(one)["reason"] == "Fought"
    assert "argocd sets spec.priority of Queue one" in synced(one)["message"]
    assert api.get(f"{QUEUES}/one").body["spec"]["priority"] == 7
