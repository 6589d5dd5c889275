"""Taking a graph away: for good, or while it is suspended. Suspended means deleted: a graph with zero replicas
comes back with its pods gated in some releases of Grove, and its queue would still count its gang."""

from datetime import timedelta

from clusters.drift import delete_if_ours
from clusters.kinds import POD
from clusters.kube.errors import NotServed
from clusters.kube.gateway import Gateway
from core.conditions import Condition
from core.reconciling import RESYNC, Outcome
from workloads.models import Workload
from workloads.reconcile.spec import owner_of, served_kind

GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
SOON = timedelta(seconds=3)
CLEARED = {
    "roles": [],
    "gpus_held": 0,
    "placement": {},
    "waiting_since": None,
    "waiting_reason": {},
    "started_at": None,
}


def sync_deletion(workload: Workload, gateway: Gateway) -> Outcome:
    """The row goes when the graph and its pods have left the cluster."""
    left = _take_away(workload, gateway)
    if not left:
        return Outcome(gone=True)
    return Outcome(phase="Deleting", conditions=(_leaving(left),), check_again_after=SOON)


def sync_suspension(workload: Workload, gateway: Gateway) -> Outcome:
    """Stopped when the graph and its pods have left the cluster; the definition stays in the row."""
    left = _take_away(workload, gateway)
    if left:
        return Outcome(phase="Stopping", conditions=(_leaving(left),), check_again_after=SOON)
    conditions = (
        Condition("Accepted", "True", "Suspended", "It can be written to the cluster."),
        Condition("Synced", "True", "Suspended", "Its graph and its pods have left the cluster, as is wanted."),
    )
    return Outcome(phase="Stopped", conditions=conditions, columns=CLEARED, check_again_after=RESYNC)


def _take_away(workload: Workload, gateway: Gateway) -> str:
    """What is left of it in the cluster, in words; empty: nothing. A CRD that is not served leaves no graph."""
    namespace = workload.project.namespace
    try:
        gone = delete_if_ours(gateway, served_kind(gateway), workload.name, namespace, owner=owner_of(workload))
    except NotServed:
        gone = True
    if not gone:
        return "the DynamoGraphDeployment"
    pods = gateway.list(POD, namespace, label_selector=f"{GRAPH_LABEL}={workload.name}")
    return f"{len(pods)} pods" if pods and not _made_anew(workload, gateway, namespace) else ""


def _made_anew(workload: Workload, gateway: Gateway, namespace: str) -> bool:
    """Whether somebody else's graph of this name stands there now, so that the pods are its own."""
    try:
        return gateway.get(served_kind(gateway), workload.name, namespace) is not None
    except NotServed:
        return False


def _leaving(left: str) -> Condition:
    message = f"Waiting until {left} are gone from the cluster."
    return Condition("Synced", "False", "Deleting", message, arguments=(("left", left),))
