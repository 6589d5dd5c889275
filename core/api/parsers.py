"""Reads request bodies: JSON that is bounded in size and depth, says everything once, and holds only text that a
database can store."""

import codecs
import json
import math
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from core.errors import Fault, InvalidInput
from core.stored_text import MAX_DIGITS, shown_name, unstorable

MAX_DEPTH = 64


class SafeJSONParser(BaseParser):
    """`application/json`. Every refusal is a 400 that says why."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise ParseError(f"The body is larger than {limit} bytes.")
        document = read_json(body)
        # The official client's asynchronous variant sends the document inside a JSON string (runai.md §9.5).
        return read_json(document.encode()) if isinstance(document, str) else document


def read_json(body: bytes) -> Any:
    """The document in `body`; raises `ParseError`, or `InvalidInput` where it is one field that cannot be kept."""
    try:
        text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        document = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_whole, object_pairs_hook=_without_repeats
        )
    except RecursionError as error:
        raise ParseError(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:
        raise ParseError(f"The body is not JSON: {error}") from error
    _check(document, [])
    return document


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Readers disagree on which of two equal keys counts, so there may not be two (RFC 8259 §4)."""
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _value in pairs]
        repeated = next(key for position, key in enumerate(keys) if key in keys[:position])
        raise ParseError(f"The key {_shown(repeated)} stands twice in one object.")
    return document


def _shown(text: str) -> str:
    return json.dumps(text[:60])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _whole(text: str) -> float | int:
    """A whole number; infinity, which `_check` refuses by its field, for one that nobody can mean."""
    return int(text) if len(text) <= MAX_DIGITS else math.inf


def _check(value: Any, way: list[str | int]) -> None:
    """Refuse what cannot be kept of a value and all below; `way` is where it stands."""
    if len(way) >= MAX_DEPTH:
        raise ParseError(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, str):
        _refuse(unstorable("", value) and unstorable(_field(way), value))
    elif isinstance(value, float) and not math.isfinite(value):
        _refuse([Fault(_field(way), "The number is too large", f"up to {MAX_DIGITS} digits, below 1.8e308")])
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse(unstorable("", key) and unstorable(_field([*way, key]), key))
            _check_below(item, key, way)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_below(item, index, way)


def _check_below(item: Any, step: str | int, way: list[str | int]) -> None:
    way.append(step)
    _check(item, way)
    way.pop()


def _field(way: list[str | int]) -> str:
    parts = (f"[{step}]" if isinstance(step, int) else f".{shown_name(step)}" for step in way)
    return "".join(parts).removeprefix(".")


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise InvalidInput(faults)
