"""What submitting, editing, scaling, suspending and deleting write, and what they refuse."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from clusters.models import ClusterObject
from core.errors import Conflict, InvalidInput, NotPermitted
from organizations.models import Quota
from tests.workloads.samples import DISAGG, FICTION, MULTINODE
from workloads import services
from workloads.document import edit
from workloads.models import Workload

PASTED = DISAGG.replace("runai-project-a", "runai-assistant")
ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
ANNOTATIONS = ("metadata", "annotations")


def faults(submit: Any, source: str, **options: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        submit(source, **options)
    assert not Workload.objects.exists()
    assert not AuditEntry.objects.exists()
    return [(fault.field, fault.allowed) for fault in caught.value.faults]


def test_the_pasted_disagg_yaml_is_accepted_as_it_is(submit: Any) -> None:
    workload = submit(PASTED)

    assert workload.name == "vllm-disagg"
    assert workload.source == PASTED
    assert (workload.topology_name, workload.required_level, workload.preferred_level) == ("topology-1", "", ZONE)
    assert (workload.backend, workload.disaggregated, workload.gpus_requested) == ("vllm", True, Decimal(3))
    assert workload.node_pool.name == "default"
    assert AuditEntry.objects.get().action == "create"


def test_where_no_placement_is_said_the_narrowest_level_is_preferred(submit: Any) -> None:
    workload = submit(MULTINODE)

    assert (workload.required_level, workload.preferred_level) == ("", "kubernetes.io/hostname")


def test_the_fictional_kind_is_refused(submit: Any) -> None:
    assert faults(submit, FICTION)[0][0] == "kind"


@pytest.mark.parametrize("level", ["rack", "topology.kubernetes.io/Rack", "topology.kubernetes.io/region"])
def test_36_a_level_that_the_topology_lacks_is_refused_naming_the_levels(submit: Any, level: str) -> None:
    text = edit(PASTED, {(*ANNOTATIONS, "kai.scheduler/topology-required-placement"): level})

    assert faults(submit, text) == [("required_level", f"{ZONE} › {RACK} › kubernetes.io/hostname")]


def test_another_topology_than_the_pools_is_refused_naming_it(submit: Any) -> None:
    text = edit(PASTED, {(*ANNOTATIONS, "kai.scheduler/topology"): "topology-2"})

    assert faults(submit, text) == [("topology", "topology-1")]


def test_17_more_gpus_than_any_node_has_is_impossible_not_pending(submit: Any) -> None:
    text = PASTED.replace('gpu: "1"', 'gpu: "9"')

    assert {field for field, _ in faults(submit, text)} == {
        "spec.services.VllmDecodeWorker.resources",
        "spec.services.VllmPrefillWorker.resources",
    }


def test_17_more_than_the_limit_is_impossible_not_pending(submit: Any, quota: Any) -> None:
    quota.gpu_limit = Decimal(8)
    quota.save(update_fields=["gpu_limit"])

    assert faults(submit, MULTINODE) == [("gpus", "≤ 8")]


def test_non_preemptible_over_the_deserved_quota_is_refused(submit: Any, quota: Any) -> None:
    quota.gpu_deserved = Decimal(8)
    quota.save(update_fields=["gpu_deserved"])
    text = edit(MULTINODE, {("spec", "labels"): {"priorityClassName": "inference"}})

    assert faults(submit, text) == [("gpus", "preemptible, or at most 8")]


def test_20_the_departments_queue_is_refused_as_no_leaf(submit: Any) -> None:
    text = edit(PASTED, {(*ANNOTATIONS, "nvidia.com/kai-scheduler-queue"): "research"})

    assert faults(submit, text) == [("queue", "assistant")]


def test_23_a_misspelt_queue_and_class_are_named(submit: Any) -> None:
    text = edit(
        PASTED,
        {
            (*ANNOTATIONS, "nvidia.com/kai-scheduler-queue"): "asistant",
            ("metadata", "labels"): {"priorityClassName": "very-importnat"},
        },
    )

    assert [field for field, _ in faults(submit, text)] == ["spec.priorityClassName", "queue"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("metadata", "annotations", "priorityClassName"), "spec.priorityClassName"),
        (("spec", "annotations", "priorityClassName"), "spec.priorityClassName"),
        (("metadata", "annotations", "kai.scheduler/preemptibility"), "spec.labels[kai.scheduler/preemptibility]"),
        (("metadata", "labels", "kai.scheduler/topology"), "spec.annotations[kai.scheduler/topology]"),
    ],
)
def test_23_what_nothing_reads_where_it_stands_is_named_with_its_place(submit: Any, path: Any, place: str) -> None:
    text = edit(PASTED, {path: "train"})

    assert faults(submit, text) == [(f"{path[0]}.{path[1]}[{path[2]}]", place)]


def test_23_a_priority_of_one_component_is_refused(submit: Any) -> None:
    text = edit(PASTED, {("spec", "services", "VllmDecodeWorker", "labels", "priorityClassName"): "train"})

    assert faults(submit, text) == [("spec.services.VllmDecodeWorker.labels[priorityClassName]", "spec")]


def test_22_a_pool_without_quota_is_refused_naming_the_pools_that_have_one(submit: Any, h200: Any) -> None:
    text = edit(MULTINODE, {("spec", "labels"): {"kai.scheduler/node-pool": "h200"}})

    assert faults(submit, text)[0] == ("node_pool", "default")


def test_an_unknown_pool_is_refused_naming_the_pools(submit: Any, h200: Any) -> None:
    text = edit(MULTINODE, {("spec", "labels"): {"kai.scheduler/node-pool": "h300"}})

    assert faults(submit, text) == [("node_pool", "default, h200")]


def test_names_share_a_budget_with_component_names(submit: Any) -> None:
    text = MULTINODE.replace("name: qwen", "name: " + "q" * 30)

    assert faults(submit, text) == [("metadata.name", "at most 45 together")]


def test_a_name_is_taken_once_in_the_whole_cluster(submit: Any, cluster: Any) -> None:
    submit(PASTED)

    with pytest.raises(Conflict):
        submit(PASTED)
    assert Workload.objects.count() == 1


@pytest.mark.parametrize(("group", "plural"), [("nvidia.com", "dynamographdeployments"), ("grove.io", "podcliquesets")])
def test_what_somebody_else_made_in_another_namespace_takes_the_name(
    submit: Any, cluster: Any, group: str, plural: str
) -> None:
    """Their gangs would merge: kai-scheduler.md §0.2.11, golden x001 and grove/25."""
    ClusterObject.objects.create(
        cluster=cluster,
        uid="x",
        name="vllm-disagg",
        namespace="elsewhere",
        resource_version="1",
        created_at=timezone.now(),
        group=group,
        plural=plural,
        manifest={},
    )

    with pytest.raises(Conflict):
        submit(PASTED)


def test_a_viewer_may_not_submit_and_nothing_is_written(
    project: Any, quota: Any, topology: Any, viewer: Any, actor: Any
) -> None:
    with pytest.raises(NotPermitted, match="workloads:create"):
        services.submit_workload(actor(viewer), project=project, source=PASTED)

    assert not Workload.objects.exists()


def test_scaling_changes_one_number_and_keeps_the_comments(submit: Any, researcher: Any, actor: Any) -> None:
    workload = submit(PASTED)

    services.scale_workload(actor(researcher), workload=workload, component="VllmDecodeWorker", replicas=5)

    assert workload.source == PASTED.replace("replicas: 2  # as many", "replicas: 5  # as many")
    assert (workload.gpus_requested, workload.generation) == (Decimal(6), 2)


def test_scaling_to_what_is_no_count_is_refused(submit: Any, researcher: Any, actor: Any) -> None:
    workload = submit(PASTED)

    with pytest.raises(InvalidInput):
        services.scale_workload(actor(researcher), workload=workload, component="VllmDecodeWorker", replicas=-1)
    workload.refresh_from_db()
    assert workload.generation == 1


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (
            PASTED.replace("replicas: 2", "replicas: 0"),
            ("spec.services.VllmDecodeWorker.replicas", "1 or more; suspend the workload to take all its pods away"),
        ),
        (
            MULTINODE.replace("replicas: 2", "replicas: 0").replace("multinode: {nodeCount: 2}", ""),
            ("spec.components[1].replicas", "2 or more; suspend the workload to take all its pods away"),
        ),
        (
            MULTINODE.replace("replicas: 2", "replicas: 0").replace("minAvailable: 2", "scalingAdapter: {}"),
            ("spec.components[1].replicas", "1 or more; suspend the workload to take all its pods away"),
        ),
    ],
)
def test_a_role_without_replicas_is_refused_since_nothing_would_run(
    submit: Any, source: str, fault: tuple[str, str]
) -> None:
    assert faults(submit, source) == [fault]


def test_no_role_is_scaled_to_nothing_and_where_grove_is_not_wanted_it_may_be(
    submit: Any, researcher: Any, actor: Any
) -> None:
    workload = submit(PASTED)
    with pytest.raises(InvalidInput) as caught:
        services.scale_workload(actor(researcher), workload=workload, component="VllmDecodeWorker", replicas=0)
    assert [fault.field for fault in caught.value.faults] == ["spec.services.VllmDecodeWorker.replicas"]
    workload.refresh_from_db()
    assert workload.generation == 1

    plain = edit(PASTED, {(*ANNOTATIONS, "nvidia.com/enable-grove"): "false", ("metadata", "name"): "plain"})
    assert submit(plain.replace("replicas: 2", "replicas: 0")).gpus_requested == 1


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("name: qwen", "name: qwen-2", "metadata.name"),
        ("name: decode", "name: decoder", "spec.components"),
        ("minAvailable: 2", "minAvailable: 1", "spec.components[1].minAvailable"),
        ("nodeCount: 2", "nodeCount: 3", "spec.components[1].multinode.nodeCount"),
        ("Framework: sglang", "Framework: vllm", "spec.backendFramework"),
    ],
)
def test_what_a_running_workload_keeps_is_named(
    submit: Any, admin: Any, actor: Any, old: str, new: str, field: str
) -> None:
    workload = submit(MULTINODE)

    with pytest.raises(InvalidInput) as caught:
        services.update_workload(actor(admin), workload=workload, source=MULTINODE.replace(old, new, 1))

    assert [fault.field for fault in caught.value.faults] == [field]


def test_a_suspended_workload_may_change_its_placement(submit: Any, admin: Any, actor: Any) -> None:
    workload = submit(MULTINODE, stopped=True)
    Workload.objects.update(phase="Stopped")
    workload.refresh_from_db()
    text = edit(MULTINODE, {("spec", "annotations"): {"kai.scheduler/topology-required-placement": RACK}})

    services.update_workload(actor(admin), workload=workload, source=text)

    assert (workload.required_level, workload.preferred_level) == (RACK, "")


def test_suspend_resume_and_delete_are_intents_with_an_audit_row_each(submit: Any, admin: Any, actor: Any) -> None:
    workload = submit(PASTED)

    services.suspend_workload(actor(admin), workload=workload)
    services.suspend_workload(actor(admin), workload=workload)
    services.resume_workload(actor(admin), workload=workload)
    services.delete_workload(actor(admin), workload=workload)

    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "create",
        "suspend",
        "resume",
        "delete",
    ]
    assert workload.is_being_deleted
    with pytest.raises(Conflict):
        services.suspend_workload(actor(admin), workload=workload)


def test_a_pool_chosen_beside_the_document_stays_through_every_change(
    submit: Any, quota: Any, h200: Any, admin: Any, actor: Any
) -> None:
    Quota.objects.create(
        cluster=h200.cluster, project=quota.project, node_pool=h200, queue_name="assistant-h200", gpu_deserved=32
    )
    workload = submit(MULTINODE, node_pool=h200)

    services.scale_workload(actor(admin), workload=workload, component="decode", replicas=3)
    services.suspend_workload(actor(admin), workload=workload)
    services.resume_workload(actor(admin), workload=workload)

    workload.refresh_from_db()
    assert workload.node_pool == h200


def test_24_what_waits_in_a_full_pool_is_moved_to_another_one_while_it_is_suspended(
    submit: Any, quota: Any, h200: Any, admin: Any, actor: Any
) -> None:
    Quota.objects.create(
        cluster=h200.cluster, project=quota.project, node_pool=h200, queue_name="assistant-h200", gpu_deserved=32
    )
    workload = submit(MULTINODE)
    text = edit(MULTINODE, {("spec", "labels"): {"kai.scheduler/node-pool": "h200"}})

    with pytest.raises(InvalidInput, match="suspend it first"):
        services.update_workload(actor(admin), workload=workload, source=text)
    services.suspend_workload(actor(admin), workload=workload)
    Workload.objects.update(phase="Stopped")
    workload.refresh_from_db()
    services.update_workload(actor(admin), workload=workload, source=text)
    services.resume_workload(actor(admin), workload=workload)

    workload.refresh_from_db()
    assert (workload.node_pool, workload.desired_phase) == (h200, "Running")


def test_a_clone_is_the_same_document_under_another_name(submit: Any) -> None:
    workload = submit(PASTED)

    assert services.clone_source(workload, "copy") == PASTED.replace("name: vllm-disagg", "name: copy", 1)


def test_a_secret_that_the_project_lacks_is_told_and_does_not_block(submit: Any, project: Any) -> None:
    from organizations.models import ProjectSecret
    from workloads.secret_checks import SecretUse, missing_secrets

    workload = submit(PASTED)

    use = SecretUse("spec.services.VllmDecodeWorker.envFromSecret", optional=False)
    assert missing_secrets(project, workload.manifest) == {"hf-token-secret": use}
    ProjectSecret.objects.create(project=project, name="hugging-face", kind="hugging-face", content=b"")
    assert missing_secrets(project, workload.manifest) == {}


def test_resuming_takes_the_topology_that_the_pool_has_by_then(
    submit: Any, admin: Any, actor: Any, default_pool: Any
) -> None:
    from topology.models import NetworkTopology

    workload = submit(MULTINODE, stopped=True)
    named = submit(PASTED, stopped=True)
    default_pool.network_topology = NetworkTopology.objects.create(
        cluster=default_pool.cluster, name="topology-2", levels=[ZONE, RACK]
    )
    default_pool.save(update_fields=["network_topology"])

    services.resume_workload(actor(admin), workload=workload)

    assert (workload.topology_name, workload.preferred_level) == ("topology-2", RACK)
    with pytest.raises(InvalidInput, match="topology-1"):
        services.resume_workload(actor(admin), workload=named)
    named.refresh_from_db()
    assert named.desired_phase == "Stopped"


def test_what_the_served_version_cannot_hold_is_refused_at_submission(submit: Any, cluster: Any, project: Any) -> None:
    cluster.served = {"nvidia.com": {"dynamographdeployments": ["v1alpha1"]}}
    cluster.save(update_fields=["served"])
    project.refresh_from_db()

    assert faults(submit, MULTINODE) == [("spec.components[1].minAvailable", "leave it out")]
