"""`?dryRun=true` on every write of the REST API: it is answered as the write would be, and nothing is written."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from clusters.models import Node
from organizations.quota_rows import ensure_quota_rows
from tests.contracts.test_every_url import everything
from tests.workloads.samples import DISAGG
from workloads.document import load

HOST = "kubernetes.io/hostname"
V1 = "/api/v1"
# (method, path with the key of the cast's object, body or its name; names of ids stand for them)
WRITES: dict[str, tuple[str, str, Any]] = {
    "cluster made": ("post", f"{V1}/clusters", {"name": "second", "server": "https://k8s.example.org", "token": "t"}),
    "cluster changed": ("put", f"{V1}/clusters/{{clusters}}", {"name": "renamed"}),
    "topology made": ("post", f"{V1}/network-topologies", {"name": "other", "levels": [HOST], "clusterId": "?"}),
    "topology deleted": ("delete", f"{V1}/network-topologies/{{network-topologies}}", None),
    "pool made": (
        "post", f"{V1}/node-pools", {"name": "h100", "labelKey": "gpu", "labelValue": "h100", "clusterId": "?"},
    ),
    "pool changed": ("put", f"{V1}/node-pools/{{node-pools}}", {"networkTopologyId": "topology"}),
    "pool patched": ("patch", f"{V1}/node-pools/{{node-pools}}", {"networkTopologyId": "topology"}),
    "department made": ("post", f"{V1}/org-unit/departments", {"name": "d2", "clusterId": "?", "resources": []}),
    "department changed": ("put", f"{V1}/org-unit/departments/{{departments}}", {"description": "x", "resources": []}),
    "department's resources": ("patch", f"{V1}/org-unit/departments/{{departments}}/resources", "resources"),
    "project made": (
        "post", f"{V1}/org-unit/projects", {"name": "p2", "clusterId": "?", "parentId": "department", "resources": []},
    ),
    "project changed": ("put", f"{V1}/org-unit/projects/{{projects}}", {"description": "x", "resources": []}),
    "project's resources": ("patch", f"{V1}/org-unit/projects/{{projects}}/resources", "resources"),
    "workload made": ("post", "/api/v2/workloads", "workload"),
    "workload stopped": ("put", "/api/v2/workloads/{workloads}", {"desiredPhase": "Stopped"}),
    "workload deleted": ("delete", "/api/v2/workloads/{workloads}", None),
}  # fmt: skip


@pytest.fixture
def bodies(cast: dict[str, Any]) -> dict[str, Any]:
    """What needs ids: resources of the default pool, a submission."""
    for owner in (cast["departments"], cast["projects"]):
        ensure_quota_rows(owner)
    Node.objects.filter(pk=cast["nodes"].pk).update(gpu_capacity=8, gpu_allocatable=8, labels={HOST: "gpu-a"})
    pool = {"id": str(cast["node-pools"].pk), "name": "default"}
    graph = load(DISAGG.replace("runai-project-a", cast["projects"].namespace))
    del graph["metadata"]["annotations"]
    return {
        "resources": [{"nodePool": pool, "gpu": {"deserved": 4}}],
        "workload": {"metadata": {"projectId": str(cast["projects"].pk)}, "manifest": graph},
        "department": str(cast["departments"].pk),
        "topology": str(cast["network-topologies"].pk),
        "?": str(cast["clusters"].pk),
    }


@pytest.mark.parametrize("write", WRITES)
def test_a_dry_run_is_answered_like_the_write_and_writes_nothing(
    cast: dict[str, Any], bodies: dict[str, Any], admin: Any, client_of: Any, write: str
) -> None:
    method, pattern, body = WRITES[write]
    client: Client = client_of(admin)
    client.defaults["HTTP_IF_MATCH"] = "*"
    path = pattern.format_map({kind: getattr(row, "pk", row) for kind, row in cast.items()})
    if isinstance(body, str):
        body = bodies[body]
    elif body is not None:
        body = {key: bodies.get(value, value) if isinstance(value, str) else value for key, value in body.items()}
    sent = {"data": json.dumps(body), "content_type": "application/json"}
    before, since = everything(), timezone.now()

    dry = getattr(client, method)(f"{path}?dryRun=true", **sent)

    assert everything() == before
    assert not AuditEntry.objects.filter(at__gte=since).exists()
    real = getattr(client, method)(path, **sent)
    assert 200 <= real.status_code < 300, real.content
    assert dry.status_code in (real.status_code, 200)
    assert everything() != before or AuditEntry.objects.filter(at__gte=since).exists()
