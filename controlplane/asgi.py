"""The ASGI application that granian serves: static files straight from disk, everything else by Django."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from controlplane.leaving import noting
from core.database import bound_statements

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
_django = get_asgi_application()
bound_statements(settings.DATABASES["default"], settings.STATEMENT_SECONDS)


def _static_app() -> Starlette:
    files = StaticFiles(directory=settings.STATIC_ROOT or settings.STATICFILES_DIRS[0])
    return Starlette(
        routes=[Mount(settings.STATIC_URL.rstrip("/"), files)],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)],
    )


_static = _static_app()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Django, but for the paths below STATIC_URL."""
    if scope["type"] != "http" or not scope["path"].startswith(settings.STATIC_URL):
        await _django(scope, noting(scope, receive), send)  # type: ignore[arg-type]  # two names of one shape
        return

    async def send_static(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["X-Content-Type-Options"] = "nosniff"
            # Names carry no version, so browsers ask again and are told 304 while nothing changed.
            headers["Cache-Control"] = "no-cache"
        await send(message)

    # Without extensions the file is read here, so that it can be compressed.
    await _static({**scope, "extensions": {}}, receive, send_static)
