"""Workloads as lists show them, from the text that the database has, without their manifests and projects as rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from core.api.columns import Remembered, as_stored, as_text, moment_of, uuid_text
from core.api.shapes import UNSET, Condition
from workloads.api.manifests import summary_of
from workloads.api.shapes import (
    Actions,
    AllocatedResources,
    Placement,
    RequestedGpus,
    RequestedPods,
    RequestedResources,
    WorkloadShape,
)
from workloads.models import Preemptibility, Workload, WorkloadQuerySet
from workloads.words import reason_sentence

TENANT = 1
CATEGORY = "Deploy"
KIND = "DynamoGraphDeployment"
# Of Muster's reasons those that Run:ai has a word for.
PHASE_REASONS = ("NonPreemptibleOverQuota", "OverLimit")

COLUMNS = (
    as_text("pk"), "name", as_text("manifest"), "priority_class", "preemptibility", "submitted_by",
    as_text("cluster_id"), as_text("created_at"), as_text("updated_at"), "phase", as_text("conditions"),
    as_text("roles"), as_stored("gpus_held"), as_stored("gpus_requested"), as_text("waiting_reason"), "topology_name",
    "preferred_level", "required_level", "project_id", "project__name", "project__namespace",
    "project__department_id", "project__department__name", "node_pool__name",
)  # fmt: skip
_ACTIONS = Actions(delete=True, suspend=True)


class _Role(msgspec.Struct, gc=False):
    ready: int = 0


_conditions = msgspec.json.Decoder(list[Condition])
_roles = msgspec.json.Decoder(list[_Role])


def shown_workloads(rows: "WorkloadQuerySet") -> list[WorkloadShape]:
    """Schema Workload of these rows, in their order. One query."""
    return workloads_of(list(rows.values_list(*COLUMNS)))


def shown_workload(workload: Workload) -> WorkloadShape:
    """The workload as it is now. One query."""
    return shown_workloads(Workload.objects.filter(pk=workload.pk))[0]


def workloads_of(rows: Iterable[Sequence[Any]]) -> list[WorkloadShape]:
    """The same of tuples of `COLUMNS`."""
    clusters, amounts = Remembered(uuid_text), Remembered(_requested)
    held, names = Remembered(lambda gpus: AllocatedResources(gpu=float(gpus))), Remembered(lambda pool: [pool])
    return [_shown(row, clusters, amounts, held, names) for row in rows]


def _failure(conditions: Sequence[Condition]) -> str:
    """Why the cluster does not have it as it was asked for; empty where it has."""
    failed = [c.message for c in conditions if c.type in ("Accepted", "Synced") and c.status == "False"]
    return failed[0] if failed else ""


def _shown(
    row: Sequence[Any], clusters: Remembered, amounts: Remembered, held: Remembered, pools: Remembered
) -> WorkloadShape:
    (key, name, manifest, priority, preemptibility, author, cluster, created, updated, phase, said, roles, gpus_held,
     gpus, waiting, topology, preferred, required, project, project_name, namespace, department, department_name,
     pool) = row  # fmt: skip
    summary, changed = summary_of(manifest), moment_of(updated)
    conditions = _conditions.decode(said) if said != "[]" else []
    since = next((c.last_transition_time for c in conditions if c.type == "Ready"), changed)
    reason = {} if waiting == "{}" else msgspec.json.decode(waiting)
    requested, code = amounts[gpus], reason.get("code")
    return WorkloadShape(
        id=uuid_text(key),
        tenant_id=TENANT,
        type=KIND,
        name=name,
        source="Control-plane",
        source_api="WorkloadsV2",
        priority=None,
        priority_class_name=priority,
        preemptible=preemptibility == Preemptibility.PREEMPTIBLE,
        submitted_by=author,
        cluster_id=clusters[cluster],
        project_name=project_name,
        project_id=str(project),
        department_name=department_name,
        department_id=str(department),
        namespace=namespace,
        created_at=moment_of(created),
        updated_at=changed,
        deleted_at=None,
        phase=phase,
        phase_updated_at=since,
        phase_message=reason_sentence(reason) if reason else _failure(conditions),
        phase_reason=code if code in PHASE_REASONS else UNSET,
        k8s_phase=phase,
        k8s_phase_updated_at=since,
        conditions=conditions,
        running_pods=sum(role.ready for role in _roles.decode(roles)) if roles != "[]" else 0,
        requested_pods=RequestedPods(number=summary.pods, min=summary.gang),
        requested_node_pools=pools[pool],
        current_node_pools=pools[pool] if gpus_held else [],
        workload_requested_resources=requested,
        pods_requested_resources=requested,
        allocated_resources=held[gpus_held],
        images=summary.images,
        actions_support=_ACTIONS,
        category=CATEGORY,
        completed_at=None,
        topology=Placement(name=topology, preferred_placement=preferred, required_placement=required)
        if topology
        else None,
    )


def _requested(gpus: Any) -> RequestedResources:
    amount = float(gpus)
    return RequestedResources(gpu_request_type="portion", gpu=RequestedGpus(request=amount, limit=amount))
