"""HTTP requests for resources: query and headers into options, verbs, answers."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from simulator.api import deleting, encoding, patching, reading, reviews, subresources, writing
from simulator.api.errors import ApiError, bad_request
from simulator.api.go_json import summary
from simulator.api.http import (
    FORMS,
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
        server.authorize_unknown(request.scope["user"], request.method, path)
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
        raise _not_acceptable(request.headers.get("accept", ""))
    if is_true(query, "watch"):
        return _watch(server, query, target, form)
    if target.name:
        _require_version(query)
        return bytes_response(encoding.one(target.resource, reading.get_entry(server, target), form))
    found = reading.list_entries(server, target, list_options(query))
    return bytes_response(encoding.page(target.resource, found, form))


def _not_acceptable(accept: str) -> ApiError:
    if "as=" in accept:
        text = f"only the following media types are accepted: {', '.join(FORMS)}"
    else:
        streams = ", ".join(f"{form};stream=watch" for form in (FORMS[0], FORMS[2]))
        text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(FORMS)}, {streams}"
    return ApiError(406, "NotAcceptable", text)


def _watch(server: "Server", query: Query, target: Target, form: encoding.Form) -> Response:
    options = list_options(query)
    _require_version(query)
    server.require_list_conversion(target.resource)
    reading.Matcher(target.resource, target.name, options)
    events = reading.watch(server, target, options)
    return StreamingResponse(_lines(target, events, form), media_type=JSON)


def _require_version(query: Query) -> None:
    """Raises the 500 that a get or a watch answers to a version that is no number."""
    text = query.get("resourceVersion", "")
    if text and not text.isdigit():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ApiError(500, "", f'resourceVersion: Invalid value: "{text}": {why}')


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
    _require_kind(target, body, raw)
    options = write_options(request)
    if target.resource.verbs == REVIEW_VERBS:
        return json_response(reviews.answer(server, options, target, body), 201)
    return _written(target, options, lambda: writing.create(server, target, body, options))


def _update(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    body = parse_body(raw, request.headers.get("content-type", JSON), target.resource.kind.kind)
    _require_kind(target, body, raw)
    options = write_options(request)
    return _written(target, options, lambda: writing.update(server, target, body, options))


def _require_kind(target: Target, body: Object, raw: bytes) -> None:
    """Only core kinds are known by their path; raises the 400 of another object that says none."""
    if target.resource.custom and not body.get("kind"):
        kind, text = target.resource.kind.kind, raw.decode(errors="replace")
        why = f"Object 'Kind' is missing in '{text}'"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({summary(raw)})")


def _patch(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    if media not in _PATCHES:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    body = parse_patch(raw, media)
    options = write_options(request)
    if media == patching.APPLY_PATCH:
        server.authorize_apply(request.scope["user"], target)
        return _written(target, options, lambda: patching.apply(server, target, body, options))
    return _written(target, options, lambda: patching.patch(server, target, media, body, options))


def _delete(server: "Server", request: Request, target: Target, raw: bytes) -> Response:
    body = parse_body(raw, request.headers.get("content-type", JSON))
    _require_delete_options(body)
    query = request.query_params
    options = delete_options(query, request.scope["user"], body)
    if not target.name:
        found = deleting.delete_collection(server, target, list_options(query), options)
        page = reading.Page(found, str(server.store.resource_version), "", None)
        return bytes_response(encoding.page(target.resource, page, encoding.Form()))
    before = reading.get_entry(server, target)
    left = deleting.delete(server, target, options)
    if left is None and target.resource.storage in deleting.RETURNED:
        left = deleting.last_state(server, target, before)
    if left is not None:
        return bytes_response(encoding.one(target.resource, left, encoding.Form()))
    return json_response(_deleted(target, before.uid))


def _require_delete_options(body: Object | None) -> None:
    kind, version = (body or {}).get("kind", ""), (body or {}).get("apiVersion", "")
    if kind not in ("", "DeleteOptions"):
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" {scheme}')


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
