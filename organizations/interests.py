"""Which departments and projects an observed change of a Queue concerns, and the usage that queues report."""

from collections.abc import Sequence
from typing import Any

from clusters import kinds
from clusters.drift import differences
from clusters.models import Cluster, ClusterObject
from clusters.removal import is_leaving
from clusters.watcher.changes import Change
from core import leases
from core.hints import hint_reconcile
from core.live import publish_row
from organizations.manifests import ADOPTED_LABEL, namespace_manifest
from organizations.models import Department, Project, Quota
from organizations.quota_rows import observed_queues, store_usage
from organizations.rendering import owner_value, parent_names, queue_of
from organizations.services import ensure_default_department


def wake_for(cluster: Cluster, changes: Sequence[Change]) -> None:
    """Store the usage of changed queues; poke their owners where a queue is not what it should be or is gone, and
    projects whose namespace is not or is going.

    A queue's status changes with every pod, which wakes nobody. Sees to the default department in passing.
    """
    nodes = any(change.kind.plural == kinds.NODE.plural and change.type == "added" for change in changes)
    if nodes and not is_leaving(cluster):
        ensure_default_department(cluster)
    namespaces = {change.name for change in changes if change.kind == kinds.NAMESPACE}
    if namespaces:
        _wake_namespaces(cluster, namespaces)
    queues = [change for change in changes if _is_queue(change)]
    if not queues:
        return
    names = {change.name for change in queues}
    live = {row.name: row.manifest for row in observed_queues(cluster).filter(name__in=names)}
    changed = store_usage(cluster, live.values())
    parents: dict[int, dict[int, str]] = {}
    rows = Quota.objects.filter(cluster=cluster, queue_name__in=names)
    for quota in rows.select_related("node_pool", "department", "project__department"):
        owner = quota.owner
        if changed:
            publish_row(owner)
        if quota.queue_name not in live or differences(_expected(quota, parents), live[quota.queue_name]):
            leases.poke(type(owner), [owner.pk])
            hint_reconcile(owner)


def _wake_namespaces(cluster: Cluster, names: set[str]) -> None:
    rows = ClusterObject.objects.filter(cluster=cluster, group="", plural=kinds.NAMESPACE.plural, name__in=names)
    live = {row.name: row.manifest for row in rows}
    for project in Project.objects.filter(cluster=cluster, namespace__in=names):
        found = live.get(project.namespace)
        if found is None or "deletionTimestamp" in found["metadata"] or _is_edited(project, found):
            leases.poke(Project, [project.pk])
            hint_reconcile(project)


def _is_edited(project: Project, namespace: dict[str, Any]) -> bool:
    adopted = (namespace["metadata"].get("labels") or {}).get(ADOPTED_LABEL) == "true"
    wanted = namespace_manifest(project.namespace, owner_value(project), project.name, adopted=adopted)
    return bool(differences(wanted, namespace))


def _is_queue(change: Change) -> bool:
    return (change.kind.group, change.kind.plural) == (kinds.KAI_QUEUE.group, kinds.KAI_QUEUE.plural)


def _expected(quota: Quota, parents: dict[int, dict[int, str]]) -> dict[str, object]:
    owner: Department | Project = quota.owner
    parent = ""
    if isinstance(owner, Project):
        if owner.department_id not in parents:
            parents[owner.department_id] = parent_names(owner)
        parent = parents[owner.department_id].get(quota.node_pool_id, "")
    return queue_of(quota, parent)
