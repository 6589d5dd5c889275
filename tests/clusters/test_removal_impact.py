"""Whose work ends with a cluster that is removed and cleaned: on its page, in the audit log."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, User
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, NAMESPACE, Kind
from clusters.models import Cluster, ClusterObject, Pod
from clusters.removal_impact import ending_workloads
from tests.organizations.shard_rows import add_gang, add_nodes, add_object
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def ours(cluster: Cluster, kind: Kind, name: str, namespace: str = "", **labels: str) -> None:
    made = add_object(cluster, kind, name, namespace, metadata={"labels": labels})
    ClusterObject.objects.filter(pk=made.pk).update(owner="organizations.Project.1")


@pytest.fixture
def busy(cluster: Cluster) -> Cluster:
    """Muster's graph `chat` in the namespace of its project, a job of somebody's beside it, and a graph that waits; in
    an adopted namespace one graph of Muster's and one of others; others' work elsewhere."""
    managed = {"app.kubernetes.io/managed-by": "muster", "muster.dev/project": "assistant"}
    add_nodes(cluster, 2, node_pool="h200")
    add_nodes(cluster, 1, prefix="m")
    ours(cluster, NAMESPACE, "runai-assistant", **managed)
    ours(cluster, NAMESPACE, "theirs", **{"muster.dev/project": "vision", "muster.dev/adopted": "true"})
    for name, namespace in (("chat", "runai-assistant"), ("waits", "runai-assistant"), ("kept", "theirs")):
        ours(cluster, DYNAMO_GRAPH_DEPLOYMENT, name, namespace)
    add_gang(cluster, "assistant", "chat-decode", 4, 4, on=("n0", "n0"))
    add_gang(cluster, "assistant", "chat-prefill", 2, 2, on=("n1", ""))
    Pod.objects.filter(pod_group__startswith="chat").update(graph="chat")
    add_gang(cluster, "assistant", "job", 1, on=("m0",))
    add_gang(cluster, "assistant", "over", 8, on=("m0",))
    Pod.objects.filter(pod_group="over").update(phase="Succeeded")
    add_gang(cluster, "vision", "kept-0", 2, on=("m0",), namespace="theirs")
    Pod.objects.filter(pod_group="kept-0").update(graph="kept")
    add_gang(cluster, "vision", "helm-0", 2, on=("m0",), namespace="theirs")
    add_gang(cluster, "else", "else-0", 2, on=("m0",), namespace="else")
    return cluster


def test_work_of_muster_ends_and_all_in_the_namespaces_that_it_made(busy: Cluster) -> None:
    shown = ending_workloads(busy)

    assert [
        (each["name"], each["project"], each["pool"], each["gpus"], each["pods"], each["running"])
        for each in shown["workloads"]
    ] == [
        ("chat", "assistant", "h200", 10, 4, True),
        ("kept", "theirs", "default", 2, 1, True),
        ("job", "assistant", "default", 1, 1, True),
        ("waits", "assistant", "default", 0, 0, False),
    ]
    assert {each["effect"] for each in shown["workloads"]} == {"ends"}
    assert not shown["isEmpty"]


def test_an_empty_cluster_ends_nothing(cluster: Cluster) -> None:
    assert ending_workloads(cluster)["isEmpty"]


def test_the_page_names_the_workloads_and_the_audit_entry_keeps_them(
    busy: Cluster, default_pool: NodePool, admin: User, client_of: Any
) -> None:
    page: Client = client_of(admin)
    url = reverse("clusters:cluster-remove", args=[busy.pk])
    said = "4 workloads would end: 13 GPUs – chat of assistant, 10 GPUs; kept of theirs, 2 GPUs; job of assistant"

    assert said in page.get(url).content.decode()
    seal = page.get(url).context["impact"]
    assert page.post(url, {"confirm": busy.name, "objects": "clean", "impact": seal}).status_code == 302

    entry = AuditEntry.objects.get(action="delete")
    assert entry.after["objects"] == "clean"
    assert [each["name"] for each in entry.after["impact"]["workloads"]] == ["chat", "kept", "job", "waits"]


def test_a_removal_that_would_end_more_than_was_shown_is_asked_again(
    busy: Cluster, admin: User, client_of: Any
) -> None:
    page: Client = client_of(admin)
    url = reverse("clusters:cluster-remove", args=[busy.pk])
    given = {"confirm": busy.name, "objects": "clean", "impact": page.get(url).context["impact"]}
    add_gang(busy, "assistant", "new", 2, on=("m0",))

    again = page.post(url, given)

    assert again.status_code == 422
    assert "has grown since it was shown" in again.content.decode()
    assert "new of assistant" in again.content.decode()
    assert not Cluster.objects.get(pk=busy.pk).is_being_deleted
    for seal in ("", "forged", given["impact"]):
        assert page.post(url, {**given, "impact": seal}).status_code == 422
    Pod.objects.filter(pod_group="chat-decode").delete()  # what shrinks is not asked about
    assert page.post(url, {**given, "impact": again.context["impact"]}).status_code == 302


def test_leaving_a_cluster_ends_nothing(busy: Cluster, admin: User, client_of: Any) -> None:
    url = reverse("clusters:cluster-remove", args=[busy.pk])

    assert client_of(admin).post(url, {"confirm": busy.name, "objects": "leave"}).status_code == 302
    assert AuditEntry.objects.get(action="delete").after == {"objects": "leave"}


def test_a_wrong_name_keeps_what_was_chosen(busy: Cluster, admin: User, client_of: Any) -> None:
    url = reverse("clusters:cluster-remove", args=[busy.pk])

    refused = client_of(admin).post(url, {"confirm": "another", "objects": "leave"})

    assert refused.status_code == 422
    assert 'value="leave" required checked' in refused.content.decode()
    assert refused.content.decode().count("checked") == 1


def test_what_stands_on_a_cluster_is_named_in_the_viewers_language(
    cluster: Cluster, admin: User, client_of: Any
) -> None:
    NodePool.objects.create(cluster=cluster, name="h200", label_key="pool", label_value="h200")
    page: Client = client_of(admin)
    page.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})

    content = page.get(reverse("clusters:cluster-remove", args=[cluster.pk])).content.decode()

    assert "节点池 h200" in content
    assert "node pool h200" not in content


def test_a_dry_run_of_the_removal_answers_the_same(busy: Cluster, admin: User, client_of: Any) -> None:
    url = f"/api/v1/clusters/{busy.pk}?dryRun=true"

    cleaning = client_of(admin).delete(f"{url}&objects=clean", headers={"If-Match": "*"})
    leaving = client_of(admin).delete(f"{url}&objects=leave", headers={"If-Match": "*"})

    assert (cleaning.status_code, leaving.status_code) == (202, 202)
    assert [each["name"] for each in cleaning.json()["impact"]["workloads"]] == ["chat", "kept", "job", "waits"]
    assert leaving.json() == {"code": 202, "message": "Request has been accepted."}
    assert not Cluster.objects.get(pk=busy.pk).is_being_deleted
