"""Run:ai's JSON of workloads (`runai-openapi.json`: Workload, WorkloadDetailed, WorkloadV2), both ways."""

import base64
import secrets
import string
from collections.abc import Mapping
from typing import Any, Literal

from clusters.models import Pod
from core.api.shapes import UNSET
from core.conditions import find
from core.errors import Fault, InvalidInput
from core.moments import rfc3339
from workloads import document as documents
from workloads.api.listing import CATEGORY, PHASE_REASONS, TENANT, shown_workload
from workloads.api.observed_shapes import Container, PodRequest, PodShape
from workloads.api.shapes import (
    AdditionalFields,
    AllocatedResources,
    Gvk,
    PendingMessage,
    RequestedGpus,
    SyncInfo,
    V2Metadata,
    WorkloadDetailed,
    WorkloadV2,
)
from workloads.graph import PREEMPTIBILITY_LABEL
from workloads.models import DesiredPhase, Preemptibility, Workload
from workloads.words import reason_sentence

_DESIRED: Mapping[DesiredPhase, Literal["Running", "Stopped"]] = {
    DesiredPhase.RUNNING: "Running",
    DesiredPhase.STOPPED: "Stopped",
}
_PREEMPTIBILITY: Mapping[Preemptibility, Literal["preemptible", "non-preemptible"]] = {
    Preemptibility.PREEMPTIBLE: "preemptible",
    Preemptibility.NON_PREEMPTIBLE: "non-preemptible",
}
SUBMISSION_KEYS = ("metadata", "manifest", "manifestBase64Encoded", "desiredPhase")
_METADATA = {"name", "useGivenNameAsPrefix", "projectId", "clusterId", "priority", "category", "preemptibility"}

# What a submission can say beside its manifest, and where the manifest says it.
_SAID_TWICE: Mapping[str, tuple[str, ...]] = {
    "name": ("metadata", "name"),
    "priority": ("spec", "priorityClassName"),
    "preemptibility": ("spec", "labels", PREEMPTIBILITY_LABEL),
}


def workload_detailed(workload: Workload) -> WorkloadDetailed:
    """Schema WorkloadDetailed, with what is not Run:ai's below `additionalFields`. One query."""
    shown = shown_workload(workload)
    reason: Any = workload.waiting_reason or {}
    messages = None
    if reason.get("code") in PHASE_REASONS:
        message = PendingMessage(
            node_pool=workload.node_pool.name,
            phase_reason=reason["code"],
            reason=" ".join(reason.get("words", ())),
            user_message=reason_sentence(reason),
        )
        messages = [message]
    return WorkloadDetailed(
        **{name: getattr(shown, name) for name in shown.__struct_fields__},
        pending_scheduling_messages=messages,
        additional_fields=AdditionalFields(
            roles=workload.roles,
            placement=workload.placement,
            waiting_since=rfc3339(workload.waiting_since),
            waiting_reason=reason,
            conditions=workload.conditions,
        ),
    )


def workload_v2(workload: Workload, applied: Mapping[str, Any] | None) -> WorkloadV2:
    """Schema WorkloadV2. `applied` is what Muster writes into the cluster."""
    group, _slash, version = str(workload.manifest["apiVersion"]).partition("/")
    project = workload.project
    metadata = V2Metadata(
        id=str(workload.pk),
        name=workload.name,
        gvk=Gvk(group=group, version=version, kind=workload.manifest["kind"]),
        project_id=str(project.pk),
        project_name=project.name,
        cluster_id=str(workload.cluster_id),
        tenant_id=TENANT,
        department_id=str(project.department_id),
        department_name=project.department.name,
        priority=workload.priority_class or None,
        category=CATEGORY,
        preemptibility=_PREEMPTIBILITY[Preemptibility(workload.preemptibility)],
        created_at=rfc3339(workload.created_at),
        created_by=workload.submitted_by,
        updated_at=rfc3339(workload.updated_at),
        updated_by=workload.submitted_by,
        deleted_at=None,
        deleted_by=None,
    )
    return WorkloadV2(
        metadata=metadata,
        desired_phase="Deleted" if workload.is_being_deleted else _DESIRED[DesiredPhase(workload.desired_phase)],
        workload_manifest=dict(applied or workload.manifest),
        raw_manifest=workload.manifest,
    )


