"""Kubernetes objects as an API server sends them, for the watcher's tests."""

from typing import Any

GPU = "nvidia.com/gpu"


def node(name: str, *, gpus: int | None = 8, usable: int | None = 8, version: int = 1, **extra: Any) -> dict[str, Any]:
    """A node; `usable` None leaves the GPU key out of allocatable."""
    capacity = {"cpu": "64", "memory": "512Gi", "pods": "110"} | ({GPU: str(gpus)} if gpus is not None else {})
    allocatable = {"cpu": "63", "memory": "500Gi"} | ({GPU: str(usable)} if usable is not None else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": {"kubernetes.io/hostname": name} | extra.pop("labels", {}),
        },
        "spec": extra.pop("spec", {}),
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        }
        | extra,
    }


def pod(name: str, *, gpus: int = 1, version: int = 1, uid: str = "", **spec: Any) -> dict[str, Any]:
    """A pod of one container that asks for GPUs."""
    limits = {GPU: str(gpus)} if gpus else {}
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": labels,
        },
        "spec": {"containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}]} | spec,
        "status": {"phase": "Running"},
    }


def event(type_: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return type_, item


def bookmark(version: int) -> tuple[str, dict[str, Any]]:
    return "BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": str(version)}}
