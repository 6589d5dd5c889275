"""What packages above topology do when a node pool is made or its deletion asked for, and whose queues there are.

They register a function when the process starts (`AppConfig.ready`); it runs in the transaction of the change.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from accounts.permissions import Scope, has_right
from clusters.models import Cluster
from topology.models import NodePool

NodePoolListener = Callable[[NodePool], None]

_listeners: list[NodePoolListener] = []


def on_node_pool_change(listener: NodePoolListener) -> None:
    """Call `listener(pool)` whenever a pool was created or its deletion requested. Registering twice counts once."""
    if listener not in _listeners:
        _listeners.append(listener)


def node_pool_changed(pool: NodePool) -> None:
    """Tell every listener."""
    for listener in _listeners:
        listener(pool)


Names = tuple[Mapping[str, str], Mapping[str, str]]
Namer = Callable[[Any, Cluster], Names]

_namers: list[Namer] = []


def on_names(namer: Namer) -> None:
    """Ask `namer(user, cluster)` for the names that `user` may see: owners by queue and by namespace."""
    if namer not in _namers:
        _namers.append(namer)


def names_for(user: Any, cluster: Cluster) -> Names:
    """Owners of queues and of namespaces in the cluster, by name, as far as `user` may know them."""
    queues: dict[str, str] = {}
    namespaces: dict[str, str] = {}
    for namer in _namers:
        more_queues, more_namespaces = namer(user, cluster)
        queues |= more_queues
        namespaces |= more_namespaces
    return queues, namespaces


def reads_all_work(user: Any, cluster_id: UUID | None) -> bool:
    """Whether `user` reads every workload of the cluster; without a cluster, of all clusters.

    Such a reader is told the namespaces and queues that no project has, too, and is never told "another project".
    """
    return has_right(user, "workloads:read", Scope(cluster_id))
