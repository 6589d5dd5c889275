"""After a commit, tell a worker that a row is due. Only a hint: without a broker the beat's tick finds the row."""

from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from core.models import DesiredState

log = structlog.get_logger(__name__)

HINT_TASK = "reconcile.row"


def hint_reconcile(row: DesiredState) -> None:
    """When the current transaction commits, ask for a reconcile of `row` now. Never raises for a lost broker."""
    label, pk = row._meta.label, str(row.pk)
    transaction.on_commit(lambda: _publish(label, pk))


def _publish(label: str, pk: Any) -> None:
    try:
        current_app.send_task(HINT_TASK, args=[label, pk], queue="reconcile", retry=False, ignore_result=True)
    except OperationalError as error:
        log.info("broker unreachable, the next tick will find the row", row=label, pk=pk, error=str(error))
