"""Evaluates `filterBy` terms on plain text, for lists that join rows with observed objects."""

from collections.abc import Callable, Mapping

from core.filters import Term

_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "==": lambda found, value: found == value,
    "!=": lambda found, value: found != value,
    "=@": lambda found, value: value.casefold() in found.casefold(),
    "!@": lambda found, value: value.casefold() not in found.casefold(),
    "=^": lambda found, value: found.casefold().startswith(value.casefold()),
    "=$": lambda found, value: found.casefold().endswith(value.casefold()),
}


def holds(term: Term, facts: Mapping[str, str]) -> bool:
    """Whether the term holds for an object with these values, by key."""
    return _TESTS[term.operator](facts[term.filter.key], str(term.value))
