"""A child process: what trees of node pools, fair shares and impacts cost on one cluster: CPU, SQL, bytes, elements.

`python -m tests.bench.pools NODES`: four levels, eight GPUs a node, three quarters of them held by gangs of four pods,
and a project with a queue for every 25 nodes.
"""

import json
import re
import sys
from time import process_time
from typing import Any

from tests.bench import product  # the first of all: it sets Django up

from django.core.management import call_command  # isort: skip
from django.test import Client  # isort: skip
from django.test.utils import setup_test_environment  # isort: skip
from django.urls import reverse  # isort: skip
from django.utils import timezone  # isort: skip

from accounts.models import AccessRule, User  # isort: skip
from accounts.permissions import ADMINISTRATOR  # isort: skip
from clusters.kinds import KAI_POD_GROUP, KAI_QUEUE, KAI_TOPOLOGY  # isort: skip
from clusters.models import Cluster, ClusterObject, Node, Pod  # isort: skip
from clusters.watcher.observed import OBSERVED  # isort: skip
from organizations.models import Department, Project, Quota  # isort: skip
from tests.bench.measuring import median  # isort: skip
from topology.models import NetworkTopology, NodePool  # isort: skip

ROUNDS = 3
LEVELS = ["example.org/zone", "example.org/block", "example.org/rack", "kubernetes.io/hostname"]
UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
_ELEMENT = re.compile(rb"<[a-z]")


def main(count: int) -> None:
    setup_test_environment()
    call_command("migrate", verbosity=0, interactive=False)
    user = User.objects.create_user("bench@example.org")
    AccessRule.objects.create(user=user, role=ADMINISTRATOR, scope_type="tenant")
    pool, project = furnish(count)
    client = Client(headers={"If-Match": "*"})
    client.force_login(user)
    statements = product.Statements()
    print(json.dumps({name: measured(client, statements, *ask) for name, ask in questions(pool, project).items()}))


def questions(pool: NodePool, project: Project) -> dict[str, tuple[str, str, Any]]:
    """Method, address and body by what is asked."""
    quota = {"nodePool": {"id": str(pool.pk), "name": pool.name}, "gpu": {"deserved": 0}}
    first = Node.objects.order_by("name").values_list("name", flat=True)[0]
    shares = f"/api/v1/node-pools/{pool.pk}/fair-share"
    return {
        "page of a node pool": ("get", reverse("topology:node-pool-detail", args=[pool.pk]), None),
        "page of a topology": ("get", reverse("topology:topology-detail", args=[pool.network_topology_id]), None),
        "page of fair shares": ("get", reverse("organizations:fair-share"), None),
        "fair shares by REST": ("get", shares, None),
        "impact of a lower quota": (
            "patch", f"/api/v1/org-unit/projects/{project.pk}/resources?dryRun=true", [quota],
        ),
        "impact of a cordoned node": ("get", f"/api/v1/node-pools/{pool.pk}/impact?cordon={first}", None),
    }  # fmt: skip


def measured(client: Client, statements: product.Statements, method: str, address: str, body: Any) -> dict[str, Any]:
    def ask() -> Any:
        sent = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
        return getattr(client, method)(address, **sent)

    before = process_time()
    ask()
    first = process_time() - before
    statements.take()
    answer = ask()
    counts, used = statements.take(), []
    for _ in range(ROUNDS):
        before = process_time()
        ask()
        used.append(process_time() - before)
    is_page = b"<html" in answer.content
    return {
        "status": answer.status_code,
        "first": first,
        "cpu": median(used),
        "sql": counts["all"],
        "bytes": len(answer.content),
        "elements": len(_ELEMENT.findall(answer.content)) if is_page else 0,
    }


