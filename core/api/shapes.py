"""Shapes of the API's JSON, declared once: views build and read them, and openapi.yaml is made of them.

A field is called in snake case here and in camel case on the wire. `UNSET` is a key that is absent, None one that is
null.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

__all__ = ("UNSET", "Accepted", "Count", "Encoded", "Shape", "UnsetType")


class Shape(msgspec.Struct, rename="camel", gc=False, forbid_unknown_fields=True):
    """One JSON object."""


# JSON that is passed on as the database has it, without being read (`msgspec.Raw`), or as plain values.
Encoded = Annotated[Any, Meta(extra_json_schema={"type": "object", "additionalProperties": True})]


class Count(Shape):
    """How many match."""

    count: int


class Accepted(Shape):
    """A write that goes on in the background."""

    code: int
    message: str


ACCEPTED = Accepted(code=202, message="Request has been accepted.")
