"""The overview: figures that add up, that lead to the lists behind them, and that nobody sees without the right."""

from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from accounts.models import AccessRule, ScopeType
from clusters.models import Cluster, Node, Pod
from controlplane import overview
from organizations.models import Department, Project
from tests.conftest import make_user, make_user_with
from topology.models import NetworkTopology, NodePool
from workloads.models import Workload


def node(cluster, name, gpus=8, **more):
    facts = {"gpu_capacity": gpus, "gpu_allocatable": gpus, "ready": "True"} | more
    return Node.objects.create(
        cluster=cluster,
        uid=f"{cluster.name}-{name}",
        name=name,
        resource_version="1",
        created_at=timezone.now(),
        **facts,
    )


def pod(cluster, name, on, gpus):
    return Pod.objects.create(
        cluster=cluster,
        uid=f"{cluster.name}-{name}",
        name=name,
        namespace="runai-assistant",
        resource_version="1",
        created_at=timezone.now(),
        phase="Running",
        node_name=on,
        gpus=gpus,
    )


def workload(project, pool, name, phase, **more):
    return Workload.objects.create(
        project=project,
        cluster=project.cluster,
        node_pool=pool,
        name=name,
        source="",
        manifest={},
        phase=phase,
        **more,
    )


@pytest.fixture
def fleet(cluster):
    node(cluster, "full")
    node(cluster, "half", gpu_allocatable=7)
    node(cluster, "cordoned", cordoned=True)
    pod(cluster, "a", "full", Decimal(8))
    pod(cluster, "b", "half", Decimal("3.5"))
    return cluster


def figures(user, cluster=None):
    context = overview.context(user, cluster)
    return {tile.label: tile.value for tile in context["tiles"]}


def test_the_strip_adds_up_and_counts_each_gpu_once(admin, fleet):
    found = figures(admin)

    assert found == {
        "GPUs in total": 24,
        "Allocated": Decimal("11.5"),
        "Free": Decimal("3.5"),
        "Cordoned": Decimal(8),
        "Unhealthy": Decimal(1),
    }
    assert sum(value for label, value in found.items() if label != "GPUs in total") == found["GPUs in total"]


def test_one_cluster_can_be_chosen_and_the_links_keep_it(admin, fleet, client_of):
    other = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:1", credential=b"")
    node(other, "far", gpus=4)

    assert figures(admin)["GPUs in total"] == 28
    assert figures(admin, other)["GPUs in total"] == 4
    page = client_of(admin).get("/?cluster=cluster-b")
    assert page.context["tiles"][0].value == 4
    assert all("cluster=cluster-b" in tile.url for tile in page.context["tiles"])


def test_an_unknown_or_foreign_cluster_is_not_found(admin, fleet, client_of):
    assert client_of(admin).get("/?cluster=nowhere").status_code == 404


def test_every_figure_leads_to_a_list_that_answers_without_complaint(admin, fleet, project, default_pool, client_of):
    workload(project, default_pool, "runs", "Running", gpus_held=8)
    client = client_of(admin)
    context = client.get("/").context

    for url in [tile.url for tile in context["tiles"]] + [row.url for row in context["phases"]]:
        answer = client.get(url)
        assert answer.status_code == 200
        assert answer.context["table"].problems == (), url


def test_a_figures_list_holds_what_the_figure_counts(admin, fleet, project, default_pool, client_of):
    for name, phase in (("a", "Running"), ("b", "Running"), ("c", "Pending")):
        workload(project, default_pool, name, phase)
    client = client_of(admin)

    phases = client.get("/").context["phases"]

    assert {(row.phase, row.count) for row in phases if row.count} == {("Running", 2), ("Pending", 1)}
    for row in phases:
        assert parse_qs(urlsplit(row.url).query)["filter"] == [f"phase=={row.phase}"]
        assert client.get(row.url).context["table"].total == row.count


def test_waiting_work_is_grouped_by_cause_the_largest_first(admin, project, default_pool):
    small = {"code": "LevelTooSmall", "arguments": {"level": "rack", "asked": "32", "largest": "24"}}
    workload(project, default_pool, "one", "Pending", gpus_requested=8)
    workload(project, default_pool, "two", "Pending", gpus_requested=32, waiting_reason=small)

    rows = overview.waiting_causes(admin, None, "")

    assert [(row.first.name, row.gpus, row.count) for row in rows] == [("two", 32, 1), ("one", 8, 1)]
    assert rows[1].cause == "Not said yet"


