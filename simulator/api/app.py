"""The HTTP face: a Starlette application over `Server`. Parses requests, calls the verbs, encodes answers."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from simulator.api import discovery, fault_http, resource_http
from simulator.api.errors import ApiError
from simulator.api.http import METHODS, bytes_response, json_response, page_not_found, status_response
from simulator.api.middleware import FaultMiddleware, IdentityMiddleware
from simulator.api.openapi import Documents
from simulator.api.paths import parse
from simulator.api.server import Server

Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(server: Server) -> Starlette:
    """The ASGI application of one simulated API server."""

    async def anything(request: Request) -> Response:
        try:
            path = parse(request.scope["raw_path"].decode() if "raw_path" in request.scope else request.url.path)
            if path is None:
                return discovery.answer(server, request)
            return await resource_http.answer_with_warnings(server, request, path)
        except ApiError as error:
            return status_response(error)

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def version(request: Request) -> Response:
        return json_response(VERSION)

    documents = Documents(server)

    async def openapi_index(request: Request) -> Response:
        return json_response(documents.index())

    async def openapi_document(request: Request) -> Response:
        found = documents.document(request.path_params["path"])
        return page_not_found() if found is None else bytes_response(found)

    app = Starlette(
        routes=[
            Route("/healthz", health),
            Route("/livez", health),
            Route("/readyz", health),
            Route("/version", version),
            Route("/openapi/v3", openapi_index),
            Route("/openapi/v3/{path:path}", openapi_document),
            *fault_http.routes(server),
            Route("/{path:path}", anything, methods=METHODS),
        ]
    )
    app.add_middleware(IdentityMiddleware, server=server)
    app.add_middleware(FaultMiddleware, server=server)
    return app


VERSION = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.4+muster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-11-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
