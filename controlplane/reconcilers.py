"""Every kind of desired-state row and the function that reconciles it, in the order in which they depend."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from accounts.audit import Attempt, record_attempt
from accounts.models import Outcome, UserKind
from clusters.adopting import heeding_adoptions
from clusters.models import Cluster
from clusters.reconcile import lacks_a_kind, reconcile_cluster
from core import leases, live
from core.conditions import find
from core.models import DesiredState
from core.reconciling import Outcome as Found
from core.reconciling import Reconciler
from organizations.models import Department, Project
from organizations.reconcile.departments import reconcile_department
from organizations.reconcile.projects import reconcile_project
from topology.models import NetworkTopology, NodePool
from topology.reconcile.node_pools import reconcile_node_pool
from topology.reconcile.topologies import reconcile_topology
from workloads.models import Workload
from workloads.reconcile import reconcile_workload


def reconcile_cluster_and_wake(cluster: Cluster) -> Found:
    """See `reconcile_cluster`. Where the cluster did not answer before and does now, what failed on it meanwhile is
    made due at once."""
    outcome = reconcile_cluster(cluster)
    before = find(cluster.conditions, "Reachable")
    now = next((condition for condition in outcome.conditions if condition.type == "Reachable"), None)
    if before and before["status"] == "False" and now and now.status == "True":
        wake_failed(cluster.pk)
    return outcome


def record_gone(row: DesiredState) -> None:
    """The end of a row is in the audit log as the act of the reconcile; who asked for it is there before."""
    muster = Attempt(subject="muster", subject_type=UserKind.SERVICE_ACCOUNT, source="reconcile")
    record_attempt(muster, "delete", outcome=Outcome.SUCCEEDED, reason="its objects are gone from the cluster", row=row)


def record_cluster_gone(cluster: Cluster) -> None:
    """See `record_gone`; open pages that list what went with the cluster are told."""
    record_gone(cluster)
    live.publish(*topics_of_all_on(cluster))


def topics_of_all_on(cluster: Cluster) -> set[str]:
    """The live topics of every kind of row that belongs to a cluster."""
    labels = {relation.related_model._meta.label for relation in Cluster._meta.related_objects}
    return labels | {f"{label}@{cluster.pk}" for label in labels}


RECONCILERS: Sequence[Reconciler] = (
    Reconciler(Cluster, reconcile_cluster_and_wake, cluster_lookup="pk", on_gone=record_cluster_gone),
    Reconciler(NetworkTopology, heeding_adoptions(reconcile_topology), on_gone=record_gone),
    Reconciler(NodePool, heeding_adoptions(reconcile_node_pool), on_gone=record_gone),
    Reconciler(Department, heeding_adoptions(reconcile_department), on_gone=record_gone),
    Reconciler(Project, heeding_adoptions(reconcile_project), on_gone=record_gone),
    Reconciler(Workload, heeding_adoptions(reconcile_workload), on_gone=record_gone),
)


def wake_failed(cluster: Any) -> int:
    """Make the rows of a cluster due whose last try failed, or that wait for a kind that was not served; how many.
    One UPDATE or two a kind: they are done one after the other by the cluster's one task, as any other rows."""
    return sum(_poke_failed(kind.model, {kind.cluster_lookup: cluster}) for kind in RECONCILERS)


def _poke_failed(model: type[DesiredState], scope: Mapping[str, Any]) -> int:
    waiting = model._default_manager.filter(failures=0, **scope).values_list("pk", "conditions")
    unserved = [pk for pk, conditions in waiting if lacks_a_kind(conditions)]
    return leases.poke_failed(model, scope) + (leases.poke(model, unserved) if unserved else 0)


@cache
def by_label(label: str) -> Reconciler | None:
    """The reconciler of `app_label.ModelName`; None for a label that there is not (any more)."""
    return next((reconciler for reconciler in RECONCILERS if reconciler.label == label), None)
