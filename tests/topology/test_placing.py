"""Fragmentation of a tree, pods drawn on it and how far they are apart, calculated by hand."""

import time
from decimal import Decimal as D
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster, Node, Pod
from organizations.models import Department, Project
from topology.drawing import Chosen, draw
from topology.fragmentation import free_gpus, largest_gangs
from topology.models import NetworkTopology, NodePool
from topology.placed import Distance, PlacedPod, place
from topology.suggestions import NodeFacts
from topology.tree import Tree, domain_tree

LEVELS = ("zone", "rack")


def node(name: str, where: str, *, held: float = 0, gpus: int = 8, **more: Any) -> NodeFacts:
    """A node; `where` is `zone.rack`."""
    zone, rack = where.split(".")
    return NodeFacts(name, {"zone": zone, "rack": rack}, gpus, D(str(held)), **more)


def tree(*nodes: NodeFacts) -> Tree:
    return domain_tree(LEVELS, nodes)


def pods_by(found: list[Any], level: int) -> dict[int, tuple[int, tuple[str, ...]]]:
    (row,) = [each for each in found if each.level == level]
    return {fit.size: (fit.pods, fit.path) for fit in row.fits}


def test_a_pod_fits_whole_on_one_node_and_a_gang_in_one_domain() -> None:
    """r0: 3 + 3 free, r1: 4 free, z1.r2: 8 free."""
    built = tree(node("a", "z0.r0", held=5), node("b", "z0.r0", held=5), node("c", "z0.r1", held=4), node("d", "z1.r2"))

    found = largest_gangs(built)

    assert [each.level for each in found] == [-1, 0, 1]
    assert pods_by(found, -1) == {1: (18, ()), 2: (8, ()), 4: (3, ()), 8: (1, ())}
    assert pods_by(found, 0) == {1: (10, ("z0",)), 2: (4, ("z0",)), 4: (2, ("z1",)), 8: (1, ("z1",))}
    assert pods_by(found, 1)[2] == (4, ("z1", "r2"))
    assert pods_by(found, 1)[1] == (8, ("z1", "r2"))


def test_cordoned_unhealthy_held_and_outside_gpus_take_no_gang() -> None:
    assert free_gpus(node("a", "z.r", usable=False)) == 0
    assert free_gpus(node("a", "z.r", unhealthy=3)) == 5
    assert free_gpus(node("a", "z.r", held=7.5)) == 0
    assert free_gpus(node("a", "z.r", held=9)) == 0
    outside = NodeFacts("x", {"zone": "z"}, 8)
    assert pods_by(largest_gangs(domain_tree(LEVELS, [outside])), -1)[1] == (0, ())


def test_a_gang_stays_in_one_pool() -> None:
    built = tree(node("a", "z.r", pool="one"), node("b", "z.r", pool="two", gpus=16))

    (whole, *_more) = largest_gangs(built)

    assert [(fit.size, fit.pods, fit.pool) for fit in whole.fits][:2] == [(1, 16, "two"), (2, 8, "two")]


def pod(name: str, part: str, where: str, gpus: float = 4) -> PlacedPod:
    return PlacedPod(name, part, where, D(str(gpus)))


FOUR = tree(node("a", "z0.r0"), node("b", "z0.r0"), node("c", "z0.r1"), node("d", "z1.r2"))


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ((("prefill", "a"), ("decode", "a")), Distance("decode", "prefill", 2, 2)),
        ((("prefill", "a"), ("decode", "b")), Distance("decode", "prefill", 1, 1)),
        ((("prefill", "a"), ("decode", "c")), Distance("decode", "prefill", 0, 0)),
        ((("prefill", "a"), ("decode", "d")), Distance("decode", "prefill", -1, -1)),
        ((("prefill", "a"), ("decode", "a"), ("decode", "d")), Distance("decode", "prefill", 2, -1)),
    ],
)
def test_the_distance_of_two_parts_is_the_narrowest_level_that_holds_both(
    places: tuple[tuple[str, str], ...], expected: Distance
) -> None:
    found = place(FOUR, [pod(f"p{index}", part, where) for index, (part, where) in enumerate(places)])

    assert expected in found.distances


@pytest.mark.parametrize(
    ("nodes", "expected"), [(("a",), None), (("a", "a"), (2, 2)), (("a", "b"), (1, 1)), (("a", "a", "c"), (2, 0))]
)
def test_the_pods_of_one_part_have_a_distance_too(nodes: tuple[str, ...], expected: tuple[int, int] | None) -> None:
    found = place(FOUR, [pod(f"p{index}", "worker", where) for index, where in enumerate(nodes)])

    assert [(each.nearest, each.farthest) for each in found.distances] == ([expected] if expected else [])


