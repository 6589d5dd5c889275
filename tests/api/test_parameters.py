"""What openapi.yaml says of a list's parameters is so; and those of Run:ai are there."""

import re

import pytest

from controlplane.api_docs import document
from core.api import runai
from tests.api import conformance

# Parameters of Run:ai that change nothing here, and why.
WITHOUT_EFFECT = {
    "force": "a cluster is forgotten at once either way; `objects` says what becomes of what Muster made",
    "verbosity": "departments are listed with their status either way",
    "statusInfo": "a credential has no status of its own",
    "usageInfo": "it is not recorded who uses a credential",
    "includeDeleted": "what is deleted is gone",
    "filter": "deprecated there in favour of filterBy",
}


def shaped(path):
    return runai.Operation("GET", path, "").shape


def parameters(operation):
    return {p["name"]: p for p in operation.get("parameters", ()) if p["in"] == "query"}


def lists():
    return [
        (path, parameters(item["get"])["sortBy"]["schema"]["enum"])
        for path, item in document()["paths"].items()
        if "{" not in path and "sortBy" in parameters(item.get("get", {})) and not path.startswith("/api/v1/audit")
    ]


@pytest.mark.parametrize(("path", "fields"), lists(), ids=[path for path, _fields in lists()])
def test_a_list_is_sorted_by_each_field_that_it_names_both_ways_and_by_no_other(api, world, path, fields):
    for field in fields:
        for order in ("asc", "desc"):
            answer = api.get(path, {"sortBy": field, "sortOrder": order})
            assert answer.status_code == 200, (field, order, answer.content)

    assert api.get(path, {"sortBy": "colour"}).json()["faults"][0]["field"] == "sortBy"


@pytest.mark.skipif(not conformance.PATH.exists(), reason="needs ../shared/reference/runai-openapi.json")
def test_every_parameter_of_run_ai_has_an_effect_or_a_reason():
    ours = {
        (method, shaped(path)): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    }
    missing = set()
    for path, item in conformance.document()["paths"].items():
        for method, operation in item.items():
            if (method, shaped(path)) not in ours:
                continue
            theirs = [conformance._resolved(p) for p in (*operation.get("parameters", ()), *item.get("parameters", ()))]
            names = {p["name"] for p in theirs if p["in"] == "query"}
            missing |= names - parameters(ours[method, shaped(path)]).keys()

    assert missing == WITHOUT_EFFECT.keys()


def test_rules_are_narrowed_by_cluster_and_time(api, world, researcher):
    def found(**query):
        return api.get("/api/v1/authorization/access-rules", query).json()["totalRecords"]

    assert found(clusterId=str(world.cluster.pk)) == 1
    assert found(clusterId="00000000-0000-4000-8000-000000000001") == 0
    assert (found(lastUpdated="2020-01-01T00:00:00Z"), found(lastUpdated="2100-01-01T00:00:00Z")) == (2, 0)
    assert api.get("/api/v1/authorization/access-rules", {"clusterId": "x"}).status_code == 400


def test_one_s_own_rules_are_paged(api, world):
    path = "/api/v1/authorization/me/access-rules"
    first, second = (api.get(path, {"limit": 1, "offset": offset}).json()["accessRules"] for offset in (0, 1))

    assert (first["totalRecords"], first["displayRecords"], second["displayRecords"]) == (1, 1, 0)


def test_pods_of_a_workload_are_searched(api, world):
    path = f"/api/v1/workloads/{world.running.pk}/pods"

    def names(**query):
        return [pod["name"] for pod in api.get(path, query).json()["pods"]]

    assert names(search="worker") == names() == [world.pod.name]
    assert names(search="prefill") == names(deleted="true") == []


def filtered():
    """(path, field, operator) of every condition that the document names."""
    found = []
    for path, item in document()["paths"].items():
        told = parameters(item.get("get", {})).get("filterBy")
        counted = f"{path}/count" in document()["paths"]  # with the same conditions
        if told is None or counted or path.startswith("/api/v1/audit"):
            continue
        conditions = told["description"].partition("operators: ")[2]
        for field, operators in re.findall(r"`(\w+)` ([^;.]+)[;.]", conditions):
            found += [(path, field, operator) for operator in operators.split()]
    return found


VALUES = ("1", "-1.5", "text", "true", "2026-11-29T14:00:00+16:30", "x=y", "Ready", "right")


@pytest.mark.long
def test_every_condition_takes_a_value_and_none_breaks_on_another(api, world):
    assert len(filtered()) > 150
    broken, refused = [], []
    for template, field, operator in filtered():
        path = template.replace("{cluster_id}", str(world.cluster.pk))
        ids = (str(world.cluster.pk), str(world.project.pk))
        answers = [api.get(path, {"filterBy": f"{field}{operator}{value}"}).status_code for value in (*VALUES, *ids)]
        broken += [(path, field, operator)] if set(answers) - {200, 400} else []
        refused += [] if 200 in answers else [(path, field, operator)]

    assert (broken, refused) == ([], [])
