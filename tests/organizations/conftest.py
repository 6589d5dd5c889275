"""What several tests stand on: pages of an administrator, quota, and a small cluster as the watcher would write it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from clusters.models import Cluster
from organizations.models import Department, Project
from organizations.quota_rows import ensure_quota_rows
from tests.organizations.shard_rows import add_gang, add_nodes, add_queue
from topology.models import NodePool

STREAMS = ("nodes", "pods", "queues", "podgroups", "topologies")


@pytest.fixture
def page(admin: User, client_of: Any) -> Client:
    return client_of(admin)


@pytest.fixture
def quotas(project: Project, default_pool: NodePool) -> None:
    ensure_quota_rows(project.department)
    ensure_quota_rows(project)


@pytest.fixture
def pool(cluster: Cluster, department: Department, project: Project, default_pool: NodePool) -> NodePool:
    """64 GPUs for department research: assistant deserves 16 at weight 2 and holds 28, vision deserves 36 at weight
    1, holds 24 and waits for 16."""
    add_nodes(cluster, 8)
    vision = Project.objects.create(cluster=cluster, department=department, name="vision", namespace="runai-vision")
    add_queue(cluster, department, default_pool, gpus=64)
    add_queue(cluster, project, default_pool, gpus=16, weight=2)
    add_queue(cluster, vision, default_pool, gpus=36)
    add_gang(cluster, "assistant", "train", 8, 8, 8, 4, on=("n0", "n1", "n2", "n3"))
    add_gang(cluster, "assistant", "later", *[8] * 4)
    add_gang(cluster, "vision", "seen", 8, 8, 8, on=("n4", "n5", "n6"), namespace="runai-vision")
    add_gang(cluster, "vision", "waits", 8, 8, namespace="runai-vision")
    Cluster.objects.filter(pk=cluster.pk).update(**heard())
    return NodePool.objects.select_related("cluster").get(pk=default_pool.pk)


def heard() -> dict[str, Any]:
    """A cluster that a watcher hears."""
    now = timezone.now()
    streams = {name: {"listedAt": now.isoformat(), "eventAt": now.isoformat()} for name in STREAMS}
    return {"watcher_until": now + timedelta(minutes=5), "last_contact_at": now, "streams": streams}