def test_pods_outside_the_tree_are_named_and_measure_nothing() -> None:
    found = place(FOUR, [pod("p", "worker", "a"), pod("q", "worker", "elsewhere")])

    assert (found.outside, found.distances, found.counts) == (("elsewhere",), (), {"worker": 2})


def test_chosen_pods_are_drawn_in_their_colours_and_all_else_is_grey() -> None:
    built = tree(node("a", "z0.r0", held=6), node("b", "z0.r1", held=2))
    chosen = Chosen("team/graph", place(built, [pod("p", "prefill", "a", 2), pod("d", "decode", "a", 1)]))

    drawn = draw(built, chosen=chosen)

    states = {box.domain.name: box.domain.gpus for box in drawn.tree.nodes}
    assert states["a"] == ("1", "2", "2", "track", "track", "track", "free", "free")
    assert states["b"] == ("track",) * 2 + ("free",) * 6
    assert [(entry["label"], entry["count"]) for entry in drawn.legend][:3] == [
        ("decode", 1), ("prefill", 2), ("Other work", 5),
    ]  # fmt: skip
    assert drawn.tree.boxes[0].domain.url == "?at=z0&pods=team%2Fgraph"


def test_the_table_has_every_box_that_is_drawn() -> None:
    drawn = draw(FOUR)

    assert [row.path for row in drawn.rows] == [
        ("z0",), ("z0", "r0"), ("z0", "r1"), ("z1",), ("z1", "r2"),
    ]  # fmt: skip
    assert len(drawn.rows) == len(drawn.tree.boxes)


def test_five_thousand_nodes_are_counted_in_a_fraction_of_a_second_and_drawn_with_few_elements() -> None:
    nodes = [node(f"n{n:04d}", f"z{n // 500}.r{n // 16}", held=n % 9) for n in range(5000)]
    built = tree(*nodes)

    start = time.process_time()
    largest_gangs(built)
    drawn = draw(built)

    assert time.process_time() - start < 2
    assert len(drawn.tree.boxes) + len(drawn.tree.nodes) <= 400
    assert len(drawn.rows) == len(drawn.tree.boxes)


@pytest.fixture
def placed_cluster(cluster: Cluster, default_pool: NodePool, project: Project) -> NetworkTopology:
    for name, rack in (("a", "r0"), ("b", "r1")):
        Node.objects.create(
            cluster=cluster, uid=name, name=name, resource_version="1", created_at=timezone.now(), ready="True",
            gpu_capacity=8, gpu_allocatable=8, labels={"zone": "z0", "rack": rack},
        )  # fmt: skip
        Pod.objects.create(
            cluster=cluster, uid=f"p-{name}", name=f"p-{name}", namespace=project.namespace, resource_version="1",
            created_at=timezone.now(), phase="Running", node_name=name, gpus=4, graph="chat",
            component="prefill" if name == "a" else "decode",
        )  # fmt: skip
    links = [
        {"latencyMicroseconds": 200, "bandwidthGigabytesPerSecond": 100, "assumed": True},
        {"latencyMicroseconds": 50, "bandwidthGigabytesPerSecond": 200, "assumed": True},
    ]
    return NetworkTopology.objects.create(cluster=cluster, name="dc", levels=list(LEVELS), links=links)


def test_the_page_draws_a_chosen_workload_with_its_distances(
    admin: User, placed_cluster: NetworkTopology, client_of: Any
) -> None:
    response = client_of(admin).get(f"/network-topologies/{placed_cluster.pk}/?pods=runai-assistant/chat")

    (row,) = response.context["distances"]
    assert (row["one"], row["other"], row["farthest"]["name"]) == ("decode", "prefill", "zone")
    text = response.content.decode()
    assert "200 µs" in text
    assert 'class="f-1"' in text
    assert [cell["pods"] for cell in response.context["fragments"][-1]["cells"]] == [4, 2, 1, 0]


def test_pods_of_projects_out_of_scope_cannot_be_chosen(
    researcher: User, cluster: Cluster, department: Department, placed_cluster: NetworkTopology, client_of: Any
) -> None:
    Project.objects.create(cluster=cluster, department=department, name="other", namespace="runai-other")
    Pod.objects.update(namespace="runai-other")

    response = client_of(researcher).get(f"/network-topologies/{placed_cluster.pk}/?pods=runai-other/chat")

    assert response.context["chosen"] is None
    assert response.context["choices"] == []
    assert "prefill" not in response.content.decode()
