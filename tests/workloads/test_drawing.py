"""A pool with a workload on it: which level is drawn, whose GPUs, in which proportion; by hand."""

from collections import Counter
from decimal import Decimal

from topology.suggestions import NodeFacts
from workloads.drawing import MOST_DOMAINS, MOST_NODES, draw, own_gpus, without
from workloads.progress import PodFacts

LEVELS = ("zone", "rack", "kubernetes.io/hostname")


def pool(zones: int, racks: int, nodes: int, held: int = 2, **more: object) -> list[NodeFacts]:
    """Nodes of 8 GPUs, of which others hold 2 each."""
    return [
        NodeFacts(
            f"{z}-{r}-{n}",
            {"zone": f"z{z}", "rack": f"z{z}-r{r}", "kubernetes.io/hostname": f"{z}-{r}-{n}"},
            gpus=8,
            allocated=Decimal(held),
            **more,
        )
        for z in range(zones)
        for r in range(racks)
        for n in range(nodes)
    ]


def pod(node: str, role: str, gpus: int, phase: str = "Running") -> PodFacts:
    return PodFacts(f"{role}-{node}", role, phase, True, node, Decimal(gpus))


def test_a_small_pool_shows_each_gpu_of_each_node() -> None:
    found = draw(LEVELS, pool(1, 1, 2, unhealthy=1), {"0-0-0": {"Decode": Decimal(4)}}, ["prefill", "decode"])

    assert found is not None
    cells = {node.domain.name: Counter(cell.state for cell in node.cells) for node in found.tree.nodes}
    assert cells["0-0-0"] == {"2": 4, "track": 2, "unhealthy": 1, "free": 1}
    assert cells["0-0-1"] == {"track": 2, "unhealthy": 1, "free": 5}
    assert found.legend == (
        ("1", "prefill", 0),
        ("2", "decode", 4),
        ("track", "track", 4),
        ("free", "free", 6),
        ("unhealthy", "unhealthy", 2),
    )


def test_who_has_to_go_for_it_is_not_drawn_beside_it() -> None:
    """8 GPUs for its own pods where others hold 8: a node has no sixteen."""
    found = draw(LEVELS, pool(1, 1, 1, held=8), {"0-0-0": {"decode": Decimal(8)}}, ["decode"])

    assert found is not None
    assert found.legend == (("1", "decode", 8),)


def test_what_the_pods_hold_is_taken_from_what_is_held() -> None:
    pods = [pod("0-0-0", "decode", 2), pod("0-0-0", "decode", 1), pod("0-0-1", "prefill", 1), pod("", "decode", 8)]
    own = own_gpus([*pods, pod("0-0-1", "decode", 8, phase="Succeeded")])

    assert own == {"0-0-0": {"decode": 3}, "0-0-1": {"prefill": 1}}
    assert [node.allocated for node in without(pool(1, 1, 3, held=4), own)] == [1, 3, 4]


def test_domains_to_frame_are_framed() -> None:
    found = draw(LEVELS, pool(2, 2, 2), {}, [], ["z1-r0"])

    assert found is not None
    assert [box.domain.name for box in found.tree.boxes if box.domain.chosen] == ["z1-r0"]


def test_racks_are_drawn_where_nodes_would_be_too_many_and_the_legend_counts_gpus() -> None:
    found = draw(LEVELS, pool(2, 4, 32), {"0-0-0": {"decode": Decimal(4)}}, ["prefill", "decode"], ["z1"])

    assert found is not None
    assert found.legend == (("1", "prefill", 0), ("2", "decode", 4), ("track", "track", 512), ("free", "free", 1532))
    assert [node.domain.name for node in found.tree.nodes][:2] == ["z0-r0", "z0-r1"]
    assert [box.domain.name for box in found.tree.boxes if box.domain.chosen] == ["z1"]


def test_zones_are_drawn_where_racks_would_be_too_many() -> None:
    found = draw(LEVELS, pool(2, MOST_DOMAINS, 1), {}, [])

    assert found is not None
    assert len(found.tree.levels) == 1


def test_nothing_is_drawn_where_every_level_has_too_many_domains() -> None:
    assert draw(LEVELS, pool(MOST_NODES + 1, 1, 1), {}, []) is None


def test_what_takes_no_pods_is_no_free_room() -> None:
    found = draw(LEVELS, pool(1, 1, 100, usable=False), {}, [])

    assert found is not None
    assert found.legend == (("track", "track", 200), ("cordoned", "cordoned", 600))
