"""What a form shows beside its fields where somebody else saved since it was opened: the value that is stored now, and
who wrote it when, as far as the audit log tells this viewer.

`components/stored_now.html` draws one of them; `components/field.html` has it for every form of Django.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django.utils.translation import gettext as _

from accounts.audit import visible_entries
from accounts.models import AuditEntry, Outcome, User

LOOKED_AT = 50  # entries of the row, newest first, in which the writer of a field is looked for

Viewer = User | AnonymousUser
Path = tuple[str, ...]
"""Where the entries of the audit log have a field: ("description",), ("resources", "default", "gpu_limit")."""


@dataclass(frozen=True, slots=True)
class StoredNow:
    """One value as people read it. `by` and `at` are "" and None where no entry names them."""

    text: str
    by: str = ""
    at: datetime | None = None

    @property
    def is_long(self) -> bool:
        """Whether it has several lines."""
        return "\n" in self.text


def stored_now(viewer: Viewer, row: Model, values: Mapping[Path, str]) -> dict[Path, StoredNow]:
    """The same of several fields: `values` are their texts. 1 query, none where there are no values."""
    if not values:
        return {}
    entries = visible_entries(viewer).filter(
        object_type=row._meta.label, object_id=str(row.pk), outcome=Outcome.SUCCEEDED
    )
    newest = list(entries[:LOOKED_AT])
    return {path: _written(path, text or _("empty"), newest) for path, text in values.items()}


def show_stored(form: forms.Form, viewer: Viewer, row: Model, names: Mapping[str, str] = MappingProxyType({})) -> None:
    """Put it beside each field of a posted form that differs from its `initial`, which is what is stored.

    `names` are those of the audit log, by field, where they differ from the form's.
    """
    paths = {name: (names.get(name, name),) for name in form.changed_data}
    found = stored_now(viewer, row, {path: _text_of(form[name]) for name, path in paths.items()})
    for name, path in paths.items():
        form.fields[name].stored_now = found[path]  # type: ignore[attr-defined]  # for components/field.html


def yes_or_no(value: object) -> str:
    """A value that is true or false, in words."""
    return _("yes") if value else _("no")


def _text_of(bound: forms.BoundField) -> str:
    field, value = bound.field, bound.initial
    if isinstance(field, forms.BooleanField):
        return yes_or_no(value)
    if isinstance(field, forms.ChoiceField):
        chosen = str(field.prepare_value(value) or "")
        options = (each for each in bound.subwidgets if str(each.data["value"]) == chosen)
        return next((str(each.choice_label) for each in options), chosen)
    return str(value or "")


def _written(path: Path, text: str, newest: list[AuditEntry]) -> StoredNow:
    for entry in newest:
        if _has(entry.after, path):
            return StoredNow(text, entry.subject, entry.at)
    return StoredNow(text)


def _has(document: Any, path: Path) -> bool:
    for name in path:
        if not isinstance(document, Mapping) or name not in document:
            return False
        document = document[name]
    return True
