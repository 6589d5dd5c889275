"""`/simulator/faults`: the switchboard of faults over HTTP, for the administrator's token only."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.api.errors import ApiError, bad_request
from simulator.api.http import json_response, parse_body, read_body, status_response
from simulator.api.rbac import SUPERUSERS
from simulator.api.server import Server
from simulator.client import Object
from simulator.faults import KNOWN, Fault

PATH = "/simulator/faults"
Endpoint = Callable[[Request], Awaitable[Response]]


def routes(server: Server) -> list[Route]:
    """GET lists what is on and what there is; PUT /name {parameters} switches on; DELETE [/name] switches off."""

    async def collection(request: Request) -> Response:
        if request.method == "DELETE":
            server.faults.clear()
        active = [_shown(server, fault) for fault in server.faults.all()]
        return json_response({"faults": active, "known": KNOWN})

    async def one(request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "DELETE":
            if not server.faults.switch_off(name):
                raise ApiError(404, "NotFound", f"the fault {name!r} is not on")
            return json_response({"name": name, "on": False})
        return json_response(_shown(server, _switch_on(server, name, await _parameters(request))))

    return [
        Route(PATH, _guarded(collection), methods=["GET", "DELETE"]),
        Route(PATH + "/{name}", _guarded(one), methods=["PUT", "DELETE"]),
    ]


def _guarded(endpoint: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        try:
            if SUPERUSERS not in request.scope["user"].groups:
                raise ApiError(403, "Forbidden", "faults are the administrator's: send the administrator's token")
            return await endpoint(request)
        except ApiError as error:
            return status_response(error)

    return guarded


async def _parameters(request: Request) -> Object:
    given = parse_body(await read_body(request), "application/json") or {}
    if not isinstance(given, dict):
        raise bad_request("the parameters of a fault are a JSON object")
    return given


def _switch_on(server: Server, name: str, parameters: Object) -> Fault:
    try:
        return server.faults.switch_on(name, parameters)
    except ValueError as error:
        raise bad_request(str(error)) from error


def _shown(server: Server, fault: Fault) -> Object:
    shown: Object = {"name": fault.name, "parameters": fault.parameters}
    if fault.ends_at is not None:
        shown["secondsLeft"] = round(max(0.0, fault.ends_at - server.monotonic()), 3)
    if fault.left is not None:
        shown["timesLeft"] = fault.left
    return shown
