"""Observed rows of a small cluster: nodes, queues and gangs, as the watcher would have written them."""

from typing import Any

from django.utils import timezone

from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, Kind
from clusters.models import Cluster, ClusterObject, Node, Pod
from organizations.models import Department, Project, Quota
from topology.models import NodePool

UNBOUND = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def add_nodes(cluster: Cluster, count: int, *, gpus: int = 8, prefix: str = "n", **more: Any) -> None:
    """Nodes `<prefix>0`, … that are ready."""
    Node.objects.bulk_create(
        Node(
            cluster=cluster,
            uid=f"node-{prefix}{number}",
            name=f"{prefix}{number}",
            resource_version="1",
            created_at=timezone.now(),
            ready="True",
            gpu_capacity=gpus,
            gpu_allocatable=gpus,
            cpu_millicores=64_000,
            memory_bytes=256 * 2**30,
            pod_slots=110,
            **more,
        )
        for number in range(count)
    )


def add_object(cluster: Cluster, kind: Kind, name: str, namespace: str = "", **more: Any) -> ClusterObject:
    """An observed object."""
    metadata = {
        "name": name,
        "uid": f"{kind.plural}-{name}",
        "creationTimestamp": f"2026-11-29T10:00:{ClusterObject.objects.count() % 60:02d}Z",
        **({"namespace": namespace} if namespace else {}),
        **more.pop("metadata", {}),
    }
    return ClusterObject.objects.create(
        cluster=cluster,
        uid=metadata["uid"],
        name=name,
        namespace=namespace,
        resource_version="1",
        created_at=timezone.now(),
        group=kind.group,
        plural=kind.plural,
        manifest={"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **more},
    )


def add_queue(cluster: Cluster, owner: Department | Project, pool: NodePool, *, gpus: float, **more: Any) -> Quota:
    """A quota row of a department or project, and the Queue that the cluster has for it. CPU and memory unbound."""
    kind = "project" if isinstance(owner, Project) else "department"
    name = more.pop("name", owner.name)
    weight, limit, priority = more.pop("weight", 1), more.pop("limit", -1), more.pop("priority", 100)
    quota = Quota.objects.create(
        cluster=cluster, node_pool=pool, queue_name=name, gpu_deserved=gpus, gpu_weight=weight, gpu_limit=limit,
        priority=priority, **{kind: owner},
    )  # fmt: skip
    parent = owner.department.quotas.get(node_pool=pool).queue_name if isinstance(owner, Project) else ""
    labels = {} if pool.is_default else {"labels": {"kai.scheduler/node-pool": pool.name}}
    spec = {
        "parentQueue": parent,
        "priority": priority,
        "resources": {
            "gpu": {"quota": gpus, "limit": limit, "overQuotaWeight": weight},
            "cpu": UNBOUND,
            "memory": UNBOUND,
        },
    }
    add_object(cluster, KAI_QUEUE, name, metadata=labels, spec=spec)
    return quota


def add_gang(cluster: Cluster, queue: str, name: str, *gpus: float, on: tuple[str, ...] = (), **more: Any) -> None:
    """A gang of pods with these GPUs; with `on` they run on these nodes."""
    namespace, metadata = more.pop("namespace", "runai-assistant"), more.pop("metadata", {})
    spec = {"queue": queue, "minMember": len(gpus), "preemptibility": "preemptible", **more}
    add_object(cluster, KAI_POD_GROUP, name, namespace, metadata=metadata, spec=spec)
    for number, amount in enumerate(gpus):
        Pod.objects.create(
            cluster=cluster,
            uid=f"pod-{name}-{number}",
            name=f"{name}-{number}",
            namespace=namespace,
            resource_version="1",
            created_at=timezone.now(),
            phase="Running" if on else "Pending",
            node_name=on[number] if on else "",
            gpus=amount,
            pod_group=name,
            queue=queue,
        )
