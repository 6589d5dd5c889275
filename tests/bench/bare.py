"""A Celery application with one empty task and the same broker: the round trip that nothing can beat."""

import os

from celery import Celery
from redis import Redis

ANSWERED = "bench:answered"

app = Celery("bare", broker=os.environ["REDIS_URL"])
app.conf.update(
    task_default_queue="bare",
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    task_acks_late=True,
    broker_connection_retry_on_startup=True,
)
_redis = Redis.from_url(os.environ["REDIS_URL"])


@app.task(name="bare.answer")
def answer() -> None:
    """Say that it ran."""
    _redis.rpush(ANSWERED, 1)
