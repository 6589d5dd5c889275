"""What edits do, shown before they are saved: on pages, in `dryRun`, in the audit log; on rows of a small cluster."""

from typing import Any

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, User
from clusters.kinds import KAI_TOPOLOGY
from clusters.models import Cluster, Node, Pod
from organizations.models import Department, Project
from tests.organizations.shard_rows import add_gang, add_nodes, add_object, add_queue
from topology.impact import node_changes, pool_change, pool_deletion
from topology.impact_words import impact_items
from topology.models import NetworkTopology, NodePool

pytestmark = pytest.mark.django_db

RACK, ZONE = "example.com/rack", "example.com/zone"


@pytest.fixture
def vision(cluster: Cluster, department: Department) -> Project:
    return Project.objects.create(cluster=cluster, department=department, name="vision", namespace="runai-vision")


@pytest.fixture
def pool(
    cluster: Cluster, department: Department, project: Project, vision: Project, default_pool: NodePool
) -> NodePool:
    """16 GPUs in one rack: assistant deserves and holds 12, vision deserves and holds 4 and waits for 4."""
    add_nodes(cluster, 2, labels={RACK: "r0", ZONE: "z0"})
    add_queue(cluster, department, default_pool, gpus=16)
    add_queue(cluster, project, default_pool, gpus=12)
    add_queue(cluster, vision, default_pool, gpus=4)
    add_gang(cluster, "assistant", "old", 8, on=("n0",))
    add_gang(cluster, "assistant", "new", 4, on=("n1",))
    add_gang(cluster, "vision", "seen", 4, on=("n1",), namespace="runai-vision")
    add_gang(cluster, "vision", "waits", 4, namespace="runai-vision")
    return NodePool.objects.select_related("cluster").get(pk=default_pool.pk)


def edit(page: Client, project: Project, deserved: str, **more: str) -> Any:
    """Post the edit form of a project with another GPU quota."""
    path = f"/projects/{project.pk}/edit/"
    shown = page.get(path).context
    matrix = shown["edit_matrix"]
    fields = {cell.name: cell.value for block in matrix.pools for row in block.rows for cell in row.cells}
    fields |= {block.priority.name: block.priority.value for block in matrix.pools}
    gpu = next(name for name in fields if name.endswith("gpu_deserved"))
    return page.post(path, {**fields, gpu: deserved, "description": "", "generation": shown["generation"], **more})


def effects(found: dict[str, Any]) -> dict[tuple[str | None, str], float]:
    return {(entry["name"], entry["effect"]): entry["gpus"] for entry in found["workloads"]}


def test_an_edit_of_quota_is_shown_before_it_is_saved(
    admin: User, project: Project, vision: Project, pool: NodePool, client_of: Any
) -> None:
    """assistant with 4 deserved gets 8: the newest 4 go to vision, which waits for 4 and gets 8."""
    response = edit(client_of(admin), project, "4")

    assert response.status_code == 422
    texts = [item["text"] for item in response.context["warnings"]]
    details = " ".join(item["detail"] for item in response.context["warnings"])
    assert "1 workload would lose pods to others who wait: 4 GPUs" in texts
    assert "new of assistant, 4 GPUs, for waits" in details
    assert "assistant on node pool default: fair share 12 → 8 GPUs, holds 12" in details
    assert pool.quotas.get(queue_name="assistant").gpu_deserved == 12


def test_the_audit_entry_keeps_what_was_shown(admin: User, project: Project, pool: NodePool, client_of: Any) -> None:
    page = client_of(admin)
    seal = edit(page, project, "4").context["impact"]

    response = edit(page, project, "4", confirmed="1", impact=seal)

    assert response.status_code == 302
    entry = AuditEntry.objects.latest("pk")
    assert entry.after["resources"]["default"]["gpu_deserved"] == "4"
    assert ("new", "reclaimed") in effects(entry.after["impact"])


