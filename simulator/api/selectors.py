"""Label and field selectors: parsed once per request, then tested against objects."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from simulator.api.errors import ApiError, bad_request
from simulator.client import Object

Predicate = Callable[[Object], bool]
LabelPredicate = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|>|<|!|\(|\)|,|[^\s=!<>(),]+)")
_SET_WORDS = ("in", "notin")


def label_selector(text: str) -> LabelPredicate | None:
    """Equality, set, existence and comparison requirements joined by commas; None for the empty selector."""
    tokens = _tokens(text)
    if not tokens:
        return None
    requirements: list[LabelPredicate] = []
    position = 0
    while position < len(tokens):
        requirement, position = _requirement(tokens, position, text)
        requirements.append(requirement)
        if position < len(tokens):
            if tokens[position] != ",":
                raise _unparsable(text)
            position += 1
    return lambda labels: all(test(labels) for test in requirements)


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


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise _unparsable(text)
        tokens.append(match.group(1))
        position = match.end()
    return tokens


def _requirement(tokens: list[str], position: int, text: str) -> tuple[LabelPredicate, int]:
    if tokens[position] == "!":
        if position + 1 >= len(tokens):
            raise _unparsable(text)
        return _absent(tokens[position + 1], []), position + 2
    key = tokens[position]
    if key in ("=", "==", "!=", ",", "(", ")"):
        raise _unparsable(text)
    operator = tokens[position + 1] if position + 1 < len(tokens) else ","
    if operator in _SET_WORDS:
        values, after = _values(tokens, position + 2, text)
        test = _within(key, values) if operator == "in" else _outside(key, values)
        return test, after
    if operator in ("=", "==", "!=", ">", "<"):
        has_value = position + 2 < len(tokens) and tokens[position + 2] != ","
        value = tokens[position + 2] if has_value else ""
        return _compare(key, operator, value), position + (3 if has_value else 2)
    return _present(key, []), position + 1


def _values(tokens: list[str], position: int, text: str) -> tuple[list[str], int]:
    if position >= len(tokens) or tokens[position] != "(" or ")" not in tokens[position:]:
        raise _unparsable(text)
    end = tokens.index(")", position)
    return [word for word in tokens[position + 1 : end] if word != ","], end + 1


def _compare(key: str, operator: str, value: str) -> LabelPredicate:
    if operator == "!=":
        return _outside(key, [value])
    if operator in (">", "<"):
        sign = 1 if operator == ">" else -1
        return lambda labels: _is_number(labels.get(key)) and sign * (int(labels[key]) - int(value)) > 0
    return _equals(key, value)


def _is_number(text: Any) -> bool:
    return isinstance(text, str) and re.fullmatch(r"-?\d+", text) is not None


def _equals(key: str, value: str) -> LabelPredicate:
    return lambda labels: labels.get(key) == value


def _within(key: str, values: list[str]) -> LabelPredicate:
    allowed = frozenset(values)
    return lambda labels: labels.get(key) in allowed


def _outside(key: str, values: list[str]) -> LabelPredicate:
    refused = frozenset(values)
    return lambda labels: labels.get(key) not in refused


def _present(key: str, _values: list[str]) -> LabelPredicate:
    return lambda labels: key in labels


def _absent(key: str, _values: list[str]) -> LabelPredicate:
    return lambda labels: key not in labels


_OPERATORS: dict[str, Callable[[str, list[str]], LabelPredicate]] = {
    "In": _within,
    "NotIn": _outside,
    "Exists": _present,
    "DoesNotExist": _absent,
}


def _unparsable(text: str) -> ApiError:
    return bad_request(f'unable to parse requirement: found "{text}", expected: a label selector')
