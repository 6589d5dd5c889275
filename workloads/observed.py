"""What the watcher saw of a workload, as facts: pods, pod groups, nodes with what is held on them. Reads only."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_POD_GROUP
from clusters.models import ClusterEvent, ClusterObject, Node, Pod
from clusters.names import WORKLOAD_LABEL
from workloads.models import Workload
from workloads.progress import PodFacts


def pods_of(workload: Workload) -> QuerySet[Pod]:
    """Its observed pods, by name."""
    return Pod.objects.filter(
        cluster=workload.cluster_id, namespace=workload.project.namespace, graph=workload.name
    ).order_by("component", "name")


def pod_facts(pods: Iterable[Pod]) -> tuple[PodFacts, ...]:
    """The same as plain facts."""
    return tuple(
        PodFacts(
            name=pod.name,
            component=pod.component,
            phase=pod.phase,
            ready=pod.ready,
            node=pod.node_name,
            gpus=pod.gpus,
            gated=pod.gated,
            reason=pod.reason,
            message=pod.message,
            leaving=pod.deletion_requested_at is not None,
        )
        for pod in pods
    )


def groups_of(workload: Workload, pods: Sequence[Pod]) -> list[Mapping[str, Any]]:
    """Manifests of its pod groups: those that its pods name, else those that carry its label."""
    rows = ClusterObject.objects.filter(
        cluster=workload.cluster_id,
        group=KAI_POD_GROUP.group,
        plural=KAI_POD_GROUP.plural,
        namespace=workload.project.namespace,
    ).order_by("name")
    names = {pod.pod_group for pod in pods if pod.pod_group}
    if names:
        return [row.manifest for row in rows.filter(name__in=names)]
    own = str(workload.pk)
    manifests = (row.manifest for row in rows)
    return [m for m in manifests if (m["metadata"].get("labels") or {}).get(WORKLOAD_LABEL) == own]


def graph_of(workload: Workload) -> Mapping[str, Any] | None:
    """The observed DynamoGraphDeployment, whoever made it; None where there is none."""
    row = ClusterObject.objects.filter(
        cluster=workload.cluster_id,
        group=DYNAMO_GRAPH_DEPLOYMENT.group,
        plural=DYNAMO_GRAPH_DEPLOYMENT.plural,
        namespace=workload.project.namespace,
        name=workload.name,
    ).first()
    return row.manifest if row else None


def events_of(workload: Workload) -> QuerySet[ClusterEvent]:
    """Events about the graph, its cliques, groups and pods, the newest first. Names tell: those of a workload whose
    name goes on where this one's ends are the other's."""
    siblings = Workload.objects.filter(project=workload.project_id, name__startswith=f"{workload.name}-")
    rows = ClusterEvent.objects.filter(
        _named(workload.name), cluster=workload.cluster_id, namespace=workload.project.namespace
    )
    for sibling in siblings.values_list("name", flat=True):
        rows = rows.exclude(_named(sibling))
    return rows.order_by("-last_seen_at", "-pk")


def _named(graph: str) -> Q:
    return (
        Q(involved_name=graph) | Q(involved_name__startswith=f"{graph}-") | Q(involved_name__startswith=f"pg-{graph}-")
    )


def node_labels(workload: Workload, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Labels of those of the named nodes that exist."""
    rows = Node.objects.filter(cluster=workload.cluster_id, name__in=set(names))
    return dict(rows.values_list("name", "labels"))
