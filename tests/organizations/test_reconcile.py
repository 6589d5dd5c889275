import pytest

from clusters import kinds
from clusters.kube.errors import Forbidden, Unavailable
from clusters.kube.fake import FakeGateway
from clusters.names import OWNER_LABEL
from core.desired import request_deletion
from organizations.models import Department, Project
from organizations.reconcile import reconcile_department, reconcile_project, sync_department, sync_project
from tests.organizations.outcomes import add_secret, condition
from topology.models import NodePool

DOWN = Unavailable("no answer")


@pytest.fixture
def both(department: Department, project: Project) -> tuple[Department, Project]:
    return department, project


def test_creates_the_department_queue_at_the_top(department: Department, gateway: FakeGateway) -> None:
    outcome = reconcile_department(department)

    queue = gateway.object(kinds.KAI_QUEUE, "research")
    assert queue["spec"] == {
        "parentQueue": "",
        "priority": 100,
        "resources": {
            "gpu": {"quota": 0, "limit": -1, "overQuotaWeight": 1},
            "cpu": {"quota": -1, "limit": -1, "overQuotaWeight": 1},
            "memory": {"quota": -1, "limit": -1, "overQuotaWeight": 1},
        },
    }
    assert (outcome.phase, condition(outcome, "QueuesReady").status) == ("Ready", "True")


