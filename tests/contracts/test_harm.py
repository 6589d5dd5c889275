"""What would harm a cluster cannot be written: each is refused by the page and by REST alike, and nothing is kept.

Sources: kai-scheduler.md §0.5 no. 33 and 34, §0.2 no. 11; golden/SURPRISES.md §1 and §4. That the same is named where
somebody else made it, is in tests/organizations/test_views.py and tests/workloads/test_cluster_graphs.py.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from clusters.models import ClusterObject, Node
from organizations.models import Project, Quota
from organizations.quota_rows import ensure_quota_rows
from tests.contracts.test_every_url import everything
from tests.workloads.samples import DISAGG
from workloads.document import edit, load

ANNOTATIONS = ("metadata", "annotations")
HOST = "kubernetes.io/hostname"
RESOURCES = ("gpu", "cpu", "memory")


@pytest.fixture
def client(admin: Any, client_of: Callable[[Any], Client]) -> Client:
    client = client_of(admin)
    client.defaults["HTTP_IF_MATCH"] = "*"
    return client


@pytest.fixture
def held(project: Any, default_pool: Any) -> Any:
    """The project with its quota rows, on a cluster of one node."""
    ensure_quota_rows(project.department)
    ensure_quota_rows(project)
    Node.objects.create(
        cluster=project.cluster, uid="n", name="gpu-1", resource_version="1", created_at=timezone.now(), ready="True",
        labels={HOST: "gpu-1"}, gpu_capacity=8, gpu_allocatable=8,
    )  # fmt: skip
    return project


def by_rest(client: Client, method: str, path: str, body: Any) -> tuple[int, str]:
    """The status, and what it says of which fields."""
    answer = getattr(client, method)(path, data=json.dumps(body), content_type="application/json")
    return answer.status_code, answer.content.decode()


def by_page(client: Client, path: str, fields: dict[str, str]) -> tuple[int, str]:
    answer = client.post(path, fields)
    return answer.status_code, answer.content.decode()


def submissions(client: Client, project: Any, source: str) -> list[tuple[int, str]]:
    """The same graph submitted by the page and by REST."""
    form = {"source": source, "project": str(project.pk), "view": "yaml", "action": "submit"}
    body = {"metadata": {"projectId": str(project.pk)}, "manifest": load(source)}
    return [by_page(client, "/workloads/new/", form), by_rest(client, "post", "/api/v2/workloads", body)]


def graph(project: Any, **annotations: str) -> str:
    """The guide's graph without placement, for this project, with these annotations."""
    source = DISAGG.replace("runai-project-a", project.namespace)
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()}
    return edit(source, {ANNOTATIONS: named or None})


def test_the_graph_of_these_tests_is_taken_where_it_harms_nothing(client: Client, held: Any) -> None:
    [page, rest] = submissions(client, held, graph(held, kai_scheduler__staleness_grace_period="90s"))

    assert page[0] == 302
    assert rest[0] == 409, "the page has taken the name"


@pytest.mark.parametrize("text", ["1d", "1 hour", "abc", "90"])
def test_durations_that_go_cannot_parse_are_refused(client: Client, held: Any, text: str) -> None:
    before = everything()
    keys = ("kai.scheduler/staleness-grace-period", "kai.scheduler/preemption-delay")
    answers = [
        answer
        for key in keys
        for place in ("metadata", "spec")
        for answer in submissions(client, held, edit(graph(held), {(place, "annotations"): {key: text}}))
    ]

    for status, said in answers:
        assert status in (400, 422)
        assert "is not a duration" in said
    assert everything() == before


@pytest.mark.parametrize("text", ["1 hour", "abc", "90", "-5m"])
def test_durations_of_pools_are_refused(client: Client, held: Any, text: str) -> None:
    pool = {"name": "h100", "clusterId": str(held.cluster.pk), "labelKey": "gpu", "labelValue": "h100"}
    form = {
        "cluster": held.cluster.name, "name": "h100", "label_key": "gpu", "label_value": "h100",
        "gpu_placement_strategy": "binpack", "cpu_placement_strategy": "binpack", "min_guaranteed_runtime": text,
    }  # fmt: skip
    before = everything()

    page = by_page(client, "/node-pools/new/", form)
    rest = by_rest(
        client, "post", "/api/v1/node-pools", {**pool, "schedulingConfiguration": {"minGuaranteedRuntime": text}}
    )

    assert (page[0], rest[0]) == (422, 400)
    assert "is not a duration" in page[1]
    assert "minGuaranteedRuntime" in rest[1]
    assert everything() == before


