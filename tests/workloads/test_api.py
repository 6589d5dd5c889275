"""Workloads in Run:ai's wire format."""

import base64
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from clusters.models import Pod
from tests.runai_schema import check, send
from tests.workloads.samples import DISAGG, FICTION, MULTINODE
from workloads.document import load
from workloads.models import Workload

PASTED = DISAGG.replace("runai-project-a", "runai-assistant")


@pytest.fixture
def api(researcher: Any, client_of: Any, quota: Any, topology: Any, nodes: Any) -> Client:
    client: Client = client_of(researcher)
    return client


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_manifest_is_submitted_read_listed_counted_and_deleted(api: Client, project: Any) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifestBase64Encoded": encoded(PASTED)}

    made = send(api, "post", "/api/v2/workloads", body)
    path = f"/api/v2/workloads/{made.json()['metadata']['id']}"
    got = api.get(path).json()
    listed = api.get("/api/v1/workloads").json()
    counted = api.get("/api/v1/workloads/count?filterBy=projectName==assistant,phase==Creating").json()
    deleted = api.delete(path)

    assert (made.status_code, deleted.status_code, counted) == (202, 202, {"count": 1})
    assert got["syncInfo"] == {"status": "Queued"}
    assert got["workload"]["rawManifest"] == load(PASTED)
    assert (
        got["workload"]["workloadManifest"]["metadata"]["annotations"]["nvidia.com/kai-scheduler-queue"] == "assistant"
    )
    assert [row["name"] for row in listed["workloads"]] == ["vllm-disagg"]
    assert deleted.json()["desiredPhase"] == "Deleted"
    check("WorkloadV2", made.json())
    check("WorkloadV2GetResponse", got)
    check("Workload", listed["workloads"][0])


def test_why_it_could_not_be_written_is_its_message_until_something_waits(api: Client, submit: Any) -> None:
    failed = {"type": "Synced", "status": "False", "reason": "Unavailable", "message": "The webhook is down."}
    row = submit()
    Workload.objects.update(conditions=[failed | {"lastTransitionTime": "2026-01-01T00:00:00Z"}])
    path = f"/api/v1/workloads/{row.pk}"

    unwritten = api.get(path).json()
    Workload.objects.update(waiting_reason={"code": "NoPods", "arguments": {}})
    waiting = api.get(path).json()

    assert unwritten["phaseMessage"] == "The webhook is down."
    assert waiting["phaseMessage"] == "The Dynamo operator has made no pod of it yet."
    check("Workload", unwritten)


def test_json_name_priority_and_preemptibility_of_the_request_hold(api: Client, project: Any) -> None:
    metadata = {"projectId": str(project.pk), "name": "mine", "priority": "train", "preemptibility": "preemptible"}

    document = load(MULTINODE)
    del document["metadata"]["name"]
    made = send(api, "post", "/api/v2/workloads", {"metadata": metadata, "manifest": document})

    row = Workload.objects.get()
    assert made.status_code == 202
    assert (row.name, row.priority_class, row.preemptibility) == ("mine", "train", "preemptible")
    assert row.submitted_through == "api"


def test_the_namespace_of_the_manifest_names_the_project(api: Client) -> None:
    made = send(api, "post", "/api/v2/workloads", {"metadata": {}, "manifest": load(PASTED)})

    assert made.json()["metadata"]["projectName"] == "assistant"


def test_a_name_can_be_a_prefix(api: Client, project: Any) -> None:
    metadata = {"projectId": str(project.pk), "name": "mine", "useGivenNameAsPrefix": True}

    document = load(MULTINODE.replace("name: qwen", "name: mine"))
    made = send(api, "post", "/api/v2/workloads", {"metadata": metadata, "manifest": document}).json()

    assert made["metadata"]["name"].startswith("mine-")


SAID = load(MULTINODE)
SAID["spec"] |= {"priorityClassName": "inference", "labels": {"kai.scheduler/preemptibility": "preemptible"}}


