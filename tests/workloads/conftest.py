"""A project with quota on two pools, one with a topology, and nodes to stand on."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AccessRule, ScopeType
from accounts.permissions import VIEWER
from clusters.models import Cluster, Node
from tests.workloads.simulated import observe
from tests.workloads.waiting import judge
from workloads.models import Workload

RACKS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack", "kubernetes.io/hostname")


@pytest.fixture
def topology(cluster: Any, default_pool: Any) -> Any:
    from topology.models import NetworkTopology

    row = NetworkTopology.objects.create(cluster=cluster, name="topology-1", levels=list(RACKS), phase="Ready")
    default_pool.network_topology = row
    default_pool.save(update_fields=["network_topology"])
    return row


@pytest.fixture
def quota(project: Any, default_pool: Any) -> Any:
    from organizations.models import Quota

    Quota.objects.create(
        cluster=project.cluster,
        department=project.department,
        node_pool=default_pool,
        queue_name="research",
        gpu_deserved=Decimal(64),
    )
    return Quota.objects.create(
        cluster=project.cluster,
        project=project,
        node_pool=default_pool,
        queue_name="assistant",
        gpu_deserved=Decimal(32),
    )


@pytest.fixture
def h200(cluster: Any) -> Any:
    """A second pool, without topology and without quota."""
    from topology.models import NodePool

    return NodePool.objects.create(cluster=cluster, name="h200", label_key="gpu", label_value="h200", phase="Ready")


def make_node(cluster: Any, name: str, *, zone: str, rack: str, gpus: int = 8, pool: str = "") -> Any:
    from clusters.models import Node

    return Node.objects.create(
        cluster=cluster,
        uid=f"uid-{name}",
        name=name,
        resource_version="1",
        created_at=timezone.now(),
        labels=dict(zip(RACKS, (zone, rack, name), strict=True)),
        ready="True",
        gpu_capacity=gpus,
        gpu_allocatable=gpus,
        node_pool=pool,
    )


@pytest.fixture
def nodes(cluster: Any) -> list[Any]:
    """Two zones of two racks of two nodes of 8 GPUs: z1-r1-n1 …"""
    return [
        make_node(cluster, f"z{z}-r{r}-n{n}", zone=f"z{z}", rack=f"z{z}-r{r}")
        for z in (1, 2)
        for r in (1, 2)
        for n in (1, 2)
    ]


@pytest.fixture
def submit(project: Any, quota: Any, topology: Any, nodes: Any, admin: Any, actor: Callable[..., Any]) -> Any:
    """`submit(text, **options)`: a workload submitted by the administrator."""
    from tests.workloads.samples import DISAGG
    from workloads.services import submit_workload

    def submit(source: str = "", **options: Any) -> Any:
        source = source or DISAGG.replace("runai-project-a", "runai-assistant")
        return submit_workload(actor(admin), project=project, source=source, **options)

    return submit


@pytest.fixture
def viewer_of(viewer: Any) -> Any:
    """A person who may see one project only."""

    def viewer_of(project: Any) -> Any:
        AccessRule.objects.filter(user=viewer).delete()
        AccessRule.objects.create(
            user=viewer,
            role=VIEWER,
            scope_type=ScopeType.PROJECT,
            scope_id=str(project.pk),
            cluster_id=project.cluster_id,
        )
        return viewer

    return viewer_of


@pytest.fixture
def waits(submit: Any, cluster: Cluster) -> Any:
    """`waits(source, nodes=…, queues=…, pods=…)`: the workload after the simulated cluster judged it."""
    Node.objects.all().delete()
    make = submit

    def waits(source: str, **more: Any) -> Workload:
        workload: Workload = make(source)
        judge(cluster, workload, **more)
        return observe(workload)

    return waits
