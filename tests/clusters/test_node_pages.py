"""The pages of nodes and the GPU map: every state, and figures that add up."""

import datetime as dt
import gzip
import json
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from clusters.kept import LARGE_NODES
from clusters.models import Cluster, ClusterEvent, ClusterObject, Node
from clusters.selectors import gpu_strip
from metrics.models import MetricSource
from tests.clusters.builders import AT, add_node, add_pod, record_figures


def test_zero_nodes_is_not_the_same_as_never_read_field_reports_49_and_51(page: Any, watched: Cluster) -> None:
    assert "No nodes" in page("node-list")

    watched.streams = {"nodes": {"error": "connection refused", "served": True, "listedAt": None, "eventAt": None}}
    watched.save()

    text = page("node-list")
    assert "Nodes have not been read yet" in text
    assert "connection refused" in text
    assert "No nodes<" not in text


def test_an_unreachable_cluster_shows_its_nodes_as_old_field_report_52(page: Any, watched: Cluster) -> None:
    add_node(watched, "n1")
    assert "not watched at the moment" not in page("node-list")

    Cluster.objects.update(watcher_until=timezone.now() - dt.timedelta(minutes=5))

    for name in ("node-list", "node-map"):
        text = page(name)
        assert "not watched at the moment" in text
        assert "n1" in text


def test_the_failing_part_is_named_field_report_76(page: Any, watched: Cluster) -> None:
    watched.streams["pods"] |= {"error": "etcd is down"}
    watched.save()

    text = page("node-list")

    assert "pods" in text
    assert "etcd is down" in text


def test_nodes_are_found_by_label_field_report_83(page: Any, watched: Cluster) -> None:
    add_node(watched, "inside", labels={"pool": "pvt"})
    add_node(watched, "elsewhere", labels={"pool": "other"})

    for term in ("label:pool==pvt", "label==pool=pvt"):
        text = page("node-list", filter=term)
        assert "inside" in text
        assert "elsewhere" not in text


def test_150_labels_do_not_blow_up_the_table_field_report_89(page: Any, watched: Cluster) -> None:
    add_node(watched, "plain")
    small = len(page("node-list"))

    Node.objects.update(labels={f"example.org/label-{n}": "v" * 60 for n in range(150)})

    assert len(page("node-list")) < small + 500


def test_equal_sort_keys_keep_their_order_field_report_89(page: Any, watched: Cluster) -> None:
    names = [f"n{number:03d}" for number in range(120)]
    for name in reversed(names):
        add_node(watched, name)

    first, second = page("node-list", sort="gpu_capacity"), page("node-list", sort="gpu_capacity", page=2)

    shown = [name for name in names if f">{name}<" in first] + [name for name in names if f">{name}<" in second]
    assert len(shown) == len(set(shown)) == 100


def test_the_strip_adds_up_and_counts_cordoned_and_lost_gpus(page: Any, watched: Cluster) -> None:
    add_node(watched, "a")
    add_node(watched, "b", cordoned=True)
    add_node(watched, "c", gpu_allocatable=5)
    add_pod(watched, "p1", "a", "4")
    add_pod(watched, "p2", "b", "6")
    add_pod(watched, "p3", "c", "8")

    text = page("node-list")

    # total 24 = allocated 4 + 6 + 5, free 4, cordoned 2, unhealthy 3; 3 held beyond what c can give
    for figure in (">24<", ">15<", ">4<", ">2<", ">3<"):
        assert f'figure"{figure}' in text
    assert "3 more allocated than there are" in text


def test_csv_has_every_node_that_matches(client: Client, admin: User, watched: Cluster) -> None:
    for number in range(60):
        add_node(watched, f"n{number:02d}")
    client.force_login(admin)

    answer = client.get(reverse("clusters:node-list"), {"format": "csv", "q": "n"})

    lines = b"".join(answer.streaming_content).decode().strip().splitlines()  # type: ignore[arg-type]
    assert len(lines) == 61


