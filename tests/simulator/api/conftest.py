"""A bootstrapped API server in process, with synchronous verbs, and one behind real sockets."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import urllib3

from clusters.kinds import Kind
from simulator.api import deleting, patching, reading, writing
from simulator.api.bootstrap import bootstrap
from simulator.api.certificates import Certificates, ensure_certificates
from simulator.api.errors import ApiError
from simulator.api.garbage import Garbage
from simulator.api.inprocess import InProcessClient
from simulator.api.reading import ListOptions
from simulator.api.requests import DeleteOptions, Target, WriteOptions
from simulator.api.running import Address, RunningServer
from simulator.api.server import Server
from simulator.client import KubeError, Object

DEADLINE_S = 20.0


def done(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited")


class Verbs:
    """The verbs of one server, synchronously; `refused` gives the error that a call raised."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = InProcessClient(server, field_manager="tester")
        self.garbage: Garbage | None = None

    def target(self, kind: Kind, namespace: str | None = None, name: str = "", subresource: str = "") -> Target:
        resource = self.server.find(kind.group, kind.version, kind.plural)
        assert resource is not None
        return Target(resource, namespace if kind.namespaced else None, name, subresource)

    def create(self, kind: Kind, body: Object, namespace: str | None = None, **options: Any) -> Object:
        target = self.target(kind, namespace)
        return writing.create(self.server, target, body, WriteOptions(**options)).entry.object

    def update(self, kind: Kind, body: Object, subresource: str = "", **options: Any) -> Object:
        metadata = body["metadata"]
        target = self.target(kind, metadata.get("namespace"), metadata["name"], subresource)
        return writing.update(self.server, target, body, WriteOptions(**options)).entry.object

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        return done(self.client.get(kind, name, namespace))

    def patch(self, kind: Kind, name: str, body: Any, namespace: str | None = None, **given: Any) -> Object:
        patch_type = given.pop("patch_type", patching.MERGE_PATCH)
        target = self.target(kind, namespace, name, given.pop("subresource", ""))
        return patching.patch(self.server, target, patch_type, body, WriteOptions(**given)).entry.object

    def apply(self, kind: Kind, body: Object, manager: str, subresource: str = "", **options: Any) -> Object:
        metadata = body["metadata"]
        target = self.target(kind, metadata.get("namespace"), metadata["name"], subresource)
        full = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        given = WriteOptions(field_manager=manager, **options)
        return patching.apply(self.server, target, full, given).entry.object

    def delete(self, kind: Kind, name: str, namespace: str | None = None, **options: Any) -> Object | None:
        left = deleting.delete(self.server, self.target(kind, namespace, name), DeleteOptions(**options))
        return None if left is None else left.object

    def page(self, kind: Kind, namespace: str | None = None, **options: Any) -> reading.Page:
        return reading.list_entries(self.server, self.target(kind, namespace), ListOptions(**options))

    def names(self, kind: Kind, namespace: str | None = None, **options: Any) -> list[str]:
        return [entry.key[1] for entry in self.page(kind, namespace, **options).entries]

    def collect(self) -> None:
        """Let the garbage collector do what is due."""
        assert self.garbage is not None
        self.garbage.collect()

    @staticmethod
    def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> ApiError:
        with pytest.raises(KubeError) as caught:
            call(*args, **kwargs)
        assert isinstance(caught.value, ApiError)
        return caught.value


@pytest.fixture
def server() -> Server:
    server = Server(admin_token="admin-token", history_limit=1000)
    bootstrap(server)
    return server


@pytest.fixture
def verbs(server: Server) -> Verbs:
    found = Verbs(server)
    found.garbage = Garbage(server)
    return found


class Answer:
    """An HTTP answer read to its end."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.raw = response.data
        self.warnings = response.headers.getlist("Warning")

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


class Http:
    """A server behind a socket, with its event loop in a thread."""

    def __init__(self, running: RunningServer, loop: asyncio.AbstractEventLoop) -> None:
        self.server = running.server
        self.plain, self.secure = (listener.address.url for listener in running.listeners)
        self._loop = loop
        self._pool = urllib3.PoolManager(retries=False, timeout=DEADLINE_S)

    def close(self) -> None:
        self._pool.clear()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function where the server's state lives."""

        async def run() -> Any:
            return function(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(DEADLINE_S)

    def fault(self, name: str, **parameters: Any) -> None:
        self.call(self.server.faults.switch_on, name, parameters)

    def open(self, method: str, path: str, body: Any = None, **headers: str) -> urllib3.BaseHTTPResponse:
        sent = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        sent = {key: value for key, value in sent.items() if value}
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return self._pool.request(method, self.plain + path, body=raw, headers=sent, preload_content=False)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        response = self.open(method, path, body, **headers)
        try:
            response.read(cache_content=True)
            return Answer(response)
        finally:
            response.release_conn()

    def create(self, kind: Kind, body: Object, namespace: str | None = None) -> Answer:
        return self.ask("POST", kind.path(namespace), {"apiVersion": kind.api_version, "kind": kind.kind, **body})


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure_certificates(tmp_path_factory.mktemp("pki"), "127.0.0.1")


@pytest.fixture
def http(server: Server, pki: Certificates) -> Iterator[Http]:
    started: list[Http] = []
    ready = threading.Event()
    failures: list[BaseException] = []
    stop: list[Callable[[], None]] = []

    async def serve() -> None:
        addresses = [Address("127.0.0.1", 0), Address("127.0.0.1", 0, pki)]
        running = RunningServer(server, addresses)
        await running.start()
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopping.set) and None)
        started.append(Http(running, loop))
        ready.set()
        await stopping.wait()
        await running.stop()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            failures.append(error)
            ready.set()
            raise

    thread = threading.Thread(target=run, name="simulator")
    thread.start()
    assert ready.wait(DEADLINE_S)
    assert not failures, failures
    yield started[0]
    started[0].close()
    stop[0]()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()


def pod(name: str = "", **given: Any) -> Object:
    """A pod that passes validation; labels, node and further fields of the spec by name."""
    metadata: Object = {"name": name} if name else {}
    for key in ("labels", "generateName", "ownerReferences", "finalizers", "annotations"):
        if key in given:
            metadata[key] = given.pop(key)
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "x:1"}], **given}}
