"""`python -m tests.api.answers RECORDED`: makes core/api/answers.json, the schemas and examples of openapi.yaml.

RECORDED holds what the suite's requests were answered (MUSTER_RECORD_ANSWERS=RECORDED pytest …), one JSON document a
line. A schema says what all answers of an operation had in common; tests/api/test_schemathesis.py asks the product
for others and holds them against it.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "core" / "api" / "answers.json"
# Objects whose keys are data: nothing is said about which there are.
MAPS = {
    "labels", "manifest", "rawManifest", "workloadManifest", "operands", "required", "optional", "arguments",
    "additionalFields", "resourceInterface", "migDevices", "before", "after", "metadata", "waitingReason", "placement",
    "schemas", "paths", "components", "securitySchemes", "terms", "shares", "parts",
}  # fmt: skip
WHOLE = {"api/v1/openapi.json"}
MOST = 300
_PARAMETER = re.compile(r"<[^>]+>")


def schema_of(values: Sequence[Any], name: str = "") -> dict[str, Any]:
    """The schema that all `values` fit. OpenAPI 3.0: null is `nullable`."""
    known = [value for value in values if value is not None]
    kinds = {_kind(value) for value in known}
    found: dict[str, Any] = {}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if len(kinds) == 1:
        found = _of_kind(kinds.pop(), known, name)
    return {**found, "nullable": True} if len(known) < len(values) else found


def _of_kind(kind: str, values: Sequence[Any], name: str) -> dict[str, Any]:
    if kind == "array":
        items = [item for value in values for item in value][:MOST]
        return {"type": "array", "items": schema_of(items, name)}
    if kind == "object" and name not in MAPS:
        keys = dict.fromkeys(key for value in values for key in value)
        required = [key for key in keys if all(key in value for value in values)]
        properties = {key: schema_of([value[key] for value in values if key in value], key) for key in keys}
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"type": kind}


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def example_of(value: Any, depth: int = 0) -> Any:
    """The value with one item of every list."""
    if isinstance(value, list):
        return [example_of(item, depth + 1) for item in value[:1]]
    if isinstance(value, dict):
        return {key: example_of(item, depth + 1) for key, item in value.items()}
    return value


def answers(lines: Sequence[str]) -> dict[str, Any]:
    """`{"GET /api/v1/clusters/{} 200": {schema, example}}`."""
    bodies: dict[str, list[Any]] = {}
    for line in lines:
        found = json.loads(line)
        if found["route"] in WHOLE:
            continue
        shape = "/" + _PARAMETER.sub("{}", found["route"])
        bodies.setdefault(f"{found['method']} {shape} {found['status']}", []).append(found["body"])
    made = {}
    for key, values in sorted(bodies.items()):
        fullest = max(values[:MOST], key=lambda value: min(len(json.dumps(value)), 4000))
        made[key] = {"schema": schema_of(values[:MOST]), "example": example_of(fullest)}
    return made


if __name__ == "__main__":
    with Path(sys.argv[1]).open() as recorded:
        TARGET.write_text(json.dumps(answers(recorded.readlines()), indent=1, sort_keys=True) + "\n")
