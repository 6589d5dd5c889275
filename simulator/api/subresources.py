"""Subresources other than status: scale, binding, eviction, log, proxy, token, finalize."""

from starlette.requests import Request
from starlette.responses import Response

from simulator.api.http import page_not_found
from simulator.api.paths import ResourcePath
from simulator.api.requests import Target
from simulator.api.server import Server


async def answer(server: Server, request: Request, target: Target, path: ResourcePath) -> Response:
    """Answer, or raise ApiError; 404 in plain text for a subresource the kind does not have."""
    return page_not_found()
