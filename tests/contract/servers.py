"""The two servers of the contract, each with the same CRDs: in this process, and the real one."""

import asyncio
import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from clusters.kinds import CUSTOM_RESOURCE_DEFINITION
from simulator.actors.http import HttpClient
from simulator.api.certificates import ensure_certificates
from simulator.api.inprocess import InProcessClient
from simulator.api.kubeconfig import write_kubeconfig
from simulator.api.running import Address, RunningServer, open_server
from simulator.api.server import Server
from simulator.client import Object
from tests.cluster import binaries, platform
from tests.cluster.running import RealCluster
from tests.contract.client import Api

WIDGETS = Path(__file__).with_name("widgets.yaml")
OUR_KUBECTL = str(Path(sys.executable).with_name("kubectl"))
TOKEN = "administrator-of-the-contract"


def widgets() -> Object:
    """A CRD of the tests' own: defaults, pruning, validation, list maps, status and scale."""
    found: Object = yaml.safe_load(WIDGETS.read_text())
    return found


@contextlib.contextmanager
def simulator() -> Iterator[Api]:
    """The simulator's API half behind a TLS socket, in a thread."""
    with tempfile.TemporaryDirectory(prefix="simulated") as directory:
        yield from _simulated(Path(directory))


def _simulated(directory: Path) -> Iterator[Api]:
    certificates = ensure_certificates(directory / "pki", "127.0.0.1")
    started: list[Api] = []
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        server, _ = open_server(admin_token=TOKEN, authority=certificates.authority_text)
        await InProcessClient(server).create(CUSTOM_RESOURCE_DEFINITION, widgets())
        running = RunningServer(server, [Address("127.0.0.1", 0, certificates)])
        await running.start()
        ended = asyncio.Event()
        stop.append((asyncio.get_running_loop(), ended))
        api = Api("simulator", running.listeners[0].address.url, TOKEN, str(certificates.authority))
        api.kubeconfig, api.kubectl = directory / "kubeconfig", OUR_KUBECTL
        write_kubeconfig(api.kubeconfig, api.url, TOKEN, certificates.authority_text)
        api.compact = lambda: asyncio.run_coroutine_threadsafe(_compact(server), stop[0][0]).result(20)
        started.append(api)
        ready.set()
        await ended.wait()
        await running.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield started[0]
    finally:
        loop, ended = stop[0]
        loop.call_soon_threadsafe(ended.set)
        thread.join(20)


@contextlib.contextmanager
def real() -> Iterator[tuple[Api, RealCluster]]:
    """A real control plane with the simulator's CRDs; skips where the binaries are not built."""
    if binaries.missing():
        pytest.skip("missing: the real cluster's binaries (make cluster)")
    with tempfile.TemporaryDirectory(prefix="real") as directory:
        cluster = RealCluster(Path(directory))
        try:
            cluster.start_servers()
            asyncio.run(_install(cluster))
            cluster.start_controllers()
            api = Api("real", cluster.url, cluster.token, str(cluster.certificates.authority))
            api.kubeconfig, api.kubectl = cluster.kubeconfig, str(binaries.KUBECTL.path)
            for crd in _crds():  # a kind that is seconds old answers lists with 429
                api.await_status(_lists(crd), 200)
            yield api, cluster
        finally:
            cluster.kill()


async def _compact(server: Server) -> None:
    for collection in server.store.collections.values():
        collection.compact()


async def _install(cluster: RealCluster) -> None:
    async with HttpClient.from_kubeconfig(cluster.kubeconfig) as client:
        await platform.install(client, _crds())


def _crds() -> list[Object]:
    return [*platform.our_crds(), widgets()]


def _lists(crd: Object) -> str:
    """The path of all objects of a CRD's kind."""
    spec = crd["spec"]
    version = next(version["name"] for version in spec["versions"] if version["storage"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
