"""Structural schemas (OpenAPI v3 as CRDs and the core kinds use it), compiled once and walked per object.

`Schema` also answers the questions of server-side apply: how a list merges, which maps are atomic.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simulator.api.quantities import canonical, quantity_problem

UNSET: Any = object()
ListKeys = tuple[str, ...]


class Schema:
    """One node of a schema; children are compiled when first asked for (definitions may be recursive)."""

    def __init__(self, source: Mapping[str, Any], definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._children: dict[str, Schema] = {}
        resolved = self._resolve(source)
        self.source = resolved
        self.type: str = resolved.get("type", "")
        self.preserve = bool(resolved.get("x-kubernetes-preserve-unknown-fields"))
        self.int_or_string = bool(resolved.get("x-kubernetes-int-or-string"))
        self.embedded = bool(resolved.get("x-kubernetes-embedded-resource"))
        self.nullable = bool(resolved.get("nullable"))
        self.default = resolved.get("default", UNSET)
        self.required: tuple[str, ...] = tuple(resolved.get("required", ()))
        self.atomic_map = resolved.get("x-kubernetes-map-type") == "atomic"
        self.list_type: str = resolved.get("x-kubernetes-list-type", "atomic")
        self.map_keys: ListKeys = tuple(resolved.get("x-kubernetes-list-map-keys", ()))
        self.patch_key: str = resolved.get("x-kubernetes-patch-merge-key", "")
        self.properties: Mapping[str, Any] = resolved.get("properties", {})
        self.additional: Any = resolved.get("additionalProperties")
        self.rules: list[dict[str, str]] = resolved.get("x-kubernetes-validations", [])
        self.pattern: re.Pattern[str] | None = None
        if "pattern" in resolved:
            self.pattern = re.compile(resolved["pattern"].replace("\\z", "\\Z"))
        self.has_defaults = _mentions("default", resolved)
        self.has_rules = _mentions("x-kubernetes-validations", resolved)
        self.quantity = resolved.get("format") == "quantity"

    def _resolve(self, source: Mapping[str, Any]) -> dict[str, Any]:
        reference = source.get("$ref")
        if reference is None:
            return dict(source)
        name = reference.rpartition("/")[2]
        own = {key: value for key, value in source.items() if key != "$ref"}
        return {**self._definitions[name], **own}

    @property
    def is_free_form(self) -> bool:
        """No structure at all: anything is accepted and kept."""
        return self.preserve and not self.properties and not self.additional

    @property
    def is_map(self) -> bool:
        return isinstance(self.additional, Mapping)

    def child(self, name: str) -> "Schema | None":
        """Schema of an object's field; None when the field is not declared."""
        found = self._children.get(name)
        if found is not None:
            return found
        if name in self.properties:
            return self._compile(name, self.properties[name])
        if isinstance(self.additional, Mapping):
            return self._shared("\x00additional", self.additional)
        if self.additional is True:
            return FREE_FORM
        return None

    def item(self) -> "Schema":
        """Schema of a list's items."""
        source = self.source.get("items")
        return FREE_FORM if not isinstance(source, Mapping) else self._shared("\x00items", source)

    def _shared(self, name: str, source: Mapping[str, Any]) -> "Schema":
        return self._children.get(name) or self._compile(name, source)

    def _compile(self, name: str, source: Mapping[str, Any]) -> "Schema":
        child = Schema(source, self._definitions)
        self._children[name] = child
        return child


def _mentions(word: str, source: Mapping[str, Any]) -> bool:
    """Whether a keyword stands anywhere below (core definitions hold neither, so references need no look)."""
    if word in source:
        return True
    below = list(source.get("properties", {}).values())
    below += [source[key] for key in ("items", "additionalProperties") if isinstance(source.get(key), Mapping)]
    return any(_mentions(word, part) for part in below)


FREE_FORM = Schema({"x-kubernetes-preserve-unknown-fields": True}, {})

ReportUnknown = Callable[[str], None]


def prune(schema: Schema, value: Any, path: str, report: ReportUnknown) -> Any:
    """A fresh copy of the value without undeclared fields; each of those is reported by path.

    Values of another type than declared are kept as they are: validation names them.
    """
    if isinstance(value, dict):
        return _prune_object(schema, value, path, report)
    if isinstance(value, list):
        item = schema.item()
        return [prune(item, element, f"{path}[{index}]", report) for index, element in enumerate(value)]
    return value


