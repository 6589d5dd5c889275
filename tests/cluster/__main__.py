"""`python -m tests.cluster build | up | down | serve`: a real Kubernetes control plane on this machine.

`up` leaves it running and says where; `serve` runs it in the foreground, with the actors, until a signal.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulator.fleets.load import FLEETS
from tests.cluster import binaries, platform
from tests.cluster.conversion import converting
from tests.cluster.running import PORTS, DidNotStart, RealCluster, are_free

POINTER = "running"
UP_SECONDS = 180.0


def main() -> int:
    given = _parser().parse_args()
    try:
        return int(given.run(given))
    except (binaries.CannotBuild, DidNotStart, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("build").set_defaults(run=_build)
    commands.add_parser("down").set_defaults(run=_down)
    for name, run in (("up", _up), ("serve", _serve)):
        command = commands.add_parser(name)
        command.add_argument("--directory", type=Path, help="data and kubeconfig (default: a temporary folder)")
        command.add_argument("--fleet", choices=sorted(FLEETS), default="empty")
        command.add_argument("--grove-backend", choices=("podgrouper", "grove"), default="podgrouper")
        command.set_defaults(run=run)
    return parser


def _build(given: argparse.Namespace) -> int:
    binaries.build(_say)
    _say(f"The real cluster's binaries are in {binaries.cache()}.")
    return 0


def _up(given: argparse.Namespace) -> int:
    """Start `serve` in the background and wait for it."""
    binaries.build(_say)
    pointer = binaries.cache() / POINTER
    if pointer.exists() and _runs(json.loads(pointer.read_text())["pid"]):
        _say(f"It runs already: KUBECONFIG={json.loads(pointer.read_text())['directory']}/kubeconfig")
        return 0
    directory = (given.directory or Path(tempfile.mkdtemp(prefix="muster-cluster-"))).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "serve.log"
    options = ["--directory", str(directory), "--fleet", given.fleet, "--grove-backend", given.grove_backend]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster", "serve", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=platform.ROOT,
        )
    pointer.write_text(json.dumps({"pid": process.pid, "directory": str(directory), "own": given.directory is None}))
    deadline = time.monotonic() + UP_SECONDS
    while "is ready" not in log.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise DidNotStart(f"The real cluster did not start. The end of its log:\n{log.read_text()[-2000:]}")
        time.sleep(0.1)
    _say(log.read_text().strip())
    return 0


def _down(given: argparse.Namespace) -> int:
    """End what `up` started, and remove its temporary folder."""
    pointer = binaries.cache() / POINTER
    if not pointer.exists():
        _say("No real cluster runs.")
        return 0
    found = json.loads(pointer.read_text())
    if _runs(found["pid"]):
        os.kill(found["pid"], signal.SIGTERM)
        deadline = time.monotonic() + 60
        while _runs(found["pid"]) and time.monotonic() < deadline:
            time.sleep(0.05)
    if found["own"]:
        subprocess.run(["rm", "-rf", found["directory"]], check=True)
    pointer.unlink()
    _say("The real cluster is stopped.")
    return 0


def _runs(pid: int) -> bool:
    """Whether the process lives and is one of ours."""
    with contextlib.suppress(OSError):
        return b"tests.cluster" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _serve(given: argparse.Namespace) -> int:
    if absent := binaries.missing():
        raise binaries.CannotBuild(f"Not built yet: {', '.join(absent)}. Run make cluster first.")
    with contextlib.ExitStack() as stack:
        directory = given.directory or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return asyncio.run(_serving(given, directory.resolve()))


async def _serving(given: argparse.Namespace, directory: Path) -> int:
    began = time.monotonic()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cluster = RealCluster(directory, controllers=platform.PLATFORM_CONTROLLERS, ports=_same_ports(directory))
    try:
        cluster.start_servers()
        (directory / "ports.json").write_text(json.dumps(cluster.ports))
        async with converting(cluster) as conversion_port:
            await platform.furnish(cluster, given.fleet, conversion_port)
            cluster.start_controllers()
            await asyncio.to_thread(platform.register_account, cluster)
            seconds, memory = time.monotonic() - began, cluster.memory() / 1024**2
            (directory / "ready").touch()
            _say(f"The real cluster is ready ({seconds:.1f} s, {memory:.0f} MiB): KUBECONFIG={cluster.kubeconfig}")
            await platform.act(cluster, stop, grove_backend=given.grove_backend == "grove")
    finally:
        await asyncio.to_thread(cluster.stop)
    return 0


def _same_ports(directory: Path) -> dict[str, int]:
    """The ports of the last run, where they are free: kubeconfigs stay true."""
    noted = directory / "ports.json"
    ports: dict[str, int] = json.loads(noted.read_text()) if noted.exists() else {}
    return ports if set(ports) == set(PORTS) and are_free(ports.values()) else {}


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
