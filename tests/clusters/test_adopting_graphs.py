"""Graphs that others made: taken over with the queue in which they run, edited, suspended, and given back as they were.
The simulated API server, and the real one with the account that Muster prints."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from clusters.models import Adoption, ClusterObject
from organizations.models import Project
from tests.cluster.world import World
from tests.clusters.others import GRAPHS, QUEUES, graph, shape, uid_of
from tests.contract.client import Api
from workloads import document, services
from workloads.models import Workload

GROUPS = "/apis/scheduling.run.ai/v2alpha2/namespaces/theirs/podgroups"
LLM = f"{GRAPHS}/llm"
ENVIRONMENT = [{"name": "KEEP", "value": "1"}, {"name": "DROP", "value": "2"}]


@pytest.fixture
def world(others_world: World) -> World:
    return others_world


@pytest.fixture
def running(world: World, theirs: Api) -> Api:
    """The graph runs in the queue `nlp`, and helm set an environment and a note on it."""
    written = graph()
    written["metadata"] |= {"labels": {"team": "nlp"}, "annotations": {"note": "by hand"}}
    written["spec"]["annotations"] = {"nvidia.com/kai-scheduler-queue": "nlp"}
    written["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["env"] = ENVIRONMENT
    assert theirs.apply(LLM, written, "helm").status == 200
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "pg-llm", "namespace": "theirs"},
        "spec": {"minMember": 1, "queue": "nlp"},
    }
    assert theirs.apply(f"{GROUPS}/pg-llm", group, "kai").status == 201
    seen = ClusterObject.objects.filter(name="llm", manifest__metadata__labels__team="nlp")
    world.settle(lambda: seen.exists() and ClusterObject.objects.filter(name="pg-llm").exists(), "both to be read")
    return theirs


class Adopting:
    """Takes over and gives back by REST, as an administrator."""

    def __init__(self, client: Client, world: World) -> None:
        self.client, self.url = client, f"/api/v1/clusters/{world.cluster.pk}/adoptions"
        client.force_login(world.actor.user)

    def __call__(self, status: int = 200, query: str = "", **body: Any) -> Any:
        answer = self.client.post(self.url + query, body, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    def candidate(self, name: str) -> Any:
        (found,) = [one for one in self.client.get(self.url).json()["candidates"] if one["name"] == name]
        return found


@pytest.fixture
def adopting(client: Client, world: World) -> Adopting:
    return Adopting(client, world)


def take_queues(adopting: Adopting, world: World, api: Api) -> dict[str, str]:
    """`research` and `nlp`; the uids that give them back."""
    uids = {name: uid_of(api, f"{QUEUES}/{name}") for name in ("research", "nlp")}
    done = adopting(adopt=list(uids.values()))["results"]
    assert [(one["name"], one["message"]) for one in done] == [("research", ""), ("nlp", "")]
    world.run_until_quiet()
    return uids


def give_queues_back(adopting: Adopting, world: World, uids: dict[str, str]) -> None:
    adopting(release=[uids["nlp"]])
    world.settle(lambda: not Project.objects.exists(), "the project to be given back")
    adopting(release=[uids["research"]])
    world.settle(lambda: not Adoption.objects.exists(), "all to be given back")
    world.run_until_quiet()


def test_a_graph_is_taken_over_with_its_queue_kept_and_given_back(
    world: World, running: Api, adopting: Adopting
) -> None:
    before = running.get(LLM).body
    uid = before["metadata"]["uid"]
    assert "No project uses namespace theirs" in adopting.candidate("llm")["blocked"]

    queues = take_queues(adopting, world, running)
    project = Project.objects.get()
    assert (project.name, project.namespace, project.phase) == ("nlp", "theirs", "Ready")
    found = adopting.candidate("llm")
    assert (found["blocked"], found["becomes"], found["namespace"]) == ("", "Workload", "theirs")

    the_difference_is_shown(adopting, uid)
    assert shape(running.get(LLM).body) == shape(before)

    assert adopting(adopt=[uid])["results"][0]["accepted"]
    world.run_until_quiet()
    workload = Workload.objects.get()
    assert (workload.name, workload.project, workload.desired_phase) == ("llm", project, "Running")
    taken = running.get(LLM).body
    assert taken["metadata"]["uid"] == uid
    assert taken["metadata"]["labels"]["muster.dev/owner"] == f"workloads.Workload.{workload.pk}"
    assert taken["metadata"]["labels"]["team"] == "nlp"
    assert taken["spec"]["components"] == before["spec"]["components"]
    owners = {entry["manager"] for entry in taken["metadata"]["managedFields"] if "f:spec" in entry["fieldsV1"]}
    assert owners == {"muster"}

    what_is_taken_out_goes(world, running, workload)
    adopting(status=409, release=[queues["nlp"]])  # the workload stands on it
    adopting(release=[uid])
    world.settle(lambda: not Workload.objects.exists(), "the graph to be given back")
    assert as_it_was(running.get(LLM).body) == as_it_was(before)
    give_queues_back(adopting, world, queues)
    assert running.get(LLM).body["metadata"]["uid"] == uid
    running.delete(f"{GROUPS}/pg-llm")


def the_difference_is_shown(adopting: Adopting, uid: str) -> None:
    """By field, with what comes with it."""
    (shown,) = adopting(query="?dryRun=true", adopt=[uid])["results"]
    changes = {change["field"]: change for change in shown["changes"]}
    assert changes["metadata.labels.muster.dev/owner"]["now"] is None
    assert changes["spec.labels"]["then"]["kai.scheduler/queue"] == "nlp"
    assert "spec.components" not in changes
    assert shown["message"] == ""
    assert any("project nlp" in effect for effect in shown["effects"])


def what_is_taken_out_goes(world: World, running: Api, workload: Workload) -> None:
    """Though its maker wrote it; and then nothing is written any more."""
    path = ("spec", "components", 0, "podTemplate", "spec", "containers", 0, "env")
    services.update_workload(
        world.actor, workload=workload, source=document.edit(workload.source, {path: ENVIRONMENT[:1]})
    )
    world.run_until_quiet()
    container = running.get(LLM).body["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]
    assert container["env"] == ENVIRONMENT[:1]
    settled = running.get(LLM).body["metadata"]["resourceVersion"]
    world.run_all()
    assert running.get(LLM).body["metadata"]["resourceVersion"] == settled


def as_it_was(item: dict[str, Any]) -> Any:
    """What its maker had written, and that nothing of it is Muster's."""
    managers = {entry["manager"] for entry in item["metadata"]["managedFields"]}
    kept = {key: item["metadata"].get(key) for key in ("labels", "annotations")}
    return item["spec"], kept, "muster" in managers


