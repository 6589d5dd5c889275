"""A server that listens: granian in this very event loop, garbage collection and saving beside it."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from granian.constants import Interfaces
from granian.server.embed import Server as Granian
from starlette.applications import Starlette

from simulator.api.app import build_app
from simulator.api.bootstrap import bootstrap
from simulator.api.certificates import Certificates
from simulator.api.garbage import Garbage
from simulator.api.persistence import Keeper
from simulator.api.server import Server

_START_SECONDS = 10.0
_STOP_SECONDS = 5.0
_CONNECTIONS = 4096


def open_server(keeper: Keeper | None = None, admin_token: str = "", authority: str = "") -> tuple[Server, bool]:
    """A bootstrapped server with this CA (PEM text), and whether it was restored from a saved one."""
    saved = keeper.header() if keeper else None
    if keeper is None or saved is None:
        server = Server(admin_token=admin_token, authority=authority)
        bootstrap(server)
        return server, False
    server = Server(admin_token=admin_token or saved.admin_token, token_key=saved.token_key, authority=authority)
    keeper.load(server, saved)
    bootstrap(server)
    return server, True


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one. Without certificates it is plain HTTP, which kubectl gives no token."""

    host: str
    port: int
    certificates: Certificates | None = None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificates else 'http'}://{host}:{self.port}"


class Listener:
    """One granian in this event loop; `start` returns once connections are accepted."""

    def __init__(self, app: Starlette, address: Address) -> None:
        self._claim = _claimed(address.host, address.port)
        self.address = replace(address, port=int(self._claim.getsockname()[1]))
        certificates = address.certificates
        self._granian = Granian(
            app,
            address=self.address.host,
            port=self.address.port,
            interface=Interfaces.ASGINL,
            websockets=False,
            backlog=_CONNECTIONS,
            backpressure=_CONNECTIONS,  # every running watch counts as a request
            log_enabled=False,
            ssl_cert=certificates.certificate if certificates else None,
            ssl_key=certificates.key if certificates else None,
        )
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises OSError when it does not come up."""
        serving = self._serving = asyncio.create_task(self._granian.serve(), name="granian")
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if serving.done():
                serving.result()
                break
            try:
                _, writer = await asyncio.open_connection(self.address.host, self.address.port)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            return
        raise OSError(f"the server did not start on {self.address.url}")

    async def stop(self) -> None:
        if self._serving is not None:
            self._granian.stop()  # type: ignore[no-untyped-call]  # has no types
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._serving, _STOP_SECONDS)
        self._claim.close()


class RunningServer:
    """A server with its listeners, its garbage collection and, with a keeper, its saving."""

    def __init__(self, server: Server, addresses: Sequence[Address], keeper: Keeper | None = None) -> None:
        """Raises OSError for an address that is taken."""
        self.server = server
        app = build_app(server)
        self.listeners = [Listener(app, address) for address in addresses]
        self._keeper = keeper
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Raises OSError when a listener does not come up."""
        for listener in self.listeners:
            await listener.start()
        self._tasks.append(asyncio.create_task(Garbage(self.server).run(), name="garbage"))
        if self._keeper is not None:
            self._tasks.append(asyncio.create_task(self._keeper.run(self.server), name="keeper"))

    async def stop(self) -> None:
        """End watches, save, stop listening, and save what came meanwhile: to end connections can take longer than
        whoever stops this process waits."""
        self.server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._save()
        for listener in self.listeners:
            await listener.stop()
        await self._save()

    async def _save(self) -> None:
        if self._keeper is not None:
            with contextlib.suppress(OSError):
                await self._keeper.save(self.server)


def _claimed(host: str, port: int) -> socket.socket:
    """A socket that keeps the address for the server, which binds it a second time (granian sets SO_REUSEPORT): nobody
    else is given the port meanwhile. Raises OSError when somebody listens there."""
    claim = socket.socket(_family(host), socket.SOCK_STREAM)
    try:
        claim.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        claim.bind((host, _free_port(host, port) if port else 0))
    except OSError:
        claim.close()
        raise
    return claim


def _free_port(host: str, port: int) -> int:
    """Claims the address for a moment, not to be shared. Raises OSError when it is taken."""
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def port_or_free(host: str, port: int) -> int:
    """The port where it is free, else 0."""
    try:
        return _free_port(host, port)
    except (OSError, OverflowError):
        return 0
