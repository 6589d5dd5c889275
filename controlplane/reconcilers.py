"""Every kind of desired-state row and the function that reconciles it, in the order in which they depend."""

from collections.abc import Sequence
from functools import cache

from clusters.models import Cluster
from clusters.reconcile import reconcile_cluster
from core.reconciling import Reconciler
from organizations.models import Department, Project
from organizations.reconcile.departments import reconcile_department
from organizations.reconcile.projects import reconcile_project
from topology.models import NetworkTopology, NodePool
from topology.reconcile.node_pools import reconcile_node_pool
from topology.reconcile.topologies import reconcile_topology
from workloads.models import Workload
from workloads.reconcile import reconcile_workload

RECONCILERS: Sequence[Reconciler] = (
    Reconciler(Cluster, reconcile_cluster, cluster_lookup="pk"),
    Reconciler(NetworkTopology, reconcile_topology),
    Reconciler(NodePool, reconcile_node_pool),
    Reconciler(Department, reconcile_department),
    Reconciler(Project, reconcile_project),
    Reconciler(Workload, reconcile_workload),
)


@cache
def by_label(label: str) -> Reconciler | None:
    """The reconciler of `app_label.ModelName`; None for a label that there is not (any more)."""
    return next((reconciler for reconciler in RECONCILERS if reconciler.label == label), None)
