"""Around every HTTP request: who asks, and the faults that hit requests."""

from starlette.types import ASGIApp, Receive, Scope, Send

from simulator.api.errors import ApiError
from simulator.api.http import status_response
from simulator.api.server import Server

BEARER = "bearer "


class IdentityMiddleware:
    """Puts the `User` of the bearer token into the scope; raises 401 for a token nobody gave out."""

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
    """Lets switched-on faults hit requests."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _token(scope: Scope) -> str | None:
    """The bearer token; None without an Authorization header, "" (which nobody has) for other schemes."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            text = str(value.decode("latin-1"))
            return text[len(BEARER) :].strip() if text.lower().startswith(BEARER) else ""
    return None
