"""What the nodes of a pool have beside what is deserved of it, and where no node says it."""

import pytest
from django.test import Client
from django.utils import timezone

from clusters.models import Node
from organizations.models import Project, Quota
from topology.models import NodePool


@pytest.mark.usefixtures("quotas")
def test_row_12_quotas_of_a_pool_are_compared_with_the_gpus_it_has(
    page: Client, project: Project, default_pool: NodePool
) -> None:
    Node.objects.create(
        cluster=project.cluster, uid="1", name="n", resource_version="1", created_at=timezone.now(), gpu_capacity=8
    )
    Quota.objects.filter(department=project.department).update(gpu_deserved=12)

    content = page.get(f"/node-pools/{default_pool.pk}/quotas/").content.decode()

    assert "12 GPUs deserved, of 8 there are" in content


@pytest.mark.usefixtures("quotas")
def test_row_60_a_pool_whose_nodes_do_not_say_their_cpu_has_an_unknown_capacity_and_not_0(
    page: Client, project: Project
) -> None:
    Node.objects.create(
        cluster=project.cluster, uid="1", name="n", resource_version="1", created_at=timezone.now(), gpu_capacity=8,
        memory_bytes=64 * 10**9,
    )  # fmt: skip

    [pool] = page.get(f"/projects/{project.pk}/edit/").context["matrix"]

    assert [(line.resource, line.capacity) for line in pool.lines] == [("gpu", 8), ("cpu", None), ("memory", 64)]
