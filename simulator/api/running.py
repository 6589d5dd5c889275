"""A server that listens: granian in this very event loop, garbage collection and saving beside it."""

import asyncio
import contextlib
import socket

from granian.constants import Interfaces
from granian.server.embed import Server as Granian

from simulator.api.app import build_app
from simulator.api.bootstrap import bootstrap
from simulator.api.garbage import Garbage
from simulator.api.persistence import Keeper
from simulator.api.server import Server

_START_SECONDS = 10.0
_STOP_SECONDS = 5.0


def open_server(keeper: Keeper | None = None, admin_token: str = "") -> tuple[Server, bool]:
    """A bootstrapped server, and whether it was restored from a saved one."""
    saved = keeper.header() if keeper else None
    if keeper is None or saved is None:
        server = Server(admin_token=admin_token)
        bootstrap(server)
        return server, False
    server = Server(admin_token=admin_token or saved.admin_token, token_key=saved.token_key)
    keeper.load(server, saved)
    bootstrap(server)
    return server, True


class RunningServer:
    """`start` returns once connections are accepted; port 0 takes a free one."""

    def __init__(self, server: Server, host: str, port: int, keeper: Keeper | None = None) -> None:
        self.server = server
        self._host = host
        self._port = port
        self._keeper = keeper
        self._tasks: list[asyncio.Task[None]] = []
        self._granian: Granian | None = None
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        """Raises OSError when the address cannot be taken."""
        self._port = _free_port(self._host, self._port)
        self._granian = Granian(
            build_app(self.server),
            address=self._host,
            port=self._port,
            interface=Interfaces.ASGINL,
            websockets=False,
            log_enabled=False,
        )
        self._serving = asyncio.create_task(self._granian.serve(), name="granian")
        await self._accepting()
        self._tasks.append(asyncio.create_task(Garbage(self.server).run(), name="garbage"))
        if self._keeper is not None:
            self._tasks.append(asyncio.create_task(self._keeper.run(self.server), name="keeper"))

    async def stop(self) -> None:
        """End watches, stop listening, save."""
        self.server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._granian is not None and self._serving is not None:
            self._granian.stop()  # type: ignore[no-untyped-call]
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._serving, _STOP_SECONDS)
        if self._keeper is not None:
            with contextlib.suppress(OSError):
                await self._keeper.save(self.server)

    async def _accepting(self) -> None:
        assert self._serving is not None  # noqa: S101 - set just before
        deadline = self.server.monotonic() + _START_SECONDS
        while self.server.monotonic() < deadline:
            if self._serving.done():
                self._serving.result()
                raise OSError(f"the server did not start on {self._host}:{self._port}")
            try:
                _, writer = await asyncio.open_connection(self._host, self._port)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            return
        raise OSError(f"the server did not start on {self._host}:{self._port}")


def _free_port(host: str, port: int) -> int:
    """Claims the address for a moment, which fails now rather than in the server's own threads."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])
