"""What stands beside a list: saved views with counts, and what would help one filtered to nothing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from core.errors import InvalidInput
from core.filters import Filter, Term, Text, parse_term
from core.models import OwnView

Rows = QuerySet[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """A named set of filters over a list. `terms` are in URL form (`phase==Pending`)."""

    label: Text
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewLink:
    """A saved view with its count and address; `pk` of a person's own, which they can forget."""

    label: Text
    query: str
    count: int
    current: bool
    pk: int | None = None


@dataclass(frozen=True, slots=True)
class Relief:
    """What a list filtered to nothing would show without one of its terms."""

    term: Term
    count: int


def view_links(
    queryset: Rows, filters: Sequence[Filter], views: Sequence[SavedView], current: Sequence[Term] | None
) -> tuple[ViewLink, ...]:
    """The saved views, each with the length of the list it opens, counted in one query.

    `current` are the terms in force, None when a search makes the list none of the views.
    """
    parsed = [tuple(parse_term(text, filters) for text in view.terms) for view in views]
    counts = _counts(queryset, [all_of(terms) for terms in parsed])
    now = None if current is None else set(map(str, current))
    return tuple(
        ViewLink(view.label, urlencode([("filter", str(t)) for t in terms]), count, set(map(str, terms)) == now)
        for view, terms, count in zip(views, parsed, counts, strict=True)
    )


def own_links(
    queryset: Rows, filters: Sequence[Filter], views: Sequence[OwnView], current: str, searched: Callable[[str], Q]
) -> tuple[ViewLink, ...]:
    """A person's own views, each with the length of the list that it opens, counted in one query.

    `current` is the query in force; `searched` makes a condition of a search text. What a filter no longer understands
    is passed over.
    """
    asked = [QueryDict(view.query) for view in views]
    conditions = [searched(given.get("q", "")) & all_of(_readable(given, filters)) for given in asked]
    counts = _counts(queryset, conditions)
    return tuple(
        ViewLink(view.label, view.query, count, view.query == current, view.pk)
        for view, count in zip(views, counts, strict=True)
    )


def _readable(given: QueryDict, filters: Sequence[Filter]) -> list[Term]:
    terms = []
    for text in given.getlist("filter"):
        with suppress(InvalidInput):
            terms.append(parse_term(text, filters))
    return terms


def reliefs(queryset: Rows, search: Q, terms: Sequence[Term]) -> tuple[Relief, ...]:
    """For each term, how many rows would match without it; those that help, the most helpful first."""
    counts = _counts(queryset, [search & all_of([t for t in terms if t is not term]) for term in terms])
    found = [Relief(term, count) for term, count in zip(terms, counts, strict=True) if count]
    return tuple(sorted(found, key=lambda relief: -relief.count))


def all_of(terms: Sequence[Term]) -> Q:
    """The terms ANDed."""
    return reduce(and_, (term.q for term in terms), Q())


def _counts(queryset: Rows, conditions: Sequence[Q]) -> list[int]:
    """How many rows each condition matches, in one query."""
    if not conditions:
        return []
    counts = queryset.order_by().aggregate(
        **{f"count_{i}": Count("pk", filter=q or None, distinct=True) for i, q in enumerate(conditions)}
    )
    return [counts[f"count_{i}"] for i in range(len(conditions))]
