"""Subresources other than status: scale, binding, eviction, log, proxy, token, finalize."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from core.moments import rfc3339
from simulator.api import encoding, garbage, logs, patching, pods, proxying, scaling
from simulator.api.errors import ApiError, bad_request, field_invalid, field_unsupported, invalid
from simulator.api.http import JSON, bytes_response, json_response, parse_body, parse_patch, read_body
from simulator.api.options import delete_options, write_options
from simulator.api.paths import ResourcePath
from simulator.api.reading import get_entry
from simulator.api.requests import Target
from simulator.api.server import Server
from simulator.client import Object

Endpoint = Callable[[Server, Request, Target, ResourcePath], Awaitable[Response]]
_MINIMUM_TOKEN_SECONDS = 600


async def answer(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    """Answer, or raise ApiError: 404 for a subresource the kind does not have."""
    name = target.subresource
    endpoint = _ENDPOINTS.get(name)
    if endpoint is None or name not in target.resource.subresources:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    return await endpoint(server, request, target, path)


async def _scale(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    if request.method == "GET":
        return json_response(scaling.scale_of(server, target))
    body = await _body(request)
    options = write_options(request)
    if request.method == "PATCH":
        current = scaling.scale_of(server, target)
        media = request.headers.get("content-type", "").partition(";")[0]
        if media == patching.JSON_PATCH:
            body = patching.json_patch(current, body)
        else:
            body = patching.merge_patch(current, body)
    elif request.method != "PUT":
        raise _not_allowed()
    return json_response(scaling.set_scale(server, target, body, options))


async def _binding(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    body = await _body(request)
    if request.method != "POST" or not isinstance(body, dict):
        raise _not_allowed()
    metadata, node = body.get("metadata") or {}, _bound_to(body)
    if metadata.get("name", target.name) != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    options = write_options(request)
    pods.bind(server, target.namespace or "", target.name, node, options, metadata.get("annotations"))
    return json_response(_success(), 201)


def _bound_to(body: Object) -> str:
    """The node's name; raises the 500 of another kind."""
    bound = body.get("target") or {}
    if bound.get("kind", "Node") not in ("", "Node"):
        error = field_unsupported("target.kind", bound["kind"], ["Node", "<empty>"])
        raise ApiError(500, "", str(error))
    return str(bound.get("name") or "")


async def _eviction(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    body = await _body(request)
    if request.method != "POST":
        raise _not_allowed()
    given = (body or {}).get("deleteOptions")
    options = delete_options(request.query_params, request.scope["user"], given)
    pods.evict(server, target.namespace or "", target.name, options)
    return json_response(_success(), 201)


async def _log(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    if request.method != "GET":
        raise _not_allowed()
    return logs.answer(server, target, request.query_params)


async def _proxy(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    return await proxying.answer(server, request, target, path.rest)


async def _token(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    body = await _body(request) or {}
    if request.method != "POST":
        raise _not_allowed()
    account = get_entry(server, target)
    spec = body.get("spec") or {}
    seconds = int(spec.get("expirationSeconds") or 3600)
    if seconds < _MINIMUM_TOKEN_SECONDS:
        error = field_invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        raise invalid("authentication.k8s.io", "TokenRequest", "", [error])
    audiences = list(spec.get("audiences") or [])
    token, expires = server.tokens.issue(account, seconds, audiences)
    metadata = {"name": target.name, "namespace": target.namespace, "creationTimestamp": server.now()}
    issued: Object = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": metadata,
        "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds},
        "status": {"token": token, "expirationTimestamp": rfc3339(expires)},
    }
    return json_response(issued, 201)


async def _finalize(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    body = await _body(request)
    if request.method != "PUT" or not isinstance(body, dict):
        raise _not_allowed()
    entry = get_entry(server, target)
    finalizers = list((body.get("spec") or {}).get("finalizers") or [])
    return bytes_response(encoding.one(target.resource, garbage.finalize(server, entry, finalizers), encoding.Form()))


async def _body(request: Request) -> Any:
    media = request.headers.get("content-type", JSON).partition(";")[0]
    raw = await read_body(request)
    return parse_patch(raw, media) if request.method == "PATCH" else parse_body(raw, media)


def _success() -> Object:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


_ENDPOINTS: dict[str, Endpoint] = {
    "scale": _scale,
    "binding": _binding,
    "eviction": _eviction,
    "log": _log,
    "proxy": _proxy,
    "token": _token,
    "finalize": _finalize,
}
