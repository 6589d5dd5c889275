from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster, ClusterEvent, ClusterObject, Node, Pod
from tests.topology.fleets import HOST, RACK, ZONE, drawn_fleet
from topology.models import NetworkTopology, NodePool
from workloads.models import Workload


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    return client_of(admin)


@pytest.fixture
def fleet(cluster: Cluster, default_pool: NodePool, pool: NodePool) -> None:
    for index, node in enumerate(drawn_fleet()):
        Node.objects.create(
            cluster=cluster, uid=node.name, name=node.name, resource_version="1", created_at=timezone.now(),
            labels=dict(node.labels), ready="True", gpu_capacity=8, gpu_allocatable=7 if index == 4 else 8,
            cordoned=index == 11, node_pool="h200" if index > 15 else "",
        )  # fmt: skip
    Pod.objects.create(
        cluster=cluster, uid="p", name="p", namespace="x", resource_version="1", created_at=timezone.now(),
        phase="Running", node_name="gpu-01", gpus=3,
    )  # fmt: skip


PAGES = [
    "/network-topologies/",
    "/network-topologies/new/",
    "/network-topologies/{topology}/",
    "/network-topologies/{topology}/nodes/",
    "/network-topologies/{topology}/events/",
    "/network-topologies/{topology}/yaml/",
    "/network-topologies/{topology}/links/",
    "/network-topologies/{topology}/replace/",
    "/network-topologies/{topology}/delete/",
    "/node-pools/",
    "/node-pools/new/",
    "/node-pools/{pool}/",
    "/node-pools/{pool}/nodes/",
    "/node-pools/{pool}/events/",
    "/node-pools/{pool}/yaml/",
    "/node-pools/{pool}/edit/",
    "/node-pools/{pool}/delete/",
]
WRITES = [
    path for path in PAGES if path.rstrip("/").rsplit("/", 1)[-1] in ("new", "links", "replace", "delete", "edit")
]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("path", PAGES)
def test_pages_answer_each_person_as_their_rights_say(
    path: str, request: pytest.FixtureRequest, client_of: Any, topology: NetworkTopology, pool: NodePool
) -> None:
    url = path.format(topology=topology.pk, pool=pool.pk)

    def answer(who: str) -> int:
        status: int = client_of(request.getfixturevalue(who)).get(url).status_code
        return status

    assert answer("admin") == 200
    assert answer("viewer") == (403 if path in WRITES else 200)
    assert answer("outsider") == (404 if "{" in path else 200)
    assert Client().get(url).status_code == 302


@pytest.mark.parametrize("path", PAGES)
def test_row_49_pages_render_with_no_nodes_at_all(
    path: str, page: Client, topology: NetworkTopology, pool: NodePool
) -> None:
    assert page.get(path.format(topology=topology.pk, pool=pool.pk)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/network-topologies/", "/network-topologies/new/", "/node-pools/", "/node-pools/new/"]
)
def test_pages_render_without_a_cluster(path: str, page: Client, db: None) -> None:
    assert page.get(path).status_code == 200


@pytest.mark.usefixtures("fleet")
def test_j2_an_order_that_runs_near_to_far_is_refused_on_the_page_too(page: Client, cluster: Cluster) -> None:
    fields = {"cluster": str(cluster.pk), "name": "dc", "use_paste": "1", "as_pasted": "1", "paste": "rack → zone"}

    answer = page.post("/network-topologies/new/", fields)

    assert answer.status_code == 422
    assert f"broadest first: {ZONE}, {RACK}" in answer.content.decode()
    assert not NetworkTopology.objects.exists()


@pytest.mark.usefixtures("fleet")
def test_row_39_the_detail_names_the_node_outside_and_offers_its_line(page: Client, topology: NetworkTopology) -> None:
    content = page.get(f"/network-topologies/{topology.pk}/").content.decode()

    assert "1 node is outside: gpu-09 has no label topology.kubernetes.io/rack." in content
    assert 'data-copy="kubectl label nodes gpu-09 topology.kubernetes.io/rack=z1-r3 --overwrite"' in content
    assert "2 › 6 › 17" in content
    assert "style=" not in content
    assert "<script>" not in content


@pytest.mark.usefixtures("fleet")
def test_the_tree_zooms_to_a_domain_and_ignores_one_that_is_not_there(page: Client, topology: NetworkTopology) -> None:
    zoomed = page.get(f"/network-topologies/{topology.pk}/?at=z1&at=z1-r2").context["drawn"]
    unknown = page.get(f"/network-topologies/{topology.pk}/?at=nowhere").context["drawn"]

    assert (zoomed.at, zoomed.nodes, zoomed.gpus.total) == (("z1", "z1-r2"), 3, 24)
    assert (unknown.at, unknown.nodes) == ((), 18)


