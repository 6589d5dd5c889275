"""JSON read with the complaints of Go's encoding/json."""

import json
import math
import re
from typing import Any, NoReturn

import msgspec

_AFTER = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character at": "in string literal",
}
_LITERALS = ("true", "false", "null")
_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "'": r"\'"}
_LAST_ASCII = "\x7f"
_SUMMARY = 30
_SURROGATE = re.compile("[\ud800-\udfff]")


class Malformed(ValueError):
    """What Go says about the text."""


def read(raw: bytes) -> Any:
    """The value. Raises `Malformed`."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _read_leniently(raw, error)
    except RecursionError as error:
        raise Malformed("exceeded max depth") from error


def _read_leniently(raw: bytes, error: Exception) -> Any:
    """Bytes that are no UTF-8 and halves of surrogates are U+FFFD each, as Go reads strings. Raises `Malformed`."""
    text = _SURROGATE.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))
    try:
        return _without_surrogates(json.loads(text, parse_constant=_refuse_constant, parse_float=_finite))
    except Malformed:
        raise
    except RecursionError:
        raise Malformed("exceeded max depth") from error
    except ValueError:
        raise Malformed(complaint(raw)) from error


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Malformed(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each) for key, each in value.items()}
    return value


def complaint(raw: bytes) -> str:
    """What Go says about a text that is no JSON."""
    text = raw.decode("latin-1")  # Go names the byte, as the character of its number
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return _told(text, error)
    except ValueError as error:
        return f"invalid character '{str(error)[0]}' looking for beginning of value"
    return "invalid JSON"


def kind_of(value: Any) -> str:
    """A JSON value's type as Go's errors name it."""
    if value is None:
        return "null"
    names: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
    return names.get(type(value), "number")


def summary(raw: bytes) -> str:
    """The beginning of a body, as the API server shows one that it does not understand."""
    if not raw:
        return "<empty>"
    more = " ..." if len(raw) > _SUMMARY else ""
    if raw.startswith(b"{"):
        return raw[:_SUMMARY].decode(errors="replace") + more
    return raw[:_SUMMARY].hex() + more


def _quoted(sign: str) -> str:
    """A character as Go's scanner shows it."""
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    return f"\\x{ord(sign):02x}" if sign <= _LAST_ASCII else f"\\u{ord(sign):04x}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _told(text: str, error: json.JSONDecodeError) -> str:
    position = error.pos
    if position >= len(text.rstrip(" \t\r\n")) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    word = re.match(r"[a-z]+", text[position:])
    if error.msg == "Expecting value" and word is not None:
        for literal in _LITERALS:
            if literal[0] == word[0][0]:
                wrong = next((i for i, (a, b) in enumerate(zip(word[0], literal, strict=False)) if a != b), None)
                if wrong is None:
                    return "unexpected end of JSON input"
                return f"invalid character '{word[0][wrong]}' in literal {literal} (expecting '{literal[wrong]}')"
    if error.msg == "Expecting ',' delimiter":
        return f"invalid character '{_quoted(text[position])}' after {_enclosing(text[:position])}"
    return f"invalid character '{_quoted(text[position])}' {_AFTER.get(error.msg, 'looking for beginning of value')}"


def _enclosing(before: str) -> str:
    """Whether a comma was missed in an object or in an array."""
    depth = 0
    for sign in reversed(before):
        if sign in "]}":
            depth += 1
        elif sign in "[{":
            if depth == 0:
                return "object key:value pair" if sign == "{" else "array element"
            depth -= 1
    return "array element"
