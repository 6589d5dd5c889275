"""Consumption reports and settings of the installation."""

import csv

import pytest

from tests.api.test_metrics import recorded

__all__ = ["recorded"]
REPORTS = "/api/v1/org-unit/reports"
SETTINGS = "/v1/k8s/setting"


def asked(name="november", **more):
    return {"name": name, "start": "2026-11-29T17:00:00Z", "end": "2026-11-29T19:00:00Z", **more}


def lines(api, report):
    answer = api.get(f"{REPORTS}/{report.json()['id']}/file")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(answer.content.decode().splitlines()))


def test_a_report_says_the_gpu_hours_of_each_project(api, send, recorded):
    made = send("post", REPORTS, asked(groupBy="Project"))

    assert (made.status_code, made.json()["status"]) == (202, "Ready")
    # One GPU was held at two frames of a minute, 20 % and 60 % busy: 2/60 hours.
    assert lines(api, made) == [
        {
            "group": "assistant",
            "cluster": "cluster-a",
            "allocatedGpuHours": "0.03",
            "averageGpuUtilizationPercent": "40.0",
        }
    ]


def test_a_report_of_another_project_has_no_lines(api, send, recorded):
    assert lines(api, send("post", REPORTS, asked(filterBy=["projectName==other"]))) == []
    assert len(lines(api, send("post", REPORTS, asked("b", filterBy=["projectName==assistant"])))) == 1


def test_reports_are_listed_counted_shown_and_deleted(api, send, world):
    made = send("post", REPORTS, asked())
    path = f"{REPORTS}/{made.json()['id']}"

    assert send("post", REPORTS, asked()).status_code == 409
    assert api.get(REPORTS).json()["reports"] == [api.get(path).json()] == [made.json()]
    assert api.get(f"{REPORTS}/count?filterBy=status==Ready,name=@nov").json() == {"count": 1}
    assert api.get(f"{REPORTS}/availability").json() == {"isAvailable": True}
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"start": "yesterday"}, "start"),
        ({"end": "2026-11-29T16:00:00Z"}, "end"),
        ({"groupBy": "Colour"}, "groupBy"),
        ({"filterBy": ["colour==red"]}, "filterBy[0]"),
        ({"filterBy": ["projectName=@x"]}, "filterBy[0]"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_is_wrong_in_a_report_is_named(send, world, change, field):
    answer = send("post", REPORTS, {**asked(), **change})
    assert answer.status_code == 400
    assert answer.json()["faults"][0]["field"] == field


def test_reports_of_others_are_absent_without_the_right_everywhere(send, world, client_of, researcher):
    made = send("post", REPORTS, asked()).json()
    other = client_of(researcher)
    assert other.get(REPORTS).json() == {"reports": []}
    assert other.get(f"{REPORTS}/{made['id']}/file").status_code == 404


def test_a_setting_is_changed_and_holds(api, send, project, default_pool, client_of, admin):
    path = f"/api/v1/node-pools/{default_pool.pk}"
    plain = client_of(admin)

    def attach():
        return plain.patch(path, '{"networkTopologyId": null}', content_type="application/json").status_code

    assert attach() == 428
    changed = send("put", SETTINGS, {"key": "api.require-if-match", "value": False})
    assert changed.status_code == 200
    assert attach() == 200
    assert api.get(f"{SETTINGS}/api.require-if-match").json() is False
    assert [s["value"] for s in api.get(SETTINGS).json()] == ["false"]


def test_settings_are_for_those_who_may(client_of, viewer, world):
    assert client_of(viewer).get(SETTINGS).status_code == 403


@pytest.mark.parametrize(
    "body", [{"key": "colour", "value": True}, {"key": "api.require-if-match", "value": "red"}, {}]
)
def test_settings_that_are_none_are_400(send, world, body):
    assert send("put", SETTINGS, body).status_code == 400


def test_nobody_learns_by_a_name_that_somebody_else_has_a_report_of_it(send, world, researcher, client_of):
    assert send("post", REPORTS, asked("merger")).status_code == 202

    made = [client_of(researcher).post(REPORTS, asked("merger"), content_type="application/json") for _ in range(2)]

    assert [answer.status_code for answer in made] == [202, 409]
