"""A child process: lists of the REST API over 1, 100 and 1,000 rows: CPU of the view with its JSON, beside the bare
fetch of the same columns and the plain ModelSerializer over the same rows; and how many SQL statements it takes.

`python -m tests.bench.api_lists`
"""

import json
from collections.abc import Callable
from time import process_time
from typing import Any

from tests.bench import product  # noqa: F401 (it sets Django up: the first of all)

from django.core.management import call_command  # isort: skip
from django.db import connection  # isort: skip
from django.test import RequestFactory  # isort: skip
from django.test.utils import CaptureQueriesContext  # isort: skip
from django.utils import timezone  # isort: skip
from rest_framework import serializers  # isort: skip
from rest_framework.renderers import JSONRenderer  # isort: skip
from rest_framework.test import force_authenticate  # isort: skip

from accounts.models import AccessRule, User  # isort: skip
from accounts.permissions import ADMINISTRATOR  # isort: skip
from clusters.api.views import NodeListView  # isort: skip
from clusters.models import Cluster, Node  # isort: skip
from organizations.api.project_views import ProjectListView  # isort: skip
from organizations.models import Department, Project, Quota  # isort: skip
from topology.models import NodePool  # isort: skip
from workloads import document as documents  # isort: skip
from workloads.api.views import WorkloadListView  # isort: skip
from workloads.blueprints import blueprint  # isort: skip
from workloads.models import Workload  # isort: skip

ROWS = (1, 100, 1000)
PAGE = 500
RUNS = 5
CONDITIONS = [
    {"type": type_, "status": "True" if type_ == "Ready" else "False", "reason": "KubeletReady", "message": "ok"}
    for type_ in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
]
LISTS: dict[str, tuple[Any, Any]] = {
    "nodes": (Node, NodeListView), "projects": (Project, ProjectListView), "workloads": (Workload, WorkloadListView),
}  # fmt: skip


def main() -> None:
    call_command("migrate", verbosity=0, interactive=False)
    user = User.objects.create_user("bench@example.org")
    AccessRule.objects.create(user=user, role=ADMINISTRATOR, scope_type="tenant")
    cluster = Cluster.objects.create(name="bench", server="http://127.0.0.1:1", credential=b"")
    pool = NodePool.objects.create(cluster=cluster, name="default")
    department = Department.objects.create(cluster=cluster, name="research")
    said: dict[str, Any] = {name: {"sql": {}} for name in LISTS}
    for rows in ROWS:
        fill(cluster, pool, department, rows)
        for name, (model, view) in LISTS.items():
            said[name]["sql"][rows] = statements(view, user, min(rows, PAGE))
            if rows == ROWS[-1]:
                said[name] |= measure(model, view, user)
    print(json.dumps(said))


def fill(cluster: Any, pool: Any, department: Any, rows: int) -> None:
    """Up to `rows` of each kind."""
    now, document = timezone.now(), blueprint("vllm-disaggregated")
    manifest = documents.load(document)
    numbers = range(Node.objects.count(), rows)
    Node.objects.bulk_create(
        Node(
            cluster=cluster,
            uid=f"0f6d3f4e-0000-4000-8000-{i:012x}",
            name=f"gpu-{i}",
            resource_version="1",
            created_at=now,
            ready="True",
            conditions=CONDITIONS,
            gpu_type="NVIDIA-H200",
            gpu_capacity=8,
            gpu_allocatable=8,
            labels={f"example.org/label-{n}": str(n) for n in range(20)},
        )
        for i in numbers
    )
    for i in numbers:
        project = Project.objects.create(
            cluster=cluster, department=department, name=f"p-{i}", namespace=f"runai-p-{i}"
        )
        Quota.objects.create(project=project, cluster=cluster, node_pool=pool, queue_name=f"p-{i}")
        Workload.objects.create(
            project=project, cluster=cluster, node_pool=pool, name=f"w-{i}", source=document, manifest=manifest
        )


def measure(model: Any, view: Any, user: Any) -> dict[str, float]:
    """CPU seconds for all rows: the least of several runs."""
    columns = [field.attname for field in model._meta.concrete_fields]

    class Plain(serializers.ModelSerializer[Any]):
        class Meta:
            fields = "__all__"

    Plain.Meta.model = model  # type: ignore[attr-defined]
    return {
        "ours": least(lambda: [ask(view, user, PAGE, offset) for offset in range(0, ROWS[-1], PAGE)]),
        "floor": least(lambda: list(model.objects.values_list(*columns))),
        "plain": least(lambda: JSONRenderer().render(Plain(model.objects.all(), many=True).data)),
    }


def least(work: Callable[[], Any]) -> float:
    work()
    runs = []
    for _ in range(RUNS):
        began = process_time()
        work()
        runs.append(process_time() - began)
    return min(runs)


def ask(view: Any, user: Any, limit: int, offset: int = 0) -> bytes:
    request = RequestFactory().get("/", {"limit": str(limit), "offset": str(offset), "sortBy": "name"})
    force_authenticate(request, user=user)
    answer = view.as_view()(request)
    return bytes(answer.render().content)


def statements(view: Any, user: Any, rows: int) -> int:
    """SQL statements of one request; who asks is read anew, as for every request."""
    fresh = User.objects.get(pk=user.pk)
    with CaptureQueriesContext(connection) as found:
        ask(view, fresh, rows)
    return len(found)


if __name__ == "__main__":
    main()