def pod_shape(workload: Workload, pod: Pod, *, named: bool = True) -> PodShape:
    """Schema Pod1; with `named` the names of workload and project too."""
    gpus = float(pod.gpus)
    created = rfc3339(pod.created_at)
    return PodShape(
        id=pod.uid,
        tenant_id=TENANT,
        name=pod.name,
        workload_id=str(workload.pk),
        workload_name=workload.name if named else UNSET,
        project_id=str(workload.project_id),
        project_name=workload.project.name if named else UNSET,
        cluster_id=str(workload.cluster_id),
        priority_class_name=workload.priority_class,
        k8s_phase=pod.phase,
        k8s_phase_updated_at=created,
        created_at=created,
        updated_at=created,
        deleted_at=rfc3339(pod.deletion_requested_at),
        node_name=pod.node_name or None,
        ip=pod.address or None,
        requested_node_pools=[workload.node_pool.name],
        current_node_pool=workload.node_pool.name if pod.node_name else None,
        containers=[Container(name="main", image=pod.image)],
        requested_resources=PodRequest(gpu=RequestedGpus(request=gpus, limit=gpus)),
        allocated_resources=AllocatedResources(gpu=gpus if pod.node_name else 0),
    )


def sync_info(workload: Workload) -> SyncInfo:
    """Schema WorkloadV2SyncInfo."""
    if workload.is_being_deleted:
        return SyncInfo(status="Deleting")
    for type_ in ("Accepted", "Synced"):
        condition = find(workload.conditions, type_)
        if condition is not None and condition["status"] == "False":
            return SyncInfo(status="Failed", message=condition["message"])
    if workload.observed_generation >= workload.generation:
        return SyncInfo(status="Synced")
    return SyncInfo(status="Applying" if workload.observed_generation else "Queued")


def read_source(body: Mapping[str, Any]) -> str | None:
    """The manifest of a request as YAML: `manifest` (JSON) or `manifestBase64Encoded` (YAML); None for neither."""
    manifest, encoded = body.get("manifest"), body.get("manifestBase64Encoded")
    if manifest is not None and encoded is not None:
        raise InvalidInput.of("manifest", "both forms are given", "manifest or manifestBase64Encoded")
    if manifest is not None:
        return documents.dump(documents.check(manifest))
    if encoded is None:
        return None
    try:
        return base64.b64decode(str(encoded), validate=True).decode("utf-8")
    except ValueError as error:  # of either decoder, and of text that is not ASCII
        raise InvalidInput.of("manifestBase64Encoded", "it is not base64 of UTF-8 text", "base64 of YAML") from error


def read_metadata(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request's `metadata`. Raises `InvalidInput` for fields that there are not."""
    metadata = body.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput.of("metadata", "it is not an object", "an object")
    for key in metadata:
        if key not in _METADATA:
            raise InvalidInput.of(f"metadata.{str(key)[:60]}", "there is no such field", ", ".join(sorted(_METADATA)))
    if not isinstance(metadata.get("useGivenNameAsPrefix"), bool | None):
        raise InvalidInput.of("metadata.useGivenNameAsPrefix", "it is not a flag", "true, false")
    if metadata.get("category") not in (None, CATEGORY):
        raise InvalidInput.of("metadata.category", "there is no other category", CATEGORY)
    return metadata


def check_agreement(source: str, metadata: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` naming both where a manifest that is sent says another thing than the metadata with it."""
    document = documents.load(source)
    faults = []
    for key, path in _SAID_TWICE.items():
        own: Any = document
        for step in path:
            own = own.get(step) if isinstance(own, Mapping) else None
        given = metadata.get(key)
        if isinstance(given, str) and isinstance(own, str) and given and own and given != own:
            message = f"{given[:60]!r} here, and {own[:60]!r} in the manifest ({'.'.join(path)})"
            faults.append(Fault(f"metadata.{key}", message, "one of both, or the same"))
    if faults:
        raise InvalidInput(faults)


def with_metadata(source: str, metadata: Mapping[str, Any]) -> str:
    """The document with what the request's metadata says about it: name, priority, preemptibility."""
    changes: dict[tuple[str | int, ...], Any] = {}
    if metadata.get("name"):
        changes[("metadata", "name")] = _name(metadata)
    if metadata.get("priority"):
        changes[("spec", "priorityClassName")] = str(metadata["priority"])
    if metadata.get("preemptibility"):
        if metadata["preemptibility"] not in Preemptibility.values:
            raise InvalidInput.of("metadata.preemptibility", "it is not allowed", ", ".join(Preemptibility.values))
        changes[("spec", "labels", PREEMPTIBILITY_LABEL)] = metadata["preemptibility"]
    return documents.edit(source, changes) if changes else source


def _name(metadata: Mapping[str, Any]) -> str:
    name = str(metadata["name"])
    if metadata.get("useGivenNameAsPrefix"):
        name += "-" + "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(5))
    return name


def is_stopped(text: Any) -> bool:
    """Whether a request's `desiredPhase` asks for a suspended workload."""
    if text not in (None, DesiredPhase.RUNNING, DesiredPhase.STOPPED):
        raise InvalidInput.of("desiredPhase", f"{str(text)[:20]!r} is not allowed", "Running, Stopped")
    return bool(text == DesiredPhase.STOPPED)
