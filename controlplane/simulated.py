"""The default cluster of a machine of one's own, simulated or real: its process, its registration, its examples."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

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
    actor = Actor(administrator, "command")
    access = read_kubeconfig(kubeconfig.read_text())
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        return services.register_cluster(actor, name=name, access=access)
    same = cluster.server == access.server and decrypt(cluster.credential) == access.credential
    return cluster if same else services.update_credential(actor, cluster, access=access)


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
