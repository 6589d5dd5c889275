"""After a commit, tell a worker that a row is due. Only a hint: without a broker the beat's tick finds the row."""

from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from core import broker, live
from core.models import DesiredState

HINT_TASK = "reconcile.row"
RECOVERED_TASK = "reconcile.recovered"


def hint_reconcile(row: DesiredState) -> None:
    """When the current transaction commits, ask for a reconcile of `row` now and tell the pages that show it.

    Never raises for a lost broker.
    """
    hint_reconcile_of(row._meta.label, row.pk)


def hint_reconcile_of(label: str, pk: Any) -> None:
    """`hint_reconcile` for a row that is known by `app_label.ModelName` and id only."""
    # The topics first: should the broker hang, this costs one short timeout and the hint is not even tried.
    live.publish(*live.row_topics(label, pk))
    transaction.on_commit(lambda: _publish(label, str(pk)))


def hint_task(task: str, pk: Any) -> None:
    """When the current transaction commits, ask for a task about one row that nothing else depends on. Never raises
    for a lost broker: the task is lost with it."""
    transaction.on_commit(lambda: _send(task, [str(pk)], about=f"{task} {pk}", queue="maintenance"))


def hint_recovered(label: str, pk: Any) -> None:
    """Tell the workers that the cluster of this row answers again: what failed on it need not wait any longer."""
    _send(RECOVERED_TASK, [str(pk)], about=f"{label} {pk}")


def _publish(label: str, pk: str) -> None:
    _send(HINT_TASK, [label, pk], about=f"{label} {pk}")


def _send(task: str, arguments: list[str], *, about: str, queue: str = "reconcile") -> None:
    if broker.is_lost():
        return
    try:
        current_app.send_task(task, args=arguments, queue=queue, retry=False, ignore_result=True)
    except (OperationalError, RedisError, OSError) as error:
        broker.note_lost(error, about)
