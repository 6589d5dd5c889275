"""The fair-share page and what stands behind it, on rows of a small cluster calculated by hand."""

import re
from datetime import timedelta
from decimal import Decimal as D
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AccessRule, Role, User
from clusters.models import Cluster
from organizations import fair_share_history, tasks
from organizations.fair_share import board_rows, board_totals, fair_share_board
from organizations.fair_share_presenting import pairs_of, sentences_of
from organizations.fair_share_steps import steps_of
from organizations.models import Department, FairShareRecord, Project
from tests.conftest import make_user
from tests.organizations.shard_rows import add_gang, add_nodes, add_queue
from topology.models import NodePool

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(cluster: Cluster, department: Department, project: Project, default_pool: NodePool) -> NodePool:
    """64 GPUs for department research: assistant deserves 16 at weight 2 and holds 28, vision deserves 36 at weight
    1, holds 24 and waits for 16."""
    add_nodes(cluster, 8)
    vision = Project.objects.create(cluster=cluster, department=department, name="vision", namespace="runai-vision")
    add_queue(cluster, department, default_pool, gpus=64)
    add_queue(cluster, project, default_pool, gpus=16, weight=2)
    add_queue(cluster, vision, default_pool, gpus=36)
    add_gang(cluster, "assistant", "train", 8, 8, 8, 4, on=("n0", "n1", "n2", "n3"))
    add_gang(cluster, "assistant", "later", *[8] * 4)
    add_gang(cluster, "vision", "seen", 8, 8, 8, on=("n4", "n5", "n6"), namespace="runai-vision")
    add_gang(cluster, "vision", "waits", 8, 8, namespace="runai-vision")
    Cluster.objects.filter(pk=cluster.pk).update(**heard())
    return NodePool.objects.select_related("cluster").get(pk=default_pool.pk)


def heard() -> dict[str, Any]:
    """A cluster that a watcher hears."""
    now = timezone.now()
    streams = {name: {"listedAt": now.isoformat(), "eventAt": now.isoformat()} for name in STREAMS}
    return {"watcher_until": now + timedelta(minutes=5), "last_contact_at": now, "streams": streams}


STREAMS = ("nodes", "pods", "queues", "podgroups", "topologies")


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


def test_what_if_works_out_another_division_and_saves_nothing(admin: User, pool: NodePool, client_of: Any) -> None:
    """With 20 deserved by vision 28 are unused: assistant 16 + 18⅔, vision 20 + 9⅓; the odd unit to assistant."""
    response = client_of(admin).get("/fair-share/", {"deserved.vision": "20"})

    would = {item.queue: (item.fair, item.would, item.change) for item in response.context["compared"]}
    assert would["assistant"] == (D(24), D(35), D(11))
    assert would["vision"] == (D(40), D(29), D(-11))
    assert pool.quotas.get(queue_name="vision").gpu_deserved == 36
    assert [line.row.fair for line in response.context["lines"]] == [D(64), D(24), D(40)]


def test_what_if_of_another_total_and_weight(admin: User, pool: NodePool, client_of: Any) -> None:
    """76 GPUs, of which the department deserves 64 and gets 76; 24 unused at 0 : 1, of which vision takes its 4."""
    response = client_of(admin).get("/fair-share/", {"total": "76", "weight.assistant": "0"})

    would = {item.queue: item.would for item in response.context["compared"]}
    assert response.context["would_total"] == D(76)
    assert would == {"research": D(76), "assistant": D(16), "vision": D(40)}


def test_what_if_of_a_priority_gives_all_that_is_unused_to_it_first(
    admin: User, pool: NodePool, client_of: Any
) -> None:
    """Assistant asks for 60 and deserves 16; of the 12 unused it then takes all, and vision keeps its 36."""
    response = client_of(admin).get("/fair-share/", {"priority.assistant": "200"})

    would = {item.queue: item.would for item in response.context["compared"]}
    assert (would["assistant"], would["vision"]) == (D(28), D(36))
    assert 'name="priority.assistant" value="200"' in response.content.decode()


def test_a_what_if_of_less_than_is_deserved_says_why_its_rows_add_up_to_more(
    admin: User, pool: NodePool, client_of: Any
) -> None:
    """The department deserves 64 and asks for as much: KAI grants it that of any total."""
    response = client_of(admin).get("/fair-share/", {"total": "60"})

    assert "The queues would get 64 GPUs, 4 more than the 60 that can be shared" in response.content.decode()
    assert "more than the" not in client_of(admin).get("/fair-share/", {"total": "76"}).content.decode()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("deserved.vision", "many"),
        ("weight.vision", "-1"),
        ("total", "unlimited"),
        ("deserved.nobody", "4"),
        ("priority.vision", "high"),
    ],
)
def test_a_what_if_that_cannot_be_read_names_its_field(
    field: str, text: str, admin: User, pool: NodePool, client_of: Any
) -> None:
    response = client_of(admin).get("/fair-share/", {field: text})

    (fault,) = response.context["what_if"].faults
    assert fault.field == field
    assert all(item.change == 0 for item in response.context["compared"])


def test_what_if_of_a_queue_out_of_scope_is_unknown(researcher: User, pool: NodePool, client_of: Any) -> None:
    context = client_of(researcher).get("/fair-share/", {"weight.vision": "9"}).context

    assert [fault.field for fault in context["what_if"].faults] == ["weight.vision"]