@pytest.mark.parametrize("kind", ["departments", "projects"])
@pytest.mark.parametrize(("resource", "bound"), [("gpu", "limit"), ("gpu", "deserved"), ("cpu", "limit")])
def test_amounts_below_minus_one_are_refused(client: Client, held: Any, kind: str, resource: str, bound: str) -> None:
    row = held if kind == "projects" else held.department
    quota = row.quotas.get()
    pool = {"id": str(quota.node_pool_id), "name": "default"}
    form = {"description": "", "generation": str(row.generation)}
    for name in RESOURCES:
        amounts = {f"{name}_deserved": "0", f"{name}_limit": "unlimited", f"{name}_weight": "1"}
        form |= {f"{quota.node_pool_id}-{column}": value for column, value in amounts.items()}
    form |= {f"{quota.node_pool_id}-priority": "100", f"{quota.node_pool_id}-{resource}_{bound}": "-2"}
    before, kept = everything(), Quota.objects.values_list().get(pk=quota.pk)

    page = by_page(client, f"/{kind}/{row.pk}/edit/", form)
    rest = by_rest(
        client, "put", f"/api/v1/org-unit/{kind}/{row.pk}", {"resources": [{"nodePool": pool, resource: {bound: -2}}]}
    )

    assert (page[0], rest[0]) == (422, 400)
    assert f"resources[0].{resource}.{bound}" in rest[1]
    assert everything() == before
    assert Quota.objects.values_list().get(pk=quota.pk) == kept


def test_a_parent_is_no_leaf(client: Client, held: Any) -> None:
    queue = held.department.quotas.get().queue_name
    before = everything()

    answers = submissions(client, held, edit(graph(held), {ANNOTATIONS: {"nvidia.com/kai-scheduler-queue": queue}}))

    for status, said in answers:
        assert status in (400, 422)
        assert "which is no leaf" in said
    assert everything() == before


def test_equal_graph_names_in_two_namespaces_are_refused(client: Client, held: Any) -> None:
    ClusterObject.objects.create(
        cluster=held.cluster, uid="x", name="vllm-disagg", namespace="elsewhere", resource_version="1",
        created_at=timezone.now(), group="nvidia.com", plural="dynamographdeployments", manifest={},
    )  # fmt: skip
    before = everything()

    page, rest = submissions(client, held, graph(held))

    assert (page[0], rest[0]) == (422, 409)
    for _status, said in (page, rest):
        assert "names are unique in the whole cluster" in said
    assert everything() == before


def test_no_queue_can_be_put_below_another_one_than_its_departments(client: Client, held: Any) -> None:
    """Queues have two levels by construction, so no circle can be asked for: a project stays where it was made."""
    other = Project.objects.create(
        cluster=held.cluster, department=held.department, name="other", namespace="runai-other"
    )
    where = {"name": "loop", "clusterId": str(held.cluster.pk), "resources": []}
    before = everything()

    answers = [
        by_rest(client, "post", "/api/v1/org-unit/projects", {**where, "parentId": str(other.pk)}),
        by_rest(client, "post", "/api/v1/org-unit/departments", {**where, "parentId": str(held.pk)}),
        by_rest(client, "put", f"/api/v1/org-unit/projects/{held.pk}", {"parentId": str(held.pk), "resources": []}),
        by_rest(client, "put", f"/api/v1/org-unit/projects/{held.pk}", {"parentId": str(other.pk), "resources": []}),
        by_page(client, "/projects/new/", {"name": "loop", "department": str(other.pk)}),
    ]

    assert [status for status, _said in answers] == [400, 400, 400, 400, 422]
    assert everything() == before
    assert not AuditEntry.objects.filter(outcome="Succeeded").exists()
