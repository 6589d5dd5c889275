"""Values against structural schemas, with the texts of the API server (go-openapi as kube translates it)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from simulator.api.errors import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_required,
    field_unsupported,
    go_value,
)
from simulator.api.expressions import RULES, is_transition, normalized
from simulator.api.resources import Resource
from simulator.api.scale_validation import scale_spec_errors, scale_status_errors
from simulator.api.schema import FREE_FORM, Schema

_BLOCKING = {f"FieldValue{what}" for what in ("Required", "NotSupported", "TooLong", "TooMany", "TypeInvalid")}
_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_UNCHECKED = FieldError(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def schema_errors(resource: Resource, new: Any, old: Any, subresource: str) -> list[FieldError]:
    """Structural errors, then the rules (or the note that they were not checked). A status stands for itself."""
    schema = resource.schema or FREE_FORM
    if subresource == "status":
        found = _value(schema.child("status") or FREE_FORM, new.get("status", {}), "")
        errors = [_within("status", error) for error in found]
    else:
        errors = [*_value(schema, new, ""), *scale_spec_errors(resource, new)]
    errors += [*scale_status_errors(resource, new), *_list_errors(schema, new, "")]
    if not schema.has_rules:
        return errors
    if any(error.type in _BLOCKING for error in errors):
        return [*errors, _UNCHECKED]
    return errors + list(_rules(schema, new, old, ""))


def _within(path: str, error: FieldError) -> FieldError:
    return replace(error, path=f"{path}.{error.path}" if error.path else path)


def _value(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    if value is None:
        if not schema.nullable and schema.type:
            yield _wrong_type(schema, value, path)
        return
    if not _type_fits(schema, value):
        yield _wrong_type(schema, value, path)
        yield from _choices(schema, value, path)
        return
    yield from _choices(schema, value, path)
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    elif isinstance(value, str):
        yield from _string(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(schema, value, path)


def _type_fits(schema: Schema, value: Any) -> bool:
    if schema.int_or_string:
        return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    if isinstance(value, bool):
        return schema.type in ("boolean", "")
    if schema.type == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(schema.type, object))


def _wrong_type(schema: Schema, value: Any, path: str) -> FieldError:
    given = go_type(value)
    wanted = schema.type or ("integer,string" if schema.int_or_string else "object")
    detail = f'Invalid value: "{given}": {path} in body must be of type {wanted}: "{given}"'
    return FieldError(path, "FieldValueTypeInvalid", detail)


def go_type(value: Any) -> str:
    """The JSON type of a value as messages name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    names = {float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "object")