@pytest.mark.usefixtures("fleet")
def test_gpus_of_the_tree_add_up_with_the_node_outside(page: Client, topology: NetworkTopology) -> None:
    gpus = page.get(f"/network-topologies/{topology.pk}/").context["drawn"].gpus

    assert (gpus.total, gpus.allocated, gpus.unhealthy, gpus.cordoned) == (144, 3, 1, 8)
    assert gpus.free == 144 - 3 - 1 - 8


@pytest.mark.usefixtures("fleet")
def test_a_topology_is_made_from_the_proposal(page: Client, cluster: Cluster) -> None:
    content = page.get("/network-topologies/new/?cluster=cluster-a").content.decode()
    fields = {"cluster": "cluster-a", "name": "dc", "order_given": "1", "level": [ZONE, RACK, HOST]}

    made = page.post("/network-topologies/new/", {**fields, "key": [ZONE, RACK, HOST]})

    assert "17 of 18" in content
    assert "nodeLabel: topology.kubernetes.io/rack" in content
    topology = NetworkTopology.objects.get()
    assert (made.status_code, made.headers["Location"]) == (302, f"/network-topologies/{topology.pk}/")
    assert (topology.name, topology.levels) == ("dc", [ZONE, RACK, HOST])


@pytest.mark.usefixtures("fleet")
def test_what_is_refused_is_shown_beside_its_field_and_nothing_is_lost(page: Client) -> None:
    fields = {"cluster": "cluster-a", "name": "1dc", "order_given": "1", "level": [HOST, RACK], "key": [HOST, RACK]}

    answer = page.post("/network-topologies/new/", fields)

    content = answer.content.decode()
    assert answer.status_code == 422
    assert 'value="1dc"' in content
    assert 'id="name-error"' in content
    assert "kubernetes.io/hostname can only be the last level" in content
    assert answer.context["draft"].levels == (HOST, RACK)
    assert NetworkTopology.objects.count() == 0


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("way", ["new", "{pk}/replace"])
def test_a_level_that_is_there_twice_is_named_and_not_saved_once(
    page: Client, topology: NetworkTopology, way: str
) -> None:
    url = f"/network-topologies/{way.format(pk=topology.pk)}/"
    fields = {
        "cluster": "cluster-a",
        "name": "dc",
        "order_given": "1",
        "level": [ZONE, RACK, ZONE],
        "key": [ZONE, RACK],
    }

    refused = page.post(url, fields)
    pasted = page.get(url, {"use_paste": "1", "paste": "zone, rack, rack", "name": "dc", "cluster": "cluster-a"})
    made = page.post(
        url, {**fields, "level": [ZONE, RACK], "confirmed": "1", "impact": refused.context.get("impact", "")}
    )

    assert (refused.status_code, pasted.status_code, made.status_code) == (422, 200, 302)
    assert refused.context["errors"] == [f"{ZONE} is there twice. Allowed: each key once."]
    assert pasted.context["errors"] == [f"{RACK} is there twice. Allowed: each key once."]
    assert NetworkTopology.objects.get(name="dc").levels == [ZONE, RACK]


@pytest.mark.usefixtures("fleet")
def test_replace_moves_the_pool_and_deletes_the_old_one(
    page: Client, topology: NetworkTopology, pool: NodePool
) -> None:
    NodePool.objects.filter(pk=pool.pk).update(network_topology=topology)
    url = f"/network-topologies/{topology.pk}/replace/"
    opened = page.get(url)
    fields = {"name": "dc-2", "order_given": "1", "level": [ZONE, HOST], "key": [ZONE, HOST]}

    page.post(url, fields)

    pool.refresh_from_db()
    topology.refresh_from_db()
    assert (opened.context["draft"].name, opened.context["draft"].levels) == ("dc-topology-2", (ZONE, RACK, HOST))
    assert pool.network_topology is not None
    assert (pool.network_topology.name, topology.is_being_deleted) == ("dc-2", True)


def test_distances_are_edited_and_lose_their_mark(page: Client, topology: NetworkTopology) -> None:
    from topology.services.topologies import assumed_links

    NetworkTopology.objects.update(links=assumed_links(3))
    fields = {f"{kind}-{i}": str(v) for i, row in enumerate([(500, 40), (200, 100), (20, 300)])
              for kind, v in zip(("latency", "bandwidth"), row, strict=True)}  # fmt: skip

    url = f"/network-topologies/{topology.pk}/links/"
    fields["generation"] = str(page.get(url).context["generation"])

    assert page.post(url, fields).status_code == 302
    topology.refresh_from_db()
    assert [link["assumed"] for link in topology.links] == [True, True, False]