def test_the_map_draws_one_cell_a_gpu_grouped_by_topology(page: Any, watched: Cluster) -> None:
    ClusterObject.objects.create(
        cluster=watched,
        uid="t",
        name="dc",
        resource_version="1",
        created_at=AT,
        group="kai.scheduler",
        plural="topologies",
        manifest={
            "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}
        },
    )
    add_node(watched, "a", labels={"zone": "z1", "rack": "r1"})
    add_node(watched, "b", labels={"zone": "z1"})
    add_node(watched, "c", gpu_allocatable=None, labels={"zone": "z2", "rack": "r9"})
    add_pod(watched, "p", "a", "2.5")

    text = page("node-map")

    assert text.count('class="cell ') == 24
    assert text.count('class="cell held"') == 3
    assert text.count('class="cell unhealthy"') == 8
    assert "r1" in text
    assert "Outside the topology" in text
    assert "None of its 8 GPUs can be allocated" in text
    assert text.count('class="cell ') == page("node-map", group="pool").count('class="cell ')


def test_the_map_is_coloured_by_utilisation_where_it_is_measured(
    client: Client, admin: User, page: Any, watched: Cluster
) -> None:
    add_node(watched, "n1")
    add_node(watched, "silent")
    add_pod(watched, "p", "n1", "3")
    add_pod(watched, "q", "silent", "1")
    assert 'class="cell held"' in page("node-map")
    record_figures(watched)

    text = page("node-map")

    assert "n1, GPU 0: 90 %" in text
    assert "n1, GPU 1: 0 %" in text
    assert text.count('class="cell unknown"') == 2  # device 2 of n1, and the held one of the silent node
    assert text.count('class="cell free"') == 5 + 7
    assert "2 allocated GPUs are not measured." in text
    assert 'class="cell held"' in page("node-map", colour="allocation")
    data = client.get(reverse("clusters:node-map-data"), {"colour": "utilisation", "group": "pool"}).json()
    values = {node["name"]: node["values"] for node in data["groups"][0]["racks"][0]["nodes"]}
    assert values["n1"] == [90, 0, 103, 101, 101, 101, 101, 101]


def test_old_figures_colour_nothing(page: Any, watched: Cluster) -> None:
    add_node(watched, "n1")
    add_pod(watched, "p", "n1", "3")
    record_figures(watched)
    MetricSource.objects.update(read_at=timezone.now() - dt.timedelta(minutes=10))

    assert 'class="cell held"' in page("node-map", colour="utilisation")


def test_above_2000_gpus_a_canvas_draws_what_the_data_address_answers(
    client: Client, admin: User, watched: Cluster
) -> None:
    rows = [
        Node(
            cluster=watched,
            uid=f"u{n}",
            name=f"n{n:04d}",
            resource_version="1",
            created_at=AT,
            gpu_capacity=8,
            gpu_allocatable=8,
            ready="True",
            labels={"kai.scheduler/node-pool": "gpu"},
        )
        for n in range(251)
    ]
    Node.objects.bulk_create(rows)
    add_pod(watched, "p", "n0000", "1")
    client.force_login(admin)

    text = client.get(reverse("clusters:node-map")).content.decode()
    data = client.get(reverse("clusters:node-map-data")).json()

    assert 'class="cell ' not in text
    assert reverse("clusters:node-map-data") in text
    (group,) = data["groups"]
    assert group["name"] == "gpu"
    first = group["racks"][0]["nodes"][0]
    assert (first["name"], first["values"]) == ("n0000", [110] + [101] * 7)
    assert sum(len(node["values"]) for rack in group["racks"] for node in rack["nodes"]) == 2008


def test_the_data_of_the_map_travel_compressed_to_whoever_can_read_that(
    client: Client, admin: User, watched: Cluster
) -> None:
    client.force_login(admin)
    add_node(watched, "n1")
    address = reverse("clusters:node-map-data")

    plain = client.get(address)
    packed = client.get(address, headers={"Accept-Encoding": "br, gzip"})

    assert (plain.get("Content-Encoding"), packed["Content-Encoding"]) == (None, "gzip")
    assert plain["Vary"].split(", ")[0] == packed["Vary"].split(", ")[0] == "Accept-Encoding"
    assert json.loads(gzip.decompress(packed.content)) == plain.json()
    assert plain.json()["groups"][0]["racks"][0]["nodes"][0]["name"] == "n1"


def test_the_queries_of_the_pages_do_not_grow_with_the_nodes(
    client: Client, admin: User, watched: Cluster, django_assert_max_num_queries: Any
) -> None:
    client.force_login(admin)
    for number in range(120):
        add_node(watched, f"n{number}")
        add_pod(watched, f"p{number}", f"n{number}")

    with django_assert_max_num_queries(16):
        client.get(reverse("clusters:node-list"))
    with django_assert_max_num_queries(16):
        client.get(reverse("clusters:node-map"))


