"""Workloads over the API beyond submission: pods, events, history, telemetry, types, categories, priorities."""

import csv

import pytest
from django.db.models.signals import post_init

from tests.api.conftest import POD_UID
from workloads.models import Workload


def test_events_are_listed_newest_first_with_their_object(api, world):
    answer = api.get(f"/api/v1/workloads/{world.running.pk}/events").json()

    assert [(e["reason"], e["involvedObject"]["name"]) for e in answer["events"]] == [("Scheduled", "qwen-0-worker-x1")]
    assert "next" not in answer
    assert api.get(f"/api/v1/workloads/{world.waiting.pk}/events").json() == {"events": []}


def test_history_joins_events_and_the_phase(api, world):
    records = api.get(f"/api/v1/workloads/{world.running.pk}/history").json()["records"]
    assert sorted(r["meta"]["type"] for r in records) == ["Event", "PhaseUpdate"]
    assert next(r for r in records if r["meta"]["type"] == "PhaseUpdate")["spec"]["phaseUpdate"]["phase"] == "Running"


def test_history_is_paged_to_its_end(api, world):
    path = f"/api/v1/workloads/{world.running.pk}/history?limit=1"
    first = api.get(path).json()
    second = api.get(f"{path}&offset={first['next']}").json()

    assert len(first["records"]) == len(second["records"]) == 1
    assert "next" not in second


def test_pods_of_all_workloads_are_listed_filtered_and_counted(api, world):
    brief = api.get("/api/v1/workloads/pods").json()["pods"]
    full = api.get("/api/v1/workloads/pods?verbosity=full").json()["pods"]

    assert [p["id"] for p in brief] == [POD_UID]
    assert "workloadName" not in brief[0]
    assert full[0]["workloadName"] == "qwen"
    for query, count in (
        ("filterBy=nodeName==gpu-a", 1), ("filterBy=nodeName!=gpu-a", 0), ("search=worker", 1), ("deleted=true", 0),
        (f"filterBy=workloadId=={world.running.pk}", 1), (f"filterBy=workloadId=={world.waiting.pk}", 0),
    ):  # fmt: skip
        assert api.get(f"/api/v1/workloads/pods/count?{query}").json() == {"count": count}, query


@pytest.fixture
def read_workloads():
    """The workloads that were made from rows, as they are made."""
    made = []

    def note(instance, **_):
        made.append(instance)

    post_init.connect(note, sender=Workload)
    yield made
    post_init.disconnect(note, sender=Workload)


def test_a_page_of_pods_reads_the_workloads_of_its_pods_alone(api, world, read_workloads):
    for path in ("pods", "pods?verbosity=full"):
        read_workloads.clear()
        assert len(api.get(f"/api/v1/workloads/{path}").json()["pods"]) == 1
        assert [row.pk for row in read_workloads] == [world.running.pk]
    read_workloads.clear()
    assert api.get("/api/v1/workloads/pods/count").json() == {"count": 1}
    assert read_workloads == []


@pytest.mark.parametrize("figure", ["WORKLOADS_COUNT", "GPU_ALLOCATION", "PENDING_TIME_DISTRIBUTION"])
def test_telemetry_reads_no_document_of_a_workload(api, world, read_workloads, figure):
    answer = api.get(f"/api/v1/workloads/telemetry?telemetryType={figure}&groupBy=DepartmentId")

    assert answer.status_code == 200
    assert len(read_workloads) == 2
    for row in read_workloads:
        assert {"source", "manifest", "conditions"} <= row.get_deferred_fields()


def test_pods_of_other_projects_are_not_there(client_of, outsider, world):
    assert client_of(outsider).get("/api/v1/workloads/pods").json() == {"pods": []}


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("telemetryType=WORKLOADS_COUNT", [("2", [])]),
        ("telemetryType=WORKLOADS_COUNT&groupBy=Phase", [("1", ["Running"]), ("1", ["Pending"])]),
        ("telemetryType=WORKLOADS_COUNT&filterByPhases=Running", [("1", [])]),
        ("telemetryType=GPU_ALLOCATION", [("2", [])]),
        ("telemetryType=GPU_ALLOCATION&groupBy=CurrentNodepools", [("2", ["default"]), ("0", [""])]),
        ("telemetryType=PENDING_TIME_DISTRIBUTION", [("1", ["5m-1h"])]),
        ("telemetryType=WORKLOADS_COUNT&nodepoolName=other", []),
    ],
)
def test_telemetry_sums_by_group(api, world, query, values):
    answer = api.get(f"/api/v1/workloads/telemetry?{query}").json()
    found = [(v["value"], [g["value"] for g in v.get("groups", ())]) for v in answer["values"]]
    assert sorted(found) == sorted(values)


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("", ["telemetryType"]),
        ("telemetryType=WORKLOADS&groupBy=Colour", ["telemetryType", "groupBy"]),
        ("telemetryType=WORKLOADS_COUNT&groupBy=Phase,Type,Category", ["groupBy"]),
        ("telemetryType=WORKLOADS_COUNT&filterByPhases=Sleeping", ["filterByPhases"]),
    ],
)
def test_wrong_telemetry_queries_name_every_field(api, world, query, fields):
    answer = api.get(f"/api/v1/workloads/telemetry?{query}")
    assert answer.status_code == 400
    assert [f["field"] for f in answer.json()["faults"]] == fields


def test_telemetry_comes_as_csv_when_that_is_asked_for(api, world):
    answer = api.get(
        "/api/v1/workloads/telemetry?telemetryType=WORKLOADS_COUNT&groupBy=Phase", headers={"Accept": "text/csv"}
    )
    lines = answer.content.decode().splitlines()

    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert lines[0] == "type,Phase,timestamp,value"
    assert sorted(line.split(",")[1] for line in lines[1:]) == ["Pending", "Running"]


@pytest.mark.parametrize("path", ["nodes", "node-pools", "org-unit/departments", "org-unit/projects", "workloads"])
def test_lists_come_as_csv_too(api, world, path):
    answer = api.get(f"/api/v1/{path}?sortBy=name", headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(answer.content.decode().splitlines()))
    assert {row["name"] for row in rows} == {
        "nodes": {"gpu-a", "gpu-b"}, "node-pools": {"default"}, "org-unit/departments": {"research"},
        "org-unit/projects": {"assistant"}, "workloads": {"qwen", "llama"},
    }[path]  # fmt: skip


def test_a_refusal_is_json_even_where_csv_was_asked_for(api, world):
    answer = api.get("/api/v1/workloads/telemetry", headers={"Accept": "text/csv"})
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_types_categories_and_priorities_refer_to_each_other(api, world):
    type_ = api.get("/api/v1/workload-types").json()["types"][0]
    category = api.get(f"/api/v1/workload-categories/{type_['categoryId']}").json()
    priorities = {p["name"]: p for p in api.get("/api/v1/workload-priorities").json()["priorities"]}

    assert (type_["name"], category["name"]) == ("DynamoGraphDeployment", "Deploy")
    assert priorities["inference"]["id"] == type_["priorityId"]
    assert priorities["inference"]["value"] == 125
    assert api.get(f"/api/v1/workload-types/{type_['id']}").json() == type_
    assert api.get("/api/v1/workload-types?filterBy=name!=DynamoGraphDeployment").json() == {"types": []}
    assert api.get("/api/v1/workload-priorities?filterBy=value>=126").json() == {"priorities": []}
