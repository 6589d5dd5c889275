"""Reading and editing YAML that comes from outside."""

import pytest

from core.errors import InvalidInput
from tests.workloads.samples import DISAGG
from workloads import document


def fault_of(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        document.load(text)
    return caught.value.message


def test_dates_stay_text_and_booleans_become_booleans() -> None:
    assert document.load("a: 2026-11-29\nb: true") == {"a": "2026-11-29", "b": True}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "0 documents"),
        ("a: 1\n---\nb: 2", "2 documents"),
        ("- 1", "not a mapping"),
        ("a: 1\na: 2", "'a' stands twice"),
        ("a: [1", "not YAML"),
        ("a: .nan", "not a number"),
        ("a: !!python/object/apply:os.system [ls]", "not YAML"),
        ("a: !!binary aGk=", "type bytes"),
        ("1: 2", "the key 1 is not text"),
        ("a: &x [b]\nc: [" + "*x," * 60 + "]", "more than 50 aliases"),
        ("[" * 60 + "]" * 60, "deeper than 40"),
        ("a: '" + "x" * 300_000 + "'", "characters"),
    ],
)
def test_what_is_refused_says_why(text: str, part: str) -> None:
    assert part in fault_of(text)


def test_aliases_that_expand_to_many_values_are_refused() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [*l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}]" for i in range(1, 8)]

    assert "more than 5000 values" in fault_of("\n".join(lines))


def test_an_edit_keeps_comments_order_and_quotes() -> None:
    edited = document.edit(DISAGG, {("spec", "services", "VllmDecodeWorker", "replicas"): 3})

    assert edited == DISAGG.replace("replicas: 2  # as many", "replicas: 3  # as many")


def test_an_edit_makes_missing_mappings_and_removes_keys() -> None:
    edited = document.edit("a: {b: 1, c: 2}\n", {("a", "b"): None, ("d", "e"): "f", ("g", "h"): None})

    assert document.load(edited) == {"a": {"c": 2}, "d": {"e": "f"}}


@pytest.mark.parametrize("text", ["? [a]\n: b", "? {a: b}\n: c", "spec:\n  ? [a, b]\n  : c"])
def test_a_key_that_is_a_collection_is_refused(text: str) -> None:
    assert "a key is not text" in fault_of(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\na: 2", 2),
        ("a: 1\nb:\n  ? [x]\n  : y", 3),
        ("a: 1\nb: [1", 2),
        ("a: 1\n---\nb: 2", 3),
        ("a: 1\nb:\n  - c: .nan", 3),
        ("a:\n  1: 2", 1),
        ('a: x\nb: "\\0"', 2),
        ("a: b\nc: !!binary aGk=", 2),
        ("\n" * 3 + "[" * 60 + "]" * 60, 4),
        ("a: &x [b]\nc: [" + "*x," * 60 + "]", 2),
        ("a: 1\n" + "b" * 300_000, 2),
        ("- 1", 1),
    ],
)
def test_what_cannot_be_read_names_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        document.load(text)
    assert [fault.line for fault in caught.value.faults] == [line]


def test_times_stay_text_as_kubernetes_reads_them() -> None:
    """Trap 22: YAML 1.1 would make `1:30` the number 90."""
    loaded = document.load("a: 1:30\nb: 190:20:30.15\nc: 12\nd: 1.5\ne: 0x1F")
    assert loaded == {"a": "1:30", "b": "190:20:30.15", "c": 12, "d": 1.5, "e": 31}


def test_a_mapping_that_is_merged_before_it_is_read_may_still_override_what_it_merges() -> None:
    text = "deep:\n  deeper:\n    one: &one\n      <<: {key: 1, other: 3}\n      key: 2\nshallow:\n  <<: *one\n"

    merged = {"key": 2, "other": 3}
    assert document.load(text) == {"deep": {"deeper": {"one": merged}}, "shallow": merged}


