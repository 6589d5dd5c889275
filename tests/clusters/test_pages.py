"""The pages: who sees what, every state, and figures that add up."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry, User
from clusters.credentials import decrypt
from clusters.models import Cluster, ClusterEvent, ClusterObject, Node, Pod
from metrics.frames import UNMEASURED, Layout, pack
from metrics.models import MetricFrame, MetricSource
from metrics.recording import STEP
from tests.conftest import make_user

AT = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)


def add_node(cluster: Cluster, name: str, **columns: Any) -> Node:
    values = {"gpu_capacity": 8, "gpu_allocatable": 8, "ready": "True", "gpu_type": "H100", "gpu_memory_mib": 81559}
    identity = {"uid": f"node-{cluster.name}-{name}", "resource_version": "1", "created_at": AT}
    return Node.objects.create(cluster=cluster, name=name, **(identity | values | columns))


def add_pod(cluster: Cluster, name: str, node: str, gpus: str = "1", **columns: Any) -> Pod:
    values = {"namespace": "runai-assistant", "phase": "Running", "node_name": node, "gpus": Decimal(gpus)}
    identity = {"uid": f"pod-{cluster.name}-{name}", "resource_version": "1", "created_at": AT}
    return Pod.objects.create(cluster=cluster, name=name, **(identity | values | columns))


@pytest.fixture
def watched(cluster: Cluster) -> Cluster:
    now = timezone.now()
    stream = {"listedAt": now.isoformat(), "eventAt": now.isoformat(), "error": "", "served": True}
    cluster.watcher, cluster.watcher_until = "w1", now + dt.timedelta(seconds=30)
    cluster.streams = {"nodes": stream, "pods": stream}
    cluster.last_contact_at = now
    cluster.kubernetes_version = "v1.35.4"
    cluster.save()
    return cluster


@pytest.fixture
def page(client: Client, admin: User) -> Any:
    client.force_login(admin)

    def get(name: str, *args: Any, status: int = 200, **query: Any) -> str:
        answer = client.get(reverse(f"clusters:{name}", args=args), query)
        assert answer.status_code == status, answer.content[:2000]
        return answer.content.decode()

    return get


LISTS = ("cluster-list", "node-list", "node-map")


@pytest.mark.parametrize("name", LISTS)
def test_a_page_type_without_its_right_says_which_right_it_takes(client: Client, db: None, name: str) -> None:
    client.force_login(make_user("nobody"))

    answer = client.get(reverse(f"clusters:{name}"))

    assert answer.status_code == 403
    right = "cluster:read" if name == "cluster-list" else "nodes:read"
    assert right in answer.content.decode()


@pytest.mark.parametrize("name", [*LISTS, "cluster-add"])
def test_a_visitor_is_asked_to_sign_in(client: Client, cluster: Cluster, name: str) -> None:
    answer = client.get(reverse(f"clusters:{name}"))

    assert answer.status_code == 302
    assert "login" in answer.url or "sign-in" in answer.url


@pytest.mark.parametrize("pk", ["00000000-0000-4000-8000-000000000000", "nonsense", "%00", "9" * 60])
def test_an_unknown_and_a_malformed_id_are_the_same_404(client: Client, admin: User, pk: str) -> None:
    client.force_login(admin)

    for name in ("cluster-detail", "cluster-credential", "cluster-remove", "node-detail"):
        assert client.get(reverse(f"clusters:{name}", args=[pk])).status_code == 404


def test_a_cluster_outside_ones_scope_is_404(client: Client, researcher: User, watched: Cluster) -> None:
    other = Cluster.objects.create(name="cluster-b", server="https://b", credential=b"")
    node = add_node(other, "hidden-node")
    client.force_login(researcher)

    assert client.get(reverse("clusters:cluster-detail", args=[other.pk])).status_code == 404
    assert client.get(reverse("clusters:node-detail", args=[node.pk])).status_code == 404
    assert "hidden-node" not in client.get(reverse("clusters:node-list")).content.decode()
    assert client.get(reverse("clusters:node-list"), {"cluster": str(other.pk)}).status_code == 404


@pytest.mark.parametrize("name", ["cluster-credential", "cluster-remove", "cluster-test"])
def test_a_reader_may_not_write_and_nothing_is_written(
    client: Client, viewer: User, watched: Cluster, name: str
) -> None:
    client.force_login(viewer)

    answer = client.post(reverse(f"clusters:{name}", args=[watched.pk]), {"confirm": watched.name})

    assert answer.status_code == 403
    watched.refresh_from_db()
    assert (watched.generation, watched.deletion_requested_at) == (1, None)
    assert not AuditEntry.objects.exists()


def test_a_reader_may_not_add_a_cluster(client: Client, viewer: User) -> None:
    client.force_login(viewer)

    answer = client.post(reverse("clusters:cluster-add"), {"name": "x", "server": "https://10.0.0.1", "token": "t"})

    assert answer.status_code == 403
    assert not Cluster.objects.filter(name="x").exists()


def test_no_clusters_is_said_with_what_one_is(page: Any) -> None:
    assert "No clusters yet" in page("cluster-list")
    assert "Add cluster" in page("cluster-list")


def test_a_cluster_is_registered_encrypted_audited_and_its_secret_never_shown(client: Client, admin: User) -> None:
    client.force_login(admin)

    answer = client.post(
        reverse("clusters:cluster-add"),
        {"name": "prod", "server": "https://10.0.0.1:6443", "token": "canary-secret"},
    )

    cluster = Cluster.objects.get(name="prod")
    assert answer.status_code == 302
    assert cluster.phase == "WaitingToConnect"
    assert b"canary-secret" not in bytes(cluster.credential)
    assert decrypt(cluster.credential).token == "canary-secret"
    entry = AuditEntry.objects.get(action="create")
    assert (entry.object_name, entry.subject) == ("prod", admin.email)
    assert "canary-secret" not in str(entry.after)
    assert "canary-secret" not in client.get(answer.url).content.decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "Prod_1"}, "cannot be the name of a cluster"),
        ({"server": "http://10.0.0.1"}, "the connection must be encrypted"),
        ({"server": "https://169.254.169.254"}, "not allowed for an API server"),
        ({"server": ""}, "give a kubeconfig, or the address"),
        ({"token": ""}, "not a bearer token"),
        ({"certificate_authority": "nonsense"}, "not a PEM certificate"),
        ({"kubeconfig": "users: ["}, "give a kubeconfig or an address with a token, not both"),
        ({"kubeconfig": "users: [", "server": "", "token": ""}, "not readable YAML"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    client: Client, admin: User, fields: dict[str, str], said: str
) -> None:
    client.force_login(admin)
    given = {"name": "prod", "server": "https://10.0.0.1:6443", "token": "canary-secret"} | fields

    answer = client.post(reverse("clusters:cluster-add"), given)

    assert answer.status_code == 422
    text = answer.content.decode()
    assert said in text
    assert "canary-secret" not in text
    assert not Cluster.objects.exists()


def test_a_name_that_is_taken_is_refused(client: Client, admin: User, cluster: Cluster) -> None:
    client.force_login(admin)

    answer = client.post(
        reverse("clusters:cluster-add"), {"name": cluster.name, "server": "https://10.0.0.1", "token": "t"}
    )

    assert answer.status_code == 422
    assert "registered already" in answer.content.decode()


def test_the_add_page_prints_the_fewest_rights(page: Any) -> None:
    text = page("cluster-add")

    assert "kind: ClusterRole" in text
    assert "muster-system" in text
    assert "&#x27;*&#x27;" not in text


def test_removing_asks_for_the_name_and_refuses_while_in_use(
    client: Client, admin: User, watched: Cluster, project: Any
) -> None:
    client.force_login(admin)
    url = reverse("clusters:cluster-remove", args=[watched.pk])

    assert "assistant" in client.get(url).content.decode()
    wrong = client.post(url, {"confirm": "cluster"})
    used = client.post(url, {"confirm": watched.name})

    assert (wrong.status_code, used.status_code) == (422, 422)
    assert "in use" in used.content.decode()
    project.delete()
    project.department.delete()
    assert client.post(url, {"confirm": watched.name}).status_code == 302
    watched.refresh_from_db()
    assert watched.is_being_deleted


def test_a_cluster_shows_components_with_install_commands(page: Any, watched: Cluster) -> None:
    watched.components = [
        {"key": "kai-scheduler", "health": "healthy", "version": "v0.17.0", "since": "2026-11-29T10:00:00Z"},
        {"key": "grove", "health": "missing", "version": "", "since": "2026-11-29T10:00:00Z", "message": "Not there."},
    ]
    watched.save()

    text = page("cluster-detail", watched.pk)

    assert "v0.17.0" in text
    assert "helm upgrade --install grove" in text
    assert "Not looked for yet." in text


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
    assert "3 more held than there are" in text


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


def record_figures(cluster: Cluster) -> None:
    """One round of the exporter of n1: device 0 at 90 % and 1 at 0 %, both held, 2 not measured."""
    layout = Layout(("n1",))
    size = layout.size
    present, owner = np.zeros(size, np.uint8), np.zeros(size, np.uint16)
    present[:8], owner[:3] = 1, 1
    figures = np.full(size, UNMEASURED, np.uint8)
    figures[:2] = (90, 0)
    packed = {name: pack(figures) for name in ("utilisation", "memory", "temperature")}
    now = timezone.now()
    MetricSource.objects.create(cluster=cluster, nodes=["n1"], read_at=now)
    MetricFrame.objects.create(
        cluster=cluster, step=STEP, at=now, present=pack(present), owner=pack(owner), owners=["1"], **packed
    )


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
    assert "2 held GPUs are not measured." in text
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


def test_the_queries_of_the_pages_do_not_grow_with_the_nodes(
    client: Client, admin: User, watched: Cluster, django_assert_max_num_queries: Any
) -> None:
    client.force_login(admin)
    for number in range(120):
        add_node(watched, f"n{number}")
        add_pod(watched, f"p{number}", f"n{number}")

    with django_assert_max_num_queries(14):
        client.get(reverse("clusters:node-list"))
    with django_assert_max_num_queries(14):
        client.get(reverse("clusters:node-map"))


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
