"""Filter terms `field operator value`, as lists take them from the URL and the API from `filterBy`.

Operators and their meaning are Run:ai's (OpenAPI, parameter `filterBy`): `==` equal, `!=` not equal, `<=`,
`>=`, `=@` contains, `!@` does not contain, `=^` starts with, `=$` ends with. Terms are ANDed by the caller.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

from django.db.models import Q
from django.db.models import Value as DatabaseValue
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact, IsNull
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.errors import InvalidInput
from core.times import read_moment

Text = str | Promise
Kind = Literal["text", "choice", "number", "time", "flag", "label"]
Value = str | Decimal | datetime | bool

MAX_VALUE_LENGTH = 200
# Of one list, in its URL and in the API.
MAX_TERMS = 20
MAX_SEARCH_LENGTH = 200
MAX_SEARCH_WORDS = 8
NUMBER_BOUND = Decimal(10) ** 15

_LOOKUPS: Mapping[str, str] = {
    "==": "",
    "!=": "",
    "<=": "__lte",
    ">=": "__gte",
    "=@": "__icontains",
    "!@": "__icontains",
    "=^": "__istartswith",
    "=$": "__iendswith",
}
_NEGATED = frozenset({"!=", "!@"})
_OPERATORS: Mapping[Kind, tuple[str, ...]] = {
    "text": ("=@", "==", "!=", "!@", "=^", "=$"),
    "choice": ("==", "!="),
    "number": (">=", "<=", "==", "!="),
    "time": (">=", "<=", "==", "!="),
    "flag": ("==",),
    "label": ("==", "!="),
}
_WORDS: Mapping[str, Text] = {
    "==": _("is"),
    "!=": _("is not"),
    "<=": "≤",
    ">=": "≥",
    "=@": _("contains"),
    "!@": _("does not contain"),
    "=^": _("starts with"),
    "=$": _("ends with"),
}
# `label:pool==pvt` is another spelling of `label==pool=pvt`, and `label:pool` alone of `label==pool`.
_LABEL_TERM = re.compile(r"^([A-Za-z][A-Za-z0-9_.]*):([A-Za-z0-9_./-]+)(?:(==|!=)(.*))?$", re.DOTALL)
_TERM = re.compile(r"^([A-Za-z][A-Za-z0-9_.]*)(==|!=|<=|>=|=@|!@|=\^|=\$)(.+)$", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A field that a list can be filtered by. `lookup` is the ORM path (default: the key itself).

    The kind `label` filters a JSON map of strings: the value is `key=value`, or `key` for any value.
    """

    key: str
    label: Text
    lookup: str = ""
    kind: Kind = "text"
    choices: tuple[tuple[str, Text], ...] = ()

    @property
    def operators(self) -> tuple[tuple[str, Text], ...]:
        """The operators that make sense for the kind, the usual one first, each with its word."""
        return tuple((operator, _WORDS[operator]) for operator in _OPERATORS[self.kind])


@dataclass(frozen=True, slots=True)
class Term:
    """One condition in force. `str(term)` is its form in the URL."""

    filter: Filter
    operator: str
    value: Value
    raw: str

    def __str__(self) -> str:
        return f"{self.filter.key}{self.operator}{self.raw}"

    @property
    def operator_label(self) -> Text:
        return _WORDS[self.operator]

    @property
    def value_label(self) -> Text:
        if self.filter.kind == "flag":
            return gettext("yes") if self.value else gettext("no")
        return dict(self.filter.choices).get(self.raw, self.raw)

    @property
    def q(self) -> Q:
        """The condition for the ORM. A negation also keeps rows that have no value."""
        if self.filter.kind == "label":
            condition = label_condition(self.filter.lookup or self.filter.key, str(self.value))
            return ~condition if self.operator in _NEGATED else condition
        condition = Q(**{(self.filter.lookup or self.filter.key) + _LOOKUPS[self.operator]: self.value})
        return ~condition if self.operator in _NEGATED else condition


def label_condition(path: str, text: str) -> Q:
    """Rows whose JSON map at `path` has the label `key=value`, or `key` with any value. Keys may hold anything."""
    key, equals, value = text.partition("=")
    label = KeyTextTransform(key, path)
    present = Q(IsNull(label, False))
    return present & Q(Exact(label, DatabaseValue(value))) if equals else present


def parse_term(text: str, filters: Iterable[Filter]) -> Term:
    """Read one `field operator value` term.

    Raises InvalidInput that names the part that is wrong and what is allowed.
    """
    known = {item.key: item for item in filters}
    if (label := _LABEL_TERM.match(text)) and label[1] in known and known[label[1]].kind == "label":
        text = f"{label[1]}{label[3] or '=='}{label[2]}" + (f"={label[4]}" if label[3] else "")
    match = _TERM.match(text)
    if match is None:
        raise InvalidInput.of(
            "filterBy",
            gettext("“%(term)s” is not a condition.") % {"term": _shown(text)},
            gettext("field, one of %(operators)s, value") % {"operators": " ".join(_LOOKUPS)},
        )
    key, operator, raw = match.groups()
    chosen = known.get(key)
    if chosen is None:
        raise InvalidInput.of(
            "filterBy",
            gettext("There is no field “%(field)s” to filter by.") % {"field": _shown(key)},
            ", ".join(sorted(known)),
        )
    if operator not in _OPERATORS[chosen.kind]:
        raise InvalidInput.of(
            f"filterBy.{key}",
            gettext("The operator %(operator)s does not fit this field.") % {"operator": operator},
            " ".join(_OPERATORS[chosen.kind]),
        )
    return Term(chosen, operator, _parse_value(chosen, raw), raw)


def _parse_value(chosen: Filter, raw: str) -> Value:
    field = f"filterBy.{chosen.key}"
    if "\x00" in raw or len(raw) > MAX_VALUE_LENGTH:
        raise InvalidInput.of(
            field,
            gettext("The value holds a NUL character or is too long."),
            gettext("up to %(limit)d characters") % {"limit": MAX_VALUE_LENGTH},
        )
    match chosen.kind:
        case "number":
            return _parse_number(field, raw)
        case "time":
            return _parse_time(field, raw)
        case "flag":
            return _parse_choice(field, raw, ("true", "false")) == "true"
        case "choice":
            return _parse_choice(field, raw, tuple(value for value, _label in chosen.choices))
        case _:
            return raw


def _parse_number(field: str, raw: str) -> Decimal:
    try:
        # Decimal() also takes underscores and digits of other scripts, which nobody means.
        number = Decimal(raw.strip() if raw.isascii() and "_" not in raw else "NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number) >= NUMBER_BOUND:
        raise InvalidInput.of(
            field,
            gettext("“%(value)s” is not a number.") % {"value": _shown(raw)},
            gettext("a decimal number below 10^15"),
        )
    return number


def _parse_time(field: str, raw: str) -> datetime:
    moment = read_moment(raw)
    if moment is None:
        raise InvalidInput.of(
            field,
            gettext("“%(value)s” is not a time.") % {"value": _shown(raw)},
            "2026-11-29T14:00:00Z",
        )
    return moment


def _parse_choice(field: str, raw: str, allowed: tuple[str, ...]) -> str:
    if raw not in allowed:
        raise InvalidInput.of(
            field,
            gettext("“%(value)s” is not one of the values of this field.") % {"value": _shown(raw)},
            ", ".join(allowed),
        )
    return raw


def _shown(text: str) -> str:
    printable = "".join(c if c.isprintable() else "�" for c in text)
    return printable if len(printable) <= 60 else printable[:57] + "…"
