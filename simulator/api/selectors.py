"""Field selectors: parsed once per request, then tested against objects."""

import re
from collections.abc import Callable, Mapping

from simulator.api.errors import bad_request
from simulator.client import Object

Predicate = Callable[[Object], bool]


def field_selector(text: str, getters: Mapping[str, Callable[[Object], str]]) -> Predicate | None:
    """`a=b,c!=d` over the fields a resource supports; others are a 400 as the API server words it."""
    tests: list[Predicate] = []
    for term in filter(None, (part.strip() for part in _split_terms(text))):
        path, negated, value = _field_term(term)
        getter = getters.get(path)
        if getter is None:
            raise bad_request(f"field label not supported: {path}")
        tests.append(_field_test(getter, value, negated=negated))
    if not tests:
        return None
    return lambda body: all(test(body) for test in tests)


def _field_test(getter: Callable[[Object], str], value: str, *, negated: bool) -> Predicate:
    return lambda body: (getter(body) == value) != negated


def _field_term(term: str) -> tuple[str, bool, str]:
    for operator, negated in (("!=", True), ("==", False), ("=", False)):
        path, found, value = term.partition(operator)
        if found:
            return path.strip(), negated, re.sub(r"\\(.)", r"\1", value)
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _split_terms(text: str) -> list[str]:
    return re.split(r"(?<!\\),", text)
