"""What the quota of a new project would do to others, shown before it is saved; on rows of a small cluster."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from clusters.models import Cluster
from organizations.models import Department, Project
from tests.organizations.shard_rows import add_gang, add_nodes, add_queue
from topology.models import NodePool

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(cluster: Cluster, department: Department, project: Project, default_pool: NodePool) -> NodePool:
    """16 GPUs, all held: assistant deserves 8 and holds 12 of them, vision deserves and holds 4."""
    vision = Project.objects.create(
        cluster=cluster, department=department, name="vision", namespace="runai-vision", phase="Ready"
    )
    add_nodes(cluster, 2)
    add_queue(cluster, department, default_pool, gpus=16)
    add_queue(cluster, project, default_pool, gpus=8)
    add_queue(cluster, vision, default_pool, gpus=4)
    add_gang(cluster, "assistant", "old", 8, on=("n0",))
    add_gang(cluster, "assistant", "new", 4, on=("n1",))
    add_gang(cluster, "vision", "seen", 4, on=("n1",), namespace="runai-vision")
    return default_pool


def new_project(page: Client, department: Department, pool: NodePool, deserved: str, **more: str) -> Any:
    """Post the form of a new project with a GPU quota."""
    matrix = page.get(f"/projects/new/?department={department.pk}").context["matrix"]
    fields = {cell.name: cell.value for block in matrix.pools for row in block.rows for cell in row.cells}
    fields |= {block.priority.name: block.priority.value for block in matrix.pools}
    fields |= {f"{pool.pk}-gpu_deserved": deserved, "name": "late", "department": str(department.pk), **more}
    return page.post("/projects/new/", fields)


def hits(found: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [(entry["name"], entry["effect"], entry["gpus"]) for entry in found["workloads"]]


def test_a_new_project_on_a_full_pool_shows_whom_its_quota_would_hit(
    admin: User, department: Department, pool: NodePool, client_of: Any
) -> None:
    """late is to deserve 4: it could take the 4 that assistant holds beyond its 8, the newest."""
    page = client_of(admin)

    asked = new_project(page, department, pool, "4")

    texts = [item["text"] for item in asked.context["warnings"]]
    details = " ".join(item["detail"] for item in asked.context["warnings"])
    assert asked.status_code == 422
    assert not Project.objects.filter(name="late").exists()
    assert "If the project asks for all GPUs that it is to deserve:" in texts[0]
    assert "1 workload would lose pods to others who wait: 4 GPUs" in texts
    assert "new of assistant, 4 GPUs, for late" in details
    assert "late on node pool default" in details
    saved = new_project(page, department, pool, "4", confirmed="1", impact=asked.context["impact"])
    assert saved.status_code == 302
    kept = AuditEntry.objects.latest("pk").after["impact"]
    assert kept["whenAsked"]
    assert hits(kept) == [("new", "reclaimed", 4)]


def test_a_confirmation_of_less_is_asked_again(
    admin: User, department: Department, pool: NodePool, client_of: Any
) -> None:
    page = client_of(admin)
    less = new_project(page, department, pool, "0", name="late").status_code

    again = new_project(page, department, pool, "4", name="later", confirmed="1")

    assert less == 302
    assert again.status_code == 422
    assert "has grown since it was shown" in again.context["warnings"][0]["text"]


def test_a_new_project_without_quota_is_asked_nothing(
    admin: User, department: Department, pool: NodePool, client_of: Any
) -> None:
    saved = new_project(client_of(admin), department, pool, "0")

    assert saved.status_code == 302
    assert "impact" not in AuditEntry.objects.latest("pk").after


def test_the_first_project_of_a_department_is_asked_nothing_about_itself(
    admin: User, cluster: Cluster, default_pool: NodePool, client_of: Any
) -> None:
    """Nobody else asks for anything: that it would wait for its own claims is no news to anybody."""
    department = Department.objects.create(cluster=cluster, name="first", phase="Ready")
    add_nodes(cluster, 2)
    add_queue(cluster, department, default_pool, gpus=16)

    saved = new_project(client_of(admin), department, default_pool, "8")

    assert saved.status_code == 302
    assert Project.objects.filter(name="late").exists()


@pytest.mark.parametrize(("free", "hit", "queues"), [(0, [("new", "reclaimed", 4)], ["late"]), (1, [], [])])
def test_a_dry_run_answers_whom_it_would_hit(
    admin: User, pool: NodePool, department: Department, client_of: Any, *, free: int, hit: Any, queues: Any
) -> None:
    """With a free node nobody needs to give anything back, and there is nothing to tell."""
    add_nodes(pool.cluster, free, prefix="free")
    body = {
        "name": "late",
        "clusterId": str(pool.cluster_id),
        "parentId": str(department.pk),
        "resources": [{"nodePool": {"id": str(pool.pk)}, "gpu": {"deserved": 4}}],
    }

    answer = client_of(admin).post("/api/v1/org-unit/projects?dryRun=true", body, "application/json")

    found = answer.json()["impact"]
    assert answer.status_code == 201
    assert found["whenAsked"]
    assert hits(found) == hit
    assert [entry["name"] for entry in found["queues"] if entry["before"] is None] == queues
    assert not Project.objects.filter(name="late").exists()
