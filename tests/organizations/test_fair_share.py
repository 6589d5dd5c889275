"""The fair-share page and what stands behind it, on rows of a small cluster calculated by hand."""

import re
from decimal import Decimal as D
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AccessRule, Role, ScopeType, User
from accounts.permissions import RESEARCHER
from clusters.models import Cluster
from organizations.fair_share import board_rows, board_totals, fair_share_board
from organizations.fair_share_presenting import pairs_of, sentences_of
from organizations.fair_share_steps import steps_of
from organizations.models import Department, Project
from tests.conftest import make_user
from tests.organizations.shard_rows import add_nodes, add_queue
from topology.models import NodePool

pytestmark = pytest.mark.django_db


def test_a_row_has_what_a_queue_deserves_gets_holds_and_asks(admin: User, pool: NodePool) -> None:
    """64 − 16 − 36 = 12 unused at 2 : 1 → 8 and 4."""
    board = fair_share_board(admin, pool, now=timezone.now())

    rows = {row.queue: row for row in board_rows(board, "gpu")}

    assert list(rows) == ["research", "assistant", "vision"]
    assistant, vision = rows["assistant"], rows["vision"]
    assert (assistant.deserved, assistant.fair, assistant.held, assistant.asked) == (D(16), D(24), D(28), D(60))
    assert (vision.deserved, vision.fair, vision.held, vision.asked) == (D(36), D(40), D(24), D(40))
    assert (assistant.state, vision.state, rows["research"].leaf) == ("borrows", "starved", False)
    assert (assistant.weight, assistant.priority, assistant.depth) == (D(2), 100, 1)


def test_the_sentences_name_the_shares_and_the_debt(admin: User, pool: NodePool) -> None:
    board = fair_share_board(admin, pool, now=timezone.now())

    said = {each.name: each.text for each in sentences_of(board, "gpu", board_rows(board, "gpu"))}

    assert said["assistant"] == (
        "assistant gets 24 of 64 GPUs: 16 guaranteed and 8 of 12 unused, at weight 2 of 3; it asks for 60; "
        "it holds 28, so 12 can be reclaimed by vision, which waits for 16."
    )
    assert said["vision"] == (
        "vision gets 40 of 64 GPUs: 36 guaranteed and 4 of 12 unused, at weight 1 of 3; that is all it asks for; "
        "it holds 24 and waits for 16, of which 12 can be reclaimed from assistant."
    )


def test_totals_add_up_and_steps_lead_to_them(admin: User, pool: NodePool, cluster: Cluster) -> None:
    add_nodes(cluster, 1, prefix="c", cordoned=True)
    board = fair_share_board(admin, pool, now=timezone.now())
    totals = board_totals(board, "gpu")

    assert (totals.capacity, totals.cordoned, totals.shared, totals.foreign) == (D(72), D(8), D(64), D(0))
    assert (totals.deserved, totals.held, totals.asked, totals.free) == (D(64), D(52), D(100), D(12))
    steps = steps_of(board, "gpu", totals)
    assert [step.amount for step in steps] == ["64", "64", "52", "12"]
    assert steps[0].lines == ("72 on the nodes of the pool", "less 8 on cordoned nodes")
    assert steps[3].lines[1:] == ("assistant: 0.667 of it is 8", "vision: 0.333 of it is 4")


def test_pairs_of_starved_and_borrowing_queues(admin: User, pool: NodePool) -> None:
    board = fair_share_board(admin, pool, now=timezone.now())

    ((pair,), more) = pairs_of(board, "gpu")

    assert (pair.starved, pair.borrower, pair.amount, more) == ("vision", "assistant", D(12), 0)


def test_projects_out_of_scope_are_counted_and_not_named(researcher: User, pool: NodePool) -> None:
    board = fair_share_board(researcher, pool, now=timezone.now())
    rows = board_rows(board, "gpu")

    assert [(row.name.text, row.hidden, row.held) for row in rows] == [
        ("research", 0, D(52)), ("assistant", 0, D(28)), ("", 1, D(24)),
    ]  # fmt: skip
    (said,) = sentences_of(board, "gpu", rows)
    assert "12 can be reclaimed by another project, which waits for 16" in said.text
    assert pairs_of(board, "gpu")[0][0].starved == "another project"


def test_the_page_names_nobody_that_the_viewer_may_not_see(researcher: User, pool: NodePool, client_of: Any) -> None:
    text = client_of(researcher).get("/fair-share/?resource=gpu").content.decode()

    assert "assistant" in text
    assert "vision" not in text


@pytest.mark.parametrize("resource", ["gpu", "cpu", "memory"])
def test_the_page_shows_each_resource(resource: str, admin: User, pool: NodePool, client_of: Any) -> None:
    response = client_of(admin).get(f"/fair-share/?resource={resource}")

    assert response.status_code == 200
    assert response.context["resource"] == resource
    assert "style=" not in response.content.decode()


