"""Links of openapi.yaml: what a POST makes is read, changed and deleted by the id that its answer gives."""

from collections.abc import Iterator, Mapping
from typing import Any

from core.api.documenting import REF

# Where an answer has the id of what was made, and the key by which that place is known.
_IDS: Mapping[str, str] = {"id": "id", "uuid": "uuid", "meta": "meta/id", "metadata": "metadata/id"}
_METHODS = ("get", "put", "patch", "delete")


def add_links(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, after `add_shapes`."""
    schemas = result["components"]["schemas"]
    for path, item in result["paths"].items():
        for status, answer in item.get("post", {}).get("responses", {}).items():
            place = _id_of(answer, schemas) if status in ("200", "201", "202") else ""
            links = dict(_links(result["paths"], path, place)) if place else {}
            if links:
                answer["links"] = links
    return result


def _id_of(answer: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """The JSON pointer of the id in an answer; "" where it has none."""
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    named = schemas.get(schema.get("$ref", "").removeprefix(REF), schema)
    return next((place for key, place in _IDS.items() if key in named.get("properties", {})), "")


def _links(paths: Mapping[str, Any], path: str, place: str) -> Iterator[tuple[str, Any]]:
    """A link to each operation on `path/{one}`."""
    for other, item in paths.items():
        name = other.removeprefix(f"{path}/{{").removesuffix("}")
        if other != f"{path}/{{{name}}}" or "{" in name:
            continue
        for method in _METHODS:
            if method in item:
                target = item[method]["operationId"]
                yield target, {"operationId": target, "parameters": {name: f"$response.body#/{place}"}}