@pytest.mark.parametrize(
    ("metadata", "own"),
    [
        ({"name": "mine"}, "qwen"),
        ({"name": "mine", "useGivenNameAsPrefix": True}, "qwen"),
        ({"priority": "train"}, "inference"),
        ({"preemptibility": "non-preemptible"}, "preemptible"),
    ],
)
def test_a_manifest_that_contradicts_the_metadata_beside_it_is_refused_naming_both(
    api: Client, project: Any, submit: Any, metadata: dict[str, Any], own: str
) -> None:
    row = submit(MULTINODE.replace("name: qwen", "name: stands"))
    before = Workload.objects.values_list("name", "source", "generation").get()
    beside = {"projectId": str(project.pk), **metadata}
    field, given = next(iter(metadata.items()))

    for method, path in (("post", "/api/v2/workloads"), ("put", f"/api/v2/workloads/{row.pk}")):
        answer = send(api, method, path, {"metadata": beside, "manifest": SAID})
        (fault,) = answer.json()["faults"]
        assert (answer.status_code, fault["field"]) == (400, f"metadata.{field}")
        assert repr(given) in fault["message"]
        assert repr(own) in fault["message"]
    assert Workload.objects.values_list("name", "source", "generation").get() == before


def test_metadata_that_says_what_the_manifest_says_is_taken(api: Client, project: Any) -> None:
    metadata = {"projectId": str(project.pk), "name": "qwen"}

    assert (
        send(api, "post", "/api/v2/workloads", {"metadata": metadata, "manifest": load(MULTINODE)}).status_code == 202
    )


def test_a_dry_run_checks_and_writes_nothing(api: Client, project: Any) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(PASTED)}

    answer = send(api, "post", "/api/v2/workloads?dryRun=true", body)

    assert answer.status_code == 202
    assert not Workload.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_role_without_replicas_is_refused_by_submission_and_dry_run_and_previews_say_why(
    api: Client, project: Any
) -> None:
    manifest = load(PASTED.replace("replicas: 2", "replicas: 0"))
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": manifest}

    refused = [send(api, "post", f"/api/v2/workloads{query}", body) for query in ("", "?dryRun=true")]
    preview = send(api, "post", "/api/v1/workloads/preview", body)

    for answer in refused:
        (fault,) = answer.json()["faults"]
        assert (answer.status_code, fault["field"]) == (400, "spec.services.VllmDecodeWorker.replicas")
    assert (preview.json()["verdict"], preview.json()["reason"]) == ("unknown", "NoReplicas")
    assert not Workload.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"manifest": None}, "manifest"),
        ({"manifestBase64Encoded": "%%%", "manifest": None}, "manifestBase64Encoded"),
        ({"manifestBase64Encoded": encoded(PASTED)}, "manifest"),
        ({"manifest": load(FICTION)}, "kind"),
        ({"metadata": {"projectId": "999"}}, "metadata.projectId"),
        ({"metadata": {"project": "1"}}, "metadata.project"),
        ({"desiredPhase": "Paused"}, "desiredPhase"),
    ],
)
def test_what_is_wrong_is_named_by_field(api: Client, project: Any, change: dict[str, Any], field: str) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(PASTED), **change}

    answer = send(api, "post", "/api/v2/workloads", body)

    assert answer.status_code == 400
    assert field in json.dumps(answer.json())
    assert not Workload.objects.exists()


def test_a_name_that_is_taken_is_a_conflict(api: Client, project: Any) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(PASTED)}
    send(api, "post", "/api/v2/workloads", body)

    assert send(api, "post", "/api/v2/workloads", body).status_code == 409


def test_put_scales_and_suspends(api: Client, project: Any) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(PASTED)}
    path = "/api/v2/workloads/" + send(api, "post", "/api/v2/workloads", body).json()["metadata"]["id"]

    scaled = send(api, "put", path, {"manifestBase64Encoded": encoded(PASTED.replace("replicas: 2", "replicas: 4"))})
    stopped = send(api, "put", path, {"desiredPhase": "Stopped"})

    assert (scaled.status_code, stopped.status_code) == (202, 202)
    row = Workload.objects.get()
    assert (row.gpus_requested, row.desired_phase) == (5, "Stopped")


