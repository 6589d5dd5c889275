"""What happened to a row: events of its objects in the cluster, what Muster put right, and who changed it here."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext_lazy

from accounts.models import AuditEntry, User
from accounts.permissions import has_right
from accounts.tables import SOURCES
from clusters.models import ClusterEvent
from clusters.node_presenting import event_views
from core.conditions import last_repair
from core.models import DesiredState
from topology.wording import condition_item

SHOWN = 100

_ACTIONS = {
    "create": gettext_lazy("created"),
    "update": gettext_lazy("changed"),
    "delete": gettext_lazy("deletion asked for"),
}


def timeline(user: Any, row: DesiredState, objects: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Newest first. `objects`: (kind, name) of what the row has in its cluster. Audit needs its own right."""
    scope = row.scope  # type: ignore[attr-defined]  # every model here has one
    entries: list[dict[str, Any]] = []
    for kind, name in objects:
        events = ClusterEvent.objects.filter(
            cluster_id=scope.cluster_id, involved_kind=kind, involved_name=name
        ).order_by("-last_seen_at")
        found = event_views(events[:SHOWN])
        entries += [{**entry, "object": f"{kind}/{name}"} for entry in found]
    entries += _repairs(row)
    if isinstance(user, User) and has_right(user, "events-history:read", scope):
        audited = AuditEntry.objects.filter(object_type=row._meta.label, object_id=str(row.pk))
        entries += [_audit(entry) for entry in audited[:SHOWN]]
    return sorted(entries, key=lambda entry: entry["at"], reverse=True)[:SHOWN]


def _repairs(row: DesiredState) -> list[dict[str, Any]]:
    """The last repair of drift, while its condition tells of it."""
    found = last_repair(row.conditions)
    if found is None:
        return []
    item = condition_item(found)
    at = item["since"] or row.updated_at
    return [{"at": at, "status": item["status"], "text": item["text"], "source": "Muster", "count": 1}]


def _audit(entry: AuditEntry) -> dict[str, Any]:
    changed = ", ".join(sorted(set(entry.after or {}) - {"impact"}))
    action = str(_ACTIONS.get(entry.action, entry.action))
    text = f"{action}: {changed}" if changed and entry.action == "update" else action
    source = f"{entry.subject} · {dict(SOURCES).get(entry.source, entry.source)}"
    return {"at": entry.at, "status": "info", "text": text, "source": source, "count": 1}
