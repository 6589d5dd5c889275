"""What no client should send to the operations of workloads: each is refused by its field, and nothing is written."""

import base64
import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from organizations.models import Department, Project
from tests.workloads.samples import DISAGG, MULTINODE
from workloads.document import load
from workloads.models import Workload

CREATE, PREVIEW, BATCH = "/api/v2/workloads", "/api/v1/workloads/preview", "/api/v1/workloads/batch"
PASTED = DISAGG.replace("runai-project-a", "runai-assistant")
NOWHERE = "0f6d3f4e-0000-4000-8000-0000000000ff"
LONG = "x" * 100_000
# Each is of another type than the field; `true` is no number, and a number is no text.
NO_TEXT: tuple[Any, ...] = (5, 1.5, True, [], ["a"], {}, {"a": 1})
JSON = "application/json"

# Bodies that are read before anything is known of them: the status of each.
BODIES: Mapping[str, tuple[bytes, str, int]] = {
    "a list": (b"[]", JSON, 400),
    "a number": (b"5", JSON, 400),
    "null": (b"null", JSON, 400),
    "a flag": (b"true", JSON, 400),
    "broken": (b'{"metadata": ', JSON, 400),
    "two documents": (b"{}{}", JSON, 400),
    "a repeated key": (b'{"metadata": {}, "metadata": {}}', JSON, 400),
    "a repeated key below": (b'{"metadata": {"name": "a", "name": "b"}}', JSON, 400),
    "not a number": (b'{"metadata": NaN}', JSON, 400),
    "a NUL": (b'{"metadata": {"name": "a\\u0000"}}', JSON, 400),
    "half a character": (b'{"metadata": {"name": "\\ud800"}}', JSON, 400),
    "another encoding": ('{"metadata": "é"}'.encode("latin-1"), JSON, 400),
    "a form": (b"metadata=1", "application/x-www-form-urlencoded", 415),
    "parts": (b"--x--", "multipart/form-data; boundary=x", 415),
    "YAML": (PASTED.encode(), "application/yaml", 415),
    "plain text": (b"{}", "text/plain", 415),
}

# By the field that has to be named: values that it may not have.
METADATA: Mapping[str, tuple[Any, ...]] = {
    "name": (*NO_TEXT, "A", "-a", "a-", "a_b", "a.b", "1a", "é", "x" * 46, LONG),
    "projectId": (*NO_TEXT, "x", "-1", "0", "999999", "9" * 40, "1e3", " 1", "\u0661", LONG),
    "clusterId": (*NO_TEXT, "x", NOWHERE, LONG),
    "priority": (*NO_TEXT, "no such", "É", LONG),
    "preemptibility": (*NO_TEXT, "Preemptible", LONG),
    "useGivenNameAsPrefix": ("yes", "true", 1, 0, [], {}),
    "category": (*NO_TEXT, "Train"),
    "owner": ("me", None),
}
TOP: Mapping[str, tuple[Any, ...]] = {
    "metadata": (5, "x", True, [], [1]),
    "manifest": (5, "x", True, [], [1]),
    "desiredPhase": (*NO_TEXT, "", "running", "Deleted", LONG),
    "spec": ({}, None),
}
ENCODED: tuple[Any, ...] = (
    *NO_TEXT, "", "%%%", "a", "/w==", base64.b64encode(b"a: [1").decode(), base64.b64encode(b"a: 1\na: 2").decode(),
    base64.b64encode(b"- 1").decode(), base64.b64encode(b"a: 1\n---\nb: 2").decode(),
    base64.b64encode(b"x: " + b"y" * 300_000).decode(),
)  # fmt: skip

