"""Writes the audit row of an act, inside the transaction of the change, and says who may read which rows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, models, transaction

from accounts.audit_chain import seal, sign
from accounts.models import AuditEntry, Outcome, User, UserKind
from accounts.permissions import Scope, reach
from core.errors import MusterError, NotPermitted

SECRET = "changed"  # noqa: S105 (what is written in place of a secret)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, and by which way: `page`, `api`, `reconcile` or `command`."""

    user: User
    source: str
    address: str = ""
    request_id: str = ""
    method: str = ""
    path: str = ""
    # When the access key ends by whose token they ask; None where it does not, or there is none.
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Where an act came from that has no actor yet: somebody who tries to sign in, under the name they gave."""

    subject: str
    source: str
    address: str = ""
    request_id: str = ""
    method: str = ""
    path: str = ""
    subject_type: str = UserKind.PERSON


def record(
    actor: Actor,
    action: str,
    row: models.Model,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> AuditEntry:
    """Note that `actor` did `action` (create, update, delete, …) to `row`. Must run inside `atomic()`.

    `scope`: where it lies, if the row does not say so itself. `before` and `after` hold the changed fields only,
    JSON-ready, with `SECRET` in place of every secret.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("audit.record() must run in the transaction of the change")
    place: Scope = scope or getattr(row, "scope", None) or Scope()
    return _append(
        attempt_of(actor),
        action=action,
        object_type=row._meta.label,
        object_id=str(row.pk),
        object_name=str(row)[:253],
        cluster_id=place.cluster_id,
        department_id=place.department_id,
        project_id=place.project_id,
        before=_plain(before),
        after=_plain(after),
    )


@transaction.atomic
def record_attempt(
    attempt: Attempt, action: str, *, outcome: str = Outcome.FAILED, reason: str = "", row: models.Model | None = None
) -> AuditEntry:
    """Note a sign-in, a sign-out, or an act that was refused: `reason` says why. `row` is what it concerns."""
    place: Scope = getattr(row, "scope", None) or Scope()
    return _append(
        attempt,
        action=action,
        outcome=outcome,
        reason=reason[:200],
        object_type=row._meta.label if row else "",
        object_id=str(row.pk) if row else "",
        object_name=str(row)[:253] if row else "",
        cluster_id=place.cluster_id,
        department_id=place.department_id,
        project_id=place.project_id,
    )


def record_refusal(actor: Actor, action: str, error: MusterError, row: models.Model | None = None) -> None:
    """Note that one act of several was not permitted: the answer as a whole says success, and `accounts.middleware`
    notes nothing. Other errors are no refusals."""
    if isinstance(error, NotPermitted):
        record_attempt(attempt_of(actor), action, reason=error.message, row=row)


def attempt_of(actor: Actor) -> Attempt:
    """The actor as entries name them."""
    return Attempt(
        subject=actor.user.email,
        subject_type=actor.user.kind,
        source=actor.source,
        address=actor.address,
        request_id=actor.request_id,
        method=actor.method,
        path=actor.path,
    )


def visible_entries(user: User | AnonymousUser) -> "models.QuerySet[AuditEntry]":
    """The entries that `user` may read: those of objects below a scope of theirs; sign-ins with the whole tenant."""
    where = reach(user, "events-history:read")
    entries = AuditEntry.objects.all()
    if where.everywhere:
        return entries
    return entries.filter(
        models.Q(cluster_id__in=where.clusters)
        | models.Q(department_id__in=where.departments)
        | models.Q(project_id__in=where.projects)
    )


def _append(attempt: Attempt, **fields: Any) -> AuditEntry:
    entry = AuditEntry(
        subject=attempt.subject[:254],
        subject_type=attempt.subject_type,
        source=attempt.source,
        address=attempt.address,
        request_id=attempt.request_id,
        method=attempt.method[:8],
        path=attempt.path[:300],
        **fields,
    )
    sign(entry)
    entry.save(force_insert=True)
    # After the commit: the lock on the chain's end is never held while other rows are.
    transaction.on_commit(seal, robust=True)
    return entry


def _plain(values: Mapping[str, Any] | None) -> Any:
    """As the database gives it back, so that the digest holds."""
    return None if values is None else json.loads(json.dumps(values, cls=DjangoJSONEncoder), parse_float=_number)


def _number(text: str) -> int | float:
    """PostgreSQL writes whole numbers without exponent and point, so that they are read as such."""
    exact = Decimal(text)
    return int(exact) if exact == exact.to_integral_value() else float(text)
