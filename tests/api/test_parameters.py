"""What openapi.yaml says of a list's parameters is so; and those of Run:ai are there."""

import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode

import pytest

from controlplane.api_docs import document
from core.api import queries, runai
from tests.api import conformance

# Parameters of Run:ai that change nothing here; the document says why of each.
WITHOUT_EFFECT = {
    "force", "statusInfo", "usageInfo", "includeDeleted", "filter", "version", "remoteClusterUrl", "cloud",
    "clusterip", "format",
}  # fmt: skip


def shaped(path):
    return runai.Operation("GET", path, "").shape


def described():
    """Every operation of the document by (method, shape of its path)."""
    return {
        (method, shaped(path)): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    }


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


def test_a_choice_takes_none_but_its_values(api, world):
    taken = [
        (path, name, value)
        for path, item in document()["paths"].items()
        for name, parameter in parameters(item.get("get", {})).items()
        for value in ("", "sideways")
        if "{" not in path and "enum" in parameter["schema"] and not refuses(api, path, name, value)
    ]

    assert taken == []


def refuses(api, path, name, value):
    answer = api.get(path, {name: value})
    return answer.status_code == 400 and name in {fault["field"] for fault in answer.json()["faults"]}


@pytest.mark.skipif(not conformance.PATH.exists(), reason="needs ../shared/reference/runai-openapi.json")
def test_every_parameter_of_run_ai_is_taken():
    ours, missing = described(), set()
    for path, item in conformance.document()["paths"].items():
        for method, operation in item.items():
            if (method, shaped(path)) not in ours:
                continue
            theirs = [conformance._resolved(p) for p in (*operation.get("parameters", ()), *item.get("parameters", ()))]
            names = {p["name"] for p in theirs if p["in"] == "query"}
            missing |= names - parameters(ours[method, shaped(path)]).keys()

    assert missing == set()


def test_what_is_taken_without_effect_says_why():
    reasons = {
        name: told["description"].partition("Without effect: ")[2]
        for operation in described().values()
        for name, told in parameters(operation).items()
        if told.get("description", "").startswith("Without effect")
    }
    assert reasons.keys() == WITHOUT_EFFECT
    assert all(len(reason) > 10 for reason in reasons.values())


def sent_by_the_official_client():
    """(method, shape of the path, name) of every parameter that its code can send."""
    for source in (Path(find_spec("runai").origin).parent / "api").glob("*_api.py"):
        for body in re.split(r"\n    def ", source.read_text()):
            path = re.search(r'resource_path = \(?\s*f"([^"]+)"', body)
            method = re.search(r'method = "([A-Z]+)"', body)
            if path and method:
                names = re.search(r"query_params = \[(.*?)\]", body, re.S)
                for name in re.findall(r'"(\w+)"', names[1] if names else ""):
                    yield method[1].lower(), shaped(path[1]).replace("_", "-"), name


def test_every_parameter_that_the_official_client_sends_is_taken():
    ours, sent = described(), list(sent_by_the_official_client())
    served = [(key, name) for *key, name in sent if tuple(key) in ours]
    assert len(served) > 200
    assert [(key, name) for key, name in served if name not in parameters(ours[tuple(key)])] == []


LISTS = {
    "/api/v1/clusters": "verbosity, includeRequestedForDelete",
    "/api/v1/service-accounts": "no parameters",
    "/api/v1/authorization/roles": "no parameters",
    "/api/v1/org-unit/priorities": "no parameters",
}


@pytest.mark.parametrize("name", ["filterBy", "limit", "offset", "search", "sortBy", "dryRun", "colour"])
@pytest.mark.parametrize("path", LISTS)
def test_a_parameter_that_a_list_does_not_have_is_refused_with_those_that_it_has(api, world, path, name):
    answer = api.get(path, {name: "1"})

    assert answer.status_code == 400
    (fault,) = answer.json()["faults"]
    assert (fault["field"], fault["allowed"]) == (name, LISTS[path])
    assert api.head(path, {name: "1"}).status_code == 400


def test_each_operation_refuses_what_it_does_not_take(api, world):
    strange = []
    for (method, path), operation in described().items():
        if "token" in path or path == "/api/schema/":
            continue
        answer = api.generic(method.upper(), path.replace("{}", "1") + "?colour=red&x%20y=", "{}", "application/json")
        faults = answer.json().get("faults", ())
        told = set(filter(None, faults[0]["allowed"].removeprefix("no parameters").split(", "))) if faults else None
        right = answer.status_code == 400 and [fault["field"] for fault in faults] == ["colour", "x y"]
        strange += [] if right and told == parameters(operation).keys() else [(method, path, answer.content)]

    assert strange == []


def test_what_is_read_once_is_refused_where_it_is_given_twice(api, world):
    taken = [
        (method, path, name)
        for (method, path), operation in described().items()
        for name, parameter in parameters(operation).items()
        if "token" not in path and path != "/api/schema/" and "{" not in name and name not in queries.LISTS
        if given_twice(api, method, path, name) != [(name, "It is given more than once", "one value")]
    ]
    lists = {
        name for operation in described().values() for name, parameter in parameters(operation).items()
        if parameter["schema"].get("type") == "array"
    }  # fmt: skip

    assert taken == []
    assert lists | {"filterBy"} == queries.LISTS


def given_twice(api, method, path, name):
    query = urlencode([(name, "true"), (name, "true")])
    answer = api.generic(method.upper(), f"{path.replace('{}', '1')}?{query}", "{}", "application/json").json()
    faults = [fault for fault in answer.get("faults", ()) if "none of its values" not in fault["message"]]
    return [(fault["field"], fault["message"], fault["allowed"]) for fault in faults]


def test_a_question_of_a_queue_is_taken_by_how_it_begins(api, world):
    path = f"/api/v1/node-pools/{world.pool.pk}/fair-share"
    queue = f"runai-{world.department.name}"

    known, unknown = api.get(path, {f"weight.{queue}": "2"}), api.get(path, {f"colour.{queue}": "2"})

    assert unknown.status_code == 400
    assert unknown.json()["faults"][0]["message"] == "There is no such parameter"
    assert "There is no such parameter" not in known.content.decode()


def test_who_may_not_ask_hears_nothing_of_parameters(client, world):
    assert client.get("/api/v1/clusters?colour=red").status_code == 401


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
