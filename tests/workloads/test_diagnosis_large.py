"""The first cause of lists on clusters where asking the engine costs: turns, and what is said until the next one."""

from typing import Any

from django.urls import reverse
from django.utils import timezone

from clusters.models import Pod
from tests.workloads.simulated import RACK, node, observe
from tests.workloads.test_diagnosis import codes, graph
from workloads.diagnosis_first import REST, Turns
from workloads.diagnosis_ground import budget_of, tries_of
from workloads.diagnosis_names import Namer
from workloads.diagnosis_telling import told_to
from workloads.words import reason_short


def racks(count: int, **spec: Any) -> list[dict[str, Any]]:
    return [node(f"n{index}", f"z1.r{index // 2}", **spec) for index in range(count)]


def test_the_engine_rests_nine_times_as_long_as_it_thought() -> None:
    turns = Turns()
    assert turns.take("a", 100.0)
    assert not turns.take("a", 101.0), "one at a time"
    turns.end("a", 100.0, 102.0)
    assert turns.take("b", 102.5), "each cluster has its own"
    assert not turns.take("a", 102.0 + 2.0 * REST - 0.1)
    assert turns.take("a", 102.0 + 2.0 * REST)


def test_the_work_of_one_answer_is_bounded_whatever_the_size() -> None:
    assert [tries_of(nodes) for nodes in (1, 1000, 2000, 5000, 100_000)] == [24, 24, 12, 6, 6]
    assert [tries_of(20, waiting) for waiting in (20, 200, 500, 2000)] == [24, 24, 11, 6]
    searches = [budget_of(20_000, 20, waiting) for waiting in (20, 200, 2000, 20_000)]
    assert searches == [20_000, 20_000, 2_000, 400]
    assert budget_of(20_000, 5000, 20) == 400
    assert budget_of(100, 20, 20_000) == 100, "never more than the scheduler's own"


def test_where_too_much_waits_the_page_says_what_was_not_looked_into(
    waits: Any, admin: Any, client_of: Any, monkeypatch: Any
) -> None:
    """Two cordoned nodes, which only trying shows; the bound is lowered to what waits here."""
    workload = waits(graph(required=RACK), nodes=racks(70, unschedulable=True))
    monkeypatch.setattr("workloads.diagnosis_ground.MOST_WAITING", 1)
    told = told_to(admin, workload)
    assert (told["state"], told["causes"], told["remedies"]) == ("waits", [], [])
    assert "manyWaiting" in told["notConsidered"]
    assert (
        told["verdict"] == "So many pods wait in its node pool that Muster has not worked out what this one waits for."
    )
    assert told["schedulerWords"], "the scheduler's own words stay"
    text = client_of(admin).get(reverse("workloads:why", args=[workload.pk])).content.decode()
    assert "neither all causes nor what would let it run were looked for" in text
    assert "No change was found" not in text


def test_list_and_page_say_the_same_on_a_large_cluster(waits: Any, admin: Any) -> None:
    """The scheduler says of cordoned nodes only that there is no room."""
    workload = waits(graph(required=RACK), nodes=racks(70, unschedulable=True))
    told = told_to(admin, workload)
    assert codes(told) == ["NodesCordoned"]
    assert reason_short(workload.waiting_reason) == told["causes"][0]["title"]


def test_until_its_next_turn_a_workload_keeps_what_it_was_told(waits: Any, monkeypatch: Any) -> None:
    workload = waits(graph(required=RACK), nodes=racks(70, unschedulable=True))
    before = workload.waiting_reason
    monkeypatch.setattr("workloads.diagnosis_first._turns.take", lambda *given: False)
    assert observe(workload).waiting_reason == before
    workload.waiting_reason = {**before, "words": ["The scheduler says another thing now."]}
    workload.save(update_fields=["waiting_reason"])
    assert observe(workload).waiting_reason["code"] != before["code"]


def test_the_part_brings_the_header_s_words_with_it(waits: Any, admin: Any, client_of: Any) -> None:
    workload = waits(graph(required=RACK), nodes=racks(70, unschedulable=True))
    part = reverse("workloads:why", args=[workload.pk])
    text = client_of(admin).get(part, headers={"HX-Request": "true"}).content.decode()
    assert 'id="workload-short" hx-swap-oob="true">Nodes cordoned' in " ".join(text.split())


def test_thousands_of_pod_groups_are_looked_up_at_once_and_few_are_named(submit: Any, admin: Any) -> None:
    workload = submit()
    now, space = timezone.now(), workload.project.namespace
    Pod.objects.bulk_create(
        Pod(
            cluster=workload.cluster,
            uid=f"uid-{number}",
            name=f"pod-{number}",
            namespace=space,
            graph=f"graph-{number:04}",
            pod_group=f"pg-{number:04}",
            resource_version="1",
            created_at=now,
            phase="Running",
        )
        for number in range(2000)
    )
    keys = [f"{space}/pg-{number:04}" for number in range(2000)]

    namer = Namer(admin, workload, keys)

    first = ", ".join(f"graph-{number:04}" for number in range(12))
    assert namer.groups(keys) == f"{first} and 1988 more"
    assert namer.groups(keys[:2], 40) == "graph-0000, graph-0001 and 38 more"
    assert namer.groups(keys[:2], 2) == namer.groups(keys[:2]) == "graph-0000, graph-0001"