def test_creates_namespace_and_queue_of_the_project_below_its_department(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    reconcile_department(both[0])

    outcome = reconcile_project(both[1])

    assert gateway.object(kinds.KAI_QUEUE, "assistant")["spec"]["parentQueue"] == "research"
    labels = gateway.object(kinds.NAMESPACE, "runai-assistant")["metadata"]["labels"]
    assert labels[OWNER_LABEL] == f"organizations.Project.{both[1].pk}"
    assert (outcome.phase, condition(outcome, "Synced").status) == ("Ready", "True")


def test_a_project_waits_for_its_departments_queue(project: Project, gateway: FakeGateway) -> None:
    outcome = sync_project(project, gateway)

    assert (outcome.phase, condition(outcome, "QueuesReady").reason) == ("NotReady", "ParentMissing")
    assert outcome.check_again_after.total_seconds() == 2
    assert gateway.names(kinds.KAI_QUEUE) == []
    sync_department(project.department, gateway)
    assert sync_project(project, gateway).phase == "Ready"


def test_repairs_drift_and_names_the_field(both: tuple[Department, Project], gateway: FakeGateway) -> None:
    sync_department(both[0], gateway)
    sync_project(both[1], gateway)
    gateway.edit(kinds.KAI_QUEUE, "assistant", spec={"resources": {"gpu": {"limit": 2}}})

    outcome = sync_project(both[1], gateway)

    assert gateway.object(kinds.KAI_QUEUE, "assistant")["spec"]["resources"]["gpu"]["limit"] == -1
    drift = condition(outcome, "InSync")
    assert (drift.status, drift.reason) == ("False", "DriftRepaired")
    assert "spec.resources.gpu.limit of Queue assistant" in drift.message
    assert condition(sync_project(both[1], gateway), "InSync").status == "True"


def test_trap_33_a_cycle_made_by_hand_is_taken_apart_from_above(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    sync_department(both[0], gateway)
    sync_project(both[1], gateway)
    gateway.edit(kinds.KAI_QUEUE, "research", spec={"parentQueue": "assistant"})

    found = sync_project(both[1], gateway)
    assert condition(found, "QueuesReady").reason == "ParentCycle"
    sync_department(both[0], gateway)

    assert sync_project(both[1], gateway).phase == "Ready"
    assert gateway.object(kinds.KAI_QUEUE, "research")["spec"]["parentQueue"] == ""


def test_second_run_writes_nothing(both: tuple[Department, Project], gateway: FakeGateway) -> None:
    add_secret(both[1])
    written = []
    for _run in range(2):
        sync_department(both[0], gateway)
        sync_project(both[1], gateway)
        written.append(len(gateway.writes))

    assert written == [5, 5]  # two queues, the namespace, two secrets


def test_transient_error_is_raised_and_leaves_the_spec(project: Project, gateway: FakeGateway) -> None:
    gateway.fail_at(1, DOWN)

    with pytest.raises(Unavailable):
        sync_project(project, gateway)

    project.refresh_from_db()
    assert project.generation == 1


def test_deletion_waits_for_the_namespace_and_says_what_keeps_it(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    sync_department(both[0], gateway)
    sync_project(both[1], gateway)
    gateway.edit(kinds.NAMESPACE, "runai-assistant", metadata={"finalizers": ["example.com/hold"]})
    status = {"conditions": [{"type": "NamespaceFinalizersRemaining", "status": "True", "message": "x has finalizers"}]}
    gateway.set_status(kinds.NAMESPACE, "runai-assistant", status=status)
    project = request_deletion(both[1])

    waiting = sync_project(project, gateway)
    gateway.release(kinds.NAMESPACE, "runai-assistant")
    done = sync_project(project, gateway)

    assert (waiting.phase, waiting.gone) == ("Deleting", False)
    assert "Namespace/runai-assistant (x has finalizers)" in waiting.conditions[0].message
    assert done.gone
    assert gateway.names(kinds.KAI_QUEUE) == ["research"]


def test_deletion_of_a_department_waits_for_its_projects_and_queues(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    sync_department(both[0], gateway)
    gateway.edit(kinds.KAI_QUEUE, "research", metadata={"finalizers": ["kai/hold"]})
    department = request_deletion(both[0])

    with_project = sync_department(department, gateway)
    both[1].delete()
    with_queue = sync_department(department, gateway)
    gateway.release(kinds.KAI_QUEUE, "research")

    assert "project (1)" in with_project.conditions[0].message
    assert "Queue/research" in with_queue.conditions[0].message
    assert sync_department(department, gateway).gone


def test_a_foreign_queue_of_the_name_is_left_alone_and_named(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    foreign = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "research"}, "spec": {}}
    gateway.put(kinds.KAI_QUEUE, foreign, manager="helm")
    sync_department(both[0], gateway)

    department = sync_department(both[0], gateway)
    project = sync_project(both[1], gateway)

    assert (department.phase, condition(department, "Accepted").reason) == ("NotReady", "NameTaken")
    assert "helm" in condition(department, "Accepted").message
    assert condition(project, "QueuesReady").reason == "ParentForeign"
    assert gateway.names(kinds.KAI_QUEUE) == ["research"]


def test_usage_is_read_back_in_the_units_of_the_quota(department: Department, gateway: FakeGateway) -> None:
    sync_department(department, gateway)
    assert department.quotas.get().usage == {}
    status = {
        "allocated": {"nvidia.com/gpu": "1500m", "cpu": "2500m", "memory": "1Gi"},
        "allocatedNonPreemptible": {},
        "requested": {"nvidia.com/gpu": "8"},
    }
    gateway.set_status(kinds.KAI_QUEUE, "research", status=status)

    sync_department(department, gateway)

    usage = department.quotas.get().usage
    assert usage["allocated"] == {"gpu": "1.5", "cpu": "2500", "memory": "1073.741824"}
    assert usage["allocatedNonPreemptible"] == {"gpu": "0", "cpu": "0", "memory": "0"}
    assert usage["requested"]["gpu"] == "8"


def test_queues_of_a_pool_that_goes_are_deleted_and_not_made_again(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    pool = NodePool.objects.create(cluster=both[0].cluster, name="h200", label_key="p", label_value="h200")
    sync_department(both[0], gateway)
    sync_project(both[1], gateway)
    assert gateway.names(kinds.KAI_QUEUE) == ["assistant", "assistant-h200", "research", "research-h200"]
    request_deletion(pool)

    for _ in range(2):
        sync_project(both[1], gateway)
        sync_department(both[0], gateway)

    assert gateway.names(kinds.KAI_QUEUE) == ["assistant", "research"]


@pytest.mark.parametrize("known", [True, False])
def test_a_parent_that_kai_refuses_to_delete_is_tried_again_soon(
    both: tuple[Department, Project], gateway: FakeGateway, known: bool
) -> None:
    pool = NodePool.objects.create(cluster=both[0].cluster, name="h200", label_key="p", label_value="h200")
    sync_department(both[0], gateway)
    sync_project(both[1], gateway)
    request_deletion(pool)
    if known:
        gateway.set_status(kinds.KAI_QUEUE, "research-h200", status={"childQueues": ["assistant-h200"]})
    else:
        # Get the queue that stays, list ours, get the one that goes: the fourth call deletes it.
        gateway.fail_at(4, Forbidden("cannot delete queue research-h200: it has child queues [assistant-h200]"))

    first = sync_department(both[0], gateway)
    still_there = gateway.names(kinds.KAI_QUEUE)
    sync_project(both[1], gateway)
    if known:
        gateway.set_status(kinds.KAI_QUEUE, "research-h200", status={})
    second = sync_department(both[0], gateway)

    assert "research-h200" in still_there
    assert (first.phase, first.check_again_after.total_seconds()) == ("Ready", 2)
    assert second.check_again_after.total_seconds() == 60
    assert gateway.names(kinds.KAI_QUEUE) == ["assistant", "research"]


def test_a_delete_that_is_not_permitted_is_said(department: Department, gateway: FakeGateway) -> None:
    sync_department(department, gateway)
    gateway.fail_at(3, Forbidden("the service account may not delete queues"))

    with pytest.raises(Forbidden):
        sync_department(request_deletion(department), gateway)


def test_without_kai_the_condition_says_what_is_missing(department: Department, gateway: FakeGateway) -> None:
    gateway.serve(kinds.KAI_QUEUE, [])

    outcome = sync_department(department, gateway)

    assert condition(outcome, "Synced").reason == "NotServed"
    assert sync_department(request_deletion(department), gateway).gone


@pytest.mark.parametrize("fault", ["fail_at", "lose_answer_at"])
@pytest.mark.parametrize("deleting", [False, True])
def test_row_25_converges_after_any_call_fails(project: Project, fault: str, deleting: bool) -> None:
    add_secret(project)
    for k in range(1, 26):
        fake = FakeGateway()
        sync_department(project.department, fake)
        row = Project.objects.get(pk=project.pk)
        if deleting:
            sync_project(row, fake)
            row.deletion_requested_at = row.created_at
        getattr(fake, fault)(k, DOWN)
        for _ in range(5):
            try:
                outcome = sync_project(row, fake)
            except Unavailable:
                continue
            if outcome.gone or outcome.phase == "Ready":
                break
        assert fake.names(kinds.KAI_QUEUE) == (["research"] if deleting else ["assistant", "research"]), k
        assert ("runai-assistant" in fake.names(kinds.NAMESPACE)) is not deleting, k
        expected = [] if deleting else ["hf-token", "hf-token-secret"]
        assert fake.names(kinds.SECRET) == expected, k


def test_a_queue_whose_owner_label_somebody_took_off_is_repaired_and_deleted(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    department, project = both
    sync_department(department, gateway)
    sync_project(project, gateway)
    name = project.quotas.get().queue_name
    gateway.edit(kinds.KAI_QUEUE, name, metadata={"labels": {OWNER_LABEL: None}})

    assert sync_project(project, gateway).phase == "Ready"
    assert OWNER_LABEL in gateway.object(kinds.KAI_QUEUE, name)["metadata"]["labels"]

    gateway.edit(kinds.KAI_QUEUE, name, metadata={"labels": {OWNER_LABEL: None}})
    sync_project(request_deletion(project), gateway)
    assert name not in gateway.names(kinds.KAI_QUEUE)


def test_a_queue_that_somebody_deleted_and_finalizers_hold_is_no_ready_queue(
    both: tuple[Department, Project], gateway: FakeGateway
) -> None:
    reconcile_department(both[0])
    reconcile_project(both[1])
    gateway.edit(kinds.KAI_QUEUE, "assistant", metadata={"finalizers": ["example.com/stay"]})
    gateway.delete(kinds.KAI_QUEUE, "assistant")

    outcome = reconcile_project(both[1])

    assert (outcome.phase, condition(outcome, "QueuesReady").reason) == ("NotReady", "BeingDeleted")
    assert "example.com/stay" in condition(outcome, "QueuesReady").message
    gateway.release(kinds.KAI_QUEUE, "assistant")
    assert reconcile_project(both[1]).phase == "Ready"
