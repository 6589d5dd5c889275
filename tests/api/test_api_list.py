"""docs/api.md is what the URLs say; what Muster does not have is said to be so."""

import json
from pathlib import Path

import pytest
from django.test import Client

from controlplane.api_list import document, works
from core.api import runai
from tests.api import conformance

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_lists_what_there_is():
    current = PAGE.read_text()
    assert current == document(current), "run manage.py api_list"


@pytest.mark.skipif(not conformance.PATH.exists(), reason="needs ../shared/reference/runai-openapi.json")
def test_the_list_of_operations_is_run_ais():
    paths = conformance.document()["paths"]
    methods = ("get", "post", "put", "patch", "delete")
    assert {(o.method, o.path) for o in runai.operations()} == {
        (method.upper(), path) for path, item in paths.items() for method in methods if method in item
    }


@pytest.mark.parametrize(
    ("method", "path", "template"),
    [
        ("GET", "/api/v1/workloads/telemetry", "/api/v1/workloads/telemetry"),
        ("GET", "/api/v1/workloads/1", "/api/v1/workloads/{workloadId}"),
        ("POST", "/api/v2/workloads/nim-services", "/api/v2/workloads/nim-services"),
        ("GET", "/v1/k8s/setting/x", "/v1/k8s/setting/{settingKey}"),
    ],
)
def test_a_literal_segment_goes_before_a_parameter(method, path, template):
    found = runai.find(method, path)
    assert found is not None
    assert found.path == template


@pytest.mark.parametrize("path", ["/api/v1/workloads/", "/api/v1", "/api/v9/clusters", "/"])
def test_other_paths_are_no_operations(path):
    assert runai.find("GET", path) is None


def test_every_operation_that_is_not_there_answers_501_in_the_common_shape(admin, client_of):
    client, wrong, ids = client_of(admin), {}, "00000000-0000-4000-8000-000000000000"
    for operation in runai.operations():
        if works(operation):
            continue
        path = operation.shape.replace("{}", ids)
        answer = client.generic(operation.method, path, json.dumps({}), content_type="application/json")
        body = answer.json()
        if answer.status_code != 501 or body["code"] != 501 or body["message"] != "Not implemented":
            wrong[str(operation)] = answer.status_code

    assert wrong == {}


def test_paths_that_nobody_has_answer_404(db):
    answer = Client().get("/api/v1/no-such-thing")
    assert (answer.status_code, answer.json()["code"]) == (404, 404)
