"""Observed changes make the workloads due that they concern, and no others."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from clusters import kinds
from clusters.models import ClusterObject, Pod
from clusters.watcher.changes import Change
from tests.workloads.samples import MULTINODE
from workloads.interests import wake_for
from workloads.models import Workload


@pytest.fixture
def two(submit: Any) -> tuple[Workload, Workload]:
    rows = submit(), submit(MULTINODE)
    Workload.objects.update(next_check_at=timezone.now() + timedelta(hours=1), phase="Running")
    return rows


def due() -> set[str]:
    return set(Workload.objects.filter(next_check_at__lte=timezone.now()).values_list("name", flat=True))


def test_a_pod_or_group_wakes_the_workload_that_its_label_names(cluster: Any, two: Any) -> None:
    wake_for(cluster, [Change(kinds.POD, "modified", "x", labels={"muster.dev/workload": str(two[0].pk)})])

    assert due() == {"vllm-disagg"}


def test_the_graph_wakes_its_owner(cluster: Any, two: Any) -> None:
    owner = f"workloads.Workload.{two[1].pk}"
    wake_for(cluster, [Change(kinds.DYNAMO_GRAPH_DEPLOYMENT, "deleted", "qwen", owner=owner)])

    assert due() == {"qwen"}


def test_a_node_wakes_what_stands_on_it_and_what_waits(cluster: Any, two: Any) -> None:
    Pod.objects.create(
        cluster=cluster,
        uid="p",
        name="p",
        namespace="runai-assistant",
        resource_version="1",
        created_at=timezone.now(),
        phase="Running",
        node_name="n1",
        gpus=Decimal(1),
        workload=str(two[0].pk),
    )

    wake_for(cluster, [Change(kinds.NODE, "deleted", "n1")])
    assert due() == {"vllm-disagg"}
    Workload.objects.filter(pk=two[1].pk).update(phase="Pending")
    wake_for(cluster, [Change(kinds.NODE, "added", "n2")])
    assert due() == {"vllm-disagg", "qwen"}


def test_what_others_wrote_wakes_nothing(cluster: Any, two: Any) -> None:
    odd = {"muster.dev/workload": "not-an-id"}
    wake_for(
        cluster,
        [Change(kinds.POD, "added", "x", labels=odd), Change(kinds.KAI_POD_GROUP, "added", "y", owner="topology.X.1")],
    )

    assert due() == set()


def event(kind: str, name: str, namespace: str = "runai-assistant") -> Change:
    return Change(kinds.EVENT, "added", f"{name}.1", namespace, about=(kind, name))


def test_an_event_alone_wakes_the_workload_of_whose_object_it_speaks(cluster: Any, two: Any) -> None:
    mirrored = {"cluster": cluster, "namespace": "runai-assistant", "resource_version": "1"}
    Pod.objects.create(**mirrored, uid="p", name="p", created_at=timezone.now(), workload=str(two[0].pk))
    labels = {"labels": {"muster.dev/workload": str(two[1].pk)}}
    ClusterObject.objects.create(
        **mirrored, uid="g", name="pg", created_at=timezone.now(), plural="podgroups", manifest={"metadata": labels}
    )

    wake_for(cluster, [event("Pod", "p", "elsewhere"), event("Pod", "q")])
    assert due() == set()
    wake_for(cluster, [event("Pod", "p") for _ in range(50)])
    assert due() == {"vllm-disagg"}
    wake_for(cluster, [event("PodGroup", "pg")])
    assert due() == {"vllm-disagg", "qwen"}
