"""Real faults of a real API server: what waits is kept, nothing is lost or doubled, and each is said in words."""

import shutil
import signal
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import User
from clusters.credentials import decrypt
from clusters.kinds import SECRET
from clusters.kube.errors import Rejected
from clusters.kubeconfig import ClusterAccess
from clusters.models import ClusterObject
from clusters.services import update_credential
from controlplane.reconcilers import RECONCILERS
from core.conditions import find
from organizations.models import Department
from tests.cluster.running import RealCluster
from tests.cluster.world import ADMISSION, CRDS, QUEUES, World, account, department, queue_names, synced
from tests.contract.client import Api
from topology.models import NetworkTopology
from topology.services import create_topology

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


def test_a_token_that_is_no_longer_taken_is_said_and_a_new_one_heals(world: World, api: Api) -> None:
    one = department(world, "one")
    world.run_until_quiet()
    path = "/api/v1/namespaces/muster-system/serviceaccounts/muster"
    api.delete(path)
    access = account(api)  # the account is another one: its old tokens are void, within the server's cache of 10 s

    def refused() -> bool:
        """Of both rows: the token may end between the looks at the one and at the other."""
        world.run_all()
        world.cluster.refresh_from_db()
        reachable = find(world.cluster.conditions, "Reachable") or {}
        said = "does not accept the credential any more" in reachable["message"]
        return said and synced(one).get("reason") == "Unauthorized"

    world.settle(refused, "the token to be refused", 60)
    update_credential(world.actor, world.cluster, access=access)
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
    server.end("kube-apiserver")
    try:
        server.start_api_server()
        world.run_all()
        assert "certificate" in synced(one)["message"].lower()
        access = replace(account_of(world), certificate_authority=server.certificates.authority_text)
        update_credential(world.actor, world.cluster, access=access)
        world.run_all()
        assert synced(one)["status"] == "True"
    finally:
        server.end("kube-apiserver")
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


def test_an_object_that_is_too_large_is_refused_with_the_limit(world: World) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "large", "namespace": "default"},
        "data": {"a": "x" * 3_200_000},
    }
    with pytest.raises(Rejected, match="limit is 3145728"):
        world.gateway.apply(SECRET, manifest)


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_clock_that_is_ten_minutes_off_changes_nothing(world: World, minutes: int) -> None:
    with time_machine.travel(timezone.now() + timedelta(minutes=minutes), tick=True):
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


def test_a_second_muster_says_so_and_writes_nothing(world: World, api: Api, admin: User, settings: Any) -> None:
    one = department(world, "one")
    world.run_all()
    world.run_until_quiet()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another installation's key", []
    update_credential(world.actor, world.cluster, access=account(api))
    world.run_all()
    api.merge(f"{QUEUES}/one", {"spec": {"priority": 7}})
    world.run_all()

    assert synced(one)["reason"] == "OtherMuster"
    assert api.get(f"{QUEUES}/one").body["spec"]["priority"] == 7
    api.merge("/api/v1/namespaces/muster-system", {"metadata": {"annotations": {"muster.dev/installation": None}}})