def test_csv_has_a_line_for_every_queue(admin: User, pool: NodePool, client_of: Any) -> None:
    response = client_of(admin).get("/fair-share/?format=csv")

    lines = response.content.decode().splitlines()
    assert lines[2] == "assistant,assistant,borrows,100,2,16,-1,24,28,0,60"
    assert re.search(r'filename="fair-share-cluster-a-default-gpu-\d{4}', response.headers["Content-Disposition"])


def test_history_is_recorded_once_a_period_and_read_back(pool: NodePool, cluster: Cluster) -> None:
    now = timezone.now()
    cluster.refresh_from_db()

    assert fair_share_history.record_fair_shares(cluster, now=now) == 1
    assert fair_share_history.record_fair_shares(cluster, now=now) == 0

    moments = list(fair_share_history.history(pool, now - timedelta(hours=1)))
    ((at, amounts),) = fair_share_history.series(moments, "assistant", "gpu")
    assert now - at < fair_share_history.EVERY
    assert amounts == fair_share_history.Amounts(16, -1, 2, 24, 28, 0, 60)
    assert fair_share_history.series(moments, "nobody", "gpu") == [(at, None)]


def test_nothing_is_recorded_of_a_cluster_that_is_not_heard(pool: NodePool, cluster: Cluster) -> None:
    Cluster.objects.update(watcher_until=None)
    cluster.refresh_from_db()

    assert fair_share_history.record_fair_shares(cluster, now=timezone.now()) == 0


def test_history_is_kept_for_days_and_not_longer(pool: NodePool, cluster: Cluster) -> None:
    now = timezone.now()
    for age in (timedelta(0), timedelta(days=13), timedelta(days=15)):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - age, content=b"")

    assert fair_share_history.delete_outdated(now) == 1
    assert FairShareRecord.objects.count() == 2


def test_long_histories_are_thinned_and_keep_the_newest(
    pool: NodePool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_share_history, "MOST_POINTS", 4)
    now = timezone.now()
    content = fair_share_history.pack(fair_share_board(make_user("a"), pool, now=now).shares)
    for age in range(10):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - timedelta(minutes=5 * age), content=content)

    moments = [moment.at for moment in fair_share_history.history(pool, now - timedelta(days=1))]

    assert len(moments) == 4
    assert moments[-1] == now


def test_the_beat_records_every_cluster_that_answers(
    pool: NodePool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.record_one, "apply_async", lambda args, **_: sent.append(args[0]))

    assert tasks.record_all() == 1
    assert tasks.record_one(sent[0]) == 1


def test_the_chart_of_a_queue_breaks_where_nothing_was_recorded(
    admin: User, pool: NodePool, cluster: Cluster, client_of: Any
) -> None:
    now = timezone.now()
    content = fair_share_history.pack(fair_share_board(admin, pool, now=now).shares)
    for minutes in (0, 5, 60):
        FairShareRecord.objects.create(cluster=cluster, pool="", at=now - timedelta(minutes=minutes), content=content)

    figure = client_of(admin).get("/fair-share/?queue=vision&hours=6").context["figure"]

    fair = next(trace for trace in figure["data"] if trace["name"] == "fair share")
    assert fair["y"] == [40.0, None, 40.0, 40.0]


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


def api(pool: NodePool, rest: str = "") -> str:
    return f"/api/v1/node-pools/{pool.pk}/fair-share{rest}"


def test_the_api_tells_shares_debts_and_steps(admin: User, pool: NodePool, client_of: Any) -> None:
    body = client_of(admin).get(api(pool)).json()

    assistant = next(row for row in body["queues"] if row["queue"] == "assistant")
    assert assistant["fairShare"] == 24
    assert (assistant["guaranteed"], assistant["overQuota"], assistant["unused"], assistant["weights"]) == (
        16,
        8,
        12,
        3,
    )
    assert assistant["owner"] == {"type": "project", "id": assistant["owner"]["id"], "name": "assistant"}
    assert assistant["limit"] is None
    assert body["debts"] == [{"starved": "vision", "borrower": "assistant", "amount": 12, "byQuota": True}]
    assert [(level["parent"], level["total"], level["unused"]) for level in body["levels"]] == [
        (None, 64, 0), ("research", 64, 12),
    ]  # fmt: skip
    assert body["whatIf"] is False


def test_the_api_answers_what_ifs_and_refuses_wrong_ones(admin: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(admin)

    body = page.get(api(pool, "?deserved.vision=20")).json()
    assert {row["queue"]: row["fairShare"] for row in body["queues"]} == {"research": 64, "assistant": 35, "vision": 29}
    assert body["whatIf"] is True
    for query in ("?deserved.vision=x", "?resource=disk", "?weight.vision=-2"):
        assert page.get(api(pool, query)).status_code == 400


def test_the_api_hides_what_is_out_of_scope(researcher: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(researcher)

    text = page.get(api(pool)).content.decode()
    assert "vision" not in text
    assert page.get(api(pool, "/history?queue=vision")).status_code == 404


def test_the_api_tells_history(admin: User, pool: NodePool, cluster: Cluster, client_of: Any) -> None:
    cluster.refresh_from_db()
    fair_share_history.record_fair_shares(cluster, now=timezone.now())
    page = client_of(admin)

    (value,) = page.get(api(pool, "/history?queue=vision")).json()["values"]
    assert (value["fairShare"], value["allocated"], value["requested"], value["deserved"]) == (40, 24, 40, 36)
    assert value["priority"] == 100
    assert page.get(api(pool, "/history")).status_code == 400
    assert page.get(api(pool, "/history?queue=vision&start=yesterday")).status_code == 400
