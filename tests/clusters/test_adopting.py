"""Clusters that exist already: connecting changes nothing, what others made is taken over and given back as it was.
The simulated API server, and the real one with the account that Muster prints."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from clusters.models import Adoption, Cluster, ClusterObject
from controlplane import adopting
from organizations.models import Department, Project
from organizations.services import create_department
from tests.cluster.world import World, account, connected
from tests.clusters.others import FABRIC, GRAPHS, QUEUES, TOPOLOGIES, queue, shape, uid_of
from tests.contract.client import Api
from topology.models import NetworkTopology

GROUPS = "/apis/scheduling.run.ai/v2alpha2/namespaces/theirs/podgroups"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPARTMENTS = "/apis/kai.resources/v1alpha1/departments"
KRM_KINDS = {"projects": "Project", "departments": "Department", "nodepools": "NodePool"}


def krm(plural: str, kind: str) -> dict[str, Any]:
    """The definition of one of KRM's kinds."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kai.resources"},
        "spec": {
            "group": "kai.resources",
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture
def world(others_world: World) -> World:
    return others_world


def state(api: Api) -> dict[str, Any]:
    """What others made, as they wrote it."""
    found = {}
    for path in (TOPOLOGIES, QUEUES, GRAPHS, "/api/v1/nodes", "/apis/grove.io/v1alpha1/clustertopologybindings"):
        for item in api.get(path).body["items"]:
            if item["metadata"]["name"] != "default" or path != QUEUES:  # the department that every cluster has
                found[f"{path}/{item['metadata']['name']}"] = shape(item)
    return found


@pytest.fixture
def misled(theirs: Api) -> Iterator[str]:
    """A gang of others in a queue that has queues below it, where nothing starts; as findings name it."""
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "misled", "namespace": "theirs"},
        "spec": {"minMember": 1, "queue": "research"},
    }
    assert theirs.apply(f"{GROUPS}/misled", group, "kai").status == 201
    yield "theirs/misled"
    theirs.delete(f"{GROUPS}/misled")


def test_connecting_changes_nothing_and_lists_draws_and_diagnoses_everything(
    theirs: Api, misled: str, admin: User, db: None, client: Client
) -> None:
    before = state(theirs)
    with connected(account(theirs), admin) as world:
        for name in ("llm", "nlp", "fabric", "misled"):
            world.settle(lambda name=name: ClusterObject.objects.filter(name=name).exists(), f"{name} to be read")
        world.settle(lambda: world.cluster.node_set.count() == 3, "the nodes to be read")
        world.run_all()
        world.run_all()

        assert state(theirs) == before
        client.force_login(admin)
        for name, shown in (
            ("topology:topology-list", "fabric"),
            ("organizations:department-list", "nlp"),
            ("workloads:list", "llm"),
            ("workloads:list", misled),
        ):
            assert shown in client.get(reverse(name)).content.decode(), name
        drawn = client.get(reverse("topology:topology-detail", args=[uid_of(theirs, f"{TOPOLOGIES}/fabric")]))
        assert "made in the cluster by helm, read-only" in drawn.content.decode()
        assert all(f">{place}<" in drawn.content.decode() for place in ("z1", "r1"))
        page = client.get(reverse("cluster-adopt", args=[world.cluster.pk])).content.decode()
        assert all(name in page for name in ("fabric", "research", "nlp"))
        assert not Adoption.objects.exists()


def test_the_difference_is_shown_by_field_and_owner_before_anything_is_written(
    world: World, theirs: Api, client: Client, admin: User
) -> None:
    before = state(theirs)
    client.force_login(admin)
    page = reverse("cluster-adopt", args=[world.cluster.pk])

    shown = client.post(page, {"pk": uid_of(theirs, f"{QUEUES}/research"), "compare": "1"}).content.decode()
    answer = client.post(
        f"/api/v1/clusters/{world.cluster.pk}/adoptions?dryRun=true",
        {"adopt": [uid_of(theirs, f"{QUEUES}/research")]},
        content_type="application/json",
    )

    assert "metadata.labels" in shown
    assert "{&quot;app.kubernetes.io/managed-by&quot;:&quot;muster&quot;" in shown
    changes = {change["field"]: change for change in answer.json()["results"][0]["changes"]}
    assert (changes["spec.resources.cpu"]["now"], changes["spec.parentQueue"]["then"]) == (None, "")
    assert "spec.priority" not in changes
    assert changes["metadata.labels"]["then"]["app.kubernetes.io/managed-by"] == "muster"
    assert state(theirs) == before