def test_a_topology_is_deleted_only_when_its_name_is_typed_and_no_pool_uses_it(
    page: Client, topology: NetworkTopology, pool: NodePool
) -> None:
    url = f"/network-topologies/{topology.pk}/delete/"
    NodePool.objects.filter(pk=pool.pk).update(network_topology=topology)

    wrong = page.post(url, {"confirm": "other"})
    in_use = page.post(url, {"confirm": "dc-topology"})
    NodePool.objects.filter(pk=pool.pk).update(network_topology=None)
    done = page.post(url, {"confirm": "dc-topology"})

    assert (wrong.status_code, in_use.status_code, done.status_code) == (422, 422, 302)
    assert "h200" in in_use.content.decode()
    topology.refresh_from_db()
    assert topology.is_being_deleted


def test_topologies_of_others_are_shown_with_who_made_them_and_no_actions(page: Client, cluster: Cluster) -> None:
    found = ClusterObject.objects.create(
        cluster=cluster, uid="5d0f8f0e-0000-4000-8000-000000000001", name="by-hand", resource_version="1",
        created_at=timezone.now(), group="kai.scheduler", plural="topologies", made_by="kubectl-create",
        manifest={"spec": {"levels": [{"nodeLabel": ZONE}]}},
    )  # fmt: skip

    listed = page.get("/network-topologies/").content.decode()
    detail = page.get(f"/network-topologies/{found.uid}/").content.decode()

    assert "by-hand" in listed
    assert "made in the cluster by kubectl-create, read-only" in detail
    assert "/replace/" not in detail
    assert page.get(f"/network-topologies/{found.uid}/delete/").status_code == 404


def test_the_yaml_tab_names_the_fields_that_differ(page: Client, topology: NetworkTopology) -> None:
    ClusterObject.objects.create(
        cluster=topology.cluster, uid="1", name="dc-topology", resource_version="1", created_at=timezone.now(),
        group="kai.scheduler", plural="topologies", owner="x",
        manifest={
            "apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": "dc-topology"},
            "spec": {"levels": [{"nodeLabel": ZONE}]},
        },
    )  # fmt: skip

    differences = page.get(f"/network-topologies/{topology.pk}/yaml/").context["differences"]

    assert "Topology spec.levels" in [item["path"] for item in differences]


def test_events_show_the_cluster_and_who_changed_what(page: Client, admin: User, topology: NetworkTopology) -> None:
    ClusterEvent.objects.create(
        cluster=topology.cluster, uid="1", name="e", resource_version="1", created_at=timezone.now(), type="Warning",
        reason="Broken", message="m", involved_kind="Topology", involved_name="dc-topology",
    )  # fmt: skip
    page.post(f"/network-topologies/{topology.pk}/delete/", {"confirm": "dc-topology"})

    texts = [event["text"] for event in page.get(f"/network-topologies/{topology.pk}/events/").context["events"]]

    assert set(texts) == {"Broken: m", "deletion asked for"}


@pytest.mark.usefixtures("fleet")
def test_rows_12_and_13_pools_are_listed_with_figures_that_count_each_gpu_once(page: Client, pool: NodePool) -> None:
    NodePool.objects.create(cluster=pool.cluster, name="none", label_key="x", label_value="y")

    rows = {row.pool.name: row.figures for row in page.get("/node-pools/").context["table"].rows}

    assert {name: (f.nodes, f.gpus.total) for name, f in rows.items()} == {
        "default": (16, 128), "h200": (2, 16), "none": (0, 0),
    }  # fmt: skip
    assert rows["default"].whole_free == 13  # without the held, the unhealthy and the cordoned node


def test_a_pool_is_made_and_edited_with_faults_beside_their_fields(page: Client, topology: NetworkTopology) -> None:
    fields = {
        "cluster": "cluster-a", "name": "h100", "label_key": "p", "label_value": "h100",
        "gpu_placement_strategy": "binpack", "cpu_placement_strategy": "spread", "min_guaranteed_runtime": "1 day",
    }  # fmt: skip

    refused = page.post("/node-pools/new/", fields)
    made = page.post("/node-pools/new/", {**fields, "min_guaranteed_runtime": "1d", "network_topology": topology.pk})

    assert refused.status_code == 422
    assert "min_guaranteed_runtime" in refused.context["form"].errors
    pool = NodePool.objects.get(name="h100")
    assert made.headers["Location"] == f"/node-pools/{pool.pk}/"
    assert (pool.min_guaranteed_runtime, pool.network_topology, pool.cpu_placement_strategy) == (
        "24h0m0s", topology, "spread",
    )  # fmt: skip
    stale = page.post(f"/node-pools/{pool.pk}/edit/", {**fields, "min_guaranteed_runtime": "", "generation": "9"})
    assert (stale.status_code, "changed by somebody else" in stale.content.decode()) == (422, True)
    page.post(f"/node-pools/{pool.pk}/edit/", {**fields, "min_guaranteed_runtime": "", "generation": "1"})
    pool.refresh_from_db()
    assert (pool.min_guaranteed_runtime, pool.network_topology) == ("", None)