def test_a_cause_of_several_says_how_many_wait_beside_the_first(admin, project, default_pool, client_of):
    for name in ("one", "two", "three"):
        workload(project, default_pool, name, "Pending", gpus_requested=8)

    assert "and 2 more" in client_of(admin).get("/").content.decode()


def test_a_person_sees_the_work_of_their_project_only(researcher, project, default_pool, cluster):
    from organizations.models import Department, Project

    department = Department.objects.create(cluster=cluster, name="other")
    foreign = Project.objects.create(cluster=cluster, department=department, name="f", namespace="runai-f")
    workload(project, default_pool, "mine", "Running")
    workload(foreign, default_pool, "theirs", "Pending")

    assert [row.phase for row in overview.phase_rows(researcher, None, "")] == ["Running"]
    assert overview.waiting_causes(researcher, None, "") == []


def test_without_its_right_the_page_names_the_right_that_is_missing(db, client_of):
    answer = client_of(make_user_with("nobody", "project:read")).get("/")

    assert answer.status_code == 403
    assert b"dashboards-overview:read" in answer.content


def test_navigation_shows_only_what_may_be_opened(researcher, viewer, client_of):
    for user in (researcher, viewer):
        client = client_of(user)
        for group in client.get("/").context["nav"]:
            for entry in group.entries:
                assert client.get(entry.url).status_code == 200, entry.url


def test_the_page_costs_the_same_whatever_the_size_of_the_fleet(
    admin, fleet, default_pool, django_assert_max_num_queries
):
    with django_assert_max_num_queries(22) as few:  # one asks PostgreSQL whether it takes writes
        overview.context(admin, None)
    for i in range(40):
        node(fleet, f"n{i}")
        pod(fleet, f"p{i}", f"n{i}", Decimal(1))
        NodePool.objects.create(cluster=fleet, name=f"pool-{i}", label_key="k", label_value=str(i))
    admin.__dict__.pop("_cached_access_rules", None)

    with django_assert_max_num_queries(22) as many:
        overview.context(admin, None)

    assert len(many) == len(few)


def test_a_rule_on_one_cluster_hides_the_others(fleet, cluster):
    from accounts.permissions import ADMINISTRATOR

    user = make_user("local")
    AccessRule.objects.create(
        user=user, role=ADMINISTRATOR, scope_type=ScopeType.CLUSTER, scope_id=str(cluster.pk), cluster_id=cluster.pk
    )
    other = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:1", credential=b"")
    node(other, "far", gpus=4)

    assert figures(user)["GPUs in total"] == 24
    assert [row.cluster.name for row in overview.cluster_health(user, None)] == ["cluster-a"]


def test_an_installation_without_work_shows_the_way_to_the_first_workload(admin, client_of, cluster):
    client = client_of(admin)

    def steps():
        return [(step.title, step.done) for step in client.get("/").context["steps"]]

    assert steps() == [
        ("Connect a cluster", True),
        ("Define a network topology", False),
        ("Attach it to a node pool", False),
        ("Make a department with quota", False),
        ("Make a project with quota", False),
        ("Submit a workload", False),
    ]
    pool = NodePool.objects.create(cluster=cluster, name="default")
    pool.network_topology = NetworkTopology.objects.create(cluster=cluster, name="dc", levels=["zone"])
    pool.save()
    department = Department.objects.create(cluster=cluster, name="research")
    assert [done for _title, done in steps()] == [True, True, True, True, False, False]
    project = Project.objects.create(cluster=cluster, department=department, name="first", namespace="runai-first")
    assert steps() == []
    assert b"No workload yet" in client.get("/").content
    workload(project, pool, "one", "Running")
    assert b"No workload yet" not in client.get("/").content


def test_whoever_may_only_submit_is_shown_no_steps_of_others(cluster, client_of):
    submitter = make_user_with("submitter", "dashboards-overview:read", "workloads:read", "workloads:create")

    page = client_of(submitter).get("/")

    assert page.context["steps"] == []
    assert b"No workload yet" in page.content
