"""The namespace of a project: made, adopted, robbed of its labels, given back and deleted."""

import re

from clusters import kinds
from clusters.components import COMPONENTS
from clusters.kube.fake import FakeGateway
from core.desired import request_deletion
from organizations.models import Project
from organizations.reconcile import sync_department, sync_project
from organizations.rules import namespace_faults
from organizations.wording import why_of
from tests.organizations.outcomes import add_secret, condition


def namespace(gateway: FakeGateway, name: str) -> None:
    """As kubectl makes one: the API server puts the name on it as a label."""
    metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
    gateway.put(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def test_an_existing_namespace_is_not_taken_without_being_asked(project: Project, gateway: FakeGateway) -> None:
    namespace(gateway, "runai-assistant")

    outcome = sync_project(project, gateway)

    assert condition(outcome, "Accepted").reason == "NameTaken"
    assert gateway.writes == []
    assert sync_project(request_deletion(project), gateway).gone
    assert "runai-assistant" in gateway.names(kinds.NAMESPACE)


def test_an_adopted_namespace_is_used_and_stays_when_the_project_goes(project: Project, gateway: FakeGateway) -> None:
    namespace(gateway, "runai-assistant")
    project.adopts_namespace = True
    add_secret(project)
    sync_department(project.department, gateway)

    outcome = sync_project(project, gateway)
    gone = sync_project(request_deletion(_saved(project)), gateway)

    assert condition(outcome, "NamespaceReady").reason == "Adopted"
    assert gone.gone
    live = gateway.object(kinds.NAMESPACE, "runai-assistant")
    assert live["metadata"]["labels"] == {"kubernetes.io/metadata.name": "runai-assistant"}
    assert gateway.names(kinds.SECRET, "runai-assistant") == []
    assert gateway.names(kinds.KAI_QUEUE) == ["research"]


def test_a_namespace_that_is_being_deleted_by_somebody_is_waited_for(project: Project, gateway: FakeGateway) -> None:
    sync_department(project.department, gateway)
    sync_project(project, gateway)
    gateway.edit(kinds.NAMESPACE, "runai-assistant", metadata={"finalizers": ["x/y"]})
    gateway.delete(kinds.NAMESPACE, "runai-assistant")

    outcome = sync_project(project, gateway)
    gateway.release(kinds.NAMESPACE, "runai-assistant")

    assert (outcome.phase, condition(outcome, "NamespaceReady").reason) == ("NotReady", "Terminating")
    assert sync_project(project, gateway).phase == "Ready"


def robbed_namespace(project: Project, gateway: FakeGateway) -> None:
    """Its namespace, made by Muster, then without a label of Muster's; what was found last is on the row."""
    sync_department(project.department, gateway)
    made = sync_project(project, gateway)
    told = [{"type": c.type, "status": c.status, "reason": c.reason} for c in made.conditions]
    Project.objects.filter(pk=project.pk).update(conditions=told)
    project.refresh_from_db()
    gateway.edit(kinds.NAMESPACE, project.namespace, metadata={"labels": None})


def test_a_namespace_that_lost_every_label_of_ours_gets_them_back(project: Project, gateway: FakeGateway) -> None:
    robbed_namespace(project, gateway)

    outcome = sync_project(project, gateway)

    assert (outcome.phase, condition(outcome, "NamespaceReady").reason) == ("Ready", "Created")
    assert "muster.dev/owner" in gateway.object(kinds.NAMESPACE, "runai-assistant")["metadata"]["labels"]


def test_a_namespace_without_any_label_of_ours_goes_with_its_project(project: Project, gateway: FakeGateway) -> None:
    robbed_namespace(project, gateway)

    assert sync_project(request_deletion(project), gateway).gone
    assert "runai-assistant" not in gateway.names(kinds.NAMESPACE)


def test_a_namespace_that_somebody_made_in_place_of_ours_is_left_alone(project: Project, gateway: FakeGateway) -> None:
    robbed_namespace(project, gateway)
    gateway.delete(kinds.NAMESPACE, "runai-assistant")
    labels = {"kubernetes.io/metadata.name": "runai-assistant"}
    gateway.put(kinds.NAMESPACE, {"metadata": {"name": "runai-assistant", "labels": labels}})

    assert condition(sync_project(project, gateway), "Accepted").reason == "NameTaken"
    assert sync_project(request_deletion(project), gateway).gone
    assert "runai-assistant" in gateway.names(kinds.NAMESPACE)


def _saved(project: Project) -> Project:
    Project.objects.filter(pk=project.pk).update(adopts_namespace=project.adopts_namespace)
    return project


def test_a_namespace_that_may_be_ours_says_how_it_is_given_back(project: Project, gateway: FakeGateway) -> None:
    """An earlier version wrote NameTaken and forgot that it had made the namespace."""
    robbed_namespace(project, gateway)
    taken = {"type": "Accepted", "status": "False", "reason": "NameTaken"}
    Project.objects.filter(pk=project.pk).update(conditions=[taken], phase="NotReady")
    project.refresh_from_db()

    outcome = sync_project(project, gateway)

    label = f"muster.dev/owner=organizations.Project.{project.pk}"
    told = condition(outcome, "Accepted")
    assert (outcome.phase, told.status, told.reason) == ("NotReady", "False", "Unlabelled")
    assert f"kubectl label namespace runai-assistant {label}" in told.message
    assert f"kubectl label namespace runai-assistant {label}" in why_of([told.as_dict()])

    key, _equals, value = label.partition("=")
    gateway.edit(kinds.NAMESPACE, "runai-assistant", metadata={"labels": {key: value}})

    outcome = sync_project(project, gateway)
    assert (outcome.phase, condition(outcome, "NamespaceReady").reason) == ("Ready", "Created")
    assert "app.kubernetes.io/managed-by" in gateway.object(kinds.NAMESPACE, "runai-assistant")["metadata"]["labels"]
    assert sync_project(request_deletion(project), gateway).gone
    assert "runai-assistant" not in gateway.names(kinds.NAMESPACE)


def test_no_project_moves_into_the_namespace_of_a_component() -> None:
    commands = "\n".join(component.install for component in COMPONENTS)
    made = re.findall(r"--namespace (\S+) --create-namespace", commands)

    assert made == ["kai-scheduler", "grove-system", "dynamo-system", "gpu-operator", "monitoring"]
    assert [fault.field for name in made for fault in namespace_faults(name)] == ["requestedNamespace"] * 5
