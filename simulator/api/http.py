"""Small pieces of HTTP that all handlers share: bodies in, JSON and Status out."""

from collections.abc import Iterable
from typing import Any

import yaml
from starlette.requests import Request
from starlette.responses import Response

from simulator.api import go_json, protobuf
from simulator.api.errors import ApiError, bad_request
from simulator.api.store import encode_json

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
BODY_LIMIT = 3 * 1024 * 1024
JSON = "application/json"
_CLUSTER_NOT_FOUND = "404 page not found\n"


class _PlainLoader(yaml.CSafeLoader):
    """YAML as JSON knows it: no dates."""


_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def json_response(body: Any, status: int = 200) -> Response:
    return bytes_response(encode_json(body), status)


def bytes_response(body: bytes, status: int = 200, warnings: Iterable[str] = ()) -> Response:
    response = Response(body, status, media_type=JSON)
    warn(response, warnings)
    return response


def warn(response: Response, warnings: Iterable[str]) -> None:
    """Add `Warning` headers."""
    for text in warnings:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.append("Warning", f'299 - "{escaped}"')


def status_response(error: ApiError) -> Response:
    response = json_response(error.status(), error.code)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    warn(response, error.warnings)
    return response


def page_not_found() -> Response:
    """What a path that no API serves answers: plain text, no Status."""
    return Response(_CLUSTER_NOT_FOUND, 404, media_type="text/plain")


async def read_body(request: Request) -> bytes:
    """Raises 413 beyond the API server's limit."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_LIMIT:
            raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_LIMIT}")
        chunks.append(chunk)
    return b"".join(chunks)


def parse_body(raw: bytes, content_type: str, wanted: str = "") -> Any:
    """JSON or YAML by content type; or kubectl's protobuf. None for no body, unless an object of a kind is `wanted`.

    Raises 400 for what cannot be read, 415 for a content type that is not taken.
    """
    media = content_type.partition(";")[0].strip().lower()
    if raw.startswith(protobuf.MAGIC):
        return protobuf.decode(raw)
    if media not in _MEDIA:
        text = "the body of the request was in an unknown format - accepted media types include: "
        raise ApiError(415, "UnsupportedMediaType", text + ", ".join(FORMS))
    if not raw.strip() and not wanted:
        return None
    try:
        value = go_json.read(raw)
    except go_json.Malformed as error:
        if "yaml" not in media:
            raise bad_request(_unrecognized(str(error), raw, wanted)) from error
        value = _yaml(raw)
    if wanted and not isinstance(value, dict):
        raise bad_request(_unrecognized(f"json: cannot unmarshal {go_json.kind_of(value)} {_KIND}", raw, wanted))
    return value


def parse_patch(raw: bytes, media: str) -> Any:
    """The body of a patch; raises the 400 of one that cannot be read."""
    if "yaml" in media:
        return parse_body(raw, "application/yaml")
    wanted: tuple[type, str] = (dict, "map[string]interface {}")
    if media == "application/json-patch+json":
        wanted = (list, "[]handlers.jsonPatchOp")
    try:
        value = go_json.read(raw)
    except go_json.Malformed as error:
        raise bad_request(f"error decoding patch: {error}") from error
    if not isinstance(value, wanted[0]):
        given = go_json.kind_of(value)
        raise bad_request(f"error decoding patch: json: cannot unmarshal {given} into Go value of type {wanted[1]}")
    return value


FORMS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_MEDIA = frozenset({"", *FORMS})
_KIND = (
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


def _unrecognized(why: str, raw: bytes, wanted: str) -> str:
    text = f"couldn't get version/kind; json parse error: {why}"
    if not wanted:
        return text
    return f"the object provided is unrecognized (must be of type {wanted}): {text} ({go_json.summary(raw)})"


def _yaml(raw: bytes) -> Any:
    try:
        return yaml.load(raw, Loader=_PlainLoader)  # noqa: S506 - a safe loader without dates
    except yaml.YAMLError as error:
        raise bad_request(f"error decoding YAML: {error}") from error
