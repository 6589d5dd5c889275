"""Lines of fields; each expected line is counted in the text."""

import json
import re
from base64 import b64encode
from typing import Any

import pytest

from accounts.models import User
from core.errors import Fault, InvalidInput
from tests.workloads.samples import DISAGG
from workloads.checks import Check, check_submission
from workloads.document import load
from workloads.forms import marks_of
from workloads.lines import lines_of, with_lines
from workloads.services import read_draft

TEXT = """\
# a comment
metadata:
  name: a
  labels: {kai.scheduler/queue: q}
spec:
  defaults: &defaults
    image: x
  components:
    - name: one
      podTemplate:
        <<: *defaults
    - name: two
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("metadata.name", 3),
        ("name", 3),
        ("metadata.labels[kai.scheduler/queue]", 4),
        ("queue", 4),
        ("spec.components[0].name", 9),
        ("spec.components[0].podTemplate.image", 7),
        ("spec.components[1]", 12),
        ("spec.components[1].replicas", 12),  # absent: what it would stand in
        ("gpus", 8),
        ("required_level", 5),
        ("secrets", 1),
        ("", 1),
    ],
)
def test_a_field_has_the_line_of_its_key_or_of_what_it_would_stand_in(field: str, line: int) -> None:
    assert lines_of(TEXT).line_of(field) == line


def test_what_is_not_yaml_has_no_lines_and_a_known_line_stays() -> None:
    error = with_lines(InvalidInput([Fault("a", "x", line=7), Fault("b", "x")]), "a: [")

    assert [fault.line for fault in error.faults] == [7, 1]


def test_aliases_that_expand_to_many_fields_end() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [*l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}, *l{i - 1}]" for i in range(1, 9)]

    assert lines_of("\n".join(lines)).line_of("l1") == 2


def line_with(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_every_check_that_says_something_names_its_line(submit: Any, project: Any) -> None:
    submit()
    source = DISAGG.replace("runai-project-a", "default").replace('gpu: "1"', 'gpu: "9"').replace("zone", "Zone")
    source = source.replace("      componentType: frontend", "      hostNetwork: true\n      componentType: frontend")

    checks = check_submission(read_draft(project=project, source=source).submission)

    assert {(check.code, check.line) for check in checks if check.status != "ok"} == {
        ("NameTaken", line_with(source, "name: vllm-disagg")),
        ("Field", line_with(source, "namespace: default")),
        ("Field", line_with(source, "hostNetwork")),
        ("LevelUnknown", line_with(source, "preferred-placement")),
        ("PodTooLarge", line_with(source, "subComponentType: decode") + 2),
        ("PodTooLarge", line_with(source, "subComponentType: prefill") + 2),
    }


def test_the_page_and_the_api_name_the_line(submit: Any, project: Any, admin: User, client_of: Any) -> None:
    submit()
    source = DISAGG.replace("replicas: 2", "replicas: two")
    body = {"metadata": {"projectId": str(project.pk)}, "manifestBase64Encoded": b64encode(source.encode()).decode()}

    page = client_of(admin).post("/workloads/new/", {"source": source, "view": "yaml", "action": "check"})
    answer = client_of(admin).post("/api/v2/workloads", json.dumps(body), content_type="application/json")

    line = line_with(source, "replicas: two")
    assert f"line {line}" in page.content.decode()
    assert [fault["line"] for fault in answer.json()["faults"]] == [line]


def test_the_editor_marks_the_lines_and_a_check_jumps_to_its_own(
    project: Any, submit: Any, client_of: Any, admin: User
) -> None:
    submit()
    source = DISAGG.replace("runai-project-a", project.namespace).replace("name: vllm-disagg\n", "name: other\n", 1)
    source = source.replace("replicas: 2", "replicas: two")
    line = line_with(source, "replicas: two")

    yaml = client_of(admin).post("/workloads/new/", {"source": source, "view": "yaml", "action": "check"})
    content = yaml.content.decode()

    assert f'<a href="#draft-source" data-line="{line}">' in content
    marks = re.search(r'<script id="draft-source-data" type="application/json">(.*?)</script>', content)
    assert marks
    assert [(mark["line"], mark["status"]) for mark in json.loads(marks[1])] == [(line, "bad")]


def test_what_blocks_is_marked_before_what_is_only_told() -> None:
    checks = (Check("A", "bad", "x", "no", line=3), Check("B", "info", "x", "so", line=3), Check("C", "ok", "x", "yes"))

    assert [mark["status"] for mark in marks_of(checks)] == ["info", "bad"]


def test_merges_of_merges_are_walked_once() -> None:
    """Sixteen levels of three merges each: 3^15 walks would take minutes, and the text has 600 characters."""
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{<<: *a{i - 1}, <<: *a{i - 1}, <<: *a{i - 1}}}\n" for i in range(1, 17)
    )

    assert lines_of(text).line_of("a16.x") == 1


def test_lines_are_known_of_a_text_that_escapes_a_character_by_halves() -> None:
    assert lines_of('a: "\\ud83d\\ude00"\nb:\n  c: 1\n').line_of("b.c") == 3


def test_a_text_that_is_too_large_is_not_read_for_its_lines() -> None:
    """That its values are too many was said with the line where they become so."""
    text = 'a: ["\\ud83d\\ude00"' + ", 1" * 80_000 + "]"
    with pytest.raises(InvalidInput) as caught:
        load(text)

    assert with_lines(caught.value, text) is caught.value
