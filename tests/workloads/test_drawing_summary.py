"""A large pool in few boxes: which level, whose GPUs, in which proportion; by hand."""

from decimal import Decimal

from topology.suggestions import NodeFacts
from workloads.drawing_summary import MAX_DOMAINS, draw_summary

LEVELS = ("zone", "rack", "kubernetes.io/hostname")


def pool(zones: int, racks: int, nodes: int, **more: object) -> list[NodeFacts]:
    """Nodes of 8 GPUs, of which others hold 2 each."""
    return [
        NodeFacts(
            f"{z}-{r}-{n}",
            {"zone": f"z{z}", "rack": f"z{z}-r{r}", "kubernetes.io/hostname": f"{z}-{r}-{n}"},
            gpus=8,
            allocated=Decimal(2),
            **more,
        )
        for z in range(zones)
        for r in range(racks)
        for n in range(nodes)
    ]


def test_racks_are_drawn_where_nodes_would_be_too_many_and_the_legend_counts_gpus() -> None:
    found = draw_summary(LEVELS, pool(2, 4, 32), {"0-0-0": {"decode": Decimal(4)}}, ["prefill", "decode"])
    assert found is not None
    assert found.legend == (("1", "prefill", 0), ("2", "decode", 4), ("track", "track", 512), ("free", "free", 1532))


def test_zones_are_drawn_where_racks_would_be_too_many() -> None:
    facts = pool(2, MAX_DOMAINS, 1)
    found = draw_summary(LEVELS, facts, {}, [])
    assert found is not None
    assert len(found.tree.levels) == 1


def test_nothing_is_drawn_where_every_level_has_too_many_domains() -> None:
    assert draw_summary(LEVELS, pool(MAX_DOMAINS + 1, 1, 1), {}, []) is None


def test_what_takes_no_pods_is_no_free_room() -> None:
    found = draw_summary(LEVELS, pool(1, 1, 100, usable=False), {}, [])
    assert found is not None
    assert found.legend == (("track", "track", 200), ("cordoned", "cordoned", 600))
