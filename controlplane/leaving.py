"""Whether who made a request is still there: what runs in a thread is not ended when they leave, it must look."""

import threading

from django.http import HttpRequest
from starlette.types import Message, Receive, Scope

_KEY = "muster.left"


def noting(scope: Scope, receive: Receive) -> Receive:
    """`receive` of the request `scope`, which notes there when the client leaves. Django listens all the time."""
    left = scope[_KEY] = threading.Event()

    async def note() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            left.set()
        return message

    return note


def left(request: HttpRequest) -> threading.Event:
    """Set as soon as the client has left; never where no ASGI server says so."""
    event: threading.Event = getattr(request, "scope", {}).get(_KEY) or threading.Event()
    return event
