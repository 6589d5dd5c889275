"""From rows to manifests: the queues of departments and projects as they should be."""

from typing import Any

from clusters.names import owner_label_value
from organizations.manifests import Bounds, Manifest, QueueSpec, queue_manifest
from organizations.models import Department, Project, Quota


def owner_value(owner: Department | Project) -> str:
    """The value of `OWNER_LABEL` on what belongs to the department or project."""
    return owner_label_value(owner._meta.label, owner.pk)


def queue_of(quota: Quota, parent: str) -> Manifest:
    """The Queue of one row. `parent` is the queue of the department on the same pool, empty for departments."""
    amounts: dict[str, Any] = {
        resource: Bounds(*(getattr(quota, f"{resource}_{bound}") for bound in ("deserved", "limit", "weight")))
        for resource in ("gpu", "cpu", "memory")
    }
    spec = QueueSpec(
        name=quota.queue_name,
        owner=owner_value(quota.owner),
        pool=quota.node_pool.name,
        parent=parent,
        priority=quota.priority,
        **amounts,
    )
    return queue_manifest(spec)


def parent_names(project: Project) -> dict[int, str]:
    """Node pool id → queue of the project's department there."""
    rows = Quota.objects.filter(department=project.department_id)
    return dict(rows.values_list("node_pool_id", "queue_name"))