def _prune_object(schema: Schema, value: dict[str, Any], path: str, report: ReportUnknown) -> Any:
    if schema.is_free_form:
        return copied(value)
    kept: dict[str, Any] = {}
    prefix = f"{path}." if path else ""
    for key, element in value.items():
        child = schema.child(key)
        if child is None:
            if (
                schema.preserve
                or not (schema.properties or schema.type in ("object", "array"))
                or (schema.embedded and key in ("apiVersion", "kind", "metadata"))
            ):
                kept[key] = copied(element)
            else:
                report(prefix + key)
        elif isinstance(element, dict | list):
            kept[key] = prune(child, element, prefix + key, report)
        elif child.quantity:
            kept[key] = canonical(element)
        else:
            kept[key] = element
    return kept


class Mismatch(NamedTuple):
    """A value of another type than declared: its path, its JSON type as Go names it, the declared type."""

    path: str
    given: str
    declared: str


def mismatch(schema: Schema, value: Any, path: str) -> Mismatch | None:
    """The first value whose type Go could not read; null fits everything."""
    if value is None or schema.is_free_form:
        return None
    if not _readable(schema, value):
        return Mismatch(path, _GO_NAMES.get(type(value), "number"), _go_type(schema))
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        named = ((key, element, path if schema.is_map else prefix + key) for key, element in value.items())
        children = ((schema.child(key), element, where) for key, element, where in named)
        found = (mismatch(child, element, where) for child, element, where in children if child is not None)
        return next((one for one in found if one is not None), None)
    if isinstance(value, list):
        item = schema.item()
        found = (mismatch(item, element, path) for element in value)
        return next((one for one in found if one is not None), None)
    return None


_GO_NAMES: dict[type, str] = {str: "string", bool: "bool", list: "array", dict: "object"}
_PYTHON_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
}


def without_empty(schema: Schema, value: Any) -> Any:
    """The value without empty maps and lists, which Go leaves out; unchanged parts are shared with what was given."""
    if isinstance(value, list):
        item = schema.item()
        kept = [without_empty(item, element) for element in value]
        return value if all(new is old for new, old in zip(kept, value, strict=True)) else kept
    if not isinstance(value, dict) or schema.is_free_form:
        return value
    result = value
    for key, element in value.items():
        child = schema.child(key)
        if child is None or not isinstance(element, dict | list | None):
            continue
        new = without_empty(child, element)
        if not new and (child.is_map or child.type == "array"):
            result = {name: part for name, part in result.items() if name != key}
        elif new is not element:
            result = {**result, key: new}
    return result


def bad_quantity(schema: Schema, value: Any) -> str:
    """Why the first resource quantity that cannot be read is none; "" where all can."""
    if isinstance(value, dict):
        named = ((schema.child(key), element) for key, element in value.items())
        found = (bad_quantity(child, element) for child, element in named if child is not None)
        return next(filter(None, found), "")
    if isinstance(value, list):
        return next(filter(None, (bad_quantity(schema.item(), element) for element in value)), "")
    return quantity_problem(value) if schema.quantity and value is not None else ""


def _go_type(schema: Schema) -> str:
    if schema.is_map:
        return f"map[string]{schema.child('any').type or 'string'}"  # type: ignore[union-attr]  # a map has one
    if schema.type == "integer":
        return str(schema.source.get("format") or "int32")
    return {"boolean": "bool"}.get(schema.type, schema.type or "string")


def _readable(schema: Schema, value: Any) -> bool:
    if isinstance(value, bool):
        return schema.type in ("boolean", "") and not schema.int_or_string
    if schema.int_or_string:
        return isinstance(value, int | float | str)
    if schema.type == "boolean":
        return False
    return isinstance(value, _PYTHON_TYPES.get(schema.type, object))


def copied(value: Any) -> Any:
    """A deep copy of plain JSON."""
    if isinstance(value, dict):
        return {key: copied(element) for key, element in value.items()}
    if isinstance(value, list):
        return [copied(element) for element in value]
    return value


def fill_defaults(schema: Schema, value: Any) -> Any:
    """The value with the schema's defaults; unchanged parts are shared with what was given."""
    if not schema.has_defaults:
        return value
    if isinstance(value, dict):
        return _fill_object(schema, value)
    if isinstance(value, list):
        item = schema.item()
        return [fill_defaults(item, element) for element in value] if item.has_defaults else value
    return value


def _fill_object(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    filled = value
    for name in schema.properties:
        child = schema.child(name)
        if child is None or not child.has_defaults:
            continue
        present = filled.get(name, UNSET)
        if present is None and not child.nullable and child.default is not UNSET:
            present = UNSET
        if present is UNSET:
            if child.default is UNSET:
                continue
            present = copied(child.default)
        new = fill_defaults(child, present)
        if new is not filled.get(name, UNSET):
            filled = {**filled, name: new}
    if isinstance(schema.additional, Mapping):
        child = schema._shared("\x00additional", schema.additional)
        if child.has_defaults:
            filled = {key: fill_defaults(child, element) for key, element in filled.items()}
    return filled
