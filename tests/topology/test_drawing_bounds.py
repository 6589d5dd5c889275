"""How much of a large tree a page draws: what its elements cost is bounded, and nothing is drawn as nothing."""

from decimal import Decimal

from topology.drawing import MAX_BOXES, draw
from topology.suggestions import NodeFacts
from topology.tree import Tree, domain_tree

BLOCK, RACK, HOST = "example.org/block", "example.org/rack", "kubernetes.io/hostname"


def fleet(racks: int, levels: tuple[str, ...], per_block: int = 10) -> Tree:
    """So many racks of two nodes of 8 GPUs, ten to a block."""
    nodes = []
    for number in range(2 * racks):
        rack = number // 2
        labels = {BLOCK: f"b{rack // per_block}", RACK: f"r{rack}", HOST: f"n{number}"}
        nodes.append(
            NodeFacts(name=f"n{number}", labels=labels, gpus=8, allocated=Decimal(0), unhealthy=0, usable=True)
        )
    return domain_tree(levels, nodes)


def test_levels_are_drawn_while_their_boxes_together_are_few():
    few, many = (draw(fleet(racks, (BLOCK, RACK, HOST))) for racks in (60, 80))

    assert (len(few.tree.boxes), len(few.rows)) == (66, 66)
    assert (len(many.tree.boxes), len(many.rows)) == (8, 8)
    assert len(few.rows) <= MAX_BOXES


def test_a_level_that_is_the_first_is_drawn_as_long_as_its_domains_can_be_told_apart():
    flat = draw(fleet(100, (RACK, HOST)))

    assert len(flat.tree.boxes) == 100


def test_zooming_shows_the_levels_below():
    zoomed = draw(fleet(80, (BLOCK, RACK, HOST)), ["b3"])

    assert [domain.value for domain in zoomed.rows] == [f"r{number}" for number in range(30, 40)]
