"""The replicas and the selector of a custom resource that declares a scale, checked beside its schema.

Source: apiextensions-apiserver pkg/registry/customresource/validator.go.
"""

from collections.abc import Iterator
from typing import Any

from simulator.api.errors import FieldError, field_invalid
from simulator.api.resources import Resource
from simulator.client import Object

_MOST = 2**31 - 1
_GO_TYPES: dict[type, str] = {
    str: "string", bool: "bool", float: "float64", int: "int64", list: "[]interface {}", dict: "map[string]interface {}"
}  # fmt: skip


class _Unfit(Exception):
    """What the accessor of a value says."""


def scale_spec_errors(resource: Resource, body: Object) -> Iterator[FieldError]:
    """What is wrong with the wished replicas."""
    if resource.scale is not None and resource.custom:
        yield from _replicas(resource.scale.spec_replicas, body)


def scale_status_errors(resource: Resource, body: Object) -> Iterator[FieldError]:
    """What is wrong with the replicas there are, and with the selector."""
    scale = resource.scale
    if scale is None or not resource.custom:
        return
    yield from _replicas(scale.status_replicas, body)
    if scale.selector:
        try:
            _nested(body, scale.selector, str, "string")
        except _Unfit as error:
            yield field_invalid(scale.selector, "", str(error))


def _replicas(path: str, body: Object) -> Iterator[FieldError]:
    try:
        number = _nested(body, path, int, "int64")
    except _Unfit as error:
        yield field_invalid(path, 0, str(error))
        return
    if number is not None and number < 0:
        yield field_invalid(path, number, "should be a non-negative integer")
    elif number is not None and number > _MOST:
        yield field_invalid(path, number, f"should be less than or equal to {_MOST}")


def _nested(body: Object, path: str, wanted: type, name: str) -> Any:
    """The value at a path, None where there is none."""
    value: Any = body
    steps = path.strip(".").split(".")
    for number, step in enumerate(steps, 1):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _Unfit(_told(steps[:number], value, "map[string]interface{}"))
        if step not in value:
            return None
        value = value[step]
    if type(value) is not wanted:
        raise _Unfit(_told(steps, value, name))
    return value


def _told(steps: list[str], value: Any, wanted: str) -> str:
    shown = {"None": "<nil>", "True": "true", "False": "false"}.get(str(value), value)
    given = "<nil>" if value is None else _GO_TYPES[type(value)]
    return f".{'.'.join(steps)} accessor error: {shown} is of the type {given}, expected {wanted}"
