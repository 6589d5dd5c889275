"""A small world for the API: a cluster with nodes, a topology, an organisation, a workload that runs and one that
waits, what the watcher saw of them."""

import json
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.utils import timezone

from clusters.models import ClusterEvent, ClusterObject, Node, Pod
from organizations.quota_rows import ensure_quota_rows
from topology.models import NetworkTopology
from workloads import document as documents
from workloads.blueprints import blueprint
from workloads.models import Workload

NODE_UID = "0f6d3f4e-0000-4000-8000-00000000000a"
POD_UID = "0f6d3f4e-0000-4000-8000-0000000000b1"
MANIFEST = blueprint("vllm-aggregated")


@pytest.fixture
def api(admin, client_of):
    """A signed-in client that says on every write that it overwrites whatever is there."""
    client = client_of(admin)
    client.defaults["HTTP_IF_MATCH"] = "*"
    return client


@pytest.fixture
def send(api):
    """`send(method, path, body)`: the answer to a JSON body."""

    def send(method, path, body=None, **headers):
        return api.generic(method, path, json.dumps(body or {}), content_type="application/json", **headers)

    return send


@pytest.fixture
def world(cluster, default_pool, department, project):
    now = timezone.now()
    seen = {"cluster": cluster, "resource_version": "1", "created_at": now - timedelta(hours=1)}
    ensure_quota_rows(department)
    ensure_quota_rows(project)
    for name, uid in (("gpu-a", NODE_UID), ("gpu-b", NODE_UID.replace("000a", "000b"))):
        Node.objects.create(
            **seen, uid=uid, name=name, ready="True", gpu_type="NVIDIA-H200", gpu_capacity=8, gpu_allocatable=8,
            gpu_memory_mib=143771, cpu_millicores=96000, memory_bytes=2**40, labels={"kubernetes.io/hostname": name},
        )  # fmt: skip
    topology = NetworkTopology.objects.create(
        cluster=cluster, name="dc", levels=["kubernetes.io/hostname"], phase="Ready"
    )
    running = _workload(project, default_pool, "qwen", phase="Running", gpus_held=Decimal(2))
    waiting = _workload(project, default_pool, "llama", phase="Pending", waiting_since=now - timedelta(minutes=10))
    pod = Pod.objects.create(
        **seen, uid=POD_UID, name="qwen-0-worker-x1", namespace=project.namespace, phase="Running", ready=True,
        node_name="gpu-a", gpus=2, workload=str(running.pk), graph="qwen", component="worker", image="vllm:1",
    )  # fmt: skip
    event = ClusterEvent.objects.create(
        **seen, uid="0f6d3f4e-0000-4000-8000-0000000000e1", name="qwen.1", namespace=project.namespace, type="Normal",
        reason="Scheduled", message="placed", involved_kind="Pod", involved_name=pod.name, involved_uid=POD_UID,
        source="kai-scheduler",
    )  # fmt: skip
    ClusterObject.objects.create(
        **seen, uid="0f6d3f4e-0000-4000-8000-0000000000c1", name="inference", group="scheduling.k8s.io",
        plural="priorityclasses", manifest={"metadata": {"name": "inference"}, "value": 125},
    )  # fmt: skip
    return SimpleNamespace(
        cluster=cluster, pool=default_pool, department=department, project=project, topology=topology,
        running=running, waiting=waiting, pod=pod, event=event, now=now,
    )  # fmt: skip


def _workload(project, pool, name, **more):
    return Workload.objects.create(
        project=project, cluster=project.cluster, node_pool=pool, name=name, source=MANIFEST,
        manifest=documents.load(MANIFEST), gpus_requested=2, submitted_by="ci@example.org", **more,
    )  # fmt: skip
