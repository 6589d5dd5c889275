"""Renders what Muster writes for departments and projects: KAI Queues, the namespace, secrets. Pure.

A Queue always says every bound: an absent limit means to KAI that nothing may run (kai-scheduler.md §1.2).
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from clusters.kinds import KAI_QUEUE, NAMESPACE, SECRET
from clusters.names import (
    DEFAULT_NODE_POOL,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    NODE_POOL_LABEL,
    OWNER_LABEL,
    PROJECT_LABEL,
)
from organizations.quota import as_number

Manifest = dict[str, Any]

ADOPTED_LABEL = "muster.dev/adopted"
SECRET_LABEL = "muster.dev/project-secret"  # noqa: S105 (a label key)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Amounts of one resource in the queue's unit; −1 is unlimited."""

    deserved: Decimal
    limit: Decimal
    weight: Decimal


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """One queue. An empty `parent` is the top level; `pool` is the node pool's name."""

    name: str
    owner: str
    pool: str
    parent: str
    gpu: Bounds
    cpu: Bounds
    memory: Bounds
    priority: int = 100


@dataclass(frozen=True, slots=True)
class SecretSpec:
    """A secret of a project's namespace with its content in clear: never logged, never stored."""

    name: str
    namespace: str
    owner: str
    source: str
    type: str
    content: Mapping[str, str]

    def __repr__(self) -> str:
        return f"SecretSpec({self.namespace}/{self.name})"


def queue_manifest(spec: QueueSpec) -> Manifest:
    """The KAI Queue. The parent is said even when it is none, so that a parent set by hand is drift."""
    labels = {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: spec.owner}
    if spec.pool != DEFAULT_NODE_POOL:
        labels[NODE_POOL_LABEL] = spec.pool
    return {
        "apiVersion": KAI_QUEUE.api_version,
        "kind": KAI_QUEUE.kind,
        "metadata": {"name": spec.name, "labels": labels},
        "spec": {
            "parentQueue": spec.parent,
            "priority": spec.priority,
            "resources": {
                "gpu": _bounds(spec.gpu),
                "cpu": _bounds(spec.cpu),
                "memory": _bounds(spec.memory),
            },
        },
    }


def _bounds(bounds: Bounds) -> dict[str, int | float]:
    return {
        "quota": as_number(bounds.deserved),
        "limit": as_number(bounds.limit),
        "overQuotaWeight": as_number(bounds.weight),
    }


def namespace_manifest(name: str, owner: str, project: str, *, adopted: bool) -> Manifest:
    """The project's namespace; an adopted one is marked, because it outlives the project."""
    labels = {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: owner, PROJECT_LABEL: project}
    if adopted:
        labels = {OWNER_LABEL: owner, PROJECT_LABEL: project, ADOPTED_LABEL: "true"}
    return {
        "apiVersion": NAMESPACE.api_version,
        "kind": NAMESPACE.kind,
        "metadata": {"name": name, "labels": labels},
    }


def released_namespace_manifest(name: str, uid: str) -> Manifest:
    """Takes our labels off an adopted namespace; the uid keeps it from being made anew."""
    return {"apiVersion": NAMESPACE.api_version, "kind": NAMESPACE.kind, "metadata": {"name": name, "uid": uid}}


def secret_manifest(spec: SecretSpec) -> Manifest:
    """The Secret with its data encoded as the API wants it."""
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {
            "name": spec.name,
            "namespace": spec.namespace,
            "labels": {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: spec.owner, SECRET_LABEL: spec.source},
        },
        "type": spec.type,
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in spec.content.items()},
    }
