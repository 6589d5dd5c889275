import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import AuditEntry, User
from clusters.models import Cluster
from tests.clusters.builders import add_node
from tests.runai_schema import check, send

UNKNOWN = "00000000-0000-4000-8000-000000000000"
ACCESS = {"name": "prod", "server": "https://10.0.0.1:6443", "token": "canary-secret"}


@pytest.fixture
def api(admin: User, client_of: Any) -> Client:
    return client_of(admin)


def test_a_cluster_is_registered_read_renamed_and_removed(api: Client) -> None:
    made = send(api, "post", "/api/v1/clusters", ACCESS)
    path = f"/api/v1/clusters/{made.json()['uuid']}"
    renamed = send(api, "put", path, {"name": "prod-2"})
    read = api.get(path).json()
    listed = api.get("/api/v1/clusters?verbosity=metadata").json()
    removed = api.delete(path)

    assert [answer.status_code for answer in (made, renamed, removed)] == [201, 204, 202]
    assert (read["name"], read["status"]["state"]) == ("prod-2", "WaitingToConnect")
    assert [(row["name"], "status" in row) for row in listed] == [("prod-2", False)]
    assert "canary" not in made.content.decode() + json.dumps(read)
    assert api.get("/api/v1/clusters").json() == []
    assert len(api.get("/api/v1/clusters?includeRequestedForDelete=true").json()) == 1
    assert AuditEntry.objects.count() == 3
    check("DisplayedCluster", read)


def test_a_dry_run_answers_and_writes_nothing(api: Client) -> None:
    assert send(api, "post", "/api/v1/clusters?dryRun=true", ACCESS).status_code == 201
    assert not Cluster.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "Prod"}, "name"),
        ({"name": None}, "name"),
        ({"server": "http://10.0.0.1"}, "server"),
        ({"server": None}, "server"),
        ({"server": 7}, "server"),
        ({"token": None}, "token"),
        ({"certificateAuthority": "x"}, "certificateAuthority"),
        ({"kubeconfig": "users: [", "server": None, "token": None}, "kubeconfig"),
        ({"phase": "Connected"}, "phase"),
        ({"version": "2.20"}, "version"),
        ({"domain": "https://10.0.0.2:6443"}, "domain"),
        ({"kubeconfig": "apiVersion: v1"}, "server"),
    ],
)
def test_a_wrong_field_is_a_400_that_names_it(api: Client, change: dict[str, Any], field: str) -> None:
    answer = send(api, "post", "/api/v1/clusters", ACCESS | change)

    assert answer.status_code == 400
    assert answer.json()["faults"][0]["field"].split(".")[0] == field
    assert "canary" not in answer.content.decode()
    assert not Cluster.objects.exists()


def test_run_ais_name_of_the_address_is_taken(api: Client) -> None:
    body = {"name": "prod", "domain": "https://10.0.0.1:6443", "token": "canary-secret"}

    assert send(api, "post", "/api/v1/clusters", body).json()["server"] == "https://10.0.0.1:6443"


def test_a_renaming_takes_the_name_alone(api: Client, cluster: Cluster) -> None:
    answer = send(api, "put", f"/api/v1/clusters/{cluster.pk}", {"name": "prod-2", "server": "https://10.0.0.9"})

    assert (answer.status_code, [fault["field"] for fault in answer.json()["faults"]]) == (400, ["server"])
    cluster.refresh_from_db()
    assert cluster.name != "prod-2"


def test_a_name_that_is_taken_is_a_409(api: Client, cluster: Cluster) -> None:
    assert send(api, "post", "/api/v1/clusters", ACCESS | {"name": cluster.name}).status_code == 409