def test_what_was_altered_on_the_way_or_shown_of_another_row_counts_as_not_shown(
    admin: User, project: Project, vision: Project, pool: NodePool, client_of: Any
) -> None:
    page = client_of(admin)
    salts = [f"topology.impact:{admin.pk}:organizations.Project:{row.pk}" for row in (project, vision)]
    shown = signing.loads(edit(page, project, "4").context["impact"], salt=salts[0])
    other = signing.dumps(shown, salt=salts[1])

    for text in ("forged", "", other):
        response = edit(page, project, "4", confirmed="1", impact=text)

        assert response.status_code == 422
        assert "has grown since it was shown" in response.context["warnings"][0]["text"]
        assert project.quotas.get().gpu_deserved == 12


def test_a_change_that_does_more_by_now_is_asked_about_again_and_kept_as_it_is_when_saved(
    admin: User, project: Project, cluster: Cluster, pool: NodePool, client_of: Any
) -> None:
    page = client_of(admin)
    seal = edit(page, project, "4").context["impact"]
    for name, gpus in (("seen-0", 2), ("new-0", 6)):
        Pod.objects.filter(cluster=cluster, name=name).update(gpus=gpus, resource_version="2")
    Cluster.objects.filter(pk=cluster.pk).update(pods_version=cluster.pods_version + 1)

    response = edit(page, project, "4", confirmed="1", impact=seal)

    assert response.status_code == 422
    assert project.quotas.get().gpu_deserved == 12
    response = edit(page, project, "4", confirmed="1", impact=response.context["impact"])
    assert response.status_code == 302
    assert effects(AuditEntry.objects.latest("pk").after["impact"])["new", "reclaimed"] == 6


def test_less_than_was_shown_is_not_asked_about_again(
    admin: User, project: Project, cluster: Cluster, pool: NodePool, client_of: Any
) -> None:
    page = client_of(admin)
    seal = edit(page, project, "4").context["impact"]
    Pod.objects.filter(cluster=cluster, pod_group="waits").delete()
    Cluster.objects.filter(pk=cluster.pk).update(pods_version=cluster.pods_version + 1)

    assert edit(page, project, "4", confirmed="1", impact=seal).status_code == 302
    kept = AuditEntry.objects.latest("pk").after.get("impact", {"workloads": []})
    assert ("new", "reclaimed") not in effects(kept), "the moment of the save is kept"


def test_an_edit_without_effect_is_saved_at_once(admin: User, vision: Project, pool: NodePool, client_of: Any) -> None:
    response = edit(client_of(admin), vision, "4", description="seeing")

    assert response.status_code == 302


def test_a_dry_run_answers_the_same_list_and_writes_nothing(
    admin: User, project: Project, pool: NodePool, client_of: Any
) -> None:
    body = [{"nodePool": {"id": str(pool.pk), "name": "default"}, "gpu": {"deserved": 4}}]
    path = f"/api/v1/org-unit/projects/{project.pk}/resources?dryRun=true"

    answer = client_of(admin).patch(path, data=body, content_type="application/json", headers={"If-Match": "*"})

    assert answer.status_code == 200, answer.content
    assert effects(answer.json()["impact"])["new", "reclaimed"] == 4
    assert pool.quotas.get(queue_name="assistant").gpu_deserved == 12
    assert AuditEntry.objects.count() == 0


def test_names_out_of_scope_become_another_project_and_counts_stay(
    department_admin: User, researcher: User, vision: Project, pool: NodePool, cluster: Cluster
) -> None:
    found = node_changes(researcher, pool, remove=["n1"], now=timezone.now())

    assert effects(found) == {("new", "loses-nodes"): 4, (None, "loses-nodes"): 4} | {
        key: gpus for key, gpus in effects(found).items() if key[1] != "loses-nodes"
    }
    assert "vision" not in str(found)
    (item,) = [item for item in impact_items(found) if "nodes that go" in item["text"]]
    assert "new of assistant, 4 GPUs" in item["detail"]
    assert "another project, 4 GPUs" in item["detail"]


