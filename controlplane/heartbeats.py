"""Workers and beats sign a row every few seconds, so that the web process can say which of them live."""

import socket
import time
from datetime import datetime, timedelta
from typing import Any

import structlog
from celery.signals import heartbeat_sent, worker_process_init
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from controlplane.models import Heartbeat
from controlplane.parting import end_with_parent

log = structlog.get_logger(__name__)

EVERY_SECONDS = 5.0
STALE_AFTER = timedelta(seconds=30)

_signed: dict[str, float] = {}


def sign(kind: str, name: str = "") -> None:
    """Note that this process lives; cheap when called often. A database that can't be reached is only logged."""
    process = f"{kind}/{name or socket.gethostname()}"[:128]
    now = time.monotonic()
    if now - _signed.get(process, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _signed[process] = now
    try:
        Heartbeat.objects.update_or_create(process=process, defaults={"kind": kind, "at": timezone.now()})
    except DatabaseError as error:
        log.warning("heartbeat not written", process=process, error=str(error))
        connection.close()  # the next one connects anew


def latest(kind: str) -> datetime | None:
    """When the youngest process of this kind last signed; None: never."""
    row = Heartbeat.objects.filter(kind=kind).order_by("-at").first()
    return row.at if row else None


@heartbeat_sent.connect
def _sign_worker(sender: Any, **_: Any) -> None:
    sign("worker", getattr(sender.eventer, "hostname", ""))


@worker_process_init.connect
def _end_with_worker(**_: Any) -> None:
    # A worker that is killed leaves no pool behind, which would hold rows and work on.
    end_with_parent()