def test_the_address_of_an_act_leads_back_to_the_pool(page: Client, pool: NodePool) -> None:
    answer = page.get(f"/node-pools/{pool.pk}/attach/")

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/node-pools/{pool.pk}/")


@pytest.mark.usefixtures("fleet")
def test_j4_a_topology_is_attached_swapped_and_detached(
    page: Client, topology: NetworkTopology, pool: NodePool
) -> None:
    other = NetworkTopology.objects.create(cluster=pool.cluster, name="other", levels=[ZONE])
    url = f"/node-pools/{pool.pk}/attach/"

    def attached() -> Any:
        return NodePool.objects.get(pk=pool.pk).network_topology

    page.post(url, {"topology": topology.pk, "attached": ""})
    assert attached() == topology
    page.post(url, {"topology": other.pk, "attached": topology.pk})
    assert attached() == other
    page.post(url, {"topology": "", "attached": other.pk})
    assert attached() is None
    assert page.post(url, {"topology": "abc", "attached": ""}).status_code == 404
    choices = page.get(f"/node-pools/{pool.pk}/").context["topologies"]
    assert choices[0]["label"] == "dc-topology · zone › rack › hostname · 0 nodes outside"


def test_row_26_the_default_pool_has_no_delete_and_refuses_one(page: Client, default_pool: NodePool) -> None:
    refused = page.post(f"/node-pools/{default_pool.pk}/delete/", {"confirm": "default"})

    assert refused.status_code == 422
    assert NodePool.objects.get().is_being_deleted is False


def test_a_pool_that_workloads_use_names_them_before_and_refuses(page: Client, pool: NodePool, project: Any) -> None:
    Workload.objects.create(project=project, cluster=pool.cluster, node_pool=pool, name="qwen", source="", manifest={})

    asked = page.get(f"/node-pools/{pool.pk}/delete/").content.decode()
    refused = page.post(f"/node-pools/{pool.pk}/delete/", {"confirm": "h200"})

    assert "It is used by the workload qwen." in asked
    assert (refused.status_code, "qwen" in refused.content.decode()) == (422, True)


@pytest.mark.usefixtures("fleet")
def test_lists_take_a_fixed_number_of_queries_and_answer_csv(
    page: Client, cluster: Cluster, topology: NetworkTopology, django_assert_max_num_queries: Any
) -> None:
    for n in range(10):
        NetworkTopology.objects.create(cluster=cluster, name=f"t{n}", levels=[ZONE, RACK])
        NodePool.objects.create(cluster=cluster, name=f"p{n}", label_key="p", label_value=str(n))

    with django_assert_max_num_queries(14):
        page.get("/network-topologies/")
    with django_assert_max_num_queries(14):
        page.get("/node-pools/")
    csv = b"".join(page.get("/network-topologies/?format=csv&q=dc-topology")).decode()  # type: ignore[call-overload]
    assert "topology.kubernetes.io/zone > topology.kubernetes.io/rack" in csv
    assert page.get("/network-topologies/?q=rack").context["table"].total == 11
    assert page.get("/node-pools/?cluster=nowhere").status_code == 404


def test_row_40_the_tree_of_five_thousand_nodes_is_a_page_of_bounded_size(
    page: Client, cluster: Cluster, topology: NetworkTopology
) -> None:
    now = timezone.now()
    Node.objects.bulk_create(
        Node(
            cluster=cluster, uid=str(n), name=f"n-{n}", resource_version="1", created_at=now, ready="True",
            labels={ZONE: f"z{n // 1250}", RACK: f"r{n // 18}", HOST: f"n-{n}"}, gpu_capacity=8, gpu_allocatable=8,
        )
        for n in range(5000)
    )  # fmt: skip

    whole = page.get(f"/network-topologies/{topology.pk}/")
    rack = page.get(f"/network-topologies/{topology.pk}/?at=z0&at=r3")

    assert whole.context["tree"].counts == (4, 281, 5000)  # three racks reach over a border of zones
    assert len(whole.content) < 600_000
    assert rack.context["drawn"].nodes == 18


def test_a_new_pool_tells_a_bad_name_and_a_missing_label_at_once(page: Client, cluster: Cluster) -> None:
    fields = {"name": "No name", "label_key": "not a key", "label_value": "", "cluster": cluster.name}

    shown = page.post("/node-pools/new/", fields).content.decode()

    assert "“No name”" in shown
    assert "“not a key” is not a label key" in shown
    assert "This field is required." in shown
