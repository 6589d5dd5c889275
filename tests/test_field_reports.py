"""Each field report that concerns us has a test with its number, or a reason in docs/field-reports.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REPORTS = ROOT.parent / "shared" / "reference" / "field-reports.md"
# How tests name a row: in their name, or beside a case ("field report 41"). `t8` and `p4` are other lists.
NAMED = re.compile(
    r"def test(?:_field)?_?(?:reports?|rows?)?_?((?:\d+(?:_and_|_))+)|_(?:field_)?reports?_((?:\d+(?:_and_|\b|\())+)"
)
BESIDE = re.compile(r"(?:field reports?|rows?) (\d+(?:(?:, | and )\d+)*)", re.IGNORECASE)


def named_rows() -> set[int]:
    """The numbers that the tests name."""
    found: set[int] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for match in (*NAMED.finditer(text := path.read_text()), *BESIDE.finditer(text)):
            found |= {int(number) for group in match.groups() if group for number in re.findall(r"\d+", group)}
    return found


@pytest.mark.skipif(not REPORTS.exists(), reason="needs ../shared/reference/field-reports.md")
def test_every_field_report_has_a_test_or_a_reason() -> None:
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", REPORTS.read_text(), re.MULTILINE)}
    excused = {int(n) for n in re.findall(r"^\| (\d+) \|", (ROOT / "docs/field-reports.md").read_text(), re.MULTILINE)}

    assert len(rows) > 50
    assert sorted(rows - named_rows() - excused) == []
    assert sorted(excused - rows) == []
