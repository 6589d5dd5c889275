"""Lists made of the database's own text say what the rows say, and cost as many statements at any length."""

import json
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Node
from core.api.columns import exact_moment_of, moment_of, uuid_text
from organizations.models import Project, Quota
from workloads import document as documents
from workloads.api.manifests import summary_of
from workloads.blueprints import BLUEPRINTS, blueprint
from workloads.graph import parse_graph
from workloads.models import Workload

LISTS = ("/api/v1/nodes", "/api/v1/org-unit/projects", "/api/v1/workloads", "/api/v1/org-unit/departments")


@pytest.mark.parametrize(
    ("text", "moment", "exact"),
    [
        ("2026-11-30 01:02:03.456789", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.456789Z"),
        ("2026-11-30 01:02:03", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.000000Z"),
        ("2026-11-30 01:02:03.456789+00", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.456789Z"),
        ("2026-11-30 01:02:03.456+00", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.456000Z"),
        ("2026-11-30 01:02:03.5+00", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.500000Z"),
        ("2026-11-30 01:02:03+00", "2026-11-30T01:02:03Z", "2026-11-30T01:02:03.000000Z"),
    ],
)
def test_times_of_either_database_are_rfc_3339(text, moment, exact):
    assert moment_of(text) == moment
    assert exact_moment_of(text) == exact


def test_an_id_has_its_dashes_whichever_database_gave_it():
    assert uuid_text("0f6d3f4e00004000800000000000000a") == "0f6d3f4e-0000-4000-8000-00000000000a"
    assert uuid_text("0f6d3f4e-0000-4000-8000-00000000000a") == "0f6d3f4e-0000-4000-8000-00000000000a"


@pytest.mark.parametrize("name", list(BLUEPRINTS))
def test_a_manifest_s_summary_is_what_the_parser_of_graphs_says(name):
    manifest = documents.load(blueprint(name))
    graph = parse_graph(manifest)
    assert summary_of(json.dumps(manifest)) == (
        graph.pods,
        sum(component.gang_pods for component in graph.components),
        sorted({component.image for component in graph.components if component.image}),
    )


def test_a_summary_knows_both_versions_and_what_may_be_absent():
    old = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "spec": {
            "services": {
                "a": {"replicas": 3, "minAvailable": 2, "extraPodSpec": {"mainContainer": {"image": "b:1"}}},
                "c": {"multinode": {"nodeCount": 4}, "extraPodSpec": None},
            }
        },
    }
    assert summary_of(json.dumps(old)) == (3 + 4, 2 + 4, ["b:1"])
    odd = {**old, "spec": {"services": {"a": {"replicas": 3, "multinode": "no mapping"}}}}
    assert summary_of(json.dumps(odd)) == (3, 1, [])


@pytest.mark.parametrize("path", LISTS)
def test_a_list_takes_as_many_statements_for_many_rows_as_for_one(world, api, path):
    def statements(limit):
        with CaptureQueriesContext(connection) as found:
            assert api.get(path, {"limit": limit}).status_code == 200
        return len(found)

    one = statements(1)
    for number in range(12):
        project = Project.objects.create(
            cluster=world.cluster, department=world.department, name=f"p{number}", namespace=f"ns{number}"
        )
        Quota.objects.create(project=project, cluster=world.cluster, node_pool=world.pool, queue_name=f"q{number}")
        Node.objects.create(
            cluster=world.cluster, uid=f"0f6d3f4e-1111-4000-8000-{number:012x}", name=f"n{number}",
            resource_version="1", created_at=world.now,
        )  # fmt: skip
        world.running.pk = None
        Workload.objects.create(
            project=project, cluster=world.cluster, node_pool=world.pool, name=f"w{number}",
            source=world.running.source, manifest=world.running.manifest,
        )  # fmt: skip
    assert statements(500) == one


def test_amounts_usage_and_names_of_a_project_are_those_of_its_rows(world, api):
    Quota.objects.filter(project=world.project).update(
        gpu_deserved=Decimal("2.5"), gpu_limit=-1, cpu_deserved=-1, memory_limit=Decimal(64000), priority=150,
        usage={"allocated": {"gpu": "2", "cpu": "1500", "memory": "0.5"}},
    )  # fmt: skip
    shown = next(
        row for row in api.get("/api/v1/org-unit/projects").json()["projects"] if row["id"] == str(world.project.pk)
    )
    resource = shown["resources"][0]
    assert resource["gpu"] == {"deserved": 2.5, "limit": None, "overQuotaWeight": 1}
    assert resource["cpu"]["deserved"] is None
    assert resource["memory"] == {"deserved": None, "limit": 64000, "overQuotaWeight": 1, "units": "MB"}
    assert resource["priority"] == "High"
    assert shown["totalResources"] == {"gpuQuota": 2.5, "cpuQuota": None, "memoryQuota": None}
    assert shown["status"]["quotaStatus"] == {"allocated": {"gpu": 2, "cpu": 1500, "memory": 0.5}}
    assert api.get(f"/api/v1/org-unit/projects/{world.project.pk}").json() == shown


def test_projects_that_lie_far_apart_get_their_own_quota_only(world, api):
    near = Project.objects.create(
        cluster=world.cluster, department=world.department, name="near", namespace="near", pk=world.project.pk + 1000
    )
    for owner, gpus in ((world.project, 1), (near, 7)):
        Quota.objects.update_or_create(
            project=owner, node_pool=world.pool,
            defaults={"gpu_deserved": gpus, "cluster": world.cluster, "queue_name": f"q-{owner.pk}"},
        )  # fmt: skip
    rows = api.get("/api/v1/org-unit/projects").json()["projects"]
    assert {row["id"]: [r["gpu"]["deserved"] for r in row["resources"]] for row in rows} == {
        str(world.project.pk): [1],
        str(near.pk): [7],
    }


def test_csv_has_the_columns_of_the_json(world, api):
    answer = api.get("/api/v1/nodes", HTTP_ACCEPT="text/csv")
    lines = answer.content.decode().splitlines()
    assert lines[0].startswith("id,name,clusterUuid,status,conditions,taints,nodePool")
    assert '"{""kubernetes.io/hostname"": ""gpu-a""}"' in lines[1]
