"""The default cluster of a machine of one's own, simulated or real: its process, its registration, its examples."""

import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from accounts.audit import Actor
from accounts.models import User
from clusters import services
from clusters.credentials import decrypt
from clusters.kubeconfig import read_kubeconfig
from clusters.models import Cluster, Node
from clusters.names import DEFAULT_NODE_POOL
from controlplane import processes
from controlplane.prepare import CannotStart, free_port
from controlplane.processes import Command
from core.errors import MusterError
from topology.models import NodePool

SIMULATED, REAL = "simulated", "real"
KINDS = (SIMULATED, REAL)


@dataclass(frozen=True, slots=True)
class DefaultCluster:
    """What `up` starts and registers under `name`; `kubeconfig` is there once it `is_ready`."""

    name: str
    command: Command
    kubeconfig: Path
    is_ready: Callable[[], bool]


def simulated(data_dir: Path, fleet: str, answers: Callable[[int, str], bool]) -> DefaultCluster:
    """The simulator; `answers(port, path)` asks it."""
    directory = data_dir / "simulator"
    chosen = port(directory)
    return DefaultCluster(
        SIMULATED,
        processes.simulator(chosen, directory, fleet),
        directory / "kubeconfig",
        lambda: answers(chosen, "/readyz"),
    )


def real(data_dir: Path, fleet: str) -> DefaultCluster:
    """A real control plane, built first where it is not. Raises `CannotStart`."""
    directory = data_dir / "cluster"
    directory.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(  # noqa: S603  (our own command)
        processes.real_cluster_build(), cwd=settings.BASE_DIR, stderr=subprocess.PIPE, text=True, check=False
    )
    if built.returncode != 0:
        raise CannotStart(built.stderr.strip() or "The real cluster could not be built.")
    ready = directory / "ready"
    ready.unlink(missing_ok=True)
    command = processes.real_cluster(directory, fleet)
    return DefaultCluster(REAL, command, directory / "muster.kubeconfig", ready.exists)


def port(data_dir: Path) -> int:
    """The port that the simulated cluster had before, where it is still free, else another one."""
    data_dir.mkdir(parents=True, exist_ok=True)
    noted = data_dir / "port"
    before = noted.read_text().strip() if noted.exists() else ""
    chosen = free_port(int(before) if before.isdigit() and int(before) < 65536 else 0)
    noted.write_text(f"{chosen}\n")
    return chosen


def register(kubeconfig: Path, administrator: User, *, name: str = SIMULATED) -> Cluster:
    """Make the cluster known under its name, or tell Muster where it is now."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is not None:
        return _found_at(cluster, kubeconfig, administrator)
    access = read_kubeconfig(kubeconfig.read_text())
    return services.register_cluster(Actor(administrator, "command"), name=name, access=access)


def _found_at(cluster: Cluster, kubeconfig: Path, administrator: User) -> Cluster:
    access = read_kubeconfig(kubeconfig.read_text())
    if cluster.server == access.server and decrypt(cluster.credential) == access.credential:
        return cluster
    return services.update_credential(Actor(administrator, "command"), cluster, access=access)


@dataclass(slots=True)
class Whereabouts:
    """Follows the default cluster: one whose process died and was started again may listen on other ports."""

    default: DefaultCluster
    administrator: User
    registered: int = field(default=0, init=False)  # when the kubeconfig that Muster goes by was written, in ns

    def register(self) -> None:
        """Make the cluster known."""
        written = self.default.kubeconfig.stat().st_mtime_ns
        register(self.default.kubeconfig, self.administrator, name=self.default.name)
        self.registered = written

    def follow(self) -> None:
        """Tell Muster where the cluster is once its kubeconfig was written anew; call this often.

        What cannot be read or stored yet is tried again at the next call. A cluster that somebody removed stays so.
        """
        with contextlib.suppress(OSError, MusterError):
            written = self.default.kubeconfig.stat().st_mtime_ns
            if written == self.registered:
                return
            try:
                cluster = Cluster.objects.filter(name=self.default.name, deletion_requested_at=None).first()
                if cluster is not None:
                    _found_at(cluster, self.default.kubeconfig, self.administrator)
            except DatabaseError:
                connection.close()  # the next call connects anew
            else:
                self.registered = written


def is_observed(name: str) -> bool:
    """Whether Muster knows the cluster well enough for somebody to define something on it."""
    cluster = Cluster.objects.filter(name=name, phase="Connected").first()
    return (
        cluster is not None
        and Node.objects.filter(cluster=cluster).exists()
        and NodePool.objects.filter(cluster=cluster, name=DEFAULT_NODE_POOL).exists()
    )


def seed(name: str, administrator: User) -> None:
    """The example departments, projects and workloads, once."""
    call_command("seed_demo", actor=administrator.email, cluster=name)