def test_of_two_of_one_name_at_once_the_second_is_a_409(api: Client, cluster: Cluster) -> None:
    """The other one is there after the name was looked for and before ours is written."""
    first = dict.fromkeys(("INSERT", "UPDATE"), ("late", "later"))

    def write_first(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        for name in first.pop(sql[:6], ()) if '"clusters_cluster"' in sql[:40] else ():
            Cluster.objects.create(name=name, server="http://127.0.0.1:1", credential=b"")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write_first):
        made = send(api, "post", "/api/v1/clusters", ACCESS | {"name": "late"})
    with connection.execute_wrapper(write_first):
        renamed = send(api, "put", f"/api/v1/clusters/{cluster.pk}", {"name": "later"})

    assert [answer.status_code for answer in (made, renamed)] == [409, 409]


def test_field_report_86_unknown_and_malformed_ids_have_one_body(api: Client) -> None:
    answers = [api.get(f"/api/v1/clusters/{pk}") for pk in (UNKNOWN, "nonsense", "1")]
    answers += [api.get(f"/api/v1/clusters/{pk}/nodes") for pk in (UNKNOWN, "nonsense")]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_rights_are_kept(client_of: Any, viewer: User, cluster: Cluster) -> None:
    api = client_of(viewer)

    assert api.get("/api/v1/clusters").status_code == 200
    assert send(api, "post", "/api/v1/clusters", ACCESS).status_code == 403
    assert send(api, "put", f"/api/v1/clusters/{cluster.pk}", {"name": "x"}).status_code == 403
    assert api.delete(f"/api/v1/clusters/{cluster.pk}").status_code == 403
    assert Client().get("/api/v1/clusters").status_code == 401


def test_another_clusters_people_see_nothing_here(client_of: Any, outsider: User, cluster: Cluster) -> None:
    add_node(cluster, "n1")
    api = client_of(outsider)

    assert api.get(f"/api/v1/clusters/{cluster.pk}").status_code == 404
    assert api.get("/api/v1/nodes").json() == {"nodes": []}
    assert api.get("/api/v1/nodes/count").json() == {"count": 0}


def test_nodes_are_listed_filtered_sorted_and_counted(api: Client, cluster: Cluster) -> None:
    add_node(cluster, "a", node_pool="gpu", labels={"pool": "pvt"}, conditions=[{"type": "Ready", "status": "True"}])
    add_node(cluster, "b", ready="False", taints=[{"key": "k", "value": "", "effect": "NoExecute"}])
    add_node(cluster, "c", ready="Unknown", gpu_capacity=0, gpu_allocatable=0)

    def names(query: str) -> list[str]:
        return [node["name"] for node in api.get(f"/api/v1/nodes?{query}").json()["nodes"]]

    assert names("") == ["a", "b", "c"]
    assert names("sortBy=name&sortOrder=desc&limit=2&offset=1") == ["b", "a"]
    assert names("filterBy=status==NotReady") == ["b"]
    assert names("filterBy=nodePool==gpu") == ["a"]
    assert names("filterBy=nodePool==default,name!=c") == ["b"]
    assert names("filterBy=label:pool==pvt") == ["a"]  # field report 83
    assert names(f"filterBy=clusterUuid=={cluster.pk}&search=b") == ["b"]
    assert names("offset=100") == []  # field report 78
    assert api.get("/api/v1/nodes/count?filterBy=status==Ready").json() == {"count": 1}
    assert api.get(f"/api/v1/clusters/{cluster.pk}/nodes/count").json() == {"count": 3}
    nodes = api.get("/api/v1/nodes").json()
    assert nodes["nodes"][2]["gpuInfo"] is None  # no GPUs, which is not an unknown number
    check("Nodes", nodes)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=10000",
        "offset=-1",
        "sortBy=labels",
        "filterBy=uid==x",
        "filterBy=status==Odd",
        "filterBy=x",
        "filterBy=clusterUuid==nonsense",
        "search=%00",
        "filterBy=name==%00",
    ],
)
def test_a_wrong_query_is_a_400(api: Client, cluster: Cluster, query: str) -> None:
    answer = api.get(f"/api/v1/nodes?{query}")

    assert answer.status_code == 400, answer.content
    assert set(answer.json()) >= {"code", "message", "details"}
