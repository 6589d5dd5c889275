"""Answers held against a schema of Run:ai's document, and JSON requests."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft4Validator

OPENAPI = Path(__file__).parents[2] / "shared" / "reference" / "runai-openapi.json"


def check(schema: str, document: Any) -> None:
    """The document against Run:ai's schema; skipped, by name, where the file is not there."""
    if not OPENAPI.exists():
        pytest.skip("needs ../shared/reference/runai-openapi.json")
    Draft4Validator({**_document(), "$ref": f"#/components/schemas/{schema}"}).validate(document)


def send(api: Client, method: str, path: str, body: Any = None) -> Any:
    """One request with a JSON body."""
    return getattr(api, method)(path, data=json.dumps(body), content_type="application/json")


@cache
def _document() -> Any:
    return _with_null(json.loads(OPENAPI.read_text()))


def _with_null(node: Any) -> Any:
    """OpenAPI 3.0's `nullable` as JSON Schema says it."""
    if isinstance(node, list):
        return [_with_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _with_null(value) for key, value in node.items() if key not in ("example", "examples")}
    if node.get("nullable") is True and "type" in node:
        node["type"] = [node["type"], "null"]
        if "enum" in node:
            node["enum"] = [*node["enum"], None]
    return node
