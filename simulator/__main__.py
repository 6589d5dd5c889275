"""`python -m simulator`: the API server and the actors of a simulated cluster in one process, until a signal."""

import argparse
import asyncio
import contextlib
import gc
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simulator.actors.options import ActorOptions
from simulator.actors.runner import run_actors
from simulator.api.certificates import Certificates, ensure_certificates
from simulator.api.inprocess import InProcessClient
from simulator.api.kubeconfig import write_kubeconfig
from simulator.api.persistence import Keeper
from simulator.api.running import Address, RunningServer, open_server, port_or_free
from simulator.api.server import Server
from simulator.fleets.load import load_fleet, restore_fleet

LOOPBACK = "127.0.0.1"
FLEETS = ("small", "large", "empty")
GROVE_BACKENDS = ("podgrouper", "grove")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m simulator", description="A simulated GPU cluster.")
    options.add_argument("--host", default="127.0.0.1", help="address for HTTPS (default: loopback)")
    options.add_argument("--port", type=int, default=8001, help="port for plain HTTP on loopback (default: 8001)")
    options.add_argument(
        "--tls-port", type=int, default=0, help="port for HTTPS (default: the next one, or a free one)"
    )
    options.add_argument("--data-dir", type=Path, help="keep the cluster's objects here between runs")
    options.add_argument("--fleet", choices=FLEETS, default="small", help="what a new cluster holds")
    options.add_argument("--grove-backend", choices=GROVE_BACKENDS, default="podgrouper")
    options.add_argument("--kubeconfig", type=Path, help="write a kubeconfig for the administrator here")
    options.add_argument("--token", default="", help="the administrator's bearer token (default: a new one)")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(serve(given))
    return 0


async def serve(given: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT; 1 when the port is taken."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory() as temporary:
        certificates = ensure_certificates((given.data_dir or Path(temporary)) / "pki", given.host)
        return await run(given, certificates, stop)


def refuse(what: str) -> int:
    """Say in one sentence what it cannot do; the exit status."""
    print(f"The simulator cannot {what}", file=sys.stderr)
    return 1


async def run(given: argparse.Namespace, certificates: Certificates, stop: asyncio.Event) -> int:
    keeper = Keeper(given.data_dir) if given.data_dir else None
    server, restored = open_server(keeper, given.token, certificates.authority_text)
    tls_port = given.tls_port or port_or_free(given.host, given.port + 1 if given.port else 0)
    addresses = [Address(LOOPBACK, given.port), Address(given.host, tls_port, certificates)]
    try:
        running = RunningServer(server, addresses, keeper)
        plain, secure = (listener.address.url for listener in running.listeners)
    except OSError as error:
        return refuse(f"listen on port {given.port} or {tls_port}: {error}")
    try:
        if given.kubeconfig:  # before the first answer: whoever sees this server ready may read the file at once
            write_kubeconfig(given.kubeconfig, secure, server.tokens.admin_token, certificates.authority_text)
    except OSError as error:
        return refuse(f"write the kubeconfig {given.kubeconfig}: {error}")
    try:
        await running.start()
    except OSError as error:
        return refuse(f"listen on port {given.port} or {tls_port}: {error}")
    try:
        if not restored:
            await fill(server, given.fleet)
        gc.collect()
        gc.freeze()  # the objects of a large cluster stay: the collector need not look at them again
        print(f"The simulated cluster listens on {secure} and {plain}", flush=True)
        await act(server, stop, grove_backend=given.grove_backend)
    finally:
        await running.stop()
    return 0


async def fill(server: Server, fleet: str) -> None:
    """Put a fleet into a new cluster; the large one past the verbs, as if it had been there for long."""
    client = InProcessClient(server)
    if fleet != "large":
        await load_fleet(client, fleet)
        return
    for kind, manifest in restore_fleet(server.store, fleet):
        await client.create(kind, manifest, manifest["metadata"].get("namespace"))


async def act(server: Server, stop: asyncio.Event, *, grove_backend: str) -> None:
    """Run the actors until told to stop; raises what ends them."""
    options = ActorOptions(grove_kai_backend=grove_backend == "grove")
    actors = asyncio.create_task(run_actors(InProcessClient(server), server.hooks, options))
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({actors, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in (actors, stopped):
        if not task.done():
            task.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    with contextlib.suppress(asyncio.CancelledError):
        await actors


if __name__ == "__main__":
    sys.exit(main())
