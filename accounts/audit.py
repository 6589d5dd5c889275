"""Writes the audit row of a change, inside the transaction of the change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, models

from accounts.models import AuditEntry, User
from accounts.permissions import Scope

SECRET = "changed"  # noqa: S105 (what is written in place of a secret)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and by which way: `page`, `api`, `reconcile` or `command`."""

    user: User
    source: str
    address: str = ""
    request_id: str = ""


def record(
    actor: Actor,
    action: str,
    row: models.Model,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Note that `actor` did `action` (create, update, delete, …) to `row`. Must run inside `atomic()`.

    `before` and `after` hold the changed fields only, JSON-ready, with `SECRET` in place of every secret.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("audit.record() must run in the transaction of the change")
    scope: Scope | None = getattr(row, "scope", None)
    return AuditEntry.objects.create(
        subject=actor.user.email,
        source=actor.source,
        address=actor.address,
        request_id=actor.request_id,
        action=action,
        object_type=row._meta.label,
        object_id=str(row.pk),
        object_name=str(row),
        cluster_id=scope.cluster_id if scope else None,
        before=dict(before) if before is not None else None,
        after=dict(after) if after is not None else None,
    )