def _choices(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    allowed = schema.source.get("enum")
    if allowed is not None and value not in allowed:
        yield field_unsupported(path, value, allowed)


def _object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[FieldError]:
    prefix = f"{path}." if path else ""
    for name in schema.required:
        if value.get(name) is None:
            yield field_required(prefix + name)
    yield from _size(schema, len(value), path, "Properties", "properties")
    for key, element in value.items():
        child = schema.child(key) or FREE_FORM
        if element is None and key in schema.required:
            continue
        if (not child.is_free_form or child.type) and not (path == "" and key == "metadata"):
            yield from _value(child, element, prefix + key)


def _list(schema: Schema, value: list[Any], path: str) -> Iterator[FieldError]:
    yield from _size(schema, len(value), path, "Items", "items")
    item = schema.item()
    for index, element in enumerate(value):
        yield from _value(item, element, f"{path}[{index}]")


def _list_errors(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    """Sets with equal items, lists of objects with equal keys or with something else in them."""
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        for key, element in value.items():
            child = schema.child(key)
            if child is not None and isinstance(element, dict | list):
                yield from _list_errors(child, element, prefix + key)
    elif isinstance(value, list):
        yield from _duplicates(schema, value, path)
        for index, element in enumerate(value):
            yield from _list_errors(schema.item(), element, f"{path}[{index}]")


def _duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[FieldError]:
    if schema.list_type not in ("map", "set"):
        return
    strange = next((i for i, x in enumerate(value) if x is not None and not isinstance(x, dict)), None)
    if schema.list_type == "map" and strange is not None:
        text = "must be an object for an array of list-type map"
        yield field_invalid(f"{path}[{strange}]", value[strange], text)
        return
    seen: list[Any] = []
    for index, element in enumerate(value):
        identity = element
        if schema.list_type == "map":
            if not isinstance(element, dict):
                continue
            identity = {key: element[key] for key in schema.map_keys if key in element}
        if identity in seen:
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {go_value(identity)}")
        seen.append(identity)


def _size(schema: Schema, size: int, path: str, suffix: str, word: str) -> Iterator[FieldError]:
    least, most = schema.source.get(f"min{suffix}"), schema.source.get(f"max{suffix}")
    if least is not None and size < least:
        yield field_invalid(path, size, f"{path} in body should have at least {least} {word}")
    if most is not None and size > most:
        yield FieldError(path, "FieldValueTooMany", f"Too many: {size}: must have at most {most} items")


def _string(schema: Schema, value: str, path: str) -> Iterator[FieldError]:
    source = schema.source
    if "maxLength" in source and len(value) > source["maxLength"]:
        yield FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {source['maxLength']} bytes")
    elif "minLength" in source and len(value) < source["minLength"]:
        yield field_invalid(path, value, f"{path} in body should be at least {source['minLength']} chars long")
    elif schema.pattern is not None and schema.pattern.search(value) is None:
        yield field_invalid(path, value, f"{path} in body should match '{source['pattern']}'")
    if source.get("format") == "date-time" and _DATE_TIME.fullmatch(value) is None:
        yield field_invalid(path, value, f"{path} in body must be of type date-time: {go_value(value)}")


def _number(schema: Schema, value: float, path: str) -> Iterator[FieldError]:
    source = schema.source
    if "minimum" in source:
        least, strict = source["minimum"], source.get("exclusiveMinimum")
        if value < least or (strict and value == least):
            word = "greater than" if strict else "greater than or equal to"
            yield field_invalid(path, value, f"{path} in body should be {word} {least}")
    if "maximum" in source:
        most, strict = source["maximum"], source.get("exclusiveMaximum")
        if value > most or (strict and value == most):
            word = "less than" if strict else "less than or equal to"
            yield field_invalid(path, value, f"{path} in body should be {word} {most}")

    if source.get("multipleOf") and value % source["multipleOf"]:
        yield field_invalid(path, value, f"{path} in body should be a multiple of {source['multipleOf']}")


def _rules(schema: Schema, new: Any, old: Any, path: str) -> Iterator[FieldError]:
    for rule in schema.rules:
        if (old is not None or not is_transition(rule)) and not RULES[normalized(rule["rule"])](new, old):
            yield _rule_error(rule, path)
    if isinstance(new, dict):
        for key, value in new.items():
            child = schema.child(key)
            if child is not None and not (path == "" and key == "metadata"):
                before = old.get(key) if isinstance(old, dict) else None
                yield from _rules(child, value, before, f"{path}.{key}" if path else key)
    elif isinstance(new, list):
        item = schema.item()
        for index, value in enumerate(new):
            yield from _rules(item, value, _earlier(schema, old, value), f"{path}[{index}]")


def _earlier(schema: Schema, old: Any, item: Any) -> Any:
    """The old item of an associative list; items of other lists have no old value."""
    if schema.list_type != "map" or not isinstance(old, list) or not isinstance(item, dict):
        return None
    keys = [item.get(key) for key in schema.map_keys]
    same = (before for before in old if [before.get(key) for key in schema.map_keys] == keys)
    return next(same, None)


def _rule_error(rule: dict[str, str], path: str) -> FieldError:
    where = (path + rule.get("fieldPath", "")).lstrip(".")
    message = rule.get("message") or f"failed rule: {rule['rule']}"
    reason = rule.get("reason", "FieldValueInvalid")
    if reason == "FieldValueRequired":
        return field_required(where, message)
    if reason == "FieldValueForbidden":
        return field_forbidden(where, message)
    return FieldError(where, reason, f"Invalid value: {message}")
