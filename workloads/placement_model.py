"""Which model a graph serves, from its engines' arguments. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

MODEL_FLAGS = ("--model", "--model-path", "--served-model-name")


def model_of(document: Mapping[str, Any]) -> str:
    """The first model that a container names; "" where none does."""
    for words in _arguments(document.get("spec") or {}):
        for flag in MODEL_FLAGS:
            for index, word in enumerate(words):
                if word == flag and index + 1 < len(words):
                    return words[index + 1]
                if word.startswith(f"{flag}="):
                    return word.partition("=")[2]
    return ""


def _arguments(value: Any) -> Iterator[list[str]]:
    """Every list of arguments below, a shell's line taken apart."""
    if isinstance(value, Mapping):
        args = value.get("args")
        if isinstance(args, list):
            yield [word for entry in args for word in str(entry).split()]
        for each in value.values():
            yield from _arguments(each)
    elif isinstance(value, list):
        for each in value:
            yield from _arguments(each)
