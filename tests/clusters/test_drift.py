import pytest

from clusters.drift import apply_if_different, delete_if_ours, differences, is_ours
from clusters.kinds import KAI_QUEUE, NODE
from clusters.kube.errors import BeingDeleted, FieldConflict, NameTaken, Unavailable
from clusters.kube.fake import FakeGateway
from clusters.names import MANAGED_BY_LABEL, OWNER_LABEL
from tests.clusters.manifests import queue


def test_a_missing_object_is_created_and_the_second_run_writes_nothing() -> None:
    gateway = FakeGateway()

    first = apply_if_different(gateway, KAI_QUEUE, queue())
    second = apply_if_different(gateway, KAI_QUEUE, queue())

    assert (first.changed, second.changed) == (True, False)
    assert len(gateway.writes) == 1
    assert gateway.object(KAI_QUEUE, "team-a")["spec"]["resources"]["gpu"]["quota"] == 8


def test_a_change_of_what_we_render_is_applied_and_is_no_drift() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(quota=8))

    applied = apply_if_different(gateway, KAI_QUEUE, queue(quota=16, priority=50))

    assert applied.changed
    assert applied.drift == ()
    assert gateway.object(KAI_QUEUE, "team-a")["spec"]["priority"] == 50


def test_what_somebody_edited_is_put_back_and_named() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(quota=8))
    gateway.edit(KAI_QUEUE, "team-a", spec={"resources": {"gpu": {"quota": 64}}})

    applied = apply_if_different(gateway, KAI_QUEUE, queue(quota=8))

    assert applied.drift == ("spec.resources.gpu.quota",)
    assert gateway.object(KAI_QUEUE, "team-a")["spec"]["resources"]["gpu"]["quota"] == 8
    assert not apply_if_different(gateway, KAI_QUEUE, queue(quota=8)).changed


def test_what_somebody_removed_is_put_back_and_named_where_the_cluster_knows_who_wrote() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(priority=50))
    gateway.edit(KAI_QUEUE, "team-a", spec={"priority": None}, metadata={"labels": {"note": "x"}})

    applied = apply_if_different(gateway, KAI_QUEUE, queue(priority=50))

    assert applied.drift == ("spec.priority",)
    assert gateway.object(KAI_QUEUE, "team-a")["spec"]["priority"] == 50


def test_a_field_that_we_no_longer_render_is_removed() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(parentQueue="research"))

    assert apply_if_different(gateway, KAI_QUEUE, queue()).changed
    assert "parentQueue" not in gateway.object(KAI_QUEUE, "team-a")["spec"]


def test_fields_of_others_and_the_status_are_left_alone() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue())
    gateway.edit(KAI_QUEUE, "team-a", metadata={"labels": {"team": "vision"}}, manager="kubectl-label")
    gateway.set_status(KAI_QUEUE, "team-a", status={"allocated": {"nvidia.com/gpu": "4"}})

    assert not apply_if_different(gateway, KAI_QUEUE, queue()).changed
    assert gateway.object(KAI_QUEUE, "team-a")["metadata"]["labels"]["team"] == "vision"
    assert gateway.object(KAI_QUEUE, "team-a")["status"] == {"allocated": {"nvidia.com/gpu": "4"}}


def test_an_object_of_somebody_else_is_never_written() -> None:
    gateway = FakeGateway()
    theirs = queue(owner="x") | {"metadata": {"name": "team-a"}}
    gateway.put(KAI_QUEUE, theirs, manager="helm")

    with pytest.raises(NameTaken) as refusal:
        apply_if_different(gateway, KAI_QUEUE, queue())

    assert refusal.value.made_by == "helm"
    assert gateway.writes == []


def test_a_field_of_another_manager_on_a_foreign_object_is_a_conflict() -> None:
    gateway = FakeGateway()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"pool": "b"}}}
    gateway.put(NODE, node, manager="kubectl-label")

    with pytest.raises(FieldConflict) as refusal:
        apply_if_different(gateway, NODE, node | {"metadata": {"name": "n1", "labels": {"pool": "a"}}})

    assert "kubectl-label" in refusal.value.message
    assert ".metadata.labels.pool" in refusal.value.message
    assert gateway.object(NODE, "n1")["metadata"]["labels"]["pool"] == "b"


def test_the_first_label_on_a_foreign_node_is_not_called_drift() -> None:
    gateway = FakeGateway()
    gateway.put(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}, manager="kubelet")

    applied = apply_if_different(
        gateway, NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"pool": "a"}}}
    )

    assert (applied.changed, applied.drift) == (True, ())


def test_defaults_that_the_server_added_inside_a_list_are_no_difference() -> None:
    wanted = {"metadata": {"name": "x"}, "spec": {"levels": [{"nodeLabel": "zone"}], "size": 1}}
    live = {"metadata": {"name": "x"}, "spec": {"levels": [{"nodeLabel": "zone", "mode": "Auto"}], "size": 1.0}}

    assert differences(wanted, live) == ()
    assert differences({"spec": {"a": False}, "metadata": {}}, {"spec": {"a": 0}, "metadata": {}}) == (("spec", "a"),)


