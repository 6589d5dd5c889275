"""The Celery application of Muster's worker, which also notes when a task starts and ends.

`celery -A tests.bench.stamping worker` is the worker that is measured.
"""

import os
import time

from celery import signals
from redis import Redis

from controlplane.celery import app

__all__ = ["app"]

STARTED, ENDED = "bench:started", "bench:ended"
_redis = Redis.from_url(os.environ["REDIS_URL"])


@signals.task_prerun.connect
def note_start(task: object = None, **_more: object) -> None:
    if getattr(task, "name", "") == "reconcile.row":
        _redis.rpush(STARTED, time.monotonic())


@signals.task_postrun.connect
def note_end(task: object = None, **_more: object) -> None:
    if getattr(task, "name", "") == "reconcile.row":
        _redis.rpush(ENDED, time.monotonic())
