"""`filterBy`, `search`, `sortBy` and `sortOrder` of lists. Fields come from allowlists, never from the request."""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import F, Model, Q, QuerySet
from rest_framework.request import Request

from core.errors import InvalidInput
from core.filters import MAX_SEARCH_LENGTH, MAX_SEARCH_WORDS, MAX_TERMS, Filter, Term, parse_term

Row = TypeVar("Row", bound=Model)


def terms_of(request: Request, filters: Sequence[Filter]) -> tuple[Term, ...]:
    """The terms of `?filterBy=name==a,gpus>=2` (comma-separated or repeated), ANDed.

    Raises `InvalidInput` that names the term and what would be allowed. A value can't hold a comma, as in Run:ai.
    """
    texts = [text for given in request.query_params.getlist("filterBy") for text in given.split(",") if text]
    if len(texts) > MAX_TERMS:
        raise InvalidInput.of("filterBy", f"{len(texts)} terms are too many", f"at most {MAX_TERMS}")
    return tuple(parse_term(text, filters) for text in texts)


def filter_by(request: Request, rows: "QuerySet[Row]", filters: Sequence[Filter]) -> "QuerySet[Row]":
    """`rows` that match every term of `filterBy`."""
    for term in terms_of(request, filters):
        try:
            rows = rows.filter(term.q)
        except (ValidationError, ValueError) as error:  # the column says what it cannot be compared with
            message = f"{term.raw[:60]!r} is no value of this field"
            raise InvalidInput.of(f"filterBy.{term.filter.key}", message, "an id of the API") from error
    return rows


def search(request: Request, rows: "QuerySet[Row]", paths: Sequence[str]) -> "QuerySet[Row]":
    """`rows` in which every word of `?search=` occurs in one of the ORM `paths`."""
    text = request.query_params.get("search", "")
    if "\x00" in text or len(text) > MAX_SEARCH_LENGTH:
        raise InvalidInput.of(
            "search", "The text holds a NUL character or is too long", f"up to {MAX_SEARCH_LENGTH} characters"
        )
    words = text.split()[:MAX_SEARCH_WORDS]
    matches = (reduce(operator.or_, (Q(**{f"{path}__icontains": word}) for path in paths)) for word in words)
    return rows.filter(reduce(operator.and_, matches, Q()))


def sort(request: Request, rows: "QuerySet[Row]", fields: Mapping[str, str], *, default: str) -> "QuerySet[Row]":
    """`rows` in the order of `?sortBy=` (a key of `fields`: API name → ORM path) and `?sortOrder=`, ties by id.

    `queries.check_query` has looked at both: a view that sorts declares `sort_parameters` of the same fields.
    """
    path = F(fields[request.query_params.get("sortBy", default)])
    is_descending = request.query_params.get("sortOrder") == "desc"
    return rows.order_by(path.desc(nulls_last=True) if is_descending else path.asc(nulls_last=True), "pk")


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "=@": lambda found, value: value.casefold() in found.casefold(),
    "!@": lambda found, value: value.casefold() not in found.casefold(),
    "=^": lambda found, value: found.casefold().startswith(value.casefold()),
    "=$": lambda found, value: found.casefold().endswith(value.casefold()),
}


def compare(term: Term, found: Any) -> bool:
    """Whether the term holds for a value that stands in no table: text, or a number for a filter of that kind."""
    return _TESTS[term.operator](found if term.filter.kind == "number" else str(found), term.value)
