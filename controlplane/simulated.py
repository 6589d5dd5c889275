"""The simulated cluster as the default cluster of a machine of one's own: its port, its registration, its examples."""

from pathlib import Path

from django.core.management import call_command

from accounts.audit import Actor
from accounts.models import User
from clusters import services
from clusters.credentials import decrypt
from clusters.kubeconfig import read_kubeconfig
from clusters.models import Cluster, Node
from clusters.names import DEFAULT_NODE_POOL
from controlplane.prepare import free_port
from topology.models import NodePool

NAME = "simulated"


def port(data_dir: Path) -> int:
    """The port that the simulated cluster had before, where it is still free, else another one."""
    data_dir.mkdir(parents=True, exist_ok=True)
    noted = data_dir / "port"
    before = noted.read_text().strip() if noted.exists() else ""
    chosen = free_port(int(before) if before.isdigit() and int(before) < 65536 else 0)
    noted.write_text(f"{chosen}\n")
    return chosen


def register(kubeconfig: Path, administrator: User) -> Cluster:
    """Make the simulated cluster known under `NAME`, or tell Muster where it is now."""
    actor = Actor(administrator, "command")
    access = read_kubeconfig(kubeconfig.read_text())
    cluster = Cluster.objects.filter(name=NAME).first()
    if cluster is None:
        return services.register_cluster(actor, name=NAME, access=access)
    same = cluster.server == access.server and decrypt(cluster.credential) == access.credential
    return cluster if same else services.update_credential(actor, cluster, access=access)


def is_observed() -> bool:
    """Whether Muster knows the cluster well enough for somebody to define something on it."""
    cluster = Cluster.objects.filter(name=NAME, phase="Connected").first()
    return (
        cluster is not None
        and Node.objects.filter(cluster=cluster).exists()
        and NodePool.objects.filter(cluster=cluster, name=DEFAULT_NODE_POOL).exists()
    )


def seed(administrator: User) -> None:
    """The example departments, projects and workloads, once."""
    call_command("seed_demo", actor=administrator.email, cluster=NAME)
