from django.http import QueryDict

from tests.topology.fleets import HOST, RACK, ZONE, drawn_fleet
from topology.draft import Draft, read_draft

REGION = "topology.kubernetes.io/region"


def draft(query: str) -> Draft:
    return read_draft(QueryDict(query), drawn_fleet(), ["node-pool"])


def form(levels: list[str], was: list[str], ticked: list[str], **more: str) -> Draft:
    fields = QueryDict(mutable=True)
    fields["order_given"] = "1"
    fields.setlist("level", levels)
    fields.setlist("was", was)
    fields.setlist("key", ticked)
    fields.setlist("shown", [REGION, ZONE, RACK, HOST])
    fields.update(more)
    return read_draft(fields, drawn_fleet(), [])


def test_a_new_form_holds_the_proposal() -> None:
    assert draft("").levels == (ZONE, RACK, HOST)
    assert draft("").tree.counts == (2, 6, 17)


def test_order_ticks_and_removals_are_taken_from_the_form() -> None:
    before = [ZONE, RACK, HOST]

    assert form([RACK, ZONE, HOST], before, before).levels == (RACK, ZONE, HOST)
    assert form(before, before, [ZONE, HOST]).levels == (ZONE, HOST)
    assert form([ZONE, HOST], before, before).levels == (ZONE, HOST)
    assert form([ZONE, HOST], [ZONE, HOST], before).levels == (ZONE, RACK, HOST)
    assert form(before, before, [REGION, *before]).levels == (ZONE, RACK, REGION, HOST)
    assert form([], before, []).levels == ()


def test_j2_a_near_to_far_paste_is_turned_round_and_can_be_undone() -> None:
    turned = draft("use_paste=1&paste=rack → zone")
    undone = draft("use_paste=1&as_pasted=1&paste=rack → zone")
    right = draft("use_paste=1&paste=zone → rack")

    assert (turned.levels, turned.pasted) == ((ZONE, RACK), (RACK, ZONE))
    assert (undone.levels, undone.pasted) == ((RACK, ZONE), ())
    assert (right.levels, right.pasted) == ((ZONE, RACK), ())


def test_a_key_that_is_said_twice_stands_once_and_is_named() -> None:
    asked = form([ZONE, RACK, ZONE, "", ""], [], [ZONE, RACK])
    turned = draft("use_paste=1&paste=rack → zone → rack")

    assert (asked.levels[:2], asked.doubled) == ((ZONE, RACK), (ZONE,))
    assert (turned.levels, turned.doubled) == ((ZONE, RACK), (RACK,))
    assert draft("").doubled == draft("use_paste=1&paste=zone → rack").doubled == ()


def test_a_paste_that_nobody_asked_to_use_changes_nothing() -> None:
    assert draft("paste=rack").levels == (ZONE, RACK, HOST)


def test_keys_that_no_node_has_can_be_typed() -> None:
    assert draft("use_paste=1&paste=example.com/spine").levels == ("example.com/spine",)


def test_blanks_around_a_name_are_no_part_of_it() -> None:
    fields = QueryDict("name=%20rack-row%20&order_given=1&level=a")

    assert read_draft(fields, (), ()).name == "rack-row"