def test_whoever_reads_all_work_is_told_a_namespace_that_no_project_has(
    admin: User, department_admin: User, cluster: Cluster, pool: NodePool
) -> None:
    add_nodes(cluster, 1, prefix="more")
    add_gang(cluster, "assistant", "hand-made", 2, on=("more0",), namespace="sandbox")

    found = node_changes(admin, pool, remove=["more0"], now=timezone.now())

    [entry] = [entry for entry in found["workloads"] if entry["effect"] == "loses-nodes"]
    assert (entry["name"], entry["project"]) == ("hand-made", "sandbox")
    masked = node_changes(department_admin, pool, remove=["more0"], now=timezone.now())
    assert "hand-made" not in str(masked)
    assert "sandbox" not in str(masked)
    (item,) = [item for item in impact_items(masked) if "nodes that go" in item["text"]]
    assert item["detail"] == "another project, 2 GPUs"


def test_a_workload_is_named_once_by_its_graph_with_its_gangs_added_up(admin: User, pool: NodePool) -> None:
    Pod.objects.filter(pod_group__in=("old", "new")).update(graph="llama-70b")

    found = node_changes(admin, pool, remove=["n0", "n1"], now=timezone.now())

    assert effects(found)["llama-70b", "loses-nodes"] == 12
    (item,) = [item for item in impact_items(found) if "nodes that go" in item["text"]]
    assert item["text"] == "2 workloads have pods on nodes that go: 16 GPUs"
    assert item["detail"] == "llama-70b of assistant, 12 GPUs; seen of vision, 4 GPUs"


def test_those_a_workload_loses_pods_to_are_named_by_their_graph_too(
    admin: User, project: Project, pool: NodePool, client_of: Any
) -> None:
    Pod.objects.filter(pod_group="new").update(graph="llama-70b")
    Pod.objects.filter(pod_group="waits").update(graph="detector")

    response = edit(client_of(admin), project, "4")

    details = " ".join(item["detail"] for item in response.context["warnings"])
    assert "llama-70b of assistant, 4 GPUs, for detector" in details


def test_a_gang_without_graph_is_named_after_its_owner(admin: User, cluster: Cluster, pool: NodePool) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "nightly", "uid": "job-1"}
    add_nodes(cluster, 1, prefix="more")
    add_gang(cluster, "assistant", "pg-nightly-job-1", 2, on=("more0",), metadata={"ownerReferences": [owner]})

    found = node_changes(admin, pool, remove=["more0"], now=timezone.now())

    assert effects(found)["nightly", "loses-nodes"] == 2


def test_graphs_of_other_projects_stay_hidden(researcher: User, vision: Project, pool: NodePool) -> None:
    Pod.objects.filter(pod_group="seen").update(graph="secret-model")

    found = node_changes(researcher, pool, remove=["n1"], now=timezone.now())

    assert effects(found)[None, "loses-nodes"] == 4
    assert "secret-model" not in str(found)


def test_a_deletion_says_whose_work_it_stops(admin: User, project: Project, pool: NodePool, client_of: Any) -> None:
    response = client_of(admin).get(f"/projects/{project.pk}/delete/")

    texts = " ".join(hit["text"] for hit in response.context["hits"])
    assert "2 workloads would lose their queue and never start again: 12 GPUs" in texts
    assert "old of assistant, 8 GPUs" in texts
    assert 'name="impact"' in response.content.decode()


def test_a_deletion_that_something_forbids_says_so_and_asks_for_no_name(
    admin: User, project: Project, pool: NodePool, client_of: Any
) -> None:
    shown = client_of(admin).get(f"/departments/{project.department_id}/delete/").content.decode()
    assert "assistant, vision: delete them first." in shown
    assert 'name="confirm"' not in shown


