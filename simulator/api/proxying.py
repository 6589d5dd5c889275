"""The proxy path to ports of pods and services, answered by callables that actors registered."""

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from simulator.api.errors import ApiError
from simulator.api.hooks import Proxy
from simulator.api.http import read_body
from simulator.api.reading import get_entry
from simulator.api.requests import Target
from simulator.client import Object

if TYPE_CHECKING:
    from simulator.api.server import Server


async def answer(server: "Server", request: Request, target: Target, rest: str) -> Response:
    """Pass a request on; 404 for an object that is not there, 503 for a port nobody serves."""
    name, port = _address(target.name)
    addressed = target._replace(name=name, subresource="")
    entry = get_entry(server, addressed)
    plural = target.resource.kind.plural
    key = (plural, target.namespace or "", name, _port_number(plural, entry.object, port))
    proxy: Proxy | None = server.hooks.proxies.get(key)
    if proxy is None:
        text = f"no endpoints available for service {name!r}" if plural == "services" else _refused(name, port)
        raise ApiError(503, "ServiceUnavailable", text)
    body = await read_body(request)
    status, content_type, answered = await proxy(request.method, "/" + rest, request.url.query, body)
    return Response(answered, status, headers={"content-type": content_type})


def _address(text: str) -> tuple[str, str]:
    """`[scheme:]name[:port]`."""
    parts = text.split(":")
    if len(parts) == 3:
        return parts[1], parts[2]
    return parts[0], parts[1] if len(parts) == 2 else ""


def _port_number(plural: str, body: Object, port: str) -> int:
    if port.isdigit():
        return int(port)
    return next((number for name, number in _ports(plural, body) if port in ("", name)), 0)


def _ports(plural: str, body: Object) -> list[tuple[str, int]]:
    spec = body.get("spec") or {}
    if plural == "services":
        return [(item.get("name", ""), int(item.get("port", 0))) for item in spec.get("ports") or []]
    return [
        (item.get("name", ""), int(item.get("containerPort", 0)))
        for container in spec.get("containers") or []
        for item in container.get("ports") or []
    ]


def _refused(name: str, port: str) -> str:
    return f"error trying to reach service: dial tcp {name}:{port or 80}: connect: connection refused"
