"""`/api/docs/`: the operations of the API on a page that can send a request, from the same schema as openapi.yaml."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.shapes import Encoded
from core.api.views import ApiView

_MAKING = Lock()
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path; `example` is a body for it as JSON, "" where it takes none."""

    method: str
    path: str
    summary: str
    parameters: tuple[str, ...]
    statuses: tuple[str, ...]
    example: str


class ApiDocumentView(ApiView):
    """The document that describes this API."""

    gives: Mapping[str, Any] = {"get": Encoded}

    def get(self, request: Request) -> Response:
        """OpenAPI 3, as openapi.yaml."""
        return Response(document())


def document() -> dict[str, Any]:
    """The OpenAPI document. Made once per process, by one thread: the generator fails where two use it at once."""
    with _MAKING:
        return _made()


@cache
def _made() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # has no types
    return made


@require_GET
def api_docs(request: HttpRequest) -> HttpResponse:
    """All operations, by what they concern."""
    methods = [method.upper() for method in METHODS]
    return render(request, "controlplane/api_docs.html", {"groups": operations(document()), "methods": methods})


def operations(described: dict[str, Any]) -> dict[str, list[Operation]]:
    """The operations of an OpenAPI document by their first tag."""
    groups: dict[str, list[Operation]] = {}
    for path, item in sorted(described["paths"].items()):
        for method in METHODS:
            if operation := item.get(method):
                groups.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    return dict(sorted(groups.items()))


def _operation(method: str, path: str, operation: dict[str, Any]) -> Operation:
    text = operation.get("summary") or operation.get("description", "").split("\n\n")[0]
    names = tuple(p["name"] for p in operation.get("parameters", ()) if p["in"] == "query")
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    example = json.dumps(content["example"]) if "example" in content else ""
    return Operation(method.upper(), path, text, names, tuple(sorted(operation["responses"])), example)
