"""Objects as a Go webhook reads them into its structs: null is the zero value, another type refuses the object.

The words are those of Go's `encoding/json`; the structs hold the fields that the webhooks look at, named as KAI v0.17
and the Dynamo operator name them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.api.durations import problem
from simulator.api.go_json import kind_of
from simulator.api.webhooks import Denied
from simulator.client import Object

INT32 = range(-(2**31), 2**31)
INT = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Struct:
    """`package` and `name` as errors tell them; fields that are not named here are taken as they are."""

    package: str
    name: str
    fields: Mapping[str, "GoType"] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.package}.{self.name}"


@dataclass(frozen=True, slots=True)
class Slice:
    """A list of one type."""

    item: "GoType"

    def __str__(self) -> str:
        return f"[]{self.item}"


GoType = Struct | Slice | str
"""A name is a plain type: string, bool, int, int32, float64, v1.Duration, or a map of strings."""


def read(go_type: GoType, value: Any, *, owner: str = "", path: str = "") -> Any:
    """The value without nulls. Raises `Denied` with 400 and Go's words where a type is another."""
    if isinstance(go_type, Struct):
        return _struct(go_type, value, owner, path)
    if isinstance(go_type, Slice):
        if not isinstance(value, list):
            raise _mismatch(go_type, value, owner, path)
        zero: Any = {} if isinstance(go_type.item, Struct) else ""
        return [read(go_type.item, zero if each is None else each, owner=owner, path=path) for each in value]
    if go_type == "v1.Duration":
        return _duration(value)
    if not _fits(go_type, value):
        raise _mismatch(go_type, value, owner, path)
    return value


def _struct(go_type: Struct, value: Any, owner: str, path: str) -> Object:
    if not isinstance(value, dict):
        raise _mismatch(go_type, value, owner, path)
    found: Object = {}
    for key, each in value.items():
        if each is None:
            continue
        known = go_type.fields.get(key)
        below = f"{path}.{key}" if path else key
        found[key] = each if known is None else read(known, each, owner=go_type.name, path=below)
    return found


def _duration(value: Any) -> str:
    if not isinstance(value, str):
        raise Denied(f"json: cannot unmarshal {kind_of(value)} into Go value of type string", 400)
    text = problem(value)
    if text:
        raise Denied(text, 400)
    return value


def _fits(go_type: str, value: Any) -> bool:
    if isinstance(value, bool):
        return go_type == "bool"
    if go_type == "map[string]string":
        return isinstance(value, dict) and all(isinstance(each, str | None) for each in value.values())
    if go_type in ("int", "int32"):
        return isinstance(value, int) and value in (INT32 if go_type == "int32" else INT)
    return isinstance(value, int | float) if go_type == "float64" else isinstance(value, str) and go_type != "bool"


def _mismatch(go_type: GoType, value: Any, owner: str, path: str) -> Denied:
    into = f"Go struct field {owner}.{path}" if path else "Go value"
    given = kind_of(value)
    if given == "number" and go_type in ("int", "int32", "float64"):
        given = f"number {value}"  # a number that the type cannot hold is told, others are not
    return Denied(f"json: cannot unmarshal {given} into {into} of type {go_type}", 400)