# Places in the manifest, the field that has to be named, and values that may not stand there.
MANIFEST: tuple[tuple[tuple[str | int, ...], tuple[Any, ...]], ...] = (
    (("apiVersion",), (5, "", "v1", "nvidia.com/v9", [], None)),
    (("kind",), (5, "", "Pod", {}, None)),
    (("metadata",), (5, "x", [], None)),
    (("metadata", "name"), (5, "", "A", "a_b", "x" * 46, [], {}, None)),
    (("metadata", "namespace"), ("kube-system", 5, [])),
    (("metadata", "labels"), (5, "x", [])),
    (("metadata", "labels", "a"), (5, True, None, {}, "x" * 64, "a b")),
    (("metadata", "annotations", "kai.scheduler/preemption-delay"), ("1d", "-5s", 5)),
    (("metadata", "finalizers"), (["x"],)),
    (("status",), ({"state": "successful"},)),
    (("spec",), (5, "x", [], None)),
    (("spec", "unknown"), (1, None, {})),
    (("spec", "backendFramework"), (5, "tensorflow", [])),
    (("spec", "components"), (5, "x", {}, [], None, [None], [5], ["x"])),
    (("spec", "components", 0, "name"), (5, "", None, "a/b", [])),
    (("spec", "components", 0, "type"), (5, "", None, "boss")),
    (("spec", "components", 1, "replicas"), ("2", -1, 1.5, True, 10**4 + 1, 2**63, None, [], {})),
    (("spec", "components", 1, "minAvailable"), ("2", 0, -1, 3, 1.5, True)),
    (("spec", "components", 1, "multinode"), (5, "x", [])),
    (("spec", "components", 1, "multinode", "nodeCount"), ("2", 1, 0, -1, 2**40)),
    (("spec", "components", 1, "podTemplate"), (5, "x", [])),
    (("spec", "components", 1, "podTemplate", "spec"), (5, "x", [])),
    (("spec", "components", 1, "podTemplate", "spec", "containers"), (5, "x", {}, [None], [5])),
    (("spec", "components", 1, "podTemplate", "spec", "hostNetwork"), (True,)),
)  # fmt: skip


@pytest.fixture
def api(researcher: Any, client_of: Any, quota: Any, topology: Any, nodes: Any, settings: Any) -> Client:
    settings.API_REQUESTS_PER_MINUTE = 10**9
    client: Client = client_of(researcher)
    client.raise_request_exception = False
    return client


@pytest.fixture
def stands(submit: Any) -> Workload:
    """A workload of ours that runs, and must stay as it is."""
    workload: Workload = submit(MULTINODE.replace("name: qwen", "name: stands"))
    AuditEntry.objects.all().delete()
    return workload


def rows() -> Any:
    """All that a write would change."""
    done = AuditEntry.objects.filter(outcome="Succeeded").count()
    return list(Workload.objects.order_by("name").values()), done


