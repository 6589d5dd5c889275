"""How services change a desired-state row: spec columns, generation and due time in one guarded UPDATE."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.utils import timezone

from core.errors import Stale
from core.hints import hint_reconcile
from core.models import DesiredState

Row = TypeVar("Row", bound=DesiredState)


def change_spec(row: Row, spec: Mapping[str, Any], *, expected_generation: int | None = None) -> Row:
    """Write `spec`, raise `generation` and make the row due; returns it fresh. Call inside a transaction.

    Workers and open pages are told when it commits (`hint_reconcile`): callers need not publish anything.
    Raises `Stale` where `expected_generation` is given and is not the stored one.
    """
    now = timezone.now()
    rows = type(row)._default_manager.filter(pk=row.pk, generation=row.generation)
    if expected_generation not in (None, row.generation) or not rows.update(
        **spec, generation=row.generation + 1, next_check_at=now, updated_at=now, failures=0
    ):
        raise Stale
    row.refresh_from_db()
    hint_reconcile(row)
    return row


def hold(row: DesiredState) -> bool:
    """Lock the row until the transaction ends; False: it is gone, or to go. The first thing that a service does which
    asks for the deletion of `row`, or makes what needs it: so neither happens while the other is being checked."""
    stored = type(row)._default_manager.select_for_update().filter(pk=row.pk)
    return list(stored.values_list("deletion_requested_at", flat=True)) == [None]


def request_deletion(row: Row) -> Row:
    """Ask for the deletion of the row and of all that it owns in the cluster. Call inside a transaction."""
    if row.is_being_deleted:
        return row
    return change_spec(row, {"deletion_requested_at": timezone.now(), "phase": "Deleting"})
