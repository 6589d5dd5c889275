"""Renders a workload as the DynamoGraphDeployment that its cluster serves, scheduling wishes where they arrive. Pure.

Where each wish is read: KAI's podgrouper takes topology, class and preemptibility from labels and annotations that
`spec.labels` / `spec.annotations` carry to the PodCliqueSet; Grove's own KAI back-end takes the constraint only from
`topologyConstraint.pack`, which `providerOverride` sets. Both are written; they say the same and do not conflict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.kinds import GROVE_POD_CLIQUE_SET
from clusters.names import (
    DYNAMO_QUEUE_ANNOTATION,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    NODE_POOL_LABEL,
    OWNER_LABEL,
    PREFERRED_PLACEMENT_ANNOTATION,
    QUEUE_LABEL,
    REQUIRED_PLACEMENT_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    WORKLOAD_LABEL,
)
from workloads.conversion import convert
from workloads.graph import PREEMPTIBILITY_LABEL, PRIORITY_LABEL

Manifest = dict[str, Any]

# Where people put them, and what Muster writes in their stead.
_OUR_LABELS = {QUEUE_LABEL, NODE_POOL_LABEL, PRIORITY_LABEL, PREEMPTIBILITY_LABEL, WORKLOAD_LABEL, OWNER_LABEL}
_OUR_ANNOTATIONS = {
    DYNAMO_QUEUE_ANNOTATION,
    QUEUE_LABEL,
    NODE_POOL_LABEL,
    TOPOLOGY_ANNOTATION,
    REQUIRED_PLACEMENT_ANNOTATION,
    PREFERRED_PLACEMENT_ANNOTATION,
}


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """What is wanted. `node_pool` is empty for the default pool; levels are node-label keys, empty for none."""

    name: str
    namespace: str
    owner: str
    workload: str
    document: Mapping[str, Any]
    queue: str
    node_pool: str = ""
    topology: str = ""
    required: str = ""
    preferred: str = ""
    priority_class: str = ""
    preemptibility: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """What the cluster serves. `binding` is the ClusterTopologyBinding of the workload's topology with its domain
    name per label key; `takes_override`: the graph's CRD has `spec.providerOverride`."""

    api_version: str
    binding: str = ""
    domains: Mapping[str, str] = field(default_factory=dict)
    takes_override: bool = False


def graph_manifest(spec: WorkloadSpec, target: Target) -> Manifest:
    """The DynamoGraphDeployment to apply. Raises `InvalidInput` where the served version lacks a field in use."""
    document = convert(spec.document, target.api_version)
    metadata = document.get("metadata") or {}
    body = dict(document.get("spec") or {})
    body["labels"] = {**_without(body.get("labels"), _OUR_LABELS), **_graph_labels(spec)}
    annotations = {**_without(body.get("annotations"), _OUR_ANNOTATIONS), **placement_annotations(spec)}
    body.pop("annotations", None)
    if annotations:
        body["annotations"] = annotations
    if spec.priority_class:
        body["priorityClassName"] = spec.priority_class
    override = _provider_override(spec, target)
    if override:
        body["providerOverride"] = override
    labels = {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: spec.owner, WORKLOAD_LABEL: spec.workload}
    return {
        "apiVersion": target.api_version,
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": spec.name,
            "namespace": spec.namespace,
            "labels": {**_without(metadata.get("labels"), _OUR_LABELS), **labels},
            "annotations": {
                **_without(metadata.get("annotations"), _OUR_ANNOTATIONS),
                DYNAMO_QUEUE_ANNOTATION: spec.queue,
            },
        },
        "spec": body,
    }


def placement_annotations(spec: WorkloadSpec) -> dict[str, str]:
    """KAI's topology annotations. A required level is repeated as preferred: required alone is never scheduled
    when all nodes share a domain below it (a defect of the scheduler; equal levels avoid it)."""
    if not spec.topology or not (spec.required or spec.preferred):
        return {}
    annotations = {TOPOLOGY_ANNOTATION: spec.topology}
    if spec.required:
        annotations[REQUIRED_PLACEMENT_ANNOTATION] = spec.required
    annotations[PREFERRED_PLACEMENT_ANNOTATION] = spec.preferred or spec.required
    return annotations


def _graph_labels(spec: WorkloadSpec) -> dict[str, str]:
    labels = {WORKLOAD_LABEL: spec.workload, QUEUE_LABEL: spec.queue}
    if spec.node_pool:
        labels[NODE_POOL_LABEL] = spec.node_pool
    if spec.priority_class:
        labels[PRIORITY_LABEL] = spec.priority_class
    if spec.preemptibility:
        labels[PREEMPTIBILITY_LABEL] = spec.preemptibility
    return labels


def _provider_override(spec: WorkloadSpec, target: Target) -> Manifest | None:
    if not (target.takes_override and target.binding and (spec.required or spec.preferred)):
        return None
    pack = {
        side: target.domains[level]
        for side, level in (("required", spec.required), ("preferred", spec.preferred or spec.required))
        if level in target.domains
    }
    constraint = {"topologyName": target.binding, "pack": pack}
    return {
        "apiVersion": GROVE_POD_CLIQUE_SET.api_version,
        "target": GROVE_POD_CLIQUE_SET.kind,
        "value": {"spec": {"template": {"topologyConstraint": constraint}}},
    }


def _without(entries: Mapping[str, Any] | None, ours: set[str]) -> dict[str, Any]:
    return {key: value for key, value in (entries or {}).items() if key not in ours}