def test_the_page_of_a_cluster_that_is_not_heard_says_so(admin: User, pool: NodePool, client_of: Any) -> None:
    Cluster.objects.update(watcher_until=None)

    assert "notice wait" in client_of(admin).get("/fair-share/").content.decode()


def test_without_a_cluster_a_pool_or_queues_the_page_says_what_is_missing(
    admin: User, client_of: Any, cluster: Cluster
) -> None:
    page = client_of(admin)
    assert "No node pools yet" in page.get("/fair-share/").content.decode()
    NodePool.objects.create(cluster=cluster, name="default")
    assert "No queues in this pool" in page.get("/fair-share/").content.decode()
    Cluster.objects.all().delete()
    assert "No cluster is registered" in page.get("/fair-share/").content.decode()


def test_the_page_takes_the_right_to_read_projects(db: None, client_of: Any) -> None:
    role = Role.objects.create(name="Nodes", rights=["nodes:read"])
    rule = AccessRule.objects.create(user=make_user("n"), role="Nodes", custom_role=role, scope_type="tenant")
    response = client_of(rule.user).get("/fair-share/")

    assert response.status_code == 403
    assert "project:read" in response.content.decode()


def test_csv_has_a_line_for_every_queue(admin: User, pool: NodePool, client_of: Any) -> None:
    response = client_of(admin).get("/fair-share/?format=csv")

    lines = response.content.decode().splitlines()
    assert lines[2] == "assistant,assistant,borrows,100,2,16,-1,24,28,0,60"
    assert re.search(r'filename="fair-share-cluster-a-default-gpu-\d{4}', response.headers["Content-Disposition"])


def test_the_page_costs_a_fixed_number_of_queries(
    admin: User, pool: NodePool, cluster: Cluster, department: Department, client_of: Any
) -> None:
    page: Client = client_of(admin)
    page.get("/fair-share/")
    with CaptureQueriesContext(connection) as few:
        page.get("/fair-share/")
    for number in range(20):
        made = Project.objects.create(cluster=cluster, department=department, name=f"p{number}", namespace=f"x{number}")
        add_queue(cluster, made, pool, gpus=1)
    with CaptureQueriesContext(connection) as many:
        page.get("/fair-share/")

    assert len(many) == len(few) <= 40


def test_queues_are_found_by_name_and_only_so_many_are_drawn(
    admin: User, pool: NodePool, cluster: Cluster, department: Department, client_of: Any
) -> None:
    page = client_of(admin)
    for number in range(70):
        made = Project.objects.create(cluster=cluster, department=department, name=f"p{number}", namespace=f"x{number}")
        add_queue(cluster, made, pool, gpus=1)

    context = page.get("/fair-share/").context
    assert (len(context["lines"]), context["more_lines"], len(context["sentences"])) == (45, 28, 30)
    assert len(context["history_queues"]) == 45
    assert [line.label for line in page.get("/fair-share/?q=VISI").context["lines"]] == ["vision"]
    assert "p69" not in [row.queue for row in context["history_queues"]]
    asked = page.get("/fair-share/?queue=p69").context
    assert asked["history_queue"].queue == "p69"
    assert "p69" in [row.queue for row in asked["history_queues"]]
    assert "No queue has" in page.get("/fair-share/?q=nobody").content.decode()
    assert page.get("/fair-share/?format=csv").content.decode().count("\n") == 74


def test_a_project_and_a_department_say_what_they_are_entitled_to(
    admin: User, pool: NodePool, project: Project, client_of: Any
) -> None:
    page = client_of(admin)

    assert "24 of 64 GPUs" in page.get(f"/projects/{project.pk}/fair-share/").content.decode()
    text = page.get(f"/departments/{project.department_id}/fair-share/").content.decode()
    assert "research gets 64 of 64 GPUs" in text


def test_whoever_reads_all_work_is_told_the_queue_whose_project_they_may_not_see(
    project: Project, pool: NodePool, client_of: Any
) -> None:
    role = Role.objects.create(name="Workloads", rights=["workloads:read"])
    reader = make_user("reader", RESEARCHER, ScopeType.PROJECT, project.pk, project.cluster)
    AccessRule.objects.create(user=reader, role="Workloads", custom_role=role, scope_type="tenant")

    board = fair_share_board(reader, pool, now=timezone.now())

    rows = board_rows(board, "gpu")
    assert [(row.name.text, row.name.linked, row.hidden) for row in rows] == [
        ("research", False, 0), ("assistant", True, 0), ("vision", False, 0),
    ]  # fmt: skip
    assert pairs_of(board, "gpu")[0][0].starved == "vision"
    assert "other project" not in client_of(reader).get("/fair-share/?resource=gpu").content.decode()
