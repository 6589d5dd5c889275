"""Entries of the audit log in Run:ai's shape (`AuditLog`), and how its list is narrowed; shared by page and API."""

import uuid
from typing import Any

from accounts.audit_changes import changes_of
from accounts.models import AuditEntry, Outcome, UserKind
from accounts.scopes import TENANT_ID
from core.filters import Filter
from core.moments import rfc3339

# Actions of ours that Run:ai's document has no word for are updates there.
ACTIONS = ("create", "update", "delete", "sign-in", "sign-out", "reset-password")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_IDS = uuid.UUID("6d757374-6572-4000-8000-617564697400")
FILTERS = (
    Filter(key="timestamp", label="timestamp", lookup="at", kind="time"),
    Filter(key="subject", label="subject"),
    Filter(key="subject_type", label="subject_type"),
    Filter(key="source_ip", label="source_ip", lookup="address"),
    Filter(key="action", label="action"),
    Filter(key="result", label="result", lookup="outcome"),
    Filter(key="url", label="url", lookup="path"),
    Filter(key="entity_type", label="entity_type", lookup="object_type"),
    Filter(key="entity_name", label="entity_name", lookup="object_name"),
    Filter(key="entity_id", label="entity_id", lookup="object_id"),
    Filter(key="request_id", label="request_id"),
)
SORTS = {
    "timestamp": "at",
    "subject": "subject",
    "subject_type": "subject_type",
    "source_ip": "address",
    "action": "action",
    "http_method": "method",
    "result": "outcome",
    "url": "path",
    "entity_type": "object_type",
    "entity_name": "object_name",
    "entity_id": "object_id",
}
METADATA = 10


def entry_json(entry: AuditEntry, base: str) -> dict[str, Any]:
    """Schema `AuditLog`: what was not there is absent. `base` is Muster's own address (`https://…`).

    Before and after are in `metadata`, up to ten strings.
    """
    document: dict[str, Any] = {
        "id": str(uuid.uuid5(_IDS, str(entry.pk))),
        "timestamp": rfc3339(entry.at, "microseconds"),
        "tenant_id": TENANT_ID,
        "subject": entry.subject,
        "subject_type": "User" if entry.subject_type == UserKind.PERSON else "App",
        "action": entry.action if entry.action in ACTIONS else "update",
        "entity_type": kind_of(entry),
        "entity_name": entry.object_name,
        "entity_id": entry.object_id,
        "result": entry.outcome,
        "metadata": _metadata(entry),
    }
    optional = {
        "source_ip": entry.address if "." in entry.address else "",
        "http_method": entry.method if entry.method in METHODS else "",
        "url": base + entry.path if entry.path else "",
        "cluster_id": str(entry.cluster_id or ""),
        "request_id": _uuid(entry.request_id),
    }
    return document | {name: value for name, value in optional.items() if value}


def kind_of(entry: AuditEntry) -> str:
    """What the object is: `NodePool` for `topology.NodePool`."""
    return entry.object_type.rpartition(".")[2]


def changes_text(entry: AuditEntry, longest: int = 0) -> str:
    """The changes in one line: `name: a → b; description: c`; values longer than `longest` are shortened, 0: none."""
    return "; ".join(change.text(longest) for change in changes_of(entry))


def _metadata(entry: AuditEntry) -> dict[str, str]:
    found = {"source": entry.source}
    if entry.outcome == Outcome.FAILED or entry.reason:
        found["reason"] = entry.reason
    if entry.action not in ACTIONS:
        found["action"] = entry.action
    if ":" in entry.address:
        found["source_ip"] = entry.address
    if entry.request_id and not _uuid(entry.request_id):
        found["request_id"] = entry.request_id
    for change in changes_of(entry)[: METADATA - len(found)]:
        found[change.path] = change.after if change.before is None else f"{change.before} → {change.after}"
    return found


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return ""
