"""Racks of 24 GPUs, a cordoned node and one without rack label: what a gang of 32 in one rack is told."""

import pytest

from scheduling.diagnosis import diagnose
from scheduling.diagnosis_scene import Scene
from scheduling.diagnosis_structs import Code, Diagnosis
from scheduling.structs import Node
from tests.scheduling.build import Cluster, node, within

CORDONED, UNLABELLED, UNHEALTHY = "gpu-b1-3", "gpu-b2-3", "gpu-a3-2"
RACKS = ("a1", "a2", "a3", "b1", "b2")


def machine(rack: str, number: int) -> Node:
    name = f"gpu-{rack}-{number}"
    if name == UNLABELLED:
        return node(name, 8, labels={"zone": "zone-b"})
    place = f"zone-{rack[0]}.rack-{rack}"
    return node(name, 7 if name == UNHEALTHY else 8, place, unschedulable=name == CORDONED)


def fleet() -> list[Node]:
    """15 nodes: 120 GPUs, 119 of them in order, 111 schedulable, 103 with all labels."""
    return [machine(rack, number) for rack in RACKS for number in (1, 2, 3)]


def told(cluster: Cluster) -> Diagnosis:
    return diagnose(Scene(cluster.snapshot(), "default/g", unhealthy={UNHEALTHY: 1.0}))


@pytest.mark.parametrize("gpus", [(0, 8, 8, 8, 8), (0, *[4] * 8)])
def test_no_rack_is_invented_for_the_node_without_a_label(gpus: tuple[int, ...]) -> None:
    (cause,) = told(Cluster(*fleet()).gang("g", *gpus, topology=within("rack", "rack"))).causes
    assert (cause.code, cause.permanent) == (Code.LEVEL_TOO_SMALL, True)
    assert (cause.numbers["asked"], cause.numbers["largest"], cause.numbers["short"]) == (32, 24, 8)


def test_the_gpus_outside_the_topology_are_not_counted_as_free_for_it() -> None:
    """Held: all but rack a2 (24) and 5 of gpu-a3-3; the 8 of the node without label take no pod of it."""
    cluster = Cluster(*fleet())
    for each in fleet():
        amount = 3 if each.name == "gpu-a3-3" else each.allocatable.gpu
        if "-a2-" not in each.name and each.name not in (CORDONED, UNLABELLED):
            cluster.gang(f"h-{each.name}", amount, on=(each.name,), preemptible=False)
    small, full = told(cluster.gang("g", 0, *[4] * 8, topology=within("rack", "rack"))).causes
    assert (small.code, small.numbers["short"]) == (Code.LEVEL_TOO_SMALL, 8)
    assert (full.code, full.permanent) == (Code.POOL_FULL, False)
    assert (full.numbers["free"], full.numbers["usable"], full.numbers["short"]) == (29, 103, 3)


def test_the_node_without_a_label_is_a_cause_where_it_helps_wherever_it_is() -> None:
    """All else is held: 8 GPUs in one rack are there as soon as it has any."""
    cluster = Cluster(*fleet())
    for each in fleet():
        if each.name != UNLABELLED:
            cluster.gang(f"h-{each.name}", each.allocatable.gpu, on=(each.name,), preemptible=False)
    (cause,) = told(cluster.gang("g", 8, topology=within("rack", "rack"))).causes
    assert (cause.code, [note.name for note in cause.nodes]) == (Code.NODES_UNLABELLED, [UNLABELLED])


def test_it_is_none_where_it_helps_in_one_rack_only() -> None:
    """16 in one rack: rack a1 has 8 free, so the node would have to be there, and it says that it is in zone b."""
    cluster = Cluster(*fleet())
    for each in fleet():
        if each.name not in (UNLABELLED, "gpu-a1-1"):
            cluster.gang(f"h-{each.name}", each.allocatable.gpu, on=(each.name,), preemptible=False)
    (cause,) = told(cluster.gang("g", 8, 8, topology=within("rack", "rack"))).causes
    assert (cause.code, cause.numbers["asked"], cause.numbers["free"]) == (Code.LEVEL_FULL, 16, 8)


def test_a_node_that_can_be_in_one_rack_only_is_taken_to_be_there() -> None:
    nodes = [node("n0", 8, "z0.r0"), node("n1", 8, labels={"zone": "z0"}), node("n2", 8, "z1.r1")]
    (cause,) = told(Cluster(*nodes).gang("g", 8, 8, topology=within("rack", "rack"))).causes
    assert (cause.code, [note.name for note in cause.nodes]) == (Code.NODES_UNLABELLED, ["n1"])