def test_a_dry_run_of_a_deletion_says_it_too(admin: User, project: Project, pool: NodePool, client_of: Any) -> None:
    answer = client_of(admin).delete(f"/api/v1/org-unit/projects/{project.pk}?dryRun=true", headers={"If-Match": "*"})

    assert answer.status_code == 202, answer.content
    assert effects(answer.json()["impact"])["old", "queue-gone"] == 8
    project.refresh_from_db()
    assert project.deletion_requested_at is None


@pytest.fixture
def topology(cluster: Cluster, pool: NodePool) -> NetworkTopology:
    """Attached to the pool; `old` asks for one rack of it."""
    row = NetworkTopology.objects.create(cluster=cluster, name="dc", levels=[ZONE, RACK])
    add_object(cluster, KAI_TOPOLOGY, "dc", spec={"levels": [{"nodeLabel": ZONE}, {"nodeLabel": RACK}]})
    constraint = {"topology": "dc", "requiredTopologyLevel": RACK, "preferredTopologyLevel": RACK}
    add_gang(cluster, "assistant", "tight", 4, topologyConstraint=constraint)
    NodePool.objects.filter(pk=pool.pk).update(network_topology=row)
    return row


def test_detaching_a_topology_asks_first_and_says_who_loses_a_constraint(
    admin: User, pool: NodePool, topology: NetworkTopology, client_of: Any
) -> None:
    page = client_of(admin)

    chosen = {"topology": "", "attached": topology.pk}
    response = page.post(f"/node-pools/{pool.pk}/attach/", chosen, follow=True)
    assert response.redirect_chain == [(f"/node-pools/{pool.pk}/attach/?topology=&attached={topology.pk}", 302)]
    (item,) = [item for item in response.context["warnings"] if "lose its placement" in item["text"]]
    assert "tight of assistant, 4 GPUs (topology dc: rack)" in item["detail"]

    seal = response.context["impact"]
    response = page.post(f"/node-pools/{pool.pk}/attach/", {**chosen, "confirmed": "1", "impact": seal})
    assert response.status_code == 302
    pool.refresh_from_db()
    assert pool.network_topology is None
    entry = AuditEntry.objects.latest("pk")
    assert entry.after["networkTopology"] is None
    assert ("tight", "loses-constraint") in effects(entry.after["impact"])


def test_swapping_to_a_topology_without_the_level_says_what_stops_and_which_nodes_lie_outside(
    admin: User, cluster: Cluster, pool: NodePool, topology: NetworkTopology
) -> None:
    add_nodes(cluster, 1, prefix="bare")
    other = NetworkTopology.objects.create(cluster=cluster, name="flat", levels=[ZONE])
    pool.refresh_from_db()

    found = pool_change(admin, pool, {"network_topology": other}, now=timezone.now())

    assert ("tight", "changes-constraint") in effects(found)
    assert ("seen", "gains-constraint") in effects(found)
    assert found["nodesOutside"] == ["bare0"]


def test_swapping_twice_counts_work_that_still_names_the_first_topology(
    admin: User, cluster: Cluster, pool: NodePool, topology: NetworkTopology
) -> None:
    """Started again it gets the topology that the pool has then, whatever it was started with."""
    second = NetworkTopology.objects.create(cluster=cluster, name="second", levels=[ZONE, RACK])
    flat = NetworkTopology.objects.create(cluster=cluster, name="flat", levels=[ZONE])
    pool.network_topology = second
    pool.save(update_fields=["network_topology"])

    swapped = pool_change(admin, pool, {"network_topology": flat}, now=timezone.now())
    detached = pool_change(admin, pool, {"network_topology": None}, now=timezone.now())

    assert {effect for name, effect in effects(swapped) if name == "tight"} == {"changes-constraint", "stops-fitting"}
    assert {effect for name, effect in effects(detached) if name == "tight"} == {"loses-constraint"}


