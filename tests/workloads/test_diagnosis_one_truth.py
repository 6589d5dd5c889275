"""List, header and panel say one thing; what is only being set up is not wrong; a topology that the pool lost."""

from typing import Any

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from tests.workloads.simulated import RACK, ZONE, four_nodes, node, observe
from tests.workloads.test_diagnosis import codes, graph, held_by_others
from topology.models import NetworkTopology
from workloads.diagnosis_telling import told_to
from workloads.models import Workload
from workloads.words import is_permanent, reason_sentence, reason_short

SHORT = "32 in one rack; largest is 24"
SENTENCE = (
    "It asks for 32 GPUs inside one rack. The largest rack of the pool, r0, has 24: 8 short. It can never start as"
    " written, however many GPUs become free."
)


def odd_racks() -> list[dict[str, Any]]:
    """Three racks of 24 GPUs: a node of r1 is cordoned, one of r2 lacks its rack label."""
    nodes = [node(f"n{index}", f"z1.r{index // 3}") for index in range(8)]
    nodes[5]["spec"] = {"unschedulable": True}
    return [*nodes, node("n8", "z1.")]


def page_of(client: Any, workload: Workload) -> str:
    return str(client.get(reverse("workloads:detail", args=[workload.pk])).content.decode())


def test_a_rack_too_small_is_one_truth_in_list_header_panel_and_condition(
    waits: Any,
    admin: Any,
    client_of: Any,
) -> None:
    workload = waits(graph(replicas=4, required=RACK), nodes=odd_racks(), pods=4)
    told = told_to(admin, workload)
    assert codes(told) == ["LevelTooSmall"]
    numbers = told["causes"][0]["numbers"]
    assert (numbers["asked"], numbers["largest"], numbers["short"]) == (32, 24, 8)
    assert (told["verdict"], told["causes"][0]["permanent"]) == (SENTENCE, True)
    assert (reason_short(workload.waiting_reason), reason_sentence(workload.waiting_reason)) == (SHORT, SENTENCE)
    assert workload.waiting_reason["words"], "the scheduler's own words stay"
    client = client_of(admin)
    assert client.get(reverse("workloads:detail", args=[workload.pk])).context["why"] == SHORT
    assert SHORT in client.get(reverse("workloads:list")).content.decode()


def test_with_several_causes_none_is_said_to_be_enough(waits: Any, admin: Any) -> None:
    nodes = [{**each, "spec": {"unschedulable": True}} for each in four_nodes()]
    queues = {"research": {}, "assistant": {"parent": "research", "limit": 8}}
    both = told_to(admin, waits(graph(), nodes=nodes, queues=queues))
    assert codes(both) == ["OverLimit", "NodesCordoned"]
    assert "4, with 32 GPUs. With them and the other causes gone it would run." in both["causes"][1]["text"]


def test_a_single_cause_is_said_to_be_enough(waits: Any, admin: Any) -> None:
    nodes = [{**each, "spec": {"unschedulable": True}} for each in four_nodes()]
    workload = waits(graph(), nodes=nodes)
    (cause,) = told_to(admin, workload)["causes"]
    assert "4, with 32 GPUs. With them it would run." in cause["text"]
    assert reason_sentence(workload.waiting_reason) == cause["text"]
    assert reason_short(workload.waiting_reason) == cause["title"]


def move_pool(workload: Workload, levels: list[str]) -> Workload:
    pool = workload.node_pool
    pool.network_topology = NetworkTopology.objects.create(
        cluster=workload.cluster, name="zones", levels=levels, phase="Ready"
    )
    pool.save(update_fields=["network_topology"])
    return observe(workload)


@pytest.mark.parametrize("nodes", [8, 70])
def test_a_pool_that_got_another_topology_does_not_change_what_is_asked_for(
    waits: Any,
    admin: Any,
    client_of: Any,
    nodes: int,
) -> None:
    """Racks of 16."""
    racks = [node(f"n{index}", f"z1.r{index // 2}") for index in range(nodes)]
    workload = move_pool(waits(graph(replicas=3, required=RACK), nodes=racks, pods=3), [ZONE])
    assert reason_short(workload.waiting_reason) == "24 in one rack; largest is 16"
    assert "8 short. It can never start" in reason_sentence(workload.waiting_reason)
    assert (workload.placement["state"], is_permanent(workload.waiting_reason)) == ("waits", True)
    page = page_of(client_of(admin), workload)
    assert "It asks for one rack of topology topology-1; the node pool now has zones." in page
    assert "has no network topology" not in page


def test_a_topology_that_muster_has_no_more_is_named(waits: Any, admin: Any, client_of: Any) -> None:
    racks = [node(f"n{index}", f"z1.r{index // 2}") for index in range(70)]
    workload = move_pool(waits(graph(replicas=3, required=RACK), nodes=racks, pods=3), [ZONE])
    NetworkTopology.objects.filter(name="topology-1").delete()
    workload = observe(workload)
    assert reason_short(workload.waiting_reason) == "24 in one rack; largest is 16"
    assert workload.placement["state"] == "waits"
    assert "It asks for one rack of topology topology-1; the node pool now has zones." in page_of(
        client_of(admin), workload
    )


def test_whose_pods_come_first_is_not_in_the_row_that_all_may_see(waits: Any, admin: Any) -> None:
    held = [held_by_others("n0", 8), held_by_others("n2", 8)]
    workload = waits(graph(required=RACK), others=held)
    assert codes(told_to(admin, workload)) == ["LevelFull"]
    assert reason_short(workload.waiting_reason) == "16 in one rack; 8 are free"
    assert "elsewhere" not in str(workload.waiting_reason["arguments"])


def test_what_is_only_being_set_up_is_not_said_to_be_without_remedy() -> None:
    cause = {"title": "Pods are being grouped", "text": "", "permanent": False}
    told = {"causes": [cause], "verdict": "", "settling": True}
    young = render_to_string("workloads/_why.html", {"told": told})
    old = render_to_string("workloads/_why.html", {"told": {**told, "settling": False}})
    assert "No change was found" not in young
    assert "No change was found" in old


def test_an_end_that_makes_room_starts_it_only_where_nothing_else_holds_it() -> None:
    full = {"title": "Node pool full", "text": "", "permanent": False, "startsWhen": ["llama", "qwen"]}
    too_small = {"title": "Topology level too small", "text": "", "permanent": True}
    alone = render_to_string("workloads/_why.html", {"told": {"causes": [full], "verdict": ""}})
    second = render_to_string("workloads/_why.html", {"told": {"causes": [too_small, full], "verdict": ""}})
    assert "Expected to start after the end of llama, or qwen." in alone
    assert "Without the other causes it would start after the end of llama, or qwen." in second
    assert "Expected to start" not in second
