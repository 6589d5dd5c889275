"""Reads request bodies: JSON that is bounded in size and depth, says everything once, and holds only text that a
database can store."""

import codecs
import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

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
    """The document in `body`; raises `ParseError`."""
    try:
        text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8")
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except RecursionError as error:
        raise ParseError(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from error
    except ValueError as error:
        raise ParseError(f"The body is not JSON: {error}") from error
    _check(document, 1)
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


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ParseError(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise ParseError("A string holds a NUL character.")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ParseError("A string holds half of a surrogate pair, which is not text.")
