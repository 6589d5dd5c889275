from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from clusters.models import Cluster, ClusterObject, Node
from tests.clusters.builders import add_node
from tests.runai_schema import check, send
from tests.topology.conftest import HOST, RACK, ZONE
from topology.models import NetworkTopology, NodePool

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def api(admin: User, client_of: Any) -> Client:
    client = client_of(admin)
    client.defaults["HTTP_IF_MATCH"] = "*"  # If-Match has tests of its own in tests/api
    return client


def test_a_topology_is_created_listed_counted_and_deleted(api: Client, cluster: Cluster) -> None:
    body = {"name": "dc", "clusterId": str(cluster.pk), "levels": [ZONE, RACK, HOST]}

    made = send(api, "post", "/api/v1/network-topologies", body)
    listed = api.get("/api/v1/network-topologies").json()
    counted = api.get("/api/v1/network-topologies/count?filterBy=name==dc").json()
    deleted = api.delete(f"/api/v1/network-topologies/{made.json()['id']}")

    assert (made.status_code, deleted.status_code, counted) == (201, 204, {"count": 1})
    assert made.json()["levels"] == [ZONE, RACK, HOST]
    plain = made.json() | {"status": {"conditions": []}}
    assert listed == {"networkTopologies": [plain]}
    assert NetworkTopology.objects.get().is_being_deleted
    check("NetworkTopology", made.json())


def test_a_dry_run_answers_and_writes_nothing(api: Client, cluster: Cluster) -> None:
    body = {"name": "dc", "clusterId": str(cluster.pk), "levels": [ZONE]}

    answer = send(api, "post", "/api/v1/network-topologies?dryRun=true", body)

    assert answer.status_code == 201
    assert NetworkTopology.objects.count() == AuditEntry.objects.count() == 0


def test_topologies_made_in_the_cluster_are_listed_with_their_source_and_are_read_only(
    api: Client, topology: NetworkTopology, default_pool: NodePool
) -> None:
    found = ClusterObject.objects.create(
        cluster=topology.cluster, uid="5d0f8f0e-0000-4000-8000-000000000001", name="by-hand", resource_version="1",
        created_at=timezone.now(), group="kai.scheduler", plural="topologies", made_by="kubectl-create",
        manifest={"spec": {"levels": [{"nodeLabel": ZONE}]}},
    )  # fmt: skip

    foreign = api.get("/api/v1/network-topologies?filterBy=source==Cluster").json()["networkTopologies"]
    refused = api.delete(f"/api/v1/network-topologies/{found.uid}")
    attached = send(api, "put", f"/api/v1/node-pools/{default_pool.pk}", {"networkTopologyId": found.uid})

    assert [(t["name"], t["createdBy"], t["levels"]) for t in foreign] == [("by-hand", "kubectl-create", [ZONE])]
    assert (refused.status_code, "kubectl-create" in refused.json()["message"]) == (409, True)
    assert (attached.status_code, attached.json()["message"]) == (
        400,
        "networkTopologyId: kubectl-create made it in the cluster; a pool takes what Muster keeps: adopt it first",
    )
    check("NetworkTopology", foreign[0])
    assert api.get("/api/v1/network-topologies/count").json() == {"count": 2}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "dc", "levels": "zone"}, "levels"),
        ({"name": "dc", "levels": [ZONE], "clusterId": UNKNOWN}, "clusterId"),
        ({"name": "1dc", "levels": [ZONE]}, "name"),
        ({"name": "dc", "levels": [ZONE, {}]}, "levels[1]"),
        ({"name": "dc", "levels": [HOST, ZONE]}, "levels[0]"),
        ({"name": ["dc"], "levels": [ZONE]}, "name"),
        ({"name": "dc", "levels": [ZONE], "region": "eu"}, "region"),
    ],
)
def test_bad_topologies_are_400_naming_the_field(api: Client, cluster: Cluster, body: Any, field: str) -> None:
    answer = send(api, "post", "/api/v1/network-topologies", {"clusterId": str(cluster.pk), **body})

    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["faults"]] == [field]


