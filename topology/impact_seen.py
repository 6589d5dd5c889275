"""The impact that an audit entry keeps, as far as somebody else than who acted may know it: names are hidden, amounts
stay."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from accounts.audit_changes import Narrow, Viewer
from accounts.models import AuditEntry
from clusters.models import Cluster
from topology.hooks import names_for, reads_all_work
from topology.impact_names import Shown

Known = tuple[Collection[str], Collection[str]]


def narrow_for(viewer: Viewer) -> Narrow:
    """Hides the projects and queues that `viewer` may not know; nothing from who reads all work of the cluster.

    1 query a cluster beside those for its names.
    """
    known: dict[UUID | None, Known] = {}

    def narrow(entry: AuditEntry, shown: Any) -> Any:
        if not isinstance(shown, Mapping) or reads_all_work(viewer, entry.cluster_id):
            return shown
        if entry.cluster_id not in known:
            known[entry.cluster_id] = _known(viewer, entry.cluster_id)
        return without_names(shown, *known[entry.cluster_id])

    return narrow


def without_names(shown: Mapping[str, Any], projects: Collection[str], owners: Collection[str]) -> Shown:
    """The impact with the names of these projects, and of these owners of queues, alone."""
    return {
        **shown,
        "workloads": [_workload(entry, projects) for entry in shown.get("workloads", ())],
        "queues": [{**entry, "name": _if_known(entry.get("name"), owners)} for entry in shown.get("queues", ())],
    }


def _workload(entry: Mapping[str, Any], projects: Collection[str]) -> Shown:
    told = _gang(entry, projects)
    return {**told, "for": _gang(entry["for"], projects)} if entry.get("for") else told


def _gang(entry: Mapping[str, Any], projects: Collection[str]) -> Shown:
    project = _if_known(entry.get("project"), projects)
    return {**entry, "project": project, "name": entry.get("name") if project else None}


def _if_known(name: str | None, known: Collection[str]) -> str | None:
    return name if name in known else None


def _known(viewer: Viewer, cluster_id: UUID | None) -> Known:
    cluster = Cluster.objects.filter(pk=cluster_id).first() if cluster_id else None
    if cluster is None:
        return (), ()
    queues, namespaces = names_for(viewer, cluster)
    return frozenset(namespaces.values()), frozenset(queues.values())
