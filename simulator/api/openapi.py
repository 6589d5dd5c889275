"""OpenAPI v3 documents, one per group and version, made of the same schemas that validate."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from simulator.api.core_kinds import definitions
from simulator.api.resources import Resource
from simulator.api.server import Server
from simulator.api.store import encode_json
from simulator.client import Object

_MODEL = re.compile(r"(?:[A-Z][a-z]+(?=V\d))*(V\d+(?:alpha\d+|beta\d+)?)([A-Z].*)")
_PREFIX = "#/components/schemas/"
_WRITES = ("dryRun", "fieldManager", "fieldValidation")
_LIST = ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "timeoutSeconds", "watch")
_OPERATIONS = {
    "get": ("get", ("pretty",)),
    "put": ("put", _WRITES),
    "patch": ("patch", (*_WRITES, "force")),
    "delete": ("delete", ("dryRun", "gracePeriodSeconds", "propagationPolicy")),
}


class Documents:
    """The documents of a server, made anew when its resources change."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: dict[str, bytes] = {}
        self._generation = -1

    def index(self) -> Object:
        """`/openapi/v3`: where each document is, with a hash of its content."""
        paths = {}
        for path in self._paths():
            digest = hashlib.sha256(self.document(path) or b"").hexdigest()[:32].upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
        return {"paths": paths}

    def document(self, path: str) -> bytes | None:
        """The JSON of `api/v1` or `apis/{group}/{version}`; None for others."""
        registry = self._server.registry
        if registry.generation != self._generation:
            self._made, self._generation = {}, registry.generation
        if path not in self._made:
            if path not in self._paths():
                return None
            *_, group, version = ("", *path.split("/")[1:])
            self._made[path] = encode_json(_document(registry.in_version(group, version)))
        return self._made[path]

    def _paths(self) -> list[str]:
        return [
            f"apis/{group}/{version}" if group else f"api/{version}"
            for group, versions in sorted(self._server.registry.groups().items())
            for version in versions
        ]


def _document(resources: list[Resource]) -> Object:
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for resource in resources:
        name = _schema_name(resource)
        schemas[name] = {**_translated(_root(resource)), "x-kubernetes-group-version-kind": [_identity(resource)]}
        paths.update(_paths_of(resource, name))
    pending = [name for schema in schemas.values() for name in _references(schema)]
    while pending:
        name = pending.pop()
        if name not in schemas:
            schemas[name] = _translated(definitions()[_models()[name]])
            pending += _references(schemas[name])
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.35.4"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _root(resource: Resource) -> Object:
    return dict(resource.schema.source) if resource.schema is not None else {"type": "object"}


def _identity(resource: Resource) -> Object:
    kind = resource.kind
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


def _schema_name(resource: Resource) -> str:
    kind = resource.kind
    if not resource.custom:
        return f"io.k8s.api.{(kind.group.partition('.')[0] or 'core')}.{kind.version}.{kind.kind}"
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def _paths_of(resource: Resource, name: str) -> Iterator[tuple[str, Object]]:
    kind = resource.kind
    collection = kind.path("{namespace}" if kind.namespaced else None)
    media = {"application/json": {"schema": {"$ref": _PREFIX + name}}}
    answer = {"200": {"description": "OK", "content": media}}

    def operation(action: str, parameters: tuple[str, ...], *, body: bool = False) -> Object:
        described: Object = {
            "operationId": f"{action}{kind.group}{kind.version}{kind.kind}",
            "parameters": [_parameter(one) for one in parameters],
            "responses": answer,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _identity(resource),
        }
        if body:
            described["requestBody"] = {"content": media, "required": True}
        return described

    whole: Object = {"post": operation("post", _WRITES, body=True)}
    if "list" in resource.verbs:
        whole["get"] = operation("list", _LIST)
        whole["delete"] = operation("deletecollection", _LIST)
        one = {
            method: operation(action, parameters, body=method in ("put", "patch"))
            for method, (action, parameters) in _OPERATIONS.items()
        }
        yield f"{collection}/{{name}}", one
        if resource.has_status:
            yield f"{collection}/{{name}}/status", {method: one[method] for method in ("get", "put", "patch")}
    yield collection, whole


def _parameter(name: str) -> Object:
    kind = "boolean" if name in ("force", "watch") else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _translated(value: Any) -> Any:
    """A schema with references as OpenAPI v3 spells them."""
    if isinstance(value, list):
        return [_translated(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value and isinstance(value["$ref"], str):
        target = {"$ref": _PREFIX + _public(value["$ref"].rpartition("/")[2])}
        rest = {key: item for key, item in value.items() if key != "$ref"}
        return {**rest, "allOf": [target]} if rest else target
    return {key: item if key in ("default", "enum") else _translated(item) for key, item in value.items()}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_PREFIX)
        for item in value.values():
            yield from _references(item)


def _public(model: str) -> str:
    """`V1Container` → `io.k8s.api.v1.Container`."""
    match = _MODEL.fullmatch(model)
    return f"io.k8s.api.{match[1].lower()}.{match[2]}" if match else f"io.k8s.api.{model}"


def _models() -> dict[str, str]:
    return {_public(model): model for model in definitions()}
