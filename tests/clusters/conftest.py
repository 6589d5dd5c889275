"""A simulated API server on loopback, in a thread of this process, and gateways to it."""

import asyncio
import datetime as dt
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from granian.constants import Interfaces
from granian.server.embed import Server as Granian

from accounts.models import User
from clusters.kinds import Kind
from clusters.kube.client import Connection, KubeGateway, Timeouts
from clusters.models import Cluster
from simulator.api.app import build_app
from simulator.api.inprocess import InProcessClient
from simulator.api.server import Server
from tests.clusters.others import existing_api, others_world, theirs

__all__ = ["existing_api", "others_world", "theirs"]  # fixtures
DEADLINE_S = 60.0


@dataclass
class ApiServer:
    """The API half of the simulator behind a real socket."""

    url: str
    server: Server
    loop: asyncio.AbstractEventLoop

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `function` on the server's event loop, where its state lives."""

        async def run() -> Any:
            return function(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(DEADLINE_S)

    def fault(self, name: str, **parameters: Any) -> None:
        """Switch a fault on."""
        self.call(self.server.faults.switch_on, name, parameters)

    def heal(self) -> None:
        """Switch all faults off."""
        self.call(self.server.faults.clear)

    def client(self, manager: str = "kubectl") -> "Acting":
        """The verbs as somebody else, in process."""
        return Acting(self, InProcessClient(self.server, field_manager=manager))

    def connection(self, **timeouts: float) -> Connection:
        """How to reach it, with timeouts that suit a test."""
        chosen: dict[str, Any] = {"connect": 2.0, "read": 5.0, "watch": 1, "watch_read": 4.0} | timeouts
        return Connection(
            name="simulated", server=self.url, token=self.server.tokens.admin_token, timeouts=Timeouts(**chosen)
        )


@dataclass
class Acting:
    """An in-process client whose coroutines are run on the server's loop."""

    api_server: ApiServer
    client: InProcessClient

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            coroutine = getattr(self.client, verb)(*args, **kwargs)
            return asyncio.run_coroutine_threadsafe(coroutine, self.api_server.loop).result(10)

        return call


@contextmanager
def serving() -> Iterator[ApiServer]:
    """A server of its own until the block ends."""
    started: list[ApiServer] = []
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = Server()
        granian = Granian(
            build_app(server), address="127.0.0.1", port=port, interface=Interfaces.ASGI, log_enabled=False
        )
        task = asyncio.ensure_future(granian.serve())
        await wait_for_port(port)
        started.append(ApiServer(f"http://127.0.0.1:{port}", server, asyncio.get_running_loop()))
        ready.set()
        await asyncio.to_thread(done.wait)
        server.close()
        granian.stop()
        await task

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield started[0]
    finally:
        done.set()
        thread.join(10)


@pytest.fixture
def api_server() -> Iterator[ApiServer]:
    with serving() as server:
        yield server


async def wait_for_port(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise TimeoutError(f"nothing listens on port {port}")


@pytest.fixture
def kube(api_server: ApiServer) -> Iterator[KubeGateway]:
    gateway = KubeGateway(api_server.connection())
    yield gateway
    gateway.close()


def path_of(kind: Kind) -> str:
    return kind.path()


@pytest.fixture
def watched(cluster: Cluster) -> Cluster:
    now = timezone.now()
    stream = {"listedAt": now.isoformat(), "eventAt": now.isoformat(), "error": "", "served": True}
    cluster.watcher, cluster.watcher_until = "w1", now + dt.timedelta(seconds=30)
    cluster.streams = {"nodes": stream, "pods": stream}
    cluster.last_contact_at = now
    cluster.kubernetes_version = "v1.35.4"
    cluster.save()
    return cluster


@pytest.fixture
def page(client: Client, admin: User) -> Any:
    client.force_login(admin)

    def get(name: str, *args: Any, status: int = 200, **query: Any) -> str:
        answer = client.get(reverse(f"clusters:{name}", args=args), query)
        assert answer.status_code == status, answer.content[:2000]
        return answer.content.decode()

    return get