def test_deleting_and_replacing_a_topology_say_what_cannot_start_again(
    admin: User, pool: NodePool, topology: NetworkTopology, client_of: Any
) -> None:
    page = client_of(admin)
    texts = " ".join(hit["text"] for hit in page.get(f"/network-topologies/{topology.pk}/delete/").context["obstacles"])
    assert "node pool default: detach it there first" in texts

    fields = {"name": "dc-2", "level": [ZONE], "key": [ZONE], "order_given": "1", "cluster": pool.cluster.name}
    response = page.post(f"/network-topologies/{topology.pk}/replace/", fields)
    assert response.status_code == 422
    assert any("another placement constraint" in item["text"] for item in response.context["warnings"])
    assert not NetworkTopology.objects.filter(name="dc-2").exists()

    seal = response.context["impact"]
    response = page.post(f"/network-topologies/{topology.pk}/replace/", {**fields, "confirmed": "1", "impact": seal})
    assert response.status_code == 302


def test_nodes_cordoned_or_removed_are_looked_at_over_the_api(admin: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(admin)

    body = page.get(f"/api/v1/node-pools/{pool.pk}/impact?cordon=n0").json()
    assert body["pools"] == [{"pool": "default", "gpus": {"before": 16, "after": 8}}]
    assert ("old", "stops-fitting") in effects(body)
    assert Node.objects.filter(cordoned=True).count() == 0
    assert page.get(f"/api/v1/node-pools/{pool.pk}/impact?remove=nope").status_code == 400


def test_nodes_cordoned_or_removed_are_looked_at_on_a_page(admin: User, pool: NodePool, client_of: Any) -> None:
    page = client_of(admin)
    path = f"/node-pools/{pool.pk}/impact/"

    assert page.get(path).context["findings"] == []
    response = page.get(path, {"remove": "n0", "cordon": "nobody"})

    assert any("old of assistant, 8 GPUs" in item["detail"] for item in response.context["findings"])
    assert "16 → 8 GPUs can be shared" in response.content.decode()


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("patch", "/api/v1/node-pools/{pool}", "loses-constraint"),
        ("delete", "/api/v1/network-topologies/{topology}", "stops-fitting"),
    ],
)
def test_dry_runs_of_pools_and_topologies_answer_their_impact(  # noqa: PLR0917
    method: str, path: str, wanted: str, admin: User, pool: NodePool, topology: NetworkTopology, client_of: Any
) -> None:
    if method == "delete":
        NodePool.objects.update(network_topology=None)
    where = path.format(pool=pool.pk, topology=topology.pk)

    answer = getattr(client_of(admin), method)(
        f"{where}?dryRun=true",
        data={"networkTopologyId": None},
        content_type="application/json",
        headers={"If-Match": "*"},
    )

    assert answer.status_code == 200, answer.content
    assert ("tight", wanted) in effects(answer.json()["impact"])
    topology.refresh_from_db()
    assert topology.deletion_requested_at is None


def test_nodes_of_a_deleted_pool_come_to_the_default_pool(
    admin: User, cluster: Cluster, pool: NodePool, project: Project
) -> None:
    """`waits` of vision needs 4 GPUs, which the 8 of the deleted pool have."""
    fast = NodePool.objects.create(cluster=cluster, name="fast", label_key="tier", label_value="fast", phase="Ready")
    add_nodes(cluster, 1, prefix="f", node_pool="fast", labels={"tier": "fast", "kai.scheduler/node-pool": "fast"})
    add_queue(cluster, project.department, fast, gpus=8, name="research-fast")

    found = pool_deletion(admin, fast, now=timezone.now())

    assert ("waits", "starts") in effects(found)
    assert {entry["pool"]: entry["gpus"] for entry in found["pools"]} == {
        "fast": {"before": 8, "after": 0},
        "default": {"before": 16, "after": 24},
    }
