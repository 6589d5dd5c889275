"""A form that is sent in the background whenever a field changes does not carry the button that was pressed: a field
that is left by pressing “Submit” changes, and the form would be submitted twice."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORM = re.compile(r"<form\b(?:[^>{]|{%.*?%}|{{.*?}}|{)*>")


def test_forms_that_are_refreshed_by_post_leave_the_pressed_button_out() -> None:
    forms = [
        (path.name, form)
        for path in ROOT.glob("*/templates/**/*.html")
        for form in FORM.findall(path.read_text())
        if "hx-post=" in form and re.search(r'hx-trigger="[^"]*change', form)
    ]

    assert sorted(name for name, _form in forms) == ["edit.html", "new.html"]
    assert [name for name, form in forms if 'hx-params="not action"' not in form] == []
