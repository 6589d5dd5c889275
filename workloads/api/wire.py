"""Run:ai's JSON of workloads (`runai-openapi.json`: Workload, WorkloadDetailed, WorkloadV2), both ways."""

import base64
import binascii
import secrets
import string
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clusters.models import Pod
from core.conditions import find
from core.errors import InvalidInput
from workloads import document as documents
from workloads.graph import PREEMPTIBILITY_LABEL, parse_graph
from workloads.models import DesiredPhase, Preemptibility, Workload
from workloads.words import reason_sentence

TENANT = 1
CATEGORY = "Deploy"
KIND = "DynamoGraphDeployment"

# The sentence is said in English on the wire; codes that Run:ai has go into `phaseReason`.
_PHASE_REASONS = ("NonPreemptibleOverQuota", "OverLimit")
# What a brief list of pods leaves out.
FULL_POD = ("workloadName", "projectName")
SUBMISSION_KEYS = ("metadata", "manifest", "manifestBase64Encoded", "desiredPhase")
_METADATA = {"name", "useGivenNameAsPrefix", "projectId", "clusterId", "priority", "category", "preemptibility"}


def workload_json(workload: Workload) -> dict[str, Any]:
    """Schema Workload, of lists."""
    graph = parse_graph(workload.manifest)
    project, roles = workload.project, workload.roles
    reason = workload.waiting_reason or {}
    held = float(workload.gpus_held)
    pods = sum(component.pods for component in graph.components)
    gpus = {"request": float(workload.gpus_requested), "limit": float(workload.gpus_requested)}
    return {
        "id": str(workload.pk),
        "tenantId": TENANT,
        "type": KIND,
        "name": workload.name,
        "source": "Control-plane",
        "sourceApi": "WorkloadsV2",
        "priority": None,
        "priorityClassName": workload.priority_class,
        "preemptible": workload.preemptibility == Preemptibility.PREEMPTIBLE,
        "submittedBy": workload.submitted_by,
        "clusterId": str(workload.cluster_id),
        "projectName": project.name,
        "projectId": str(project.pk),
        "departmentName": project.department.name,
        "departmentId": str(project.department_id),
        "namespace": project.namespace,
        "createdAt": rfc3339(workload.created_at),
        "updatedAt": rfc3339(workload.updated_at),
        "deletedAt": None,
        "phase": workload.phase,
        "phaseUpdatedAt": _phase_since(workload),
        "phaseMessage": reason_sentence(reason),
        **({"phaseReason": reason["code"]} if reason.get("code") in _PHASE_REASONS else {}),
        "k8sPhase": workload.phase,
        "k8sPhaseUpdatedAt": _phase_since(workload),
        "conditions": [_condition(condition) for condition in workload.conditions],
        "runningPods": sum(role["ready"] for role in roles),
        "requestedPods": {"number": pods, "min": sum(c.gang_pods for c in graph.components)},
        "requestedNodePools": [workload.node_pool.name],
        "currentNodePools": [workload.node_pool.name] if held else [],
        "workloadRequestedResources": {"gpuRequestType": "portion", "gpu": gpus},
        "podsRequestedResources": {"gpuRequestType": "portion", "gpu": gpus},
        "allocatedResources": {"gpu": held},
        "images": sorted({component.image for component in graph.components if component.image}),
        "actionsSupport": {"delete": True, "suspend": True},
        "category": CATEGORY,
        "completedAt": None,
        "topology": _topology(workload),
    }


def workload_detailed_json(workload: Workload) -> dict[str, Any]:
    """Schema WorkloadDetailed, with what is not Run:ai's below `muster`: roles, placement, why it waits."""
    reason = workload.waiting_reason or {}
    messages = None
    if reason.get("code") in _PHASE_REASONS:
        message = {
            "nodePool": workload.node_pool.name,
            "phaseReason": reason["code"],
            "reason": " ".join(reason.get("words", ())),
            "userMessage": reason_sentence(reason),
        }
        messages = [message]
    return {
        **workload_json(workload),
        "pendingSchedulingMessages": messages,
        "additionalFields": {
            "roles": workload.roles,
            "placement": workload.placement,
            "waitingSince": rfc3339(workload.waiting_since) if workload.waiting_since else None,
            "waitingReason": reason,
            "conditions": workload.conditions,
        },
    }