def test_deletion_touches_only_our_own_object_and_waits_for_finalizers() -> None:
    gateway = FakeGateway()
    ours = queue()
    ours["metadata"]["finalizers"] = ["kai.scheduler/queue"]
    gateway.put(KAI_QUEUE, ours)
    gateway.put(KAI_QUEUE, queue("foreign", owner="someone.Else.1"))
    owner = "organizations.Project.1"

    assert delete_if_ours(gateway, KAI_QUEUE, "foreign", owner=owner)
    assert not delete_if_ours(gateway, KAI_QUEUE, "team-a", owner=owner)
    assert not delete_if_ours(gateway, KAI_QUEUE, "team-a", owner=owner)
    gateway.release(KAI_QUEUE, "team-a")
    assert delete_if_ours(gateway, KAI_QUEUE, "team-a", owner=owner)
    assert gateway.names(KAI_QUEUE) == ["foreign"]
    assert [call.verb for call in gateway.writes] == ["delete"]


@pytest.mark.parametrize("k", [1, 2])
def test_a_failure_at_any_call_is_repaired_by_the_next_run(k: int) -> None:
    gateway = FakeGateway()
    gateway.fail_at(k, Unavailable("down"))

    with pytest.raises(Unavailable):
        apply_if_different(gateway, KAI_QUEUE, queue())
    apply_if_different(gateway, KAI_QUEUE, queue())

    assert gateway.names(KAI_QUEUE) == ["team-a"]


def test_an_answer_that_was_lost_does_not_double_the_object() -> None:
    gateway = FakeGateway()
    gateway.lose_answer_at(2, Unavailable("connection reset"))

    with pytest.raises(Unavailable):
        apply_if_different(gateway, KAI_QUEUE, queue())

    assert not apply_if_different(gateway, KAI_QUEUE, queue()).changed


@pytest.mark.parametrize("label", [None, "somebody.else"])
def test_an_object_of_ours_that_lost_its_owner_label_is_still_ours(label: str | None) -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(quota=8))
    gateway.edit(KAI_QUEUE, "team-a", metadata={"labels": {OWNER_LABEL: label, MANAGED_BY_LABEL: label}})

    applied = apply_if_different(gateway, KAI_QUEUE, queue(quota=16))

    assert applied.drift  # somebody's change is named
    assert gateway.object(KAI_QUEUE, "team-a")["metadata"]["labels"][OWNER_LABEL] == "organizations.Project.1"
    assert gateway.object(KAI_QUEUE, "team-a")["spec"]["resources"]["gpu"]["quota"] == 16


def test_an_object_of_ours_that_lost_its_owner_label_is_deleted_with_its_row() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue())
    gateway.edit(KAI_QUEUE, "team-a", metadata={"labels": {OWNER_LABEL: None}})

    assert delete_if_ours(gateway, KAI_QUEUE, "team-a", owner="organizations.Project.1")
    assert gateway.names(KAI_QUEUE) == []


def test_our_object_is_ours_though_a_controller_wrote_its_status_before_we_last_did() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue())
    live = gateway.edit(KAI_QUEUE, "team-a", metadata={"labels": {OWNER_LABEL: None}})
    status = {
        "manager": "queuecontroller",
        "operation": "Update",
        "subresource": "status",
        "time": "2020-01-01T00:00:00Z",
    }
    label = {"manager": "helm", "operation": "Update", "time": "2020-01-01T00:00:00Z", "fieldsV1": {}}
    live["metadata"]["managedFields"] = [status, label, *live["metadata"]["managedFields"]]

    assert is_ours(live, "organizations.Project.1")


def test_an_object_of_another_row_of_ours_is_not_taken() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue(owner="organizations.Project.2"))

    with pytest.raises(NameTaken):
        apply_if_different(gateway, KAI_QUEUE, queue())


def test_an_object_that_somebody_deleted_is_made_anew_once_its_finalizers_let_it_go() -> None:
    gateway = FakeGateway()
    apply_if_different(gateway, KAI_QUEUE, queue())
    gateway.edit(KAI_QUEUE, "team-a", metadata={"finalizers": ["example.com/stay"]})
    gateway.delete(KAI_QUEUE, "team-a")
    before = len(gateway.writes)

    with pytest.raises(BeingDeleted, match=r"finalizers: example\.com/stay"):
        apply_if_different(gateway, KAI_QUEUE, queue())

    assert len(gateway.writes) == before
    gateway.release(KAI_QUEUE, "team-a")
    assert apply_if_different(gateway, KAI_QUEUE, queue()).changed
    assert gateway.names(KAI_QUEUE) == ["team-a"]