def test_a_graph_that_was_suspended_is_given_back_once_it_runs_again(
    world: World, running: Api, adopting: Adopting
) -> None:
    before = running.get(LLM).body
    uid = before["metadata"]["uid"]
    queues = take_queues(adopting, world, running)
    adopting(adopt=[uid])
    world.run_until_quiet()
    services.suspend_workload(world.actor, workload=Workload.objects.get())
    world.settle(lambda: running.get(LLM).status == 404, "the graph to be gone")
    world.run_until_quiet()

    assert "is suspended" in str(adopting(status=409, release=[uid]))
    services.resume_workload(world.actor, workload=Workload.objects.get())
    world.run_until_quiet()
    assert uid_of(running, LLM) != uid
    adopting(release=[uid])
    world.settle(lambda: not Workload.objects.exists(), "the graph to be given back")

    assert as_it_was(running.get(LLM).body) == as_it_was(before)
    give_queues_back(adopting, world, queues)
    running.delete(f"{GROUPS}/pg-llm")


def test_graphs_are_compared_taken_over_and_given_back_on_pages(
    world: World, running: Api, adopting: Adopting, client: Client, admin: User
) -> None:
    queues = take_queues(adopting, world, running)
    uid = uid_of(running, LLM)
    page = reverse("cluster-adopt", args=[world.cluster.pk])
    back = f"{reverse('cluster-release', args=[world.cluster.pk])}?object={uid}"

    listed = client.get(page, {"filter": "kind==dynamographdeployments"}).content.decode()
    compared = client.post(page, {"pk": uid, "compare": "1"}).content.decode()
    assert "theirs/llm" in listed
    assert "DynamoGraphDeployment theirs/llm" in compared
    assert "spec.labels" in compared
    assert not Workload.objects.exists()

    assert client.post(page, {"pk": uid, "adopt": "1"}).status_code == 302
    world.run_until_quiet()
    workload = Workload.objects.get()
    assert "llm" in client.get(reverse("workloads:list")).content.decode()
    asked = client.get(back).content.decode()
    assert "Its pods lose the labels of Muster" in asked
    assert client.post(back, {"confirm": "llm"}).status_code == 302
    world.settle(lambda: not Workload.objects.filter(pk=workload.pk).exists(), "the graph to be given back")

    assert uid_of(running, LLM) == uid
    give_queues_back(adopting, world, queues)
    running.delete(f"{GROUPS}/pg-llm")