def test_all_are_taken_over_in_bulk_and_kept_and_given_back(
    world: World, theirs: Api, client: Client, admin: User
) -> None:
    paths = (f"{TOPOLOGIES}/fabric", f"{QUEUES}/research", f"{QUEUES}/nlp")
    before = {path: theirs.get(path).body for path in paths}
    client.force_login(admin)
    url = f"/api/v1/clusters/{world.cluster.pk}/adoptions"

    def post(**body: Any) -> Any:
        answer = client.post(url, body, content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()["results"]

    done = post(adopt=[one["metadata"]["uid"] for one in before.values()])
    assert [(one["name"], one["accepted"]) for one in done] == [("fabric", True), ("research", True), ("nlp", True)]
    world.run_until_quiet()
    department, project = Department.objects.get(name="research"), Project.objects.get(name="nlp")
    assert (department.phase, project.phase) == ("Ready", "Ready")
    assert NetworkTopology.objects.get().phase == "Ready"
    assert project.department == department
    assert project.quotas.get(node_pool__label_key="").queue_name == "nlp"
    taken = theirs.get(f"{QUEUES}/research").body
    assert taken["spec"]["resources"]["gpu"] == {"quota": 8, "limit": -1, "overQuotaWeight": 1}
    assert (taken["spec"]["priority"], taken["spec"]["displayName"]) == (150, "Research")
    assert taken["metadata"]["labels"]["muster.dev/owner"] == f"organizations.Department.{department.pk}"

    theirs.merge(f"{QUEUES}/research", {"spec": {"resources": {"gpu": {"quota": 1}}}})
    world.run_all()
    assert theirs.get(f"{QUEUES}/research").body["spec"]["resources"]["gpu"]["quota"] == 8

    post(release=[before[f"{QUEUES}/nlp"]["metadata"]["uid"], before[f"{TOPOLOGIES}/fabric"]["metadata"]["uid"]])
    world.settle(lambda: not Project.objects.exists(), "the project to be given back")
    post(release=[before[f"{QUEUES}/research"]["metadata"]["uid"]])
    world.settle(lambda: not Adoption.objects.exists(), "the rest to be given back")
    world.run_until_quiet()

    for path, was in before.items():
        now = theirs.get(path).body
        assert now["spec"] == was["spec"], path
        kept = ("uid", "labels", "annotations")
        assert [now["metadata"].get(k) for k in kept] == [was["metadata"].get(k) for k in kept], path
        assert "muster" not in {entry["manager"] for entry in now["metadata"]["managedFields"]}, path
    assert not Department.objects.filter(name="research").exists()
    assert not NetworkTopology.objects.exists()


def test_what_another_controller_keeps_is_recognised_and_not_fought(
    world: World, theirs: Api, client: Client, admin: User
) -> None:
    """KRM's Department keeps its queues: they are shown, and cannot be taken over."""
    for plural, kind in KRM_KINDS.items():
        theirs.apply(f"{CRDS}/{plural}.kai.resources", krm(plural, kind), "krm")
        theirs.await_status(f"/apis/kai.resources/v1alpha1/{plural}", 200)
    body = {"apiVersion": "kai.resources/v1alpha1", "kind": "Department", "metadata": {"name": "d1"}}
    assert theirs.post(DEPARTMENTS, body).status == 201
    reference = {
        "apiVersion": "kai.resources/v1alpha1",
        "kind": "Department",
        "name": "d1",
        "uid": uid_of(theirs, f"{DEPARTMENTS}/d1"),
        "controller": True,
    }
    theirs.apply(f"{QUEUES}/kept", queue("kept", metadata={"ownerReferences": [reference]}), "krm")
    world.settle(lambda: ClusterObject.objects.filter(name="kept").exists(), "the queue to be read")
    world.run_all()
    world.cluster.refresh_from_db()

    page = client_of(client, admin).get(reverse("cluster-adopt", args=[world.cluster.pk])).content.decode()
    (candidate,) = [one for one in adopting.candidates_of(world.cluster) if one.found.name == "kept"]
    (done,) = adopting.adopt(world.actor, [candidate])
    theirs.delete(f"{QUEUES}/kept")
    for plural in KRM_KINDS:
        theirs.delete(f"{CRDS}/{plural}.kai.resources")

    assert "KRM is installed here (projects, departments, nodepools of kai.resources)" in page
    assert done.row is None
    assert "Department d1 (kai.resources)" in done.error


def client_of(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def test_an_object_that_was_made_anew_meanwhile_is_left_alone(world: World, theirs: Api) -> None:
    (candidate,) = [one for one in adopting.candidates_of(world.cluster) if one.found.name == "fabric"]
    (done,) = adopting.adopt(world.actor, [candidate])
    assert done.row is not None
    theirs.delete(f"{TOPOLOGIES}/fabric")
    theirs.await_status(f"{TOPOLOGIES}/fabric", 404)
    theirs.apply(f"{TOPOLOGIES}/fabric", FABRIC, "somebody-new")
    uid = uid_of(theirs, f"{TOPOLOGIES}/fabric")

    world.run_all()

    topology = NetworkTopology.objects.get()
    assert topology.phase == "Failed"
    assert "was made by somebody-new" in str(topology.conditions)
    assert uid_of(theirs, f"{TOPOLOGIES}/fabric") == uid
    assert "labels" not in theirs.get(f"{TOPOLOGIES}/fabric").body["metadata"] or (
        "muster.dev/owner" not in theirs.get(f"{TOPOLOGIES}/fabric").body["metadata"]["labels"]
    )


def test_only_who_may_change_the_cluster_adopts(world: World, client: Client, viewer: User) -> None:
    client.force_login(viewer)

    assert client.get(reverse("cluster-adopt", args=[world.cluster.pk])).status_code == 403
    assert client.post(f"/api/v1/clusters/{world.cluster.pk}/adoptions", {}, "application/json").status_code == 403


def adopted_and_own(world: World, theirs: Api) -> None:
    """`research` taken over, `own` made by Muster."""
    (candidate,) = [one for one in adopting.candidates_of(world.cluster) if one.found.name == "research"]
    adopting.adopt(world.actor, [candidate])
    create_department(world.actor, cluster=world.cluster, name="own")
    world.run_until_quiet()
    assert theirs.get(f"{QUEUES}/own").status == 200
    world.settle(lambda: ClusterObject.objects.filter(name="own").exclude(owner="").exists(), "it to be read")


def test_a_cluster_is_removed_and_all_stays_in_it(world: World, theirs: Api, client: Client, admin: User) -> None:
    adopted_and_own(world, theirs)
    client.force_login(admin)
    url = reverse("clusters:cluster-remove", args=[world.cluster.pk])
    before = {name: shape(theirs.get(f"{QUEUES}/{name}").body) for name in ("research", "own")}

    asked = client.get(url).content.decode()
    assert "stays in the cluster as it is" in asked
    assert "Queue (" in asked
    assert client.post(url, {"confirm": "real"}).status_code == 422
    assert client.post(url, {"confirm": "real", "objects": "leave"}).status_code == 302
    world.run_due()

    assert not Cluster.objects.filter(pk=world.cluster.pk).exists()
    assert not Department.objects.exists()
    assert {name: shape(theirs.get(f"{QUEUES}/{name}").body) for name in before} == before


def test_a_cluster_is_removed_and_cleaned(world: World, theirs: Api, client: Client, admin: User) -> None:
    was = theirs.get(f"{QUEUES}/research").body
    adopted_and_own(world, theirs)
    client.force_login(admin)
    url = reverse("clusters:cluster-remove", args=[world.cluster.pk])

    assert "1 object that was taken over is given back" in client.get(url).content.decode()
    api_url = f"/api/v1/clusters/{world.cluster.pk}"
    assert client.delete(f"{api_url}?objects=all", headers={"If-Match": "*"}).status_code == 400
    assert client.delete(api_url, headers={"If-Match": "*"}).status_code == 409
    assert client.delete(f"{api_url}?objects=clean", headers={"If-Match": "*"}).status_code == 202
    world.settle(lambda: not Cluster.objects.filter(pk=world.cluster.pk).exists(), "the cluster to be gone")

    assert theirs.get(f"{QUEUES}/own").status == 404
    assert theirs.get(f"{QUEUES}/default").status == 404
    now = theirs.get(f"{QUEUES}/research").body
    assert (now["spec"], now["metadata"].get("labels")) == (was["spec"], was["metadata"].get("labels"))
    assert theirs.get(f"{QUEUES}/nlp").status == 200
