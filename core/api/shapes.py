"""Shapes of the API's JSON, declared once: views build and read them, and openapi.yaml is made of them.

A field is called in snake case here and in camel case on the wire. `UNSET` is a key that is absent, None one that is
null.
"""

import logging
import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from core.api.allowed import allowed_at
from core.api.json_rendering import encode
from core.errors import InvalidInput

__all__ = (
    "ACCEPTED", "UNSET", "Accepted", "Condition", "Count", "Encoded", "Meta", "Shape", "UnsetType",
    "check_shape", "conforming",
)  # fmt: skip
log = logging.getLogger(__name__)
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?$")
_NAMED = re.compile(r"^Object (?P<fault>missing required|contains unknown) field `(?P<name>[^`]*)`")


class Shape(msgspec.Struct, rename="camel", gc=False, forbid_unknown_fields=True):
    """One JSON object."""


# JSON that is passed on as the database has it, without being read (`msgspec.Raw`), or as plain values.
Encoded = Annotated[Any, Meta(extra_json_schema={"type": "object", "additionalProperties": True})]


class Count(Shape):
    """How many match."""

    count: int


class Condition(Shape, forbid_unknown_fields=False):
    """What holds of an object, since when and of which of its generations. `arguments` are the message's."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str
    observed_generation: int | UnsetType = UNSET
    arguments: Encoded | UnsetType = UNSET


class Accepted(Shape):
    """A write that goes on in the background."""

    code: int
    message: str


ACCEPTED = Accepted(code=202, message="Request has been accepted.")


def conforming(data: Any, shape: Any) -> Any:
    """An answer as its declared shape; one that is built of shapes already is left alone. None stays None.

    One that is not of its shape is answered as it is and logged as an error, which fails the suite's tests.
    """
    first = data[0] if isinstance(data, list) and data else data
    if data is None or isinstance(first, msgspec.Struct):
        return data
    try:
        return msgspec.json.decode(encode(data), type=shape)
    except msgspec.ValidationError as error:
        log.error("An answer is not of its declared shape: %s", error)
        return data


def check_shape(body: Any, shape: Any) -> None:
    """Raise `InvalidInput` that names the field of `body` that its declared shape refuses."""
    try:
        msgspec.convert(body, shape)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        what, where = (found["what"], found["where"] or "") if found else (str(error), "")
        named = _NAMED.match(what)
        if named:
            where = f"{where}.{named['name']}".lstrip(".")
            what = "Required parameter is missing" if named["fault"] == "missing required" else "There is no such field"
        raise InvalidInput.of(where, what.replace("`", ""), allowed_at(shape, where, what)) from error


class TelemetryGroup(Shape):
    """What a figure was grouped by."""

    key: str
    value: str
    name: str


class TelemetryValue(Shape):
    """A figure as text; of a group where it is grouped."""

    value: str
    groups: list[TelemetryGroup] | UnsetType = UNSET


class Telemetry(Shape):
    """Figures as of now; what is not known has none."""

    type: str
    timestamp: str
    values: list[TelemetryValue]
