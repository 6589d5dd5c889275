"""Label selectors as `k8s.io/apimachinery/pkg/labels` parses them, with its messages."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simulator.api import names
from simulator.api.errors import bad_request, field_invalid

LabelPredicate = Callable[[Mapping[str, str]], bool]

_END = ""
_SYMBOLS = frozenset("=!(),><")
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_TOKEN = re.compile(r"(==|!=|=|>|<|!|\(|\)|,)|([^\s=!<>(),]+)")
_NUMBER = re.compile(r"[+-]?\d+")


class _Unparsable(Exception):
    """What was found and what was expected."""


def label_selector(text: str) -> LabelPredicate | None:
    """Requirements joined by commas; None for the empty selector. Raises 400."""
    tokens = [found[0] for found in _TOKEN.finditer(text)]
    if not tokens:
        return None
    try:
        requirements = _Parser([*tokens, _END]).requirements()
    except _Unparsable as error:
        raise bad_request(str(error)) from error
    return lambda labels: all(test(labels) for test in requirements)


@dataclass
class _Parser:
    tokens: list[str]
    position: int = 0

    def requirements(self) -> list[LabelPredicate]:
        found: list[LabelPredicate] = []
        while self.tokens[self.position] != _END:
            word = self.tokens[self.position]
            if not _is_word(word) and word != "!":
                raise _Unparsable(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _Unparsable as error:
                raise _Unparsable(f"unable to parse requirement: {error}") from error
            after = self._next()
            if after == _END:
                break
            if after != ",":
                raise _Unparsable(f"found '{after}', expected: ',' or 'end of string'")
            word = self.tokens[self.position]
            if not _is_word(word) and word != "!":
                raise _Unparsable(f"found '{word}', expected: identifier after ','")
        return found

    def _next(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1]

    def _requirement(self) -> LabelPredicate:
        key = self._next()
        absent = key == "!"
        if absent:
            key = self._next()
        if not _is_word(key):
            raise _Unparsable(f"found '{key}', expected: identifier")
        _require(names.qualified_name(key), "<nil>", key)
        if absent:
            return lambda labels: key not in labels
        if self.tokens[self.position] in (_END, ","):
            return lambda labels: key in labels
        operator = self._next()
        if operator in ("in", "notin"):
            values = self._values()
        elif operator in ("=", "==", "!=", ">", "<"):
            values = [self._value()]
        else:
            raise _Unparsable(f"found '{operator}', expected: {', '.join(_BINARY)}")
        return _predicate(key, operator, values)

    def _value(self) -> str:
        if self.tokens[self.position] in (_END, ","):
            return ""
        value = self._next()
        if not _is_word(value):
            raise _Unparsable(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        opening = self._next()
        if opening != "(":
            raise _Unparsable(f"found '{opening}' expected: '('")
        first = self.tokens[self.position]
        if first == ")":
            self.position += 1
            return [""]
        if first != "," and not _is_word(first):
            raise _Unparsable(f"found '{first}', expected: ',', ')' or identifier")
        values = [""] if first == "," else []
        while (word := self._next()) != ")":
            if word == ",":
                if self.tokens[self.position] in (",", ")"):
                    values.append("")
                continue
            if not _is_word(word):
                raise _Unparsable(f"found '{word}', expected: ',', or identifier")
            values.append(word)
            following = self.tokens[self.position]
            if following not in (",", ")"):
                raise _Unparsable(f"found '{following}', expected: ',' or ')'")
        return sorted(set(values))


def _is_word(word: str) -> bool:
    return word != _END and word[0] not in _SYMBOLS


def _require(problems: list[str], path: str, value: str) -> None:
    if problems:
        raise _Unparsable(str(field_invalid(path, value, "; ".join(problems))))


def _predicate(key: str, operator: str, values: list[str]) -> LabelPredicate:
    if operator in (">", "<"):
        return _comparison(key, operator, values[0])
    for index, value in enumerate(values):
        _require(names.label_value(value), f"values[{index}][{key}]", value)
    allowed = frozenset(values)
    if operator in ("!=", "notin"):
        return lambda labels: labels.get(key) not in allowed
    return lambda labels: labels.get(key) in allowed


def _comparison(key: str, operator: str, value: str) -> LabelPredicate:
    if not _NUMBER.fullmatch(value):
        _require(["for 'Gt', 'Lt' operators, the value must be an integer"], "values[0]", value)
    sign, limit = (1 if operator == ">" else -1), int(value)

    def holds(labels: Mapping[str, str]) -> bool:
        found = labels.get(key, "")
        return _NUMBER.fullmatch(found) is not None and sign * (int(found) - limit) > 0

    return holds