def test_j2_levels_sent_near_to_far_are_refused_with_the_right_order(api: Client, cluster: Cluster) -> None:
    for zone, rack, name in (("z1", "r1", "a"), ("z1", "r2", "b"), ("z2", "r3", "c"), ("z2", "r4", "d")):
        add_node(cluster, name, labels={ZONE: zone, RACK: rack, HOST: name})
    body = {"name": "dc", "clusterId": str(cluster.pk), "levels": [RACK, ZONE]}

    refused = send(api, "post", "/api/v1/network-topologies", body)
    taken = send(api, "post", "/api/v1/network-topologies", body | {"levels": [ZONE, RACK]})

    assert refused.status_code == 400
    assert [(fault["field"], fault["allowed"]) for fault in refused.json()["faults"]] == [
        ("levels", f"broadest first: {ZONE}, {RACK}")
    ]
    assert (taken.status_code, taken.json()["status"]["findings"][0]["code"]) == (201, "order-is-right")


def test_advice_on_levels_is_answered_as_on_the_page(api: Client, cluster: Cluster) -> None:
    add_node(cluster, "a", labels={ZONE: "z1", HOST: "a"})
    body = {"name": "dc", "clusterId": str(cluster.pk), "levels": [ZONE, RACK, HOST]}

    made = send(api, "post", "/api/v1/network-topologies", body).json()
    read = api.get(f"/api/v1/network-topologies/{made['id']}").json()

    worst = read["status"]["findings"][0]
    assert (worst["code"], worst["severity"]) == ("key-on-no-node", "bad")
    assert worst["message"] == f"No node has the label {RACK}."
    assert made["status"]["findings"] == read["status"]["findings"]
    check("NetworkTopology", read)


def test_row_86_unknown_and_malformed_ids_are_one_404(
    api: Client, outsider: User, client_of: Any, topology: NetworkTopology, pool: NodePool
) -> None:
    answers = [
        api.get(f"/api/v1/network-topologies/{UNKNOWN}"),
        api.get("/api/v1/network-topologies/abc"),
        api.get("/api/v1/node-pools/999"),
        api.get("/api/v1/node-pools/abc"),
        client_of(outsider).get(f"/api/v1/network-topologies/{topology.pk}"),
        client_of(outsider).get(f"/api/v1/node-pools/{pool.pk}"),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_outsiders_see_nothing_and_viewers_may_not_write(
    viewer: User, outsider: User, client_of: Any, topology: NetworkTopology, pool: NodePool
) -> None:
    body = {"name": "dc", "clusterId": str(topology.cluster_id), "levels": [ZONE]}

    assert client_of(outsider).get("/api/v1/network-topologies").json() == {"networkTopologies": []}
    assert client_of(outsider).get("/api/v1/node-pools").json() == {"nodepools": []}
    denied = [
        send(client_of(viewer), "post", "/api/v1/network-topologies", body),
        client_of(viewer).delete(f"/api/v1/network-topologies/{topology.pk}"),
        send(client_of(viewer), "patch", f"/api/v1/node-pools/{pool.pk}", {"labelValue": "x"}),
        client_of(viewer).delete(f"/api/v1/node-pools/{pool.pk}"),
    ]
    assert [answer.status_code for answer in denied] == [403] * 4
    assert Client().get("/api/v1/node-pools").status_code == 401


def test_a_pool_is_created_changed_and_deleted(api: Client, topology: NetworkTopology) -> None:
    body = {
        "name": "h100",
        "clusterId": str(topology.cluster_id),
        "labelKey": "node-pool",
        "labelValue": "h100",
        "networkTopologyId": str(topology.pk),
        "schedulingConfiguration": {"placementStrategy": {"gpu": "spread"}, "minGuaranteedRuntime": "1d"},
    }

    made = send(api, "post", "/api/v1/node-pools", body)
    path = f"/api/v1/node-pools/{made.json()['id']}"
    detached = send(api, "put", path, {"networkTopologyId": None, "labelValue": "h101"})
    deleted = api.delete(path)

    assert (made.status_code, detached.status_code, deleted.status_code) == (201, 200, 202)
    document = made.json()
    assert document["networkTopologyName"] == "dc-topology"
    assert document["schedulingConfiguration"] == {
        "placementStrategy": {"cpu": "binpack", "gpu": "spread"}, "minGuaranteedRuntime": "24h0m0s",
    }  # fmt: skip
    assert (detached.json()["networkTopologyId"], detached.json()["labelValue"]) == (None, "h101")
    assert deleted.json()["code"] == 202
    check("Nodepool", document)
    check("Nodepool", detached.json())


def test_row_13_a_pool_without_nodes_is_listed_with_its_condition(
    api: Client, pool: NodePool, default_pool: NodePool
) -> None:
    pool.conditions = [
        {"type": "TopologyMismatch", "status": "True", "reason": "TopologyMismatch", "message": "1 node is outside.",
         "arguments": {"nodes": "gpu-1,gpu-2"}}
    ]  # fmt: skip
    pool.save(update_fields=["conditions"])
    Node.objects.create(cluster=pool.cluster, uid="1", name="n1", resource_version="1", created_at=timezone.now())

    default, h200 = api.get("/api/v1/node-pools?sortBy=name").json()["nodepools"]

    assert (default["isDefault"], default["status"]["nodes"], h200["status"]["nodes"]) == (True, ["n1"], [])
    assert h200["status"]["conditions"][0]["nodes"] == ["gpu-1", "gpu-2"]
    assert h200["phaseMessage"] == "1 node is outside."
    for document in (default, h200):
        check("Nodepool", document)


def test_row_26_the_default_pool_is_not_deleted(api: Client, default_pool: NodePool) -> None:
    answer = api.delete(f"/api/v1/node-pools/{default_pool.pk}")

    assert (answer.status_code, NodePool.objects.get().is_being_deleted) == (409, False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"labelKey": "a b"}, "labelKey"),
        ({"labelValue": 7}, "labelValue"),
        ({"networkTopologyId": UNKNOWN}, "networkTopologyId"),
        ({"networkTopologyId": {}}, "networkTopologyId"),
        ({"schedulingConfiguration": {"minGuaranteedRuntime": "soon"}}, "minGuaranteedRuntime"),
        ({"schedulingConfiguration": []}, "schedulingConfiguration"),
        ({"placementStrategy": {"gpu": "pile"}}, "gpuPlacementStrategy"),
        ({"placementStrategy": {"gpu": 1}}, "placementStrategy.gpu"),
        (
            {
                "placementStrategy": {"cpu": "binpack", "gpu": "spread"},
                "schedulingConfiguration": {"placementStrategy": {"cpu": "binpack", "gpu": "binpack"}},
            },
            "placementStrategy.gpu",
        ),
        ({"gpuResourceOptimization": {"swapEnabled": True}}, "gpuResourceOptimization.swapEnabled"),
        ({"overProvisioningRatio": 2}, "overProvisioningRatio"),
        ({"topology": "x"}, "topology"),
        ({"networkTopologyName": "x"}, "networkTopologyName"),
        ({"placementStrategy": {"disk": "spread"}}, "placementStrategy.disk"),
        ({"schedulingConfiguration": {"minRuntime": "1h"}}, "schedulingConfiguration.minRuntime"),
        ({"name": "another"}, "name"),
        ({"clusterId": UNKNOWN}, "clusterId"),
    ],
)
def test_bad_changes_of_a_pool_are_400_naming_the_field(api: Client, pool: NodePool, body: Any, field: str) -> None:
    answer = send(api, "patch", f"/api/v1/node-pools/{pool.pk}", body)

    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["faults"]] == [field]
    assert NodePool.objects.get().generation == 1


