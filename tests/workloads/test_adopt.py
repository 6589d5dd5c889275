"""Which graphs of others can be taken over, and why the others cannot, on observed rows; the acts themselves are tested
on API servers (tests/clusters/test_adopting_graphs.py)."""

from copy import deepcopy
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from clusters.adopting import Candidate, note_adoption
from clusters.kinds import DYNAMO_GRAPH_DEPLOYMENT, KAI_POD_GROUP, KAI_QUEUE
from clusters.models import Cluster, ClusterObject
from clusters.removal import meanings
from clusters.removal_impact import ending_workloads
from organizations.models import Project, Quota
from tests.organizations.shard_rows import add_object
from tests.workloads.samples import MULTINODE
from workloads import adopt
from workloads.models import Workload

pytestmark = pytest.mark.django_db
SPACE = "runai-assistant"
QUEUE_ANNOTATION = "nvidia.com/kai-scheduler-queue"


def put(cluster: Cluster, name: str = "qwen", namespace: str = SPACE, **metadata: Any) -> ClusterObject:
    """The graph of `samples.MULTINODE` as somebody else made it."""
    spec = deepcopy(yaml.safe_load(MULTINODE)["spec"])
    spec |= metadata.pop("spec", {})
    return add_object(cluster, DYNAMO_GRAPH_DEPLOYMENT, name, namespace, metadata=metadata, spec=spec)


def only(cluster: Cluster) -> Candidate:
    (found,) = adopt.candidates(cluster)
    return adopt.examined(found)


def test_a_graph_in_the_namespace_of_a_project_becomes_its_workload(
    quota: Quota, project: Project, actor: Any, admin: Any
) -> None:
    found = put(quota.cluster, annotations={"note": "by hand", adopt._LAST_APPLIED: "{}"})
    candidate = only(quota.cluster)

    assert (candidate.blocked, candidate.label, candidate.name) == ("", f"{SPACE}/qwen", "qwen")
    assert candidate.effects == (
        "It belongs to project assistant then, on node pool default.",
        "It names no queue now; it gets the project’s.",
        "Its pods get labels of Muster: Dynamo’s operator may make them anew for that.",
    )
    assert candidate.wanted is not None
    assert candidate.wanted["spec"]["labels"]["kai.scheduler/queue"] == "assistant"

    workload = adopt.adopt(actor(admin), candidate)

    assert (workload.project, workload.name, workload.desired_phase) == (project, "qwen", "Running")
    assert workload.manifest["metadata"] == {"name": "qwen", "namespace": SPACE, "annotations": {"note": "by hand"}}
    assert workload.manifest["spec"] == found.manifest["spec"]
    assert "before" not in workload.manifest


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"namespace": "elsewhere"}, "No project uses namespace elsewhere: make one with “use the existing namespace”"),
        ({"deletionTimestamp": "2026-11-29T10:00:00Z"}, "It is being deleted."),
        (
            {"ownerReferences": [{"apiVersion": "nvidia.com/v1", "kind": "Request", "name": "r", "controller": True}]},
            "It is kept by Request r (nvidia.com), which would take it back.",
        ),
        ({"spec": {"hostNetwork": True}}, "spec.hostNetwork: it may not be set: it reaches the node’s network"),
        ({"spec": {"components": []}}, "spec.components: it lists no component"),
        ({"spec": {"annotations": {QUEUE_ANNOTATION: "other"}}}, "queue: queue other is not the one of project"),
    ],
)
def test_what_is_in_the_way_is_said(quota: Quota, given: dict[str, Any], why: str) -> None:
    put(quota.cluster, **given)

    candidate = only(quota.cluster)

    assert candidate.blocked.startswith(why)
    assert candidate.wanted is None


@pytest.mark.parametrize("other", ["graph", "workload"])
def test_a_name_that_is_twice_in_the_cluster_is_not_taken_over(quota: Quota, submit: Any, other: str) -> None:
    if other == "graph":
        put(quota.cluster)
        twin = put(quota.cluster, namespace="elsewhere", uid="the-other")
        assert twin.pk
    else:
        submit(MULTINODE)
        put(quota.cluster, namespace="elsewhere")

    assert {one.blocked for one in adopt.candidates(quota.cluster)} == {
        "Another graph of this name is in the cluster; names are unique in the whole cluster."
    }


def test_the_candidates_cost_as_many_queries_for_sixty_graphs_as_for_one(
    quota: Quota, django_assert_num_queries: Any
) -> None:
    for number in range(60):
        put(quota.cluster, name=f"graph-{number}")

    with django_assert_num_queries(3):
        assert len(list(adopt.candidates(quota.cluster))) == 60


def test_a_queue_brings_the_namespace_that_it_alone_has_pods_in(quota: Quota, admin: Any, client: Client) -> None:
    """The pod groups of `nlp` are in one namespace; `vision` shares one with `audio`; `mine` has a project's."""
    cluster = quota.cluster
    for name, namespace in (("nlp", "text"), ("vision", "shared"), ("audio", "shared"), ("mine", SPACE)):
        add_object(cluster, KAI_QUEUE, name, spec={"parentQueue": "top"})
        add_object(cluster, KAI_POD_GROUP, f"pg-{name}", namespace, spec={"queue": name})
    add_object(cluster, KAI_QUEUE, "top", spec={})
    client.force_login(admin)

    answer = client.get(f"/api/v1/clusters/{cluster.pk}/adoptions").json()

    effects = {one["name"]: one["effects"][0] for one in answer["candidates"] if one["becomes"] == "Project"}
    assert effects == {
        "nlp": "The namespace text, where its pods are, is used as it is.",
        "vision": "The namespace runai-vision is made for the project.",
        "audio": "The namespace runai-audio is made for the project.",
        "mine": "The namespace runai-mine is made for the project.",
    }


def test_a_graph_that_was_taken_over_does_not_end_with_its_cluster(
    quota: Quota, submit: Any, admin: Any, client: Client
) -> None:
    cluster, workload = quota.cluster, submit(MULTINODE)
    found = put(cluster)
    note_adoption(workload, cluster, [Candidate(found, DYNAMO_GRAPH_DEPLOYMENT, "Workload", "qwen")], by="a@b.c")
    ClusterObject.objects.filter(pk=found.pk).update(owner=f"workloads.Workload.{workload.pk}")

    assert ending_workloads(cluster)["isEmpty"]
    said = [meaning.text for meaning in meanings(cluster, "clean")]
    assert said[0] == "Deleted in the cluster: nothing."
    assert "1 object that was taken over is given back as it was." in said
    client.force_login(admin)
    page = client.get(reverse("cluster-release", args=[cluster.pk])).content.decode()
    assert f"{SPACE}/qwen" in page
    assert Workload.objects.get() == workload