def workload_v2_json(workload: Workload, applied: Mapping[str, Any] | None) -> dict[str, Any]:
    """Schema WorkloadV2. `rawManifest` is as sent, `workloadManifest` as Muster applies it."""
    group, _slash, version = str(workload.manifest["apiVersion"]).partition("/")
    project = workload.project
    desired = "Deleted" if workload.is_being_deleted else str(workload.desired_phase)
    return {
        "metadata": {
            "id": str(workload.pk),
            "name": workload.name,
            "gvk": {"group": group, "version": version, "kind": workload.manifest["kind"]},
            "projectId": str(project.pk),
            "projectName": project.name,
            "clusterId": str(workload.cluster_id),
            "tenantId": TENANT,
            "departmentId": str(project.department_id),
            "departmentName": project.department.name,
            "priority": workload.priority_class or None,
            "category": CATEGORY,
            "preemptibility": str(workload.preemptibility),
            "createdAt": rfc3339(workload.created_at),
            "createdBy": workload.submitted_by,
            "updatedAt": rfc3339(workload.updated_at),
            "updatedBy": workload.submitted_by,
            "deletedAt": None,
            "deletedBy": None,
        },
        "desiredPhase": desired,
        "workloadManifest": dict(applied or workload.manifest),
        "rawManifest": workload.manifest,
    }


def pod_json(workload: Workload, pod: Pod) -> dict[str, Any]:
    """Schema Pod1. `id` is the pod's uid, `name` what logs are asked for by."""
    gpus = float(pod.gpus)
    created = rfc3339(pod.created_at)
    return {
        "id": pod.uid,
        "tenantId": TENANT,
        "name": pod.name,
        "workloadId": str(workload.pk),
        "workloadName": workload.name,
        "projectId": str(workload.project_id),
        "projectName": workload.project.name,
        "clusterId": str(workload.cluster_id),
        "priorityClassName": workload.priority_class,
        "k8sPhase": pod.phase,
        "k8sPhaseUpdatedAt": created,
        "createdAt": created,
        "updatedAt": created,
        "deletedAt": rfc3339(pod.deletion_requested_at) if pod.deletion_requested_at else None,
        "nodeName": pod.node_name or None,
        "ip": pod.address or None,
        "requestedNodePools": [workload.node_pool.name],
        "currentNodePool": workload.node_pool.name if pod.node_name else None,
        "containers": [{"name": "main", "image": pod.image}],
        "requestedResources": {"gpu": {"request": gpus, "limit": gpus}},
        "allocatedResources": {"gpu": gpus if pod.node_name else 0},
    }


def sync_info(workload: Workload) -> dict[str, Any]:
    """Schema WorkloadV2SyncInfo."""
    if workload.is_being_deleted:
        return {"status": "Deleting"}
    for type_ in ("Accepted", "Synced"):
        condition = find(workload.conditions, type_)
        if condition is not None and condition["status"] == "False":
            return {"status": "Failed", "message": condition["message"]}
    if workload.observed_generation >= workload.generation:
        return {"status": "Synced"}
    return {"status": "Applying" if workload.observed_generation else "Queued"}


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
    except (binascii.Error, UnicodeDecodeError) as error:
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
    return metadata


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


def rfc3339(moment: datetime) -> str:
    """A time as the API writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _name(metadata: Mapping[str, Any]) -> str:
    name = str(metadata["name"])
    if metadata.get("useGivenNameAsPrefix"):
        name += "-" + "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(5))
    return name


def _topology(workload: Workload) -> dict[str, str] | None:
    if not workload.topology_name:
        return None
    return {
        "name": workload.topology_name,
        "preferredPlacement": workload.preferred_level,
        "requiredPlacement": workload.required_level,
    }


def _phase_since(workload: Workload) -> str:
    ready = find(workload.conditions, "Ready")
    return str(ready["lastTransitionTime"]) if ready else rfc3339(workload.updated_at)


def _condition(condition: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("type", "status", "reason", "message", "lastTransitionTime")
    return {key: condition[key] for key in keys}


def is_stopped(text: Any) -> bool:
    """Whether a request's `desiredPhase` asks for a suspended workload."""
    if text not in (None, DesiredPhase.RUNNING, DesiredPhase.STOPPED):
        raise InvalidInput.of("desiredPhase", f"{str(text)[:20]!r} is not allowed", "Running, Stopped")
    return bool(text == DesiredPhase.STOPPED)
