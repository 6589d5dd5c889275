"""Telemetry of departments and projects: quota and usage; unlimited and unknown have no value."""

import pytest

from organizations.models import Quota


@pytest.fixture
def amounts(world):
    Quota.objects.filter(project=world.project).update(
        gpu_deserved=4, usage={"allocated": {"gpu": "2.5", "cpu": "1000", "memory": "64"}}
    )
    Quota.objects.filter(department=world.department).update(gpu_deserved=8)
    return world


@pytest.mark.parametrize(
    ("path", "query", "values"),
    [
        ("departments", "telemetryType=GPU_QUOTA", ["8"]),
        ("departments", "telemetryType=GPU_QUOTA&groupBy=CLUSTER_ID", ["8"]),
        ("departments", "telemetryType=GPU_ALLOCATION", []),
        ("projects", "telemetryType=GPU_QUOTA&groupBy=ClusterId,ParentId", ["4"]),
        ("projects", "telemetryType=GPU_ALLOCATION&groupBy=NodepoolId", ["2.5"]),
        ("projects", "telemetryType=CPU_ALLOCATION", ["1000"]),
        ("projects", "telemetryType=CPU_QUOTA", []),
        ("projects", "telemetryType=GPU_ALLOCATION_NON_PREEMPTIBLE", []),
    ],
)
def test_org_unit_telemetry(api, amounts, path, query, values):
    answer = api.get(f"/api/v1/org-unit/{path}/telemetry?{query}")
    assert [v["value"] for v in answer.json()["values"]] == values


def test_org_unit_telemetry_is_only_of_what_one_sees(client_of, outsider, amounts):
    answer = client_of(outsider).get("/api/v1/org-unit/projects/telemetry?telemetryType=GPU_QUOTA")
    assert answer.json()["values"] == []


@pytest.mark.parametrize(
    ("path", "group", "line"),
    [("departments", "CLUSTER_ID", "GPU_QUOTA,cluster-a,8"), ("projects", "ParentId", "GPU_QUOTA,research,4")],
)
def test_org_unit_telemetry_comes_as_csv(api, amounts, path, group, line):
    query = f"telemetryType=GPU_QUOTA&groupBy={group}"
    answer = api.get(f"/api/v1/org-unit/{path}/telemetry?{query}", headers={"Accept": "text/csv"})
    head, *rows = answer.content.decode().splitlines()

    assert head == f"type,{group},timestamp,value"
    assert [",".join(row.split(",")[i] for i in (0, 1, 3)) for row in rows] == [line]