def test_the_map_of_a_large_cluster_is_computed_anew_only_when_nodes_or_pods_changed(
    client: Client, admin: User, watched: Cluster, django_assert_max_num_queries: Any
) -> None:
    client.force_login(admin)
    address = reverse("clusters:node-map-data")
    for number in range(LARGE_NODES + 1):
        add_node(watched, f"n{number:04d}")
    # No other test may have left something of this cluster.
    Cluster.objects.filter(pk=watched.pk).update(nodes_version=4711, pods_version=1)
    before = client.get(address).json()

    add_pod(watched, "p1", "n0000", gpus="2")
    unchanged = client.get(address).json()
    Cluster.objects.filter(pk=watched.pk).update(pods_version=2)  # as the watcher does with every batch
    after = client.get(address).json()

    assert unchanged == before
    held = [value for node in after["groups"][0]["racks"][0]["nodes"] for value in node["values"] if value == 110]
    assert len(held) == 2
    assert gpu_strip(admin, watched).allocated == 2


def test_a_node_shows_what_is_wrong_with_it(page: Any, watched: Cluster) -> None:
    node = add_node(
        watched,
        "n1",
        gpu_allocatable=5,
        gpu_type="",
        gpu_memory_mib=None,
        labels={"nvidia.com/gpu.memory": "lots"},
        taints=[{"key": "gpu", "effect": "NoSchedule", "value": "only"}],
        conditions=[{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True", "message": "full"}],
    )
    add_pod(watched, "p", "n1", "2")
    ClusterEvent.objects.create(
        cluster=watched,
        uid="e",
        name="e",
        resource_version="1",
        created_at=AT,
        type="Warning",
        reason="XidError",
        message="Xid 79",
        involved_kind="Node",
        involved_name="n1",
    )

    text = page("node-detail", node.pk)

    assert "3 of 8 GPUs are unhealthy; 5 can be used." in text  # field report 41
    assert "nvidia.com/gpu.product" in text  # field report 47
    assert "is unreadable" in text  # field report 48
    assert "runai-assistant/p" in text
    assert "gpu=only:NoSchedule" in text
    assert "Xid 79" in text
    assert "full" in text


def test_a_node_says_its_place_and_the_label_that_it_lacks(page: Any, watched: Cluster) -> None:
    levels = [{"nodeLabel": key} for key in ("zone", "rack", "kubernetes.io/hostname")]
    ClusterObject.objects.create(
        cluster=watched,
        uid="t",
        name="dc",
        resource_version="1",
        created_at=AT,
        group="kai.scheduler",
        plural="topologies",
        manifest={"spec": {"levels": levels}},
    )
    inside = add_node(watched, "a", labels={"zone": "z1", "rack": "r1"})
    outside = add_node(watched, "b", labels={"zone": "z1"})

    assert "z1 › r1" in page("node-detail", inside.pk)
    assert "outside: no label rack" in page("node-detail", outside.pk)  # field report 39


def test_pods_of_others_are_not_listed_for_who_sees_only_one_project(
    client: Client, researcher: User, watched: Cluster
) -> None:
    node = add_node(watched, "n1")
    add_pod(watched, "secret-pod", "n1", "2")
    client.force_login(researcher)

    answer = client.get(reverse("clusters:node-detail", args=[node.pk]))

    assert answer.status_code == 200
    assert "secret-pod" not in answer.content.decode()
    assert "2 of 8" in answer.content.decode()


def test_markup_in_names_labels_and_messages_stays_text(page: Any, watched: Cluster) -> None:
    evil = "<script>alert(1)</script>"
    bad = [{"type": "Ready", "status": "False", "message": evil}]
    node = add_node(watched, "n1", gpu_type=evil, labels={"x": evil}, conditions=bad)
    watched.streams["nodes"] |= {"error": evil}
    watched.save()

    for text in (page("node-detail", node.pk), page("node-list"), page("cluster-detail", watched.pk)):
        assert evil not in text


def test_a_node_that_says_it_has_thousands_of_gpus_is_drawn_within_bounds(page: Any, watched: Cluster) -> None:
    few, many = add_node(watched, "few"), add_node(watched, "many", gpu_capacity=4096, gpu_allocatable=4096)

    text = page("node-detail", many.pk)

    assert text.count('class="cell') == 128
    assert "3,968 more GPUs are not drawn." in text
    assert len(text) < 120_000
    assert "not drawn" not in page("node-detail", few.pk)