def test_the_detail_has_why_it_waits_and_holds_to_the_schema(api: Client, submit: Any) -> None:
    row = submit(PASTED)
    reason = {"code": "OverLimit", "arguments": {"limit": "8"}, "words": ["q quota has reached"]}
    Workload.objects.update(phase="Pending", waiting_reason=reason)

    detail = api.get(f"/api/v1/workloads/{row.pk}").json()

    assert detail["phaseReason"] == "OverLimit"
    assert detail["pendingSchedulingMessages"][0]["nodePool"] == "default"
    assert detail["topology"] == {
        "name": "topology-1",
        "preferredPlacement": "topology.kubernetes.io/zone",
        "requiredPlacement": "",
    }
    check("WorkloadDetailed", detail)


def test_78_the_server_pages_and_limits_are_bounded(api: Client, submit: Any) -> None:
    submit(PASTED)
    submit(MULTINODE)

    first = api.get("/api/v1/workloads?limit=1").json()

    assert (len(first["workloads"]), first["next"]) == (1, 1)
    assert api.get("/api/v1/workloads?limit=1&offset=9").json() == {"workloads": []}
    assert api.get("/api/v1/workloads?limit=0").status_code == 400
    assert api.get("/api/v1/workloads?limit=10000").status_code == 400


def test_an_outsider_sees_nothing_and_a_viewer_writes_nothing(
    submit: Any, project: Any, client_of: Any, outsider: Any, viewer: Any
) -> None:
    row = submit(PASTED)
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(MULTINODE)}

    assert client_of(outsider).get(f"/api/v2/workloads/{row.pk}").status_code == 404
    assert client_of(outsider).get("/api/v1/workloads").json() == {"workloads": []}
    assert client_of(viewer).get(f"/api/v2/workloads/{row.pk}").status_code == 200
    assert send(client_of(viewer), "post", "/api/v2/workloads", body).status_code == 403
    assert client_of(viewer).delete(f"/api/v2/workloads/{row.pk}").status_code == 403
    assert Workload.objects.get().generation == 1


def test_a_batch_acts_on_each_and_says_which_failed(api: Client, submit: Any) -> None:
    first, second = submit(PASTED), submit(MULTINODE)
    unknown = "00000000-0000-4000-8000-000000000000"

    body = {"ids": [str(first.pk), unknown, str(second.pk)], "action": "suspend"}
    answer = send(api, "post", "/api/v1/workloads/batch", body).json()

    assert answer["succeeded"] == [str(first.pk), str(second.pk)]
    assert [entry["id"] for entry in answer["failed"]] == [unknown]
    assert set(Workload.objects.values_list("desired_phase", flat=True)) == {"Stopped"}
    check("BatchResponse", answer)


def test_a_batch_of_an_outsider_changes_nothing(submit: Any, client_of: Any, outsider: Any) -> None:
    row = submit(PASTED)

    answer = send(client_of(outsider), "post", "/api/v1/workloads/batch", {"ids": [str(row.pk)], "action": "delete"})

    assert answer.json()["succeeded"] == []
    row.refresh_from_db()
    assert not row.is_being_deleted


def test_pods_are_listed_with_the_key_that_logs_take(api: Client, submit: Any) -> None:
    row = submit(PASTED)
    Pod.objects.create(
        cluster=row.cluster,
        uid="11111111-1111-4111-8111-111111111111",
        name="vllm-disagg-0-frontend-abcde",
        namespace="runai-assistant",
        resource_version="1",
        created_at=timezone.now(),
        phase="Running",
        node_name="n1",
        graph="vllm-disagg",
        image="x:1.0.0",
    )

    pods = api.get(f"/api/v1/workloads/{row.pk}/pods").json()["pods"]

    assert [(pod["name"], pod["nodeName"], pod["k8sPhase"]) for pod in pods] == [
        ("vllm-disagg-0-frontend-abcde", "n1", "Running")
    ]
    check("Pod1", pods[0])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"priority": "high"}, "priority"),
        ({"metadata": {"useGivenNameAsPrefix": "no"}}, "metadata.useGivenNameAsPrefix"),
    ],
)
def test_what_nobody_would_read_is_refused(api: Client, project: Any, change: dict[str, Any], field: str) -> None:
    body = {"metadata": {"projectId": str(project.pk)}, "manifestBase64Encoded": encoded(PASTED), **change}

    answer = send(api, "post", "/api/v2/workloads", body)

    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["faults"]] == [field]
    assert Workload.objects.count() == 0
