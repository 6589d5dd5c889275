"""Around every HTTP request: who asks, and the faults that hit requests."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from simulator.api.errors import ApiError, internal, modified
from simulator.api.http import status_response
from simulator.api.paths import ResourcePath, parse
from simulator.api.reading import Dropped
from simulator.api.server import Server

BEARER = "bearer "
_SPARED = ("/healthz", "/livez", "/readyz", "/simulator/")


class IdentityMiddleware:
    """Puts the `User` of the bearer token into the scope; answers 401 for a token nobody gave out."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                scope["user"] = self._server.tokens.user_of(_token(scope))
            except ApiError as error:
                await status_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class FaultMiddleware:
    """Lets switched-on faults hit requests; health checks and the switchboard itself are spared."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_SPARED) or not self._server.faults.all():
            await self._guarded(scope, receive, send)
            return
        wanted = _wanted(scope)
        slow = self._server.faults.strike("api-slow", **wanted)
        if slow is not None:
            await asyncio.sleep(float(slow.parameters.get("delay", 1)))
        if self._server.faults.strike("api-down", **wanted) is not None:
            await _drop(send, 503)
        elif self._server.faults.strike("connection-dropped", **wanted) is not None:
            await _drop(send, 200)
        else:
            refusal = _refusal(self._server, scope, wanted)
            if refusal is None:
                await self._guarded(scope, receive, send)
            else:
                await status_response(refusal)(scope, receive, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Dropped:
            return


async def _drop(send: Send, status: int) -> None:
    """Begin an answer and end the connection in its middle, which no client can take for a whole one."""
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"{", "more_body": True})


def _wanted(scope: Scope) -> dict[str, str]:
    path = parse(scope["path"]) or ResourcePath("", "", "")
    return {"method": scope["method"], "kind": path.plural, "namespace": path.namespace or ""}


def _refusal(server: Server, scope: Scope, wanted: dict[str, str]) -> ApiError | None:
    busy = server.faults.strike("too-many-requests", **wanted)
    if busy is not None:
        seconds = int(busy.parameters.get("retry_after", 1))
        text = "Too many requests, please try again later."
        return ApiError(429, "TooManyRequests", text, retry_after=seconds)
    if server.faults.strike("internal-error", **wanted) is not None:
        return internal("Internal error occurred: the simulator was told to fail")
    path = parse(scope["path"])
    if path is None:
        return None
    if scope["method"] in ("GET", "HEAD"):
        return _gone(server, scope, path, wanted)
    if server.faults.strike("conflict", **wanted) is not None:
        return modified(path.group, path.plural, path.name)
    return None


def _gone(server: Server, scope: Scope, path: ResourcePath, wanted: dict[str, str]) -> ApiError | None:
    lists = not path.name or b"watch=" in scope["query_string"]
    if not lists or server.faults.strike("gone", **wanted) is None:
        return None
    return ApiError(410, "Expired", f"too old resource version: 1 ({server.store.resource_version})")


def _token(scope: Scope) -> str | None:
    """The bearer token; None without an Authorization header, "" (which nobody has) for other schemes."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            text = str(value.decode("latin-1"))
            return text[len(BEARER) :].strip() if text.lower().startswith(BEARER) else ""
    return None
