"""What others made with kubectl: graphs are listed with their source, faults are named as what they are."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from clusters.kinds import (
    DYNAMO_GRAPH_DEPLOYMENT,
    GROVE_POD_CLIQUE_SET,
    KAI_POD_GROUP,
    KAI_QUEUE,
    KAI_SCHEDULING_SHARD,
    Kind,
)
from clusters.models import Cluster, ClusterObject


def observe(cluster: Cluster, kind: Kind, name: str, namespace: str = "", owner: str = "", **spec: Any) -> None:
    ClusterObject.objects.create(
        cluster=cluster, uid=f"{kind.plural}/{namespace}/{name}", name=name, namespace=namespace, owner=owner,
        resource_version="1", created_at=timezone.now(), group=kind.group, plural=kind.plural,
        made_by="kubectl-create",
        manifest={"metadata": {"name": name}, "spec": spec, "status": {"state": "pending"}},
    )  # fmt: skip


@pytest.fixture
def shown(cluster: Cluster, client_of: Any, viewer: Any) -> Any:
    """`shown()`: the list of workloads, as the viewer reads it."""

    def shown() -> str:
        text: str = client_of(viewer).get(reverse("workloads:list")).content.decode()
        return text

    return shown


def test_graphs_of_others_are_listed_with_their_source(cluster: Cluster, shown: Any) -> None:
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "theirs", "elsewhere")
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "ours", "runai-assistant", owner="workloads.Workload.1")

    text = shown()

    assert "Graphs made in the cluster by others" in text
    assert "<code>theirs</code></td><td><code>elsewhere</code></td><td>pending</td><td>kubectl-create</td>" in text
    assert "<code>ours</code>" not in text


def test_who_may_not_read_the_whole_cluster_sees_nothing_of_others(
    cluster: Cluster, client_of: Any, researcher: Any
) -> None:
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "theirs", "elsewhere")
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "theirs", "third")

    assert "theirs" not in client_of(researcher).get(reverse("workloads:list")).content.decode()


def test_equal_names_in_two_namespaces_are_named_once(cluster: Cluster, shown: Any) -> None:
    """golden/SURPRISES.md §1 no. 6: their gangs merge; the pod grouper's names contain a UID and are safe."""
    for namespace in ("a", "b"):
        observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "qwen", namespace)
        observe(cluster, GROVE_POD_CLIQUE_SET, "qwen", namespace)
        observe(cluster, KAI_POD_GROUP, "qwen-0", namespace)
        observe(cluster, KAI_POD_GROUP, "pg-alone", namespace)

    text = shown()

    assert "cluster-a: DynamoGraphDeployment qwen is in several namespaces: a, b." in text
    assert "cluster-a: PodGroup pg-alone is in several namespaces: a, b." in text
    assert text.count("is in several namespaces") == 2
    assert text.count("KAI’s pod grouper keeps them apart.") == 1
    assert text.count("these merge into one, and start incomplete.") == 1


def test_equal_names_in_many_namespaces_are_told_without_a_gap(cluster: Cluster, shown: Any) -> None:
    for namespace in ("team-c", "team-a", "team-d", "team-b", "team-e"):
        observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "qwen", namespace)
    for namespace in ("a", "b", "c"):
        observe(cluster, KAI_POD_GROUP, "pg", namespace)

    text = shown()

    assert "PodGroup pg is in several namespaces: a, b, c." in text
    assert "qwen is in several namespaces: team-a, team-b, team-c and 2 more." in text


def test_a_graph_in_a_parent_queue_is_named_before_it_has_a_pod_group(cluster: Cluster, shown: Any) -> None:
    observe(cluster, KAI_QUEUE, "research")
    observe(cluster, KAI_QUEUE, "assistant", parentQueue="research")
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "early", "a", annotations={"nvidia.com/kai-scheduler-queue": "research"})
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "fine", "a", annotations={"nvidia.com/kai-scheduler-queue": "assistant"})
    for name in ("early", "bare"):
        observe(cluster, GROVE_POD_CLIQUE_SET, name, "a")
    labels = {"labels": {"kai.scheduler/queue": "research"}}
    ClusterObject.objects.filter(plural="podcliquesets").update(manifest={"metadata": labels, "spec": {}})

    text = shown()

    assert "DynamoGraphDeployment a/early is in queue research, which has queues below it." in text
    assert "PodCliqueSet a/bare is in queue research" in text
    assert text.count("which has queues below it") == 2


def test_equal_names_in_two_clusters_are_no_fault(cluster: Cluster, shown: Any) -> None:
    second = Cluster.objects.create(name="cluster-b", server="http://127.0.0.1:1", credential=b"")
    observe(cluster, DYNAMO_GRAPH_DEPLOYMENT, "qwen", "a")
    observe(second, DYNAMO_GRAPH_DEPLOYMENT, "qwen", "b")

    assert "is in several namespaces" not in shown()


def test_a_gang_in_a_parent_queue_is_named(cluster: Cluster, shown: Any) -> None:
    """golden/SURPRISES.md §1: the scheduler starts nothing there and gives no cause."""
    observe(cluster, KAI_QUEUE, "research")
    observe(cluster, KAI_QUEUE, "assistant", parentQueue="research")
    observe(cluster, KAI_POD_GROUP, "stuck", "a", queue="research")
    observe(cluster, KAI_POD_GROUP, "fine", "a", queue="assistant")

    text = shown()

    assert "PodGroup a/stuck is in queue research, which has queues below it." in text
    assert "a/fine" not in text


def test_durations_that_go_cannot_parse_are_named(cluster: Cluster, shown: Any) -> None:
    """kai-scheduler.md §0.5 no. 34."""
    observe(cluster, KAI_POD_GROUP, "slow", "a", stalenessGracePeriod="1d")
    observe(cluster, KAI_POD_GROUP, "good", "a", preemptionDelay="90s")
    observe(cluster, KAI_SCHEDULING_SHARD, "h200", minRuntime={"preemptMinRuntime": "2 hours"})

    text = shown()

    assert "PodGroup a/slow has a duration that cannot be read, stalenessGracePeriod: 1d." in text
    assert "SchedulingShard h200 has a duration that cannot be read, preemptMinRuntime: 2 hours." in text
    assert "a/good" not in text
