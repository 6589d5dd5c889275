"""Manifests that several tests of this folder use."""

from typing import Any

from clusters.names import MANAGED_BY, MANAGED_BY_LABEL, OWNER_LABEL


def queue(
    name: str = "team-a", *, quota: float = 8, owner: str = "organizations.Project.1", **spec: Any
) -> dict[str, Any]:
    """A KAI queue of ours."""
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "labels": {MANAGED_BY_LABEL: MANAGED_BY, OWNER_LABEL: owner}},
        "spec": {"resources": {"gpu": {"quota": quota, "limit": -1, "overQuotaWeight": 1}}, **spec},
    }


def config_map(name: str = "settings", namespace: str = "team-a", **data: str) -> dict[str, Any]:
    """A config map."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


def namespace(name: str = "team-a") -> dict[str, Any]:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
