"""Names that people give: which can be read, and which are the same to a reader."""

import pytest

from core.readable import is_readable, same_name


@pytest.mark.parametrize(
    "name", ["Ops", "运维", "عمليات", "👩\u200d💻", "می\u200cخواهم", "e\u0301", "<b>x</b>", "=1+1", "a b", "٣"]
)
def test_names_of_every_script_can_be_read(name):
    assert is_readable(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "\u200b",
        "\u200d\ufe0f",
        "\u3164\u00ad"[1:],
        "x\u202espO",
        "\u2066x",
        "a\nb",
        "a\x00",
        "a\u2028b",
        "\ud83d",
    ],
)
def test_blank_broken_and_turned_names_cannot(name):
    assert not is_readable(name)


@pytest.mark.parametrize("name", ["OPS", " ops ", "Ｏｐｓ", "oPs"])
def test_case_width_and_space_around_make_no_other_name(name):
    assert same_name(name) == same_name("Ops")
    assert same_name("e\u0301") == same_name("é")
    assert same_name("ops 2") != same_name("ops")
