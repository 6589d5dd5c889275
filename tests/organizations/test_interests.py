from datetime import timedelta
from typing import Any

from django.utils import timezone

from clusters import kinds
from clusters.kube.fake import FakeGateway
from clusters.models import Cluster, ClusterObject
from clusters.watcher.changes import Change
from organizations.interests import wake_for
from organizations.models import Department, Project
from organizations.reconcile import sync_department, sync_project
from topology.interests import wake_for as wake_topologies
from topology.models import NodePool

LATER = timezone.now() + timedelta(days=1)


def observe(cluster: Cluster, gateway: FakeGateway) -> None:
    ClusterObject.objects.all().delete()
    for name in gateway.names(kinds.KAI_QUEUE):
        ClusterObject.objects.create(
            cluster=cluster, uid=name, name=name, resource_version="1", created_at=timezone.now(),
            group=kinds.KAI_QUEUE.group, plural=kinds.KAI_QUEUE.plural, manifest=gateway.object(kinds.KAI_QUEUE, name),
        )  # fmt: skip


def awake() -> list[str]:
    rows: list[Any] = [*Department.objects.all(), *Project.objects.all()]
    return [row.name for row in rows if row.next_check_at < LATER]


def test_status_changes_are_stored_and_wake_nobody_while_drift_and_loss_do(
    project: Project, gateway: FakeGateway
) -> None:
    cluster = project.cluster
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    Department.objects.update(next_check_at=LATER)
    Project.objects.update(next_check_at=LATER)
    changes = [Change(kinds.KAI_QUEUE, "modified", name) for name in ("assistant", "research")]

    gateway.set_status(kinds.KAI_QUEUE, "assistant", status={"allocated": {"nvidia.com/gpu": "3"}})
    observe(cluster, gateway)
    wake_for(cluster, changes)
    assert awake() == []
    usage = project.quotas.get().usage
    assert usage["allocated"] == {"gpu": "3", "cpu": "0", "memory": "0"}
    assert usage["requested"]["gpu"] == "0"

    gateway.edit(kinds.KAI_QUEUE, "assistant", spec={"parentQueue": "elsewhere"})
    observe(cluster, gateway)
    wake_for(cluster, changes)
    assert awake() == ["assistant"]

    gateway.delete(kinds.KAI_QUEUE, "research")
    observe(cluster, gateway)
    wake_for(cluster, changes)
    assert awake() == ["research", "assistant"]


def test_an_idle_queue_holds_0_where_the_controller_writes_and_is_not_known_where_it_does_not(
    project: Project, gateway: FakeGateway
) -> None:
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    change = Change(kinds.KAI_QUEUE, "modified", "assistant")

    observe(project.cluster, gateway)
    wake_for(project.cluster, [change])
    unknown = project.quotas.get().usage
    gateway.set_status(kinds.KAI_QUEUE, "research", status={"childQueues": ["assistant"]})
    observe(project.cluster, gateway)
    wake_for(project.cluster, [change])

    assert unknown == {}
    assert project.quotas.get().usage["allocated"] == {"gpu": "0", "cpu": "0", "memory": "0"}


def test_the_default_department_is_made_when_a_cluster_shows_its_nodes(cluster: Cluster) -> None:
    wake_for(cluster, [Change(kinds.NODE, "added", "gpu-1")])

    assert Department.objects.get().quotas.get().queue_name == "default"


def test_nothing_is_made_anew_on_a_cluster_that_is_to_go(cluster: Cluster) -> None:
    Cluster.objects.update(deletion_requested_at=timezone.now())

    wake_for(cluster, [Change(kinds.NODE, "added", "gpu-1")])
    wake_topologies(cluster, [Change(kinds.NODE, "added", "gpu-1")])

    assert not Department.objects.exists()
    assert not NodePool.objects.exists()
