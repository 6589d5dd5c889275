"""The parts of openapi.yaml that come from declared shapes: components, examples, and one answer per kind of error."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

REF = "#/components/schemas/"
_components: dict[str, Any] = {}

# What fields of these names hold in examples; others get a value of their type.
EXAMPLES: Mapping[str, Any] = {
    "id": "0f6d3f4e-0000-4000-8000-00000000000a",
    "name": "research",
    "clusterId": "7b1c3f4e-0000-4000-8000-0000000000c1",
    "projectId": "50",
    "departmentId": "4",
    "email": "ann@example.org",
    "username": "ann@example.org",
    "url": "https://registry.example.org",
    "server": "https://10.0.0.1:6443",
    "gpu": 8,
    "code": 202,
    "message": "Request has been accepted.",
    "levels": ["example.org/block", "example.org/rack", "kubernetes.io/hostname"],
    "phase": "Ready",
    "manifest": {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "qwen"}},
    "priority": "Normal",
    "resourceType": "project",
    "actions": ["read"],
    "subjectId": "ann@example.org",
    "roleId": 5,
    "scopeType": "tenant",
    "scopeId": "1",
}


def schema_of(shape: Any) -> dict[str, Any]:
    """The JSON schema of a shape, which refers to components; these are collected for `add_shapes`."""
    (schema,), components = msgspec.json.schema_components([shape], ref_template=REF + "{name}")
    for name, component in components.items():
        if _components.setdefault(name, component) != component:
            raise ValueError(f"two shapes are called {name}")
    return schema


def add_shapes(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, the last: components of the shapes, an example for each body."""
    schemas = result["components"]["schemas"]
    schemas.update(sorted(_components.items()))
    errors = result["components"].setdefault("responses", {})
    for operation in operations(result):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            if "example" not in content and "examples" not in content:
                content["example"] = example_of(content["schema"], schemas)
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and _is_common(answer):
                name = f"Error{status}{_word(answer['description'])}"
                errors[name] = answer
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    result["components"]["responses"] = dict(sorted(errors.items()))
    return result


def example_of(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str = "", depth: int = 0) -> Any:
    """A value that `schema` allows: its own example, else one by the field's name or type. Parts that may be absent
    are there, but for those of deep trees."""
    if given := _given(schema, name):
        return given[0]
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].removeprefix(REF)], schemas, name, depth + 1)
    if "anyOf" in schema or "oneOf" in schema:
        return example_of((schema.get("anyOf") or schema["oneOf"])[0], schemas, name, depth)
    kind = schema.get("type")
    if kind == "object":
        listed = schema.get("properties", {})
        return {key: example_of(part, schemas, key, depth + 1) for key, part in listed.items() if depth < 12}
    if kind == "array":
        return [example_of(schema.get("items") or {}, schemas, name, depth + 1)]
    return _plain(kind, name, schema)


def _given(schema: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Examples that somebody wrote, and values of an enumeration."""
    named = [EXAMPLES[name]] if name in EXAMPLES and _is(EXAMPLES[name], schema.get("type")) else ()
    found: Sequence[Any] = schema.get("examples") or schema.get("enum") or named
    return found


def _plain(kind: Any, name: str, schema: Mapping[str, Any]) -> Any:
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    if kind == "boolean":
        return True
    if kind == "null" or kind is None:
        return None if kind == "null" else {}
    timed = schema.get("format") == "date-time" or name.endswith(("At", "Time", "timestamp", "Timestamp"))
    return "2026-11-29T14:00:00Z" if timed else "text"


def _is(value: Any, kind: Any) -> bool:
    types: Mapping[str, Any] = {"string": str, "integer": int, "number": int, "array": list, "object": dict}
    return isinstance(value, types.get(str(kind), ()))


def operations(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item in result["paths"].values():
        yield from (part for part in item.values() if isinstance(part, dict) and "responses" in part)


def _is_common(answer: Mapping[str, Any]) -> bool:
    content = answer.get("content", {}).get("application/json", {})
    return bool(content.get("schema") == {"$ref": f"{REF}Error"})


def _word(text: str) -> str:
    return "".join(word.capitalize() for word in text.replace(".", "").replace(",", "").replace("-", " ").split()[:6])
