"""Names that people give: which can be read, and which are the same to a reader."""

import pytest

from core.readable import READABLE, READABLE_LINES, is_readable, same_name, unreadable


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\x07", "Character 2 is U+0007,"),
        ("a\nb", "Character 2 is U+000A,"),
        ("ab\u202ecd", "Character 3 is U+202E RIGHT-TO-LEFT OVERRIDE,"),
        ("\u2069", "Character 1 is U+2069 POP DIRECTIONAL ISOLATE,"),
        ("a\u200bb", "Character 2 is U+200B ZERO WIDTH SPACE,"),
        ("a\ufeff", "Character 2 is U+FEFF ZERO WIDTH NO-BREAK SPACE,"),
        ("ab\u200d", "Character 3 is U+200D ZERO WIDTH JOINER,"),
        ("a\u200d\u200db", "Character 2 is U+200D ZERO WIDTH JOINER,"),
        ("a\U000e0041", "Character 2 is U+E0041 TAG LATIN CAPITAL LETTER A,"),
    ],
)
def test_the_first_character_that_may_not_be_is_named_with_its_field(text, said):
    (fault,) = unreadable("description", text)

    assert fault.field == "description"
    assert fault.message.startswith(said)


def test_line_ends_and_tabs_may_be_in_texts_of_several_lines_only():
    assert unreadable("description", "a\r\n\tb", several_lines=True) == []
    assert [fault.message[:20] for fault in unreadable("name", "a\tb")] == ["Character 2 is U+000"]
    assert [fault.message[:21] for fault in unreadable("name", "a\x0bb", several_lines=True)] == [
        "Character 2 is U+000B"
    ]


@pytest.mark.parametrize("text", ["", "❤\ufe0f\u200d🔥", "می\u200cخواهم", "क्\u200dष", "a  b"])
def test_text_of_every_script_passes(text):
    assert unreadable("description", text) == []


CHARACTERS = [
    chr(code) for code in (*range(0xD800), *range(0xE000, 0x10000), *range(0x1F600, 0x1F650), *range(0xE0000, 0xE0100))
]
JOINED = ["a\u200cb", "\u200ca", "a\u200c", "a \u200cb", "a\u200c b", "می\u200cخواهم", "👩\u200d💻", "a\u200c\u200db"]


@pytest.mark.parametrize("several_lines", [False, True])
def test_the_pattern_of_the_api_s_document_says_the_same(several_lines):
    pattern = READABLE_LINES if several_lines else READABLE
    texts = (text for one in CHARACTERS for text in (one, f"a{one}b") if "\u200c" not in text and "\u200d" not in text)
    differing = [
        ascii(text)
        for text in (*texts, *JOINED)
        if bool(pattern.fullmatch(text)) is bool(unreadable("", text, several_lines=several_lines))
    ]
    assert differing == []