def furnish(count: int) -> tuple[NodePool, Project]:
    """One pool with its topology, projects with queues, and what runs; the pool, and a project that holds much."""
    now = timezone.now()
    streams = {
        each.name: {"listedAt": now.isoformat(), "eventAt": now.isoformat(), "served": True} for each in OBSERVED
    }
    versions = {"nodes_version": 1, "pods_version": 1, "objects_version": 1}
    cluster = Cluster.objects.create(
        name="bench", server="http://127.0.0.1:1", credential=b"", phase="Connected", streams=streams, **versions
    )
    topology = NetworkTopology.objects.create(cluster=cluster, name="fabric", levels=LEVELS, phase="Ready")
    pool = NodePool.objects.create(cluster=cluster, name="default", network_topology=topology, phase="Ready")
    Node.objects.bulk_create((_node(cluster, number, now) for number in range(count)), batch_size=500)
    projects = _organise(cluster, pool, count // 25)
    objects = [_object(cluster, KAI_TOPOLOGY, "fabric", {"levels": [{"nodeLabel": level} for level in LEVELS]})]
    objects.append(_queue(cluster, "department", ""))
    objects += [_queue(cluster, project.name, "department") for project in projects]
    pods = []
    for number in range(3 * count // 8):  # gangs of 4 pods of 4 GPUs
        project = projects[number % len(projects)]
        spec = {"queue": project.name, "minMember": 4}
        objects.append(_object(cluster, KAI_POD_GROUP, f"gang-{number}", spec, project.namespace))
        pods += [_pod(cluster, project, number, part, now) for part in range(4)]
    ClusterObject.objects.bulk_create(objects, batch_size=500)
    Pod.objects.bulk_create(pods, batch_size=500)
    return pool, projects[0]


def _organise(cluster: Cluster, pool: NodePool, count: int) -> list[Project]:
    department = Department.objects.create(cluster=cluster, name="department", phase="Ready")
    Quota.objects.create(
        cluster=cluster, department=department, node_pool=pool, queue_name="department", gpu_deserved=count * 200
    )
    projects = []
    for number in range(count):
        name = f"project-{number}"
        project = Project.objects.create(
            cluster=cluster, department=department, name=name, namespace=f"runai-{name}", phase="Ready"
        )
        Quota.objects.create(cluster=cluster, project=project, node_pool=pool, queue_name=name, gpu_deserved=150)
        projects.append(project)
    return projects


def _node(cluster: Cluster, number: int, now: Any) -> Node:
    places = (f"zone-{number // 1250}", f"block-{number // 250}", f"rack-{number // 16}", f"node-{number:05}")
    return Node(
        cluster=cluster,
        uid=f"node-{number}",
        name=f"node-{number:05}",
        resource_version="1",
        created_at=now,
        ready="True",
        gpu_type="NVIDIA-H200",
        gpu_capacity=8,
        gpu_allocatable=8,
        cpu_millicores=128_000,
        memory_bytes=2**40,
        pod_slots=110,
        labels=dict(zip(LEVELS, places, strict=True)),
    )


def _pod(cluster: Cluster, project: Project, gang: int, part: int, now: Any) -> Pod:
    return Pod(
        cluster=cluster,
        uid=f"pod-{gang}-{part}",
        name=f"gang-{gang}-{part}",
        namespace=project.namespace,
        pod_group=f"gang-{gang}",
        queue=project.name,
        resource_version="1",
        created_at=now,
        phase="Running",
        ready=True,
        node_name=f"node-{(4 * gang + part) // 2:05}",
        gpus=4,
        cpu_millicores=1000,
        memory_bytes=2**30,
    )


def _queue(cluster: Cluster, name: str, parent: str) -> ClusterObject:
    resources = {"gpu": {"quota": 150, "limit": -1, "overQuotaWeight": 1}, "cpu": UNLIMITED, "memory": UNLIMITED}
    return _object(cluster, KAI_QUEUE, name, {"resources": resources, **({"parentQueue": parent} if parent else {})})


def _object(cluster: Cluster, kind: Any, name: str, spec: dict[str, Any], namespace: str = "") -> ClusterObject:
    created = "2026-11-30T00:00:00Z"
    uid = f"{kind.plural}-{name}"
    metadata = {"name": name, "uid": uid, "creationTimestamp": created, "resourceVersion": "1"}
    metadata |= {"namespace": namespace} if namespace else {}
    return ClusterObject(
        cluster=cluster,
        uid=uid,
        name=name,
        namespace=namespace,
        resource_version="1",
        created_at=created,
        group=kind.group,
        plural=kind.plural,
        manifest={"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec},
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
