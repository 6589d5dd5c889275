"""The page of a workload in pools that grow: its size is that of a small one's."""

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from clusters.models import Node, Pod
from tests.workloads.conftest import RACKS
from tests.workloads.samples import DISAGG
from workloads.models import Workload


@pytest.fixture
def workload(submit: Any) -> Workload:
    row: Workload = submit(DISAGG.replace("runai-project-a", "runai-assistant"))
    Workload.objects.filter(pk=row.pk).update(phase="Running")
    return row


def stand(workload: Workload, *, nodes: int, pods: int) -> None:
    """A pool of so many nodes, 16 to a rack and 160 to a zone, and the workload's pods of 1 GPU on all of them."""
    places = [(f"z{n // 160}", f"z{n // 160}-r{n // 16}", f"node-{n:04}") for n in range(nodes)]
    now = timezone.now()
    seen = {"cluster": workload.cluster, "resource_version": "1", "created_at": now}
    Node.objects.all().delete()
    Pod.objects.all().delete()
    Node.objects.bulk_create(
        Node(
            **seen,
            uid=f"uid-{name}",
            name=name,
            ready="True",
            gpu_capacity=8,
            gpu_allocatable=8,
            labels=dict(zip(RACKS, (zone, rack, name), strict=True)),
        )
        for zone, rack, name in places
    )
    Pod.objects.bulk_create(
        Pod(
            **seen,
            uid=f"uid-pod-{number}",
            name=f"vllm-disagg-0-{number:04d}",
            namespace="runai-assistant",
            phase="Running",
            ready=True,
            graph="vllm-disagg",
            component="VllmDecodeWorker",
            gpus=1,
            node_name=places[number % nodes][2],
        )
        for number in range(pods)
    )


def test_79_the_page_keeps_its_size_whatever_the_pool_and_the_workload_have(
    workload: Workload, client_of: Any, viewer: Any
) -> None:
    client, url = client_of(viewer), reverse("workloads:detail", args=[workload.pk])
    sizes = []
    for nodes, pods in ((64, 100), (300, 1000)):
        stand(workload, nodes=nodes, pods=pods)
        page = client.get(url).content
        assert b"data-icicle" in page
        assert len(re.findall(rb"<[a-z]", page)) <= 2500
        sizes.append(len(page))

    assert max(sizes) <= 1.25 * sizes[0]
