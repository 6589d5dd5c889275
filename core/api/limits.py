"""What openapi.yaml says of the values that services refuse: the same patterns and bounds that they check with.

A service says in its own words, in the asker's language, what is wrong with a value; so the limits stand in the
document only, and msgspec does not check them a second time.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from core.api.documenting import REF, operations
from core.api.shapes import Meta
from core.readable import READABLE_LINES

# A text that can be stored: `core.stored_text`.
STORABLE = "^[^\\u0000]*$"
_SAYS_MORE = frozenset({"enum", "const", "pattern", "format"})
_VALUES = frozenset({"const", "default", "enum", "examples"})


def limited(rule: re.Pattern[str] | None = None, **bounds: Any) -> Meta:
    """What is said of a value: that all of it matches `rule`, and keywords of JSON Schema."""
    pattern = {"pattern": whole(rule)} if rule else {}
    return Meta(extra_json_schema={**pattern, **bounds})


def whole(rule: re.Pattern[str]) -> str:
    """The pattern of JSON Schema for texts that `rule` matches from end to end."""
    return f"^(?:{part(rule)})$"


def part(rule: re.Pattern[str]) -> str:
    """The pattern of `rule` without its end, to be a part of another."""
    return rule.pattern.removesuffix(r"\Z")


def either(*choices: Mapping[str, Any]) -> Meta:
    """What is said of an object of which one of the `choices` holds: schemas of fields that must be there, or that are
    null or left out."""
    return limited(anyOf=[{"required": _required(choice), "properties": dict(choice)} for choice in choices])


def _required(choice: Mapping[str, Any]) -> list[str]:
    return [name for name, schema in choice.items() if schema.get("type") != "null"]


Uuid = Annotated[str, limited(format="uuid")]
Moment = Annotated[str, limited(format="date-time")]
Description = Annotated[str, limited(READABLE_LINES, maxLength=500)]


def add_limits(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, after `add_shapes`: texts that are taken can be stored, and a body without which
    fields would be missing is required."""
    schemas, taken = result["components"]["schemas"], set[str]()
    for operation in operations(result):
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query":
                parameter["schema"] = _storable(parameter["schema"])
        for content in operation.get("requestBody", {}).get("content", {}).values():
            operation["requestBody"]["required"] = not _may_be_absent(content["schema"], schemas)
            _note_components(content["schema"], schemas, taken)
    for name in taken:
        schemas[name] = _storable(schemas[name])
    return result


def _storable(schema: Any) -> Any:
    """`schema` with the one pattern for each text in it of which nothing else is said, names of fields included."""
    if isinstance(schema, list):
        return [_storable(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    said = {key: value if key in _VALUES else _storable(value) for key, value in schema.items()}
    if said.get("type") == "string" and not _SAYS_MORE & said.keys():
        return said | {"pattern": STORABLE}
    is_open = said.get("type") == "object" and said.get("additionalProperties") is not False
    return said | {"propertyNames": {"pattern": STORABLE}} if is_open else said


def _may_be_absent(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> bool:
    """Whether an object without any field is of this schema: it is what an empty body is read as."""
    found = schemas[schema["$ref"].removeprefix(REF)] if "$ref" in schema else schema
    return found.get("type") == "object" and not found.get("required") and "anyOf" not in schema


def _note_components(schema: Any, schemas: Mapping[str, Any], seen: set[str]) -> None:
    """Adds to `seen` the names of the components that `schema` refers to, at any depth."""
    if isinstance(schema, list):
        for item in schema:
            _note_components(item, schemas, seen)
    elif isinstance(schema, Mapping):
        name = str(schema.get("$ref", "")).removeprefix(REF)
        if name and name not in seen:
            seen.add(name)
            _note_components(schemas[name], schemas, seen)
        _note_components(list(schema.values()), schemas, seen)