def test_null_changes_nothing_of_a_pool_but_its_topology(api: Client, pool: NodePool) -> None:
    body = {"name": None, "clusterId": None, "labelKey": None, "networkTopologyId": None}

    assert send(api, "patch", f"/api/v1/node-pools/{pool.pk}", body).status_code < 300

    stored = NodePool.objects.get()
    assert (stored.name, stored.cluster_id, stored.label_key) == (pool.name, pool.cluster_id, pool.label_key)
    assert stored.network_topology is None


def test_lists_are_filtered_sorted_and_paged(api: Client, pool: NodePool, default_pool: NodePool) -> None:
    def names(query: str) -> list[str]:
        return [p["name"] for p in api.get(f"/api/v1/node-pools?{query}").json()["nodepools"]]

    assert names("sortBy=name&sortOrder=desc") == ["h200", "default"]
    assert names("filterBy=name=^h2") == ["h200"]
    assert names("limit=1&offset=1") == ["h200"]
    assert api.get("/api/v1/node-pools/count?filterBy=phase==Ready").json() == {"count": 1}
    assert api.get("/api/v1/node-pools?filterBy=colour==red").status_code == 400
    assert api.get("/api/v1/node-pools?limit=0").status_code == 400


def test_listing_pools_takes_a_fixed_number_of_queries(
    api: Client, cluster: Cluster, django_assert_num_queries: Any
) -> None:
    for n in range(20):
        NodePool.objects.create(cluster=cluster, name=f"p{n}", label_key="p", label_value=str(n))
    api.get("/api/v1/node-pools")

    with django_assert_num_queries(5):  # session, user, access rules, pools, nodes
        api.get("/api/v1/node-pools")
