"""The agreement as people read it: the cluster's page, the list, the API, the preview; who may take a case away."""

import base64
import gzip
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AccessRule, AuditEntry, ScopeType
from accounts.permissions import RESEARCHER
from organizations.models import Department, Project
from tests.conftest import make_user
from workloads.agreement_tally import agreement_json, tallies
from workloads.agreement_words import agreement_line
from workloads.models import Agreement, Prediction

COMPONENTS = [{"key": "kai-scheduler", "health": "healthy", "version": "v0.17.0", "since": "2026-11-30T00:00:00Z"}]
CASE = gzip.compress(b'{"id": "field-1"}\n')


@pytest.fixture
def made(cluster: Any, project: Any) -> Any:
    """`made(outcome, **columns)`: a prediction, each a minute older than the one before."""
    cluster.components = COMPONENTS
    cluster.save(update_fields=["components"])
    count = iter(range(1000))

    def make(outcome: Agreement, **columns: Any) -> Prediction:
        number = next(count)
        return Prediction.objects.create(
            **{
                "cluster": cluster,
                "project": project,
                "workload_name": f"qwen-{number}",
                "generation": 1,
                "node_pool": "default",
                "scheduler_version": "v0.17.0",
                "engine_version": "0123456789ab",
                "predicted_at": timezone.now() - timedelta(minutes=number),
                "verdict": "now",
                "pods": 4,
                "pods_expected": 4,
                "outcome": outcome,
                **columns,
            }
        )

    return make


@pytest.fixture
def some(made: Any) -> Prediction:
    """Three right, one wrong with a case, two not comparable, one open; one right under an unknown version."""
    for _ in range(3):
        made(Agreement.RIGHT, pods_placed=4)
    wrong: Prediction = made(Agreement.WRONG, reasons=["nodes"], pods_placed=4, case=CASE, case_state="kept")
    made(Agreement.NOT_COMPARABLE, reasons=["changed:pods,nodes"])
    made(Agreement.NOT_COMPARABLE, reasons=["tooLate"])
    made(Agreement.OPEN)
    made(Agreement.RIGHT, scheduler_version="")
    return wrong


