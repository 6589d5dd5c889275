"""HTTP requests for resources: query and headers into options, verbs, answers."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from simulator.api import deleting, encoding, patching, reading, reviews, subresources, writing
from simulator.api.errors import ApiError
from simulator.api.http import (
    JSON,
    bytes_response,
    json_response,
    page_not_found,
    parse_body,
    parse_patch,
    read_body,
    warn,
)
from simulator.api.options import Query, delete_options, is_true, list_options, write_options
from simulator.api.paths import ResourcePath
from simulator.api.requests import Target, WriteOptions, Written
from simulator.api.resources import REVIEW_VERBS
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server

Change = Callable[["Server", Request, Target, bytes], Response]
_PATCHES = (patching.JSON_PATCH, patching.MERGE_PATCH, patching.STRATEGIC_PATCH, patching.APPLY_PATCH)


async def answer(server: "Server", request: Request, path: ResourcePath) -> Response:
    """Answer a request for a resource; raises ApiError."""
    resource = server.find(path.group, path.version, path.plural)
    if resource is None:
        if any(not each.custom for each in server.registry.in_version(path.group, path.version)):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return page_not_found()
    namespace = path.namespace if resource.kind.namespaced else None
    target = Target(resource, namespace, path.name, path.subresource)
    server.authorize(request.scope["user"], request.method, request.query_params, target)
    if path.subresource and path.subresource != "status":
        return await subresources.answer(server, request, target, path)
    if path.subresource and not resource.has_status:
        raise ApiError(404, "NotFound", "the server could not find the requested resource")
    if request.method in ("GET", "HEAD") and resource.verbs != REVIEW_VERBS:
        return _read(server, request, target)
    change = _CHANGES.get((request.method, bool(path.name)))
    nowhere = resource.kind.namespaced and namespace is None
    if change is None or nowhere or (resource.verbs == REVIEW_VERBS and change is not _create):
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    return change(server, request, target, await read_body(request))


async def answer_with_warnings(server: "Server", request: Request, path: ResourcePath) -> Response:
    """`answer`, with the warning of a deprecated version."""
    response = await answer(server, request, path)
    resource = server.registry.find(path.group, path.version, path.plural)
    if resource is not None and resource.deprecated:
        warn(response, [resource.deprecated])
    return response


def _read(server: "Server", request: Request, target: Target) -> Response:
    query = request.query_params
    form = encoding.form_of(request.headers.get("accept", JSON), query.get("includeObject", ""))
    if form is None:
        return PlainTextResponse("406: Not Acceptable", 406)
    if is_true(query, "watch"):
        return _watch(server, query, target, form)
    if target.name:
        return bytes_response(encoding.one(target.resource, reading.get_entry(server, target), form))
    found = reading.list_entries(server, target, list_options(query))
    return bytes_response(encoding.page(target.resource, found, form))


def _watch(server: "Server", query: Query, target: Target, form: encoding.Form) -> Response:
    options = list_options(query)
    server.require_list_conversion(target.resource)
    reading.Matcher(target.resource, target.name, options)
    events = reading.watch(server, target, options)
    return StreamingResponse(_lines(target, events, form), media_type=JSON)


async def _lines(
    target: Target, events: AsyncIterator[list[reading.Event]], form: encoding.Form
) -> AsyncIterator[bytes]:
    first = True
    yield b""  # sends the headers at once: a client waits for them before it reads
    try:
        async for batch in events:
            lines = []
            for seen in batch:
                lines.append(encoding.event(target.resource, seen, form, first=first))
                first = first and seen.entry is None
            yield b"".join(lines)
    except ApiError as error:
        yield encoding.error_event(error.status())


def _create(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    body = parse_body(raw, request.headers.get("content-type", JSON), target.resource.kind.kind)
    if target.resource.verbs == REVIEW_VERBS:
        return json_response(reviews.answer(server, request.scope["user"], target, body), 201)
    options = write_options(request)
    return _written(target, options, lambda: writing.create(server, target, body, options))


def _update(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    body = parse_body(raw, request.headers.get("content-type", JSON), target.resource.kind.kind)
    options = write_options(request)
    return _written(target, options, lambda: writing.update(server, target, body, options))


def _patch(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    if media not in _PATCHES:
        return PlainTextResponse("415: Unsupported Media Type", 415)
    body = parse_patch(raw, media)
    options = write_options(request)
    if media == patching.APPLY_PATCH:
        return _written(target, options, lambda: patching.apply(server, target, body, options))
    return _written(target, options, lambda: patching.patch(server, target, media, body, options))


def _delete(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    body = parse_body(raw, request.headers.get("content-type", JSON))
    query = request.query_params
    options = delete_options(query, request.scope["user"], body)
    if not target.name:
        found = deleting.delete_collection(server, target, list_options(query), options)
        page = reading.Page(found, str(server.store.resource_version), "", None)
        return bytes_response(encoding.page(target.resource, page, encoding.Form()))
    uid = reading.get_entry(server, target).uid
    left = deleting.delete(server, target, options)
    if left is not None:
        return bytes_response(encoding.one(target.resource, left, encoding.Form()))
    return json_response(_deleted(target, uid))


def _written(target: Target, options: WriteOptions, write: Callable[[], Written]) -> Response:
    """The answer to a write; its warnings come with a refusal as well."""
    try:
        written = write()
    except ApiError as error:
        error.warnings = list(options.warnings)
        raise
    body = encoding.one(target.resource, written.entry, encoding.Form())
    return bytes_response(body, 201 if written.created else 200, options.warnings)


def _deleted(target: Target, uid: str) -> Object:
    kind = target.resource.kind
    details: Object = {"name": target.name, "kind": kind.plural, "uid": uid}
    if kind.group:
        details["group"] = kind.group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


_CHANGES: dict[tuple[str, bool], Change] = {
    ("POST", False): _create,
    ("PUT", True): _update,
    ("PATCH", True): _patch,
    ("DELETE", True): _delete,
    ("DELETE", False): _delete,
}
