"""Lists of workloads from tuples of what is shown: several times cheaper than rows with their projects and pools."""

from types import SimpleNamespace
from typing import Any

COLUMNS = (
    "pk", "name", "manifest", "priority_class", "preemptibility", "submitted_by", "cluster_id", "created_at",
    "updated_at", "phase", "conditions", "roles", "gpus_held", "gpus_requested", "waiting_reason", "topology_name",
    "preferred_level", "required_level", "project_id", "project__name", "project__namespace",
    "project__department_id", "project__department__name", "node_pool__name",
)  # fmt: skip


def as_workload(found: Any) -> Any:
    """A tuple of `COLUMNS` as `wire.workload_json` reads a workload."""
    department = SimpleNamespace(name=found.project__department__name)
    project = SimpleNamespace(
        pk=found.project_id,
        name=found.project__name,
        namespace=found.project__namespace,
        department_id=found.project__department_id,
        department=department,
    )
    node_pool = SimpleNamespace(name=found.node_pool__name)
    return SimpleNamespace(**found._asdict(), project=project, node_pool=node_pool)