def text_of(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def test_only_right_and_wrong_count_and_versions_are_apart(some: Prediction, django_assert_num_queries: Any):
    with django_assert_num_queries(1):
        known, unknown = tallies(some.cluster)

    assert (known.scheduler_version, known.right, known.wrong, known.not_comparable, known.open) == (
        "v0.17.0", 3, 1, 2, 1,
    )  # fmt: skip
    assert (known.compared, dict(known.reasons)) == (4, {"changed": 1, "tooLate": 1})
    assert (unknown.scheduler_version, unknown.right, unknown.compared) == ("unknown", 1, 1)


def test_a_preview_says_how_often_the_engine_was_right_under_the_present_version(
    some: Prediction, django_assert_num_queries: Any
):
    with django_assert_num_queries(1):
        found = agreement_json(some.cluster)

    assert found == {"schedulerVersion": "v0.17.0", "right": 3, "compared": 4, "notComparable": 2}
    assert agreement_line(found) == (
        "The engine was right in 3 of 4 predictions compared with this cluster’s scheduler (KAI v0.17.0)."
    )


def test_nothing_compared_is_said_and_is_no_zero_of_zero(made: Any, cluster: Any):
    made(Agreement.NOT_COMPARABLE, reasons=["stale"])

    line = agreement_line(agreement_json(cluster))

    assert line == "No prediction has been compared with this cluster’s scheduler (KAI v0.17.0) yet."
    cluster.components = []
    assert "KAI, version not known" in agreement_line(agreement_json(cluster))


def test_the_clusters_page_loads_the_panel_with_the_last_wrong_ones(some: Prediction, viewer: Any, client_of: Any):
    client = client_of(viewer)
    url = reverse("workloads:agreement", args=[some.cluster_id])
    page = text_of(client.get(url))
    assert page.count("Predictions and the scheduler") == 1
    whole = reverse("clusters:cluster-detail", args=[some.cluster_id])
    assert f'<h1><a href="{whole}">{some.cluster.name}</a></h1>' in page
    assert f'<a href="{reverse("clusters:cluster-list")}">Clusters</a></nav>' in page
    assert url in client.get(reverse("clusters:cluster-detail", args=[some.cluster_id])).content.decode()

    told = text_of(client.get(url, headers={"HX-Request": "true"}))

    assert "3 of 4" in told
    assert "KAI, version not known" in told
    assert "something else changed in between (1)" in told
    assert "pods stand on other nodes" in told
    assert reverse("workloads:prediction-case", args=[some.cluster_id, some.pk]) in told


def test_a_cluster_without_starts_says_so(cluster: Any, viewer: Any, client_of: Any):
    told = text_of(client_of(viewer).get(reverse("workloads:agreement", args=[cluster.pk])))

    assert "No workload has started since Muster compares predictions on this cluster." in told


def test_the_list_filters_sorts_searches_and_exports(some: Prediction, viewer: Any, client_of: Any):
    client, url = client_of(viewer), reverse("workloads:predictions", args=[some.cluster_id])

    table = client.get(url).context["table"]
    assert (table.total, table.rows[0].pk) == (8, some.pk)
    assert client.get(url, {"filter": "outcome==wrong"}).context["table"].total == 1
    assert client.get(url, {"filter": "scheduler==unknown"}).context["table"].total == 1
    assert client.get(url, {"filter": "case==true"}).context["table"].total == 1
    assert client.get(url, {"q": some.workload_name}).context["table"].total == 1
    assert str(client.get(url, {"sort": "-when"}).context["table"].rows[-1]).startswith("qwen-7")
    lines = b"".join(client.get(url, {"format": "csv"}).streaming_content).decode().splitlines()
    assert len(lines) == 9
    assert "something else changed in between: pods, nodes" in "\n".join(lines)


def test_an_empty_list_says_what_a_prediction_is(cluster: Any, viewer: Any, client_of: Any):
    told = text_of(client_of(viewer).get(reverse("workloads:predictions", args=[cluster.pk])))

    assert "Nothing was predicted yet" in told


@pytest.fixture
def neighbour(cluster: Any, default_pool: Any) -> Any:
    """A researcher of another project of the cluster."""
    other = Department.objects.create(cluster=cluster, name="vision", phase="Ready")
    project = Project.objects.create(cluster=cluster, department=other, name="eyes", namespace="runai-eyes")
    return make_user("neighbour", RESEARCHER, ScopeType.PROJECT, project.pk, cluster)


def test_names_of_others_workloads_are_not_shown_found_or_sorted_by(some: Prediction, neighbour: Any, client_of: Any):
    client, url = client_of(neighbour), reverse("workloads:predictions", args=[some.cluster_id])
    api = f"/api/v1/clusters/{some.cluster_id}/scheduler-agreement/predictions"

    assert client.get(url).context["table"].total == 8
    assert client.get(url, {"q": "qwen"}).context["table"].total == 0
    assert client.get(url, {"filter": "workload=@qwen"}).context["table"].total == 0
    listed = client.get(api).json()["predictions"]
    assert {each["workloadName"] for each in listed} == {""}
    assert client.get(api, {"search": "qwen"}).json()["predictions"] == []
    pages = [client.get(url), client.get(reverse("workloads:agreement", args=[some.cluster_id])), client.get(api)]
    assert [page for page in pages if "qwen" in page.content.decode()] == []
    exported = b"".join(client.get(url, {"format": "csv"}).streaming_content).decode()
    assert "qwen" not in exported


def test_a_case_is_for_those_who_see_the_cluster_and_the_audit_notes_who_took_it(
    some: Prediction, viewer: Any, outsider: Any, client_of: Any
):
    urls = [
        reverse("workloads:prediction-case", args=[some.cluster_id, some.pk]),
        f"/api/v1/clusters/{some.cluster_id}/scheduler-agreement/predictions/{some.pk}/case",
    ]
    for url in urls:
        AuditEntry.objects.all().delete()
        answer = client_of(viewer).get(url)
        assert (answer.status_code, answer.content) == (200, CASE)
        assert answer.headers["Content-Disposition"].endswith('.jsonl.gz"')
        entry = AuditEntry.objects.get()
        assert (entry.action, entry.subject, entry.object_id) == ("download", viewer.email, str(some.pk))
        assert client_of(outsider).get(url).status_code == 404
        assert AuditEntry.objects.filter(action="download", outcome="Succeeded").count() == 1


def test_a_case_of_another_cluster_and_one_that_is_not_kept_are_absent(
    some: Prediction, made: Any, viewer: Any, client_of: Any
):
    from clusters.models import Cluster

    other = Cluster.objects.create(name="b", server="http://127.0.0.1:2", credential=b"")
    right = made(Agreement.RIGHT)
    pairs = [(other.pk, some.pk), (some.cluster_id, right.pk), (some.cluster_id, "x"), (some.cluster_id, other.pk)]

    for cluster, pk in pairs:
        path = f"/api/v1/clusters/{cluster}/scheduler-agreement/predictions/{pk}/case"
        assert client_of(viewer).get(path).status_code == 404
        assert client_of(viewer).get(f"/clusters/{cluster}/predictions/{pk}/case/").status_code == 404


def test_the_api_tells_agreement_list_and_one(some: Prediction, viewer: Any, client_of: Any):
    client, base = client_of(viewer), f"/api/v1/clusters/{some.cluster_id}/scheduler-agreement"

    found = client.get(base).json()
    assert found["clusterUuid"] == str(some.cluster_id)
    assert [(each["schedulerVersion"], each["right"], each["compared"]) for each in found["versions"]] == [
        ("v0.17.0", 3, 4),
        ("unknown", 1, 1),
    ]
    assert found["versions"][0]["reasons"] == [{"code": "changed", "count": 1}, {"code": "tooLate", "count": 1}]

    page = client.get(f"{base}/predictions", {"limit": 2, "sortBy": "outcome"}).json()
    assert page["next"] == 2
    assert page["predictions"][0]["reasons"] == ["nodes"]
    assert client.get(f"{base}/predictions", {"filterBy": "outcome==wrong"}).json()["predictions"] == [
        client.get(f"{base}/predictions/{some.pk}").json()
    ]
    assert client.get(f"{base}/predictions", {"filterBy": "outcome==odd"}).status_code == 400
    assert client.get(f"{base}/predictions/{some.cluster_id}").status_code == 404
    assert client.get(f"{base}/predictions", headers={"Accept": "text/csv"}).content.decode().count("\r\n") == 9


def test_a_preview_carries_the_agreement(some: Prediction, submit: Any, admin: Any, client_of: Any, project: Any):
    from tests.workloads.samples import DISAGG

    source = DISAGG.replace("runai-project-a", "runai-assistant")
    encoded = base64.b64encode(source.encode()).decode()
    body = {"manifestBase64Encoded": encoded, "metadata": {"projectId": str(project.pk)}}
    answer = client_of(admin).post("/api/v1/workloads/preview", body, content_type="application/json")

    assert answer.status_code == 200, answer.content
    assert answer.json()["agreement"]["right"] == 3
    page = client_of(admin).post(
        reverse("workloads:placement"), {"source": source, "project": str(project.pk), "view": "yaml"}
    )
    assert "right in 3 of 4 predictions" in text_of(page)


def test_rules_of_a_scope_decide_who_reads_a_name(some: Prediction, cluster: Any, client_of: Any, researcher: Any):
    listed = client_of(researcher).get(f"/api/v1/clusters/{cluster.pk}/scheduler-agreement/predictions")
    names = {each["workloadName"] for each in listed.json()["predictions"]}

    assert len(names) == 8
    assert AccessRule.objects.filter(user=researcher, scope_type=ScopeType.PROJECT).exists()