def placed(document: Mapping[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The document with a value at a place."""
    found = copy.deepcopy(dict(document))
    here: Any = found
    for step in path[:-1]:
        here = here[step] if isinstance(step, int) else here.setdefault(step, {})
    here[path[-1]] = value
    return found


def field_of(path: tuple[str | int, ...]) -> str:
    """As faults name it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def answer_to(client: Client, method: str, path: str, body: Any, **headers: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.generic(method, path, data, content_type=headers.pop("content_type", JSON), **headers)


def wrong(answer: Any, field: str) -> str:
    """What is wrong with a refusal; empty where it is a 400 that names the field or what it stands in."""
    if answer.status_code != 400:
        return f"{answer.status_code}: {answer.content[:200]!r}"
    body = answer.json()
    named = [fault["field"] for fault in body.get("faults", ())]
    if body["code"] != 400 or not all(fault["message"] for fault in body.get("faults", ())):
        return str(body)
    last = field.rpartition(".")[2]
    near = [name for name in named if name == field or last in name or (name and field.startswith(name))]
    return "" if near else f"names {named}"


def swept(client: Client, method: str, path: str, cases: list[tuple[str, Any]]) -> dict[str, str]:
    """Of each case what is wrong with its answer; nothing where all is well and nothing was written."""
    before, found = rows(), {}
    for field, body in cases:
        fault = wrong(answer_to(client, method, path, body), field)
        after = rows()
        if after != before:
            before, fault = after, "it was written"
        if fault:
            found[f"{field}: {json.dumps(body)[-160:]}"] = fault
    return found


def shapes(good: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Bodies of which a part is of another type than it has to be, or is not known: the field and the body."""
    cases: list[tuple[str, Any]] = []
    for key, values in METADATA.items():
        said = [value for value in values if not isinstance(value, str) or key in ("projectId", "clusterId", "owner")]
        cases += [(f"metadata.{key}", {**good, "metadata": {**good["metadata"], key: value}}) for value in said]
    for key, values in TOP.items():
        cases += [(key, {**good, key: value}) for value in values]
    return cases


def submissions(good: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every bad body of a submission."""
    own, document, cases = good["metadata"], good["manifest"], shapes(good)
    for key, values in METADATA.items():
        said = [value for value in values if isinstance(value, str)]
        cases += [(f"metadata.{key}", {**good, "metadata": {**own, key: value}}) for value in said]
    for path, values in MANIFEST:
        cases += [(field_of(path), {**good, "manifest": placed(document, path, value)}) for value in values]
    cases += [("kind", {**good, "manifest": document}) for document in ({}, {"apiVersion": "v1"}, {"kind": "Pod"})]
    cases += [("manifestBase64Encoded", {"metadata": own, "manifestBase64Encoded": text}) for text in ENCODED]
    return [*cases, ("manifest", {**good, "manifestBase64Encoded": base64.b64encode(PASTED.encode()).decode()})]


@pytest.mark.parametrize("path", [CREATE, pytest.param(f"{CREATE}?dryRun=true", marks=pytest.mark.long)])
def test_a_bad_submission_is_refused_by_its_field(api: Client, project: Project, stands: Workload, path: str) -> None:
    good = {"metadata": {"projectId": str(project.pk)}, "manifest": load(MULTINODE)}

    assert swept(api, "POST", path, submissions(good)) == {}
    assert answer_to(api, "POST", path, good).status_code == 202


def test_a_preview_refuses_what_has_no_shape_and_tells_the_rest(api: Client, project: Project, quota: Any) -> None:
    good = {"metadata": {"projectId": str(project.pk)}, "manifest": load(MULTINODE)}

    assert swept(api, "POST", PREVIEW, shapes(good)) == {}
    assert answer_to(api, "POST", PREVIEW, good).status_code == 200


def test_a_bad_edit_is_refused_by_its_field(api: Client, stands: Workload) -> None:
    path, good = f"{CREATE}/{stands.pk}", {"metadata": {}, "manifest": load(stands.source)}

    assert swept(api, "PUT", path, submissions(good)) == {}
    assert answer_to(api, "PUT", path, {**good, "desiredPhase": "Stopped"}).status_code == 202


def test_a_bad_act_on_several_is_refused_by_its_field(api: Client, stands: Workload) -> None:
    own = str(stands.pk)
    ids: tuple[Any, ...] = (None, 5, "x", own, {}, [], [5], [None], [[own]], [{"id": own}], [own] * 101)
    acts: tuple[Any, ...] = (None, "", "Delete", "scale", LONG, *NO_TEXT)
    cases = [("ids", {"ids": value, "action": "delete"}) for value in ids]
    cases += [("action", {"ids": [own], "action": value}) for value in acts]
    cases += [("ids", {"action": "delete"}), ("action", {"ids": [own]})]
    cases += [("force", {"ids": [own], "action": "delete", "force": True})]

    assert swept(api, "POST", BATCH, cases) == {}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_no_json_object_is_refused(api: Client, stands: Workload, name: str) -> None:
    body, content_type, status = BODIES[name]
    before = rows()
    for method, path in (("POST", CREATE), ("POST", PREVIEW), ("POST", BATCH), ("PUT", f"{CREATE}/{stands.pk}")):
        answer = answer_to(api, method, path, body, content_type=content_type)
        assert (answer.status_code, answer.json()["code"]) == (status, status), (method, path, answer.content)
        assert answer.json().get("details"), (method, path)
    assert rows() == before


@pytest.mark.parametrize("flag", ["", "yes", "1", "True", LONG[:3000]])
def test_a_dry_run_that_is_no_flag_is_refused_everywhere(api: Client, stands: Workload, flag: str) -> None:
    good = {"ids": [str(stands.pk)], "action": "delete"}
    before = rows()
    for method, path, body in (
        ("POST", BATCH, good),
        ("PUT", f"{CREATE}/{stands.pk}", {"desiredPhase": "Stopped"}),
        ("DELETE", f"{CREATE}/{stands.pk}", {}),
    ):
        assert wrong(answer_to(api, method, f"{path}?dryRun={flag}", body), "dryRun") == ""
    assert rows() == before


@pytest.mark.parametrize("pk", ["x", "1", "-1", NOWHERE, NOWHERE.upper() + "0", "%00", "..%2f", "9" * 400])
def test_what_there_is_not_is_absent(api: Client, stands: Workload, pk: str) -> None:
    before = rows()
    for method, body in (("PUT", {"desiredPhase": "Stopped"}), ("DELETE", {})):
        answer = answer_to(api, method, f"{CREATE}/{pk}", body)
        assert (answer.status_code, answer.json()["code"]) == (404, 404)
    act = answer_to(api, "POST", BATCH, {"ids": [pk], "action": "delete"}).json()
    assert (act["succeeded"], [each["code"] for each in act["failed"]]) == ([], [404])
    assert rows() == before


def test_an_edit_of_what_was_changed_since_is_stale(api: Client, stands: Workload) -> None:
    path, before = f"{CREATE}/{stands.pk}", rows()
    for tag in ('"0"', '"7"', "7", "x", "", '""', 'W/"1"', "1", LONG[:3000]):
        for method, body in (("PUT", {"desiredPhase": "Stopped"}), ("DELETE", {})):
            answer = answer_to(api, method, path, body, HTTP_IF_MATCH=tag)
            assert (answer.status_code, answer.json()["code"]) == (412, 412), (tag, method)
    assert rows() == before


@pytest.fixture
def foreign(cluster: Any) -> Project:
    """A project of another department, in the same cluster."""
    other = Department.objects.create(cluster=cluster, name="vision", phase="Ready")
    return Project.objects.create(cluster=cluster, department=other, name="eyes", namespace="runai-eyes")


def test_projects_and_workloads_of_others_are_not_there(
    api: Client, stands: Workload, foreign: Project, outsider: Any, client_of: Any
) -> None:
    before, good = rows(), {"metadata": {"projectId": str(foreign.pk)}, "manifest": load(MULTINODE)}
    in_its_namespace = {"manifest": placed(load(MULTINODE), ("metadata", "namespace"), foreign.namespace)}
    for path in (CREATE, PREVIEW):
        assert wrong(answer_to(api, "POST", path, good), "metadata.projectId") == ""
        assert wrong(answer_to(api, "POST", path, in_its_namespace), "metadata.projectId") == ""
    other = client_of(outsider)
    for method, body in (("PUT", {"desiredPhase": "Stopped"}), ("DELETE", {})):
        assert answer_to(other, method, f"{CREATE}/{stands.pk}", body).status_code == 404
    act = answer_to(other, "POST", BATCH, {"ids": [str(stands.pk)], "action": "delete"}).json()
    assert [each["code"] for each in act["failed"]] == [404]
    assert rows() == before


def test_who_may_only_read_changes_nothing(api: Client, stands: Workload, viewer: Any, client_of: Any) -> None:
    reader, before = client_of(viewer), rows()
    for body in ({"desiredPhase": "Stopped"}, {"manifest": load(PASTED)}, {"desiredPhase": "Running"}, {}):
        answer = answer_to(reader, "PUT", f"{CREATE}/{stands.pk}", body)
        assert (answer.status_code, answer.json()["reason"]) == (403, "NotPermitted"), body
    assert answer_to(reader, "DELETE", f"{CREATE}/{stands.pk}", {}).status_code == 403
    assert rows() == before


REPLICAS = ("", "x", "-1", "0", "1.5", "1e3", "\u00b2", "\u0663", "10001", "9" * 400, "1")
COMPONENTS = ("", "nobody", "x" * 5000, "decode\x00")
SCALES = [*(("decode", text) for text in REPLICAS), *((name, "3") for name in COMPONENTS)]


@pytest.mark.parametrize(("component", "replicas"), SCALES)
def test_a_bad_scale_says_what_is_wrong(api: Client, stands: Workload, component: str, replicas: str) -> None:
    """One replica is fewer than must start together."""
    before = rows()
    url = reverse("workloads:scale", args=[stands.pk])

    answer = api.post(url, {"component": component, "replicas": replicas}, follow=True)

    assert answer.status_code == 200
    (told,) = answer.context["messages"]
    assert (told.level_tag, len(str(told)) < 400) == ("error", True)
    assert rows() == before


@pytest.mark.parametrize("act", ["suspend", "resume"])
def test_a_page_acts_on_nothing_that_there_is_not(api: Client, stands: Workload, act: str) -> None:
    before, pks = rows(), ["x", "1", NOWHERE, "a\x00b", "9" * 400]

    answer = api.post(reverse("workloads:bulk", args=[act]), {"pk": pks}, follow=True)

    assert [told.level_tag for told in answer.context["messages"]] == ["error"] * len(pks)
    assert api.post(reverse("workloads:bulk", args=["delete"]), {"pk": [str(stands.pk)]}).status_code == 404
    assert rows() == before