def test_a_character_that_json_escapes_as_two_halves_is_one() -> None:
    assert document.load('{"a": "\\uD83D\\uDE00"}') == {"a": "\U0001f600"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('a: "\\ud800"', "half of a surrogate pair"),
        ('"\\udc00": 1', "half of a surrogate pair"),
        ("a: 9223372036854775808", "a number that Kubernetes cannot hold"),
        ("a: -9223372036854775809", "a number that Kubernetes cannot hold"),
        ("a: 0x" + "f" * 5000, "a number that Kubernetes cannot hold"),
    ],
)
def test_what_neither_json_nor_the_database_can_hold_is_refused(text: str, part: str) -> None:
    assert part in fault_of(text)


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        ('a:\n  b: "x\\0"', "a.b", 2),
        ('a:\n- c: 1\n- "b\\0": 1', "a[1].b\\x00", 3),
        ("a:\n  b: 1\n  c: x\x00y\nd: 1", "a.c", 3),
        ("a:\n- b: 1\n- c: \x00\n", "a[1].c", 3),
        ("\x00", "manifest", 1),
        ("a: 1\nb: {\x00", "manifest", 2),
        ("a:\n  b: " + "9" * 4301, "a.b", 2),
        ("a:\n  b: -0b" + "1" * 20_000, "a.b", 2),
        ("a:\n  b: " + "9" * 4301 + ".5", "a.b", 2),
        ("a:\n  ? " + "9" * 4301 + "\n  : x", "a", 1),
        ("? 0x" + "f" * 9000 + "\n: x", "manifest", 1),
    ],
)
def test_a_value_that_cannot_be_kept_is_refused_by_its_field_in_our_words(text: str, field: str, line: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        document.load(text)
    (fault,) = caught.value.faults
    assert (fault.field, fault.line, "sys." in fault.message) == (field, line, False)
    assert len(fault.message) < 80


def test_the_ends_of_kubernetes_whole_numbers_are_numbers() -> None:
    assert document.load("a: 9223372036854775807\nb: -9223372036854775808") == {"a": 2**63 - 1, "b": -(2**63)}


@pytest.mark.parametrize("key", ["k", "key"])
def test_what_is_said_overrides_what_is_merged_and_the_first_merge_wins(key: str) -> None:
    """YAML 1.1's merge type: keys are compared as text, however short they are."""
    text = (
        f"one: &one {{{key}: 1, a: 1}}\n"
        f"two: &two\n  <<: *one\n  {key}: 2\n"
        "three:\n  <<: *two\n"
        "four:\n  <<: [*two, *one]\n"
    )  # fmt: skip

    loaded = document.load(text)

    assert (loaded["three"], loaded["four"]) == ({key: 2, "a": 1}, {key: 2, "a": 1})


@pytest.mark.parametrize("text", ["a: {<<: 5}", "a: {<<: [1]}", "a: &a {<<: *b}"])
def test_what_is_no_mapping_is_not_merged(text: str) -> None:
    assert "not YAML" in fault_of(text)


def test_a_mapping_that_merges_itself_is_itself() -> None:
    assert document.load("a: &a {<<: *a, b: 1}") == {"a": {"b": 1}}


@pytest.mark.parametrize("halves", [False, True])
def test_a_document_of_too_many_values_is_refused_by_its_limit(*, halves: bool) -> None:
    """Both readers: libyaml, and PyYAML's own for what JSON escapes by halves. A key and its value are one."""
    text = "".join(f"k{index}: v\n" for index in range(4_998)) + ('k: "\\ud83d\\ude00"\n' if halves else "k: v\n")

    assert len(document.load(text)) == 4_999
    with pytest.raises(InvalidInput) as caught:
        document.load(text + "more: 1\n")
    assert caught.value.message == "manifest: it holds more than 5000 values"


def test_what_only_the_editor_does_not_read_is_refused() -> None:
    """ruamel.yaml takes no key twice, `<<` neither."""
    with pytest.raises(InvalidInput) as caught:
        document.edit("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", {("c",): 1})

    assert caught.value.faults[0].field == "manifest"


@pytest.mark.parametrize(("text", "field"), [("a: 5", "a"), ("a: [1]", "a"), ("a: {b: x}", "a.b")])
def test_a_value_is_not_put_into_what_holds_none(text: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        document.edit(text, {("a", "b", "c"): 1})

    assert caught.value.faults[0].field == field
