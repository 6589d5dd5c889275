"""Which workloads end when a cluster is removed and cleaned, from what is known of it: those of Muster, and all that
stands in the namespaces that go with its projects. What a person was shown is signed, to see whether it grew."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.core import signing

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, NAMESPACE
from clusters.models import Adoption, Cluster, ClusterObject, Node, Pod
from clusters.names import DEFAULT_NODE_POOL, MANAGED_BY, MANAGED_BY_LABEL, PROJECT_LABEL
from scheduling.structs import FINISHED

MOST_SHOWN = 100
MAX_AGE = timedelta(days=1)

_Key = tuple[str, str]  # namespace, workload


def ending_workloads(cluster: Cluster) -> dict[str, Any]:
    """The workloads as an impact's JSON (`topology.impact`), those that hold most GPUs first."""
    projects = _namespaces_made(cluster)
    given_back = Adoption.objects.filter(cluster=cluster).values("uid")
    made = _objects(cluster, DYNAMO_GRAPH_DEPLOYMENT.plural).exclude(uid__in=given_back)
    graphs = set(made.values_list("namespace", "name"))
    entries = {key: _entry(key, projects) for key in graphs}
    for key, pod, pool in _pods(cluster):
        if key in graphs or key[0] in projects:
            _add(entries.setdefault(key, _entry(key, projects)), pod, pool)
    found = sorted(entries.values(), key=lambda entry: (-entry["gpus"], entry["project"], entry["name"]))
    return {
        "isEmpty": not found,
        "workloads": found[:MOST_SHOWN],
        "moreWorkloads": max(len(found) - MOST_SHOWN, 0),
        "queues": [],
        "pools": [],
        "unchecked": 0,
        "observedAt": None,
        "unknown": [],
    }


def sealed_ending(user: Any, cluster: Cluster) -> str:
    """What ends now, signed for this person, for the hidden field `impact` of the page that asks."""
    return signing.dumps(_amounts(ending_workloads(cluster)), salt=_salt(user, cluster), compress=True)


def was_shown(user: Any, cluster: Cluster, seal: str) -> bool:
    """Whether the page that this person confirms named each workload that ends now, with no fewer GPUs."""
    try:
        before = signing.loads(seal, salt=_salt(user, cluster), max_age=MAX_AGE)
    except signing.BadSignature:
        before = {}
    return all(gpus <= before.get(name, -1) for name, gpus in _amounts(ending_workloads(cluster)).items())


def _amounts(shown: dict[str, Any]) -> dict[str, float]:
    found = {f"{each['project']}/{each['name']}": float(each["gpus"]) for each in shown["workloads"]}
    return {**found, "": float(shown["moreWorkloads"])} if shown["moreWorkloads"] else found


def _salt(user: Any, cluster: Cluster) -> str:
    return f"clusters.removal:{user.pk}:{cluster.pk}"


def _objects(cluster: Cluster, plural: str) -> Any:
    """Objects of a kind that Muster made there."""
    return ClusterObject.objects.filter(cluster=cluster, plural=plural).exclude(owner="")


def _namespaces_made(cluster: Cluster) -> dict[str, str]:
    """Namespaces that Muster made, which go: their project. Adopted ones stay."""
    found = {}
    for name, manifest in _objects(cluster, NAMESPACE.plural).values_list("name", "manifest"):
        labels = manifest["metadata"].get("labels") or {}
        if labels.get(MANAGED_BY_LABEL) == MANAGED_BY:
            found[name] = str(labels.get(PROJECT_LABEL, name))
    return found


def _pods(cluster: Cluster) -> Iterator[tuple[_Key, Pod, str]]:
    """Pods that are not finished, with their workload (a graph, else a gang, else themselves) and node pool."""
    pools = dict(Node.objects.filter(cluster=cluster).values_list("name", "node_pool"))
    rows = Pod.objects.filter(cluster=cluster).exclude(phase__in=FINISHED)
    for pod in rows.only("namespace", "graph", "pod_group", "name", "gpus", "node_name"):
        key = (pod.namespace, pod.graph or pod.pod_group or pod.name)
        yield key, pod, pools.get(pod.node_name) or DEFAULT_NODE_POOL


def _entry(key: _Key, projects: dict[str, str]) -> dict[str, Any]:
    namespace, name = key
    return {
        "name": name,
        "project": projects.get(namespace, namespace),
        "pool": DEFAULT_NODE_POOL,
        "effect": "ends",
        "gpus": 0,
        "pods": 0,
        "running": False,
    }


def _add(entry: dict[str, Any], pod: Pod, pool: str) -> None:
    entry["pods"] += 1
    if pod.node_name:
        gpus = Decimal(entry["gpus"]) + pod.gpus
        entry |= {"running": True, "pool": pool, "gpus": int(gpus) if gpus == int(gpus) else float(gpus)}
