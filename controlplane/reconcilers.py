"""Every kind of desired-state row and the function that reconciles it, in the order in which they depend."""

from collections.abc import Sequence
from functools import cache

from core.reconciling import Reconciler
from topology.models import NetworkTopology, NodePool
from topology.reconcile.node_pools import reconcile_node_pool
from topology.reconcile.topologies import reconcile_topology
from workloads.models import Workload
from workloads.reconcile import reconcile_workload

RECONCILERS: Sequence[Reconciler] = (
    Reconciler(NetworkTopology, reconcile_topology),
    Reconciler(NodePool, reconcile_node_pool),
    Reconciler(Workload, reconcile_workload),
)


@cache
def by_label(label: str) -> Reconciler | None:
    """The reconciler of `app_label.ModelName`; None for a label that there is not (any more)."""
    return next((reconciler for reconciler in RECONCILERS if reconciler.label == label), None)
