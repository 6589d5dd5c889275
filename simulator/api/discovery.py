"""Discovery: which groups, versions and resources are served, in both formats."""

from starlette.requests import Request
from starlette.responses import Response

from simulator.api.http import page_not_found
from simulator.api.server import Server


def answer(server: Server, request: Request) -> Response:
    return page_not_found()
