"""The reconcile of a cluster's row, with the in-memory gateway and, for the connection test, the simulated server."""

import datetime as dt
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone

from clusters import connections, live
from clusters.credentials import Credential, UnreadableCredential, decrypt, encrypt
from clusters.kinds import DAEMON_SET, DEPLOYMENT, KAI_QUEUE, NAMESPACE
from clusters.kube.errors import Forbidden, Unauthorized, Unavailable
from clusters.kube.fake import FakeGateway
from clusters.kubeconfig import ClusterAccess
from clusters.models import Cluster
from clusters.rbac import needed_permissions, rbac_manifest
from clusters.reconcile import reconcile_cluster, sync_cluster
from core import leases
from core.reconciling import Outcome, Reconciler, reconcile_claimed
from tests.clusters.conftest import ApiServer

KAI = ("scheduler", "binder", "podgrouper", "podgroupcontroller", "queuecontroller", "admission")


def controller(name: str, image: str, *, namespace: str = "kai-scheduler", ready: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
        "status": {"readyReplicas": ready},
    }


@pytest.fixture
def platform(gateway: FakeGateway) -> FakeGateway:
    """KAI, Grove, Dynamo and the GPU operator as their charts name them."""
    for name in ("kai-scheduler", "grove-system", "dynamo-system", "gpu-operator"):
        gateway.put(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for part in KAI:
        gateway.put(DEPLOYMENT, controller(part, f"ghcr.io/kai-scheduler/kai-scheduler/{part}:v0.17.0"))
    others = (
        ("grove-operator", "ghcr.io/ai-dynamo/grove/grove-operator:v0.1.0-alpha.12", "grove-system"),
        ("dynamo-platform-dynamo-operator-controller-manager", "nvcr.io/x/kubernetes-operator:1.5.0", "dynamo-system"),
        ("gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.1", "gpu-operator"),
    )
    for name, image, namespace in others:
        gateway.put(DEPLOYMENT, controller(name, image, namespace=namespace))
    exporter = controller("nvidia-dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.2.3", namespace="gpu-operator")
    status = {"desiredNumberScheduled": 3, "numberReady": 3}
    gateway.put(DAEMON_SET, exporter | {"kind": "DaemonSet", "status": status})
    return gateway


def conditions(outcome: Outcome) -> dict[str, str]:
    return {condition.type: condition.status for condition in outcome.conditions}


def health(outcome: Outcome) -> dict[str, str]:
    return {entry["key"]: entry["health"] for entry in outcome.columns["components"]}


def test_a_whole_platform_is_connected(platform: FakeGateway, cluster: Cluster) -> None:
    outcome = sync_cluster(cluster, platform)

    assert outcome.phase == "Connected"
    assert set(conditions(outcome).values()) == {"True"}
    assert health(outcome) == {
        "kai-scheduler": "healthy",
        "grove": "healthy",
        "dynamo": "healthy",
        "gpu-operator": "healthy",
        "prometheus": "missing",
    }
    versions = {entry["key"]: entry["version"] for entry in outcome.columns["components"]}
    assert versions["kai-scheduler"] == "v0.17.0"
    assert versions["dynamo"] == "1.5.0"
    assert outcome.columns["kubernetes_version"] == "v1.33.1"
    assert outcome.columns["served"]["scheduling.run.ai"]["queues"] == ["v2"]
    assert platform.writes == []


def test_an_empty_cluster_misses_prerequisites(gateway: FakeGateway, cluster: Cluster) -> None:
    outcome = sync_cluster(cluster, gateway)

    assert outcome.phase == "MissingPrerequisites"
    (condition,) = [c for c in outcome.conditions if c.type == "PrerequisitesMet"]
    assert condition.message == "Not installed: KAI Scheduler, Grove, NVIDIA Dynamo."


def test_a_controller_that_is_down_a_part_that_is_lost_and_a_missing_crd_are_named(
    platform: FakeGateway, cluster: Cluster
) -> None:
    platform.put(DEPLOYMENT, controller("binder", "ghcr.io/kai/binder:v0.17.0", ready=0))
    platform.delete(DEPLOYMENT, "queuecontroller", "kai-scheduler")
    platform.serve(KAI_QUEUE, [])

    outcome = sync_cluster(cluster, platform)

    assert outcome.phase == "ServiceIssues"
    (kai,) = [entry for entry in outcome.columns["components"] if entry["key"] == "kai-scheduler"]
    assert kai["message"] == (
        "binder is not ready; queue-controller was not found; the kind Queue (scheduling.run.ai) is not served"
    )


def test_health_is_since_when_it_changed(platform: FakeGateway, cluster: Cluster) -> None:
    cluster.components = [
        {"key": "grove", "health": "healthy", "since": "2026-01-01T00:00:00Z"},
        {"key": "dynamo", "health": "missing", "since": "2026-01-01T00:00:00Z"},
    ]

    outcome = sync_cluster(cluster, platform)

    since = {entry["key"]: entry["since"] for entry in outcome.columns["components"]}
    assert since["grove"] == "2026-01-01T00:00:00Z"
    assert since["dynamo"] > "2026-01-01T00:00:00Z"


def test_what_may_not_be_read_is_unknown_and_not_missing(platform: FakeGateway, cluster: Cluster) -> None:
    platform.fail_at(3, Forbidden("deployments.apps is forbidden"))

    outcome = sync_cluster(cluster, platform)

    assert set(health(outcome).values()) == {"unknown"}
    assert conditions(outcome)["ComponentsHealthy"] == "Unknown"
    assert outcome.phase == "Connected"


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_failure_at_any_call_keeps_what_is_known_and_says_disconnected(
    platform: FakeGateway, cluster: Cluster, k: int
) -> None:
    cluster.last_contact_at = timezone.now() - dt.timedelta(hours=1)
    cluster.conditions = [{"type": "ComponentsHealthy", "status": "True", "reason": "AllReady"}]
    platform.fail_at(k, Unavailable("The API server did not answer in time."))

    outcome = reconcile_cluster(cluster)

    assert outcome.phase == "Disconnected"
    assert conditions(outcome) == {"Reachable": "False", "ComponentsHealthy": "Unknown"}
    assert outcome.columns == {}
    assert reconcile_cluster(cluster).phase == "Connected"


def test_a_cluster_that_never_answered_waits_to_connect(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.credential = encrypt(Credential(token="t"))

    outcome = reconcile_cluster(cluster)

    assert outcome.phase == "WaitingToConnect"
    assert "cannot be reached" in outcome.conditions[0].message


def test_field_report_73_a_token_that_expired_is_named_as_the_cause(platform: FakeGateway, cluster: Cluster) -> None:
    platform.fail_at(1, Unauthorized("token has expired"))

    (condition,) = reconcile_cluster(cluster).conditions

    assert (condition.type, condition.reason) == ("Reachable", "Unauthorized")
    assert "Enter a new one" in condition.message


def test_a_credential_of_another_secret_key_is_said_to_be_unreadable(cluster: Cluster, settings: Any) -> None:
    cluster.credential = encrypt(Credential(token="t"))
    settings.SECRET_KEY = "another"

    with pytest.raises(UnreadableCredential):
        decrypt(cluster.credential)
    assert reconcile_cluster(cluster).conditions[0].reason == "CredentialUnreadable"
    settings.SECRET_KEY_FALLBACKS = []


def test_a_credential_survives_a_change_of_the_secret_key_with_a_fallback(settings: Any) -> None:
    stored = encrypt(Credential(token="t"))
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"

    assert decrypt(memoryview(stored)).token == "t"


def test_a_bad_certificate_is_a_condition_and_no_crash(cluster: Cluster) -> None:
    cluster.server = "https://127.0.0.1:1"
    cluster.certificate_authority = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----"
    cluster.credential = encrypt(Credential(token="t"))

    assert reconcile_cluster(cluster).conditions[0].reason == "BadCertificate"


def test_the_runner_stores_phase_and_components_and_removes_a_deleted_cluster(
    platform: FakeGateway, cluster: Cluster
) -> None:
    reconciler = Reconciler(Cluster, reconcile_cluster, "pk")

    def run() -> None:
        taken = leases.claim(Cluster, cluster.pk)
        assert taken is not None
        assert reconcile_claimed(reconciler, cluster.pk, taken)

    run()
    cluster.refresh_from_db()
    assert (cluster.phase, cluster.kubernetes_version, cluster.observed_generation) == ("Connected", "v1.33.1", 1)
    Cluster.objects.update(deletion_requested_at=timezone.now(), next_check_at=timezone.now())
    run()
    assert not Cluster.objects.exists()
    assert platform.writes == []


def test_a_gateway_is_kept_until_the_connection_changes(cluster: Cluster) -> None:
    cluster.pk = uuid.uuid4()
    cluster.credential = encrypt(Credential(token="t"))
    first = connections.gateway_for(cluster)

    assert connections.gateway_for(cluster) is first
    cluster.generation += 1
    assert connections.gateway_for(cluster) is not first


def test_a_connection_test_names_each_missing_permission() -> None:
    gateway = FakeGateway()
    gateway.denied = {("patch", "nodes"), ("list", "queues")}

    report = live.report(gateway)

    assert report.reachable
    assert report.missing == ("patch nodes", "list queues.scheduling.run.ai")


def test_the_printed_rules_grant_exactly_what_is_tested() -> None:
    (role,) = [d for d in yaml.safe_load_all(rbac_manifest()) if d["kind"] == "ClusterRole"]
    granted = {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }

    assert granted == {(one.verb, one.group, one.resource) for one in needed_permissions()}


def test_the_role_is_what_the_audit_log_of_a_real_server_witnessed_and_gives_no_way_to_more() -> None:
    """`MUSTER_WRITE_RIGHTS=1 pytest tests/cluster/test_rights.py` writes the witness anew."""
    witness = (Path(__file__).parents[1] / "cluster" / "rights.txt").read_text().splitlines()
    needed = sorted(str(one) for one in needed_permissions())

    assert needed == witness
    assert "list secrets" not in needed
    assert not [one for one in needed if "*" in one or one.split()[0] in ("escalate", "bind", "impersonate")]


def test_a_connection_is_tried_against_a_real_server(api_server: ApiServer) -> None:
    def access(token: str) -> ClusterAccess:
        return ClusterAccess(api_server.url, "", Credential(token=token))

    good = live.try_access(access(api_server.server.tokens.admin_token))
    bad = live.try_access(access("nonsense"))
    gone = live.try_access(ClusterAccess("http://127.0.0.1:1", "", Credential(token="t")))

    assert (good.reachable, good.missing) == (True, ())
    assert (bad.reachable, bad.reason) == (False, "Unauthorized")
    assert (gone.reachable, gone.reason) == (False, "Unavailable")


def test_a_reconcile_that_finds_nothing_new_changes_no_column(cluster: Cluster, platform: FakeGateway) -> None:
    """Else every open page would be told of a change twice a minute."""
    first = sync_cluster(cluster, platform)
    for name, value in first.columns.items():
        setattr(cluster, name, value)

    again = sync_cluster(cluster, platform)

    assert "last_contact_at" in first.columns
    assert {name: value for name, value in again.columns.items() if getattr(cluster, name) != value} == {}
