"""Pods of workloads that may be drawn on a tree: those of namespaces whose project the viewer sees."""

from typing import Any

from django.db.models import QuerySet

from clusters.models import Cluster, Pod
from clusters.selectors import running_pods
from topology.hooks import names_for
from topology.placed import PlacedPod

MOST_CHOICES = 200


def placed_choices(user: Any, cluster: Cluster) -> list[tuple[str, str]]:
    """Keys and labels of workloads that hold GPUs on nodes of the cluster, in order of their labels."""
    rows = _pods(user, cluster).values_list("namespace", "graph", "pod_group").distinct()
    keys = {f"{namespace}/{graph or group}": graph or group for namespace, graph, group in rows if graph or group}
    found = [(key, f"{label} · {key.partition('/')[0]}") for key, label in keys.items()]
    return sorted(found, key=lambda choice: choice[1])[:MOST_CHOICES]


def placed_pods(user: Any, cluster: Cluster, key: str) -> list[PlacedPod]:
    """The pods of one workload that have a node; empty for one that is unknown or not to be seen."""
    namespace, _slash, name = key.partition("/")
    rows = _pods(user, cluster).filter(namespace=namespace)
    pods = rows.filter(graph=name) or rows.filter(graph="", pod_group=name)
    return [PlacedPod(pod.name, pod.component or pod.pod_group, pod.node_name, pod.gpus) for pod in pods]


def _pods(user: Any, cluster: Cluster) -> QuerySet[Pod]:
    _queues, namespaces = names_for(user, cluster)
    rows = running_pods().filter(cluster=cluster, namespace__in=namespaces, gpus__gt=0).exclude(node_name="")
    return rows.order_by("name")
